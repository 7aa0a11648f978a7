"""Quantized operators that MXNet has since 2.0 in numpy; weights of `intgemm` stay in plain order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference import numpy_shape, shape
from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.quantized import require_bytes


def rearranged(function: Reference, attrs: Attributes, data: Array, low: Array, high: Array) -> tuple[Array, ...]:
    """Return the numbers as another operator rearranges them, in the same range."""
    require_bytes(data)
    return (np.asarray(function(attrs, data)), low, high)


def maxabsolute(attrs: Attributes, data: Array) -> Array:
    """Return the largest magnitude."""
    require(data.dtype == np.float32, f"data of {data.dtype}")
    return np.asarray(np.abs(data).max(), np.float32).reshape(1)


def rounded(data: Array, largest: Array) -> Array:
    """int8 of -127 to 127; numbers that no int32 holds are -127."""
    require(data.dtype == np.float32, f"data of {data.dtype}")
    with np.errstate(all="ignore"):
        scaled = data * (np.float32(127) / largest.reshape(()))
        whole = np.where(np.abs(scaled) < 2.0**31, np.clip(np.rint(scaled), -127, 127), -127)
    return whole.astype(np.int8)


def prepare_weight(attrs: Attributes, weight: Array, *largest: Array) -> Array:
    """Return a weight as int8."""
    if not attrs.get("already_quantized"):
        return rounded(weight, largest[0])
    require(weight.dtype == np.int8, f"a weight of {weight.dtype}")
    return weight


def fully_connected(attrs: Attributes, data: Array, weight: Array, *rest: Array) -> Array:
    """data W^T of int8, as int32 or scaled to float32."""
    floats, operands = attrs.get("out_type", "float32") == "float32", list(rest)
    require(len(rest) == floats + (not attrs.get("no_bias")), f"{len(rest)} operands behind the weight")
    largest = None if data.dtype == np.int8 else maxabsolute({}, data)
    integers = data if largest is None else rounded(data, largest)
    if attrs.get("flatten", True):
        integers = integers.reshape(len(integers), -1)
    total = np.matmul(integers.astype(np.int32), weight.astype(np.int32).T)
    if floats:
        scale = operands.pop(0) * (1 if largest is None else largest / np.float32(127))
        total = total.astype(np.float32) * scale.astype(np.float32)
    return np.asarray(total + operands[0] if operands else total)


OPERATORS: Mapping[str, Reference] = {
    "_contrib_intgemm_fully_connected": fully_connected,
    "_contrib_intgemm_maxabsolute": maxabsolute,
    "_contrib_intgemm_prepare_data": lambda attrs, data, largest: rounded(data, largest),
    "_contrib_intgemm_prepare_weight": prepare_weight,
    "_contrib_intgemm_take_weight": lambda attrs, weight, places: np.array(weight[places.astype(np.int64)]),
    "_contrib_quantized_reshape": partial(rearranged, shape.reshape),
    "_contrib_quantized_transpose": partial(rearranged, shape.transpose),
    "_npx_quantized_reshape": partial(rearranged, numpy_shape.reshape),
    "_npx_quantized_transpose": partial(rearranged, numpy_shape.transpose),
}
