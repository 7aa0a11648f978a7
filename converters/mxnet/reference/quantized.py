"""Quantized operators in numpy, with integer arithmetic, as MXNet 1.9.1 computes them with oneDNN.

A quantized tensor is integers and the two ends of the range that they stand for. The factor from real to quantized
numbers is the dtype's span over the larger magnitude of the two ends. MXNet's spans are 127.5 for int8 and 255.5 for
uint8 nearly everywhere; `quantize`, `requantize` and the ranges of products take the largest integer instead (all found
by feeding the live operators). Rounding is to the nearest even, and saturates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.convolution import convolution
from graphir.converters.mxnet.reference.indexing import embedding
from graphir.converters.mxnet.reference.linear import fully_connected
from graphir.converters.mxnet.reference.pooling import pooling

SPANS = {"int8": 127.5, "uint8": 255.5, "int32": 2147483647.0}
LARGEST = {"int8": 127.0, "uint8": 255.0, "int32": 2147483647.0}
WIDEST = 2147483647.0


def number(value: Any) -> np.float32:
    """Return a number as MXNet holds it: in float32."""
    return np.float32(np.asarray(value).reshape(-1)[0])


def magnitude(low: Any, high: Any) -> np.float32:
    """Return the larger magnitude of the two ends of a range."""
    return np.float32(max(abs(number(low)), abs(number(high))))


def factor(dtype: Any, low: Any, high: Any) -> np.float32:
    """From real to quantized numbers."""
    require(str(dtype) in SPANS, f"{dtype} has no steps")
    with np.errstate(divide="ignore"):
        return np.float32(np.float32(SPANS[str(dtype)]) / magnitude(low, high))


def ends(low: Any, high: Any) -> tuple[Array, Array]:
    """Return the two ends of a result's range, one element each."""
    return np.array([number(low)], np.float32), np.array([number(high)], np.float32)


def saturated(values: Array, dtype: str) -> Array:
    """Rounded to the nearest even and kept in the dtype's range; what is no number is the largest int8, or 0."""
    limits = np.iinfo(dtype)
    lost = limits.max if dtype == "int8" else 0
    result = np.where(np.isnan(values), lost, np.clip(np.rint(values), limits.min, limits.max))
    return result.astype(np.int64).astype(dtype)


def calibrated(attrs: Attributes) -> tuple[np.float32, np.float32] | None:
    """Return the range that calibration found, None without both ends."""
    low, high = attrs.get("min_calib_range"), attrs.get("max_calib_range")
    require(low is None or high is None or low <= high, f"a calibrated range from {low} to {high}")
    return None if low is None or high is None else (number(low), number(high))


def wanted_dtype(attrs: Attributes) -> str:
    """Return the result's dtype: `auto` is uint8 for a calibrated range without negative numbers."""
    stated = str(attrs.get("out_type", "int8"))
    if stated != "auto":
        return stated
    result = calibrated(attrs)
    return "uint8" if result is not None and result[0] >= 0 else "int8"


def require_bytes(data: Array) -> None:
    """Refuse what is no int8 or uint8."""
    require(data.dtype in (np.int8, np.uint8), f"data of {data.dtype}, expected int8 or uint8")


def quantize(attrs: Attributes, data: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """Real numbers by the range given as operands."""
    dtype = str(attrs.get("out_type", "uint8"))
    require(data.dtype == np.float32, f"data of {data.dtype}, expected float32")
    real = magnitude(low, high)
    with np.errstate(all="ignore"):
        result = saturated(data * np.float32(LARGEST[dtype] / real), dtype)
    return (result, *(ends(-real, real) if dtype == "int8" else ends(low, high)))


def quantize_v2(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """Real numbers by the calibrated range, or by their own; quantized ones as they are."""
    dtype, outcome = wanted_dtype(attrs), calibrated(attrs)
    if data.dtype in (np.int8, np.uint8):
        require(str(data.dtype) == dtype, f"data of {data.dtype}, quantized to {dtype}")
        whole = SPANS[dtype]
        return (data, *ends(*(outcome or ((0.0 if dtype == "uint8" else -whole), whole))))
    require(data.dtype == np.float32, f"data of {data.dtype}, expected float32")
    low, high = outcome or (data.min(), data.max())
    with np.errstate(all="ignore"):
        result = saturated(data * factor(dtype, low, high), dtype)
    real = magnitude(low, high)
    return (result, *(ends(-real, real) if dtype == "int8" else ends(low, high)))


def dequantize(attrs: Attributes, data: Array, low: Array, high: Array) -> Array:
    """Quantized numbers as real ones."""
    require_bytes(data)
    step = np.float32(magnitude(low, high) / np.float32(SPANS[str(data.dtype)]))
    return data.astype(np.float32) * step


def requantize(attrs: Attributes, data: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """int32 as int8 or uint8, by the calibrated range or by the numbers' own."""
    require(data.dtype == np.int32, f"data of {data.dtype}, expected int32")
    dtype, outcome = wanted_dtype(attrs), calibrated(attrs)
    step = np.float32(magnitude(low, high) / np.float32(WIDEST))
    if outcome is not None:
        real = magnitude(*outcome)
    else:
        real = np.float32(np.abs(data.astype(np.int64)).max()) * magnitude(low, high) / np.float32(WIDEST)
    with np.errstate(all="ignore"):
        scale = np.float32(step * np.float32(LARGEST[dtype] / real))
        result = saturated(data.astype(np.float32) * scale, dtype)
    return (result, *ends(0.0 if dtype == "uint8" else -real, real))


def product_step(left: str, right: str, ranges: tuple[Array, ...]) -> np.float32:
    """Return what one unit of a product of two quantized numbers stands for."""
    first = np.float32(magnitude(ranges[0], ranges[1]) / np.float32(LARGEST[left]))
    return np.float32(first * np.float32(magnitude(ranges[2], ranges[3]) / np.float32(LARGEST[right])))


def product_ends(step: np.float32) -> tuple[Array, Array]:
    """Return the range of an int32 result of which one unit stands for `step`."""
    return ends(np.float32(step * np.float32(-(2.0**31))), np.float32(step * np.float32(WIDEST)))


def quantized_conv(attrs: Attributes, data: Array, weight: Array, *others: Array) -> tuple[Array, ...]:
    """Return the integers' convolution; the bias is added as it is. The range is that which int8 data would have."""
    require(data.dtype == np.uint8, f"data of {data.dtype}, expected uint8")
    require(weight.dtype == np.int8, f"weight of {weight.dtype}, expected int8")
    require(int(attrs.get("num_group", 1)) == 1, "num_group, expected 1")
    require(len(attrs["kernel"]) == 2, f"kernel {attrs['kernel']}, expected two axes")
    require(attrs.get("layout") in (None, "NCHW"), f"layout {attrs.get('layout')}, expected NCHW")
    bias = () if attrs.get("no_bias") else (others[0].astype(np.float64),)
    total = convolution(attrs, data.astype(np.float64), weight.astype(np.float64), *bias)
    step = product_step("int8", "int8", others[len(bias) : len(bias) + 4])
    return (total.astype(np.int32), *product_ends(step))


def quantized_fully_connected(attrs: Attributes, data: Array, weight: Array, *others: Array) -> tuple[Array, ...]:
    """Return the integers' product; the bias is rescaled from its range to the product's and cut to an integer."""
    require_bytes(data)
    require(weight.dtype == np.int8, f"weight of {weight.dtype}, expected int8")
    has_bias = not attrs.get("no_bias")
    ranges = others[1:] if has_bias else others
    total = fully_connected({**attrs, "no_bias": True}, data.astype(np.float64), weight.astype(np.float64))
    if has_bias:
        scale = factor(data.dtype, *ranges[:2]) * factor("int8", *ranges[2:4])
        rescale = np.float32(scale * magnitude(*ranges[4:6]) / np.float32(SPANS["int8"]))
        total = total + np.trunc(others[0].astype(np.float32) * rescale)
    return (total.astype(np.int32), *product_ends(product_step(str(data.dtype), "int8", ranges[:4])))


def quantized_pooling(attrs: Attributes, data: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """Return the largest integer of a window, or the mean rounded to the nearest even."""
    require_bytes(data)
    require(attrs.get("pool_type", "max") in ("max", "avg"), f"pool_type {attrs.get('pool_type')}, expected max or avg")
    return (saturated(pooling(attrs, data.astype(np.float32)), str(data.dtype)), *ends(low, high))


def quantized_activation(attrs: Attributes, data: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """Return the positive integers. The result counts as int8: of uint8 data the same bits."""
    require_bytes(data)
    require(attrs["act_type"] == "relu", f"act_type {attrs['act_type']}, expected relu")
    return (np.maximum(data, 0).astype(data.dtype).view(np.int8), *ends(low, high))


def quantized_batch_norm(attrs: Attributes, data: Array, *others: Array) -> tuple[Array, ...]:
    """Scale and shift of each channel in quantized numbers; uint8 data becomes int8 first, rounded.

    The channels are those of axis 1, whatever `axis` says: it only says how many they are."""
    require_bytes(data)
    gamma, beta, mean, var, low, high = others
    result = calibrated(attrs)
    require(result is not None, "no calibrated range")
    require(float(attrs.get("eps", 1e-3)) >= 0, "eps below 0")
    assert result is not None
    inner = np.float32(SPANS["int8"] / SPANS["uint8"])
    values = data if data.dtype == np.int8 else saturated(data.astype(np.float32) * inner, "int8")
    real, shape = magnitude(*result), [1] * data.ndim
    channels = [data.shape[axis] for axis in (1, int(attrs.get("axis", 1)))]
    require(channels[0] == channels[1], f"{channels[1]} channels on the axis, {channels[0]} on axis 1")
    shape[1] = -1
    inverse = (1.0 / np.sqrt(var.astype(np.float32) + float(attrs["eps"]))).astype(np.float32)
    again = np.float32(1.0 / np.sqrt(1.0 + float(attrs["eps"])))  # of the variance 1 that the kernel is given
    slope = gamma * inverse * magnitude(low, high) / real * again
    shift = (beta - mean * gamma * inverse) * np.float32(SPANS["int8"]) / real
    scaled = values.astype(np.float32) * slope.reshape(shape) + shift.reshape(shape)
    return (saturated(scaled, "int8"), *ends(*result))


def quantized_concat(attrs: Attributes, *operands: Array) -> tuple[Array, ...]:
    """Return all operands in the range that holds 0 and all of theirs; uint8 if all of them are."""
    count = int(attrs["num_args"])
    data, ranges = operands[:count], [number(end) for end in operands[count:]]
    for part in data:
        require_bytes(part)
    low, high = min([np.float32(0), *ranges[::2]]), max([np.float32(0), *ranges[1::2]])
    dtype = "uint8" if all(part.dtype == np.uint8 for part in data) else "int8"
    parts = []
    for part, start, end in zip(data, ranges[::2], ranges[1::2], strict=True):
        own, wanted = factor(part.dtype, start, end), factor(dtype, low, high)
        same = own == wanted and str(part.dtype) == dtype
        parts.append(part if same else saturated(part.astype(np.float32) * np.float32(wanted / own), dtype))
    return (np.concatenate(parts, axis=int(attrs.get("dim", 1))), *ends(low, high))


def quantized_add(attrs: Attributes, left: Array, right: Array, *ranges: Array) -> tuple[Array, ...]:
    """Return the sum in the calibrated range: uint8 if both operands are, else int8. Without a range int32.

    The uint8 operand of two unlike ones is rounded to int8 before the sum.
    """
    require_bytes(left)
    require_bytes(right)
    result, alike = calibrated(attrs), left.dtype == right.dtype
    dtype = "int32" if result is None else str(left.dtype) if alike else "int8"
    largest = np.float32(magnitude(*ranges[:2]) + magnitude(*ranges[2:]))
    low, high = result or (-largest, largest)
    wanted = factor(dtype, low, high)
    total = np.zeros(left.shape, np.float32)
    for data, own in ((left, factor(left.dtype, *ranges[:2])), (right, factor(right.dtype, *ranges[2:]))):
        scale = np.float32(wanted / own)
        if not alike and data.dtype == np.uint8:
            total = total + saturated(data.astype(np.float32) * scale, "int8").astype(np.float32)
        else:
            total = total + data.astype(np.float32) * scale
    return (saturated(total, dtype), *ends(low, high))


def quantized_mul(attrs: Attributes, left: Array, right: Array, *ranges: Array) -> Array | tuple[Array, ...]:
    """Return the product of two int8; int32, float32 if wanted, or with a calibrated range int8: cut, and wrapped
    around."""
    require(left.dtype == right.dtype == np.int8, f"data of {left.dtype} and {right.dtype}, expected int8")
    require(left.shape == right.shape, f"shapes {left.shape} and {right.shape}")
    product = left.astype(np.int32) * right.astype(np.int32)
    first, second = factor("int8", *ranges[:2]), factor("int8", *ranges[2:])
    if attrs.get("enable_float_output"):
        return product.astype(np.float32) * np.float32(1.0 / first / second)
    result = calibrated(attrs)
    if result is None:
        return (product, *product_ends(product_step("int8", "int8", ranges)))
    scale = np.float32(factor("int8", *result) / first / second)
    return ((product.astype(np.float32) * scale).astype(np.int32).astype(np.int8), *ends(*result))


def quantized_embedding(attrs: Attributes, data: Array, weight: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """Return the rows of an int8 table."""
    require(weight.dtype == np.int8, f"weight of {weight.dtype}, expected int8")
    return (embedding(attrs, data, weight), *ends(low, high))


OPERATORS: Mapping[str, Reference] = {
    "_contrib_dequantize": dequantize,
    "_contrib_quantize": quantize,
    "_contrib_quantize_v2": quantize_v2,
    "_contrib_quantized_act": quantized_activation,
    "_contrib_quantized_batch_norm": quantized_batch_norm,
    "_contrib_quantized_concat": quantized_concat,
    "_contrib_quantized_conv": quantized_conv,
    "_contrib_quantized_elemwise_add": quantized_add,
    "_contrib_quantized_elemwise_mul": quantized_mul,
    "_contrib_quantized_embedding": quantized_embedding,
    "_contrib_quantized_flatten": lambda attrs, data, low, high: (data.reshape(data.shape[0], -1), *ends(low, high)),
    "_contrib_quantized_fully_connected": quantized_fully_connected,
    "_contrib_quantized_pooling": quantized_pooling,
    "_contrib_requantize": requantize,
}
