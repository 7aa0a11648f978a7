"""oneDNN's fused operators in numpy: a layer with what follows it, in float32 or with integer arithmetic.

What is fused stands as a symbol inside the node; the operands are those of the layer, of a batch normalization, of a
sum, and for quantized ones the ends of the ranges, in this order, whatever the symbol inside says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.files.records import NNVMNode
from graphir.converters.mxnet.reference.activation import activation, leaky_relu
from graphir.converters.mxnet.reference.contract import RECORDS, Array, Attributes, Reference, require
from graphir.converters.mxnet.reference.convolution import convolution
from graphir.converters.mxnet.reference.elementwise_unary import OPERATORS as UNARY
from graphir.converters.mxnet.reference.linear import fully_connected, heads_first
from graphir.converters.mxnet.reference.quantized import (
    calibrated,
    ends,
    factor,
    magnitude,
    product_ends,
    product_step,
    require_bytes,
    saturated,
)
from graphir.converters.mxnet.schema.operators import typed_attributes

LAYERS = ("Convolution", "FullyConnected")
ACTIVATIONS = ("Activation", "LeakyReLU", "clip", "square", "sqrt", "exp", "abs", "square_root")
INT32 = np.iinfo(np.int32)
FINE = np.float32(1e30)  # a factor of data by which a bias is as exact as it can be
MOST = 2147483520  # the largest float32 that an int32 holds


class FusedNode:
    """What a node fuses: its layer, a batch normalization, and activations before and behind a sum."""

    def __init__(self, attrs: Attributes) -> None:
        self.layer: Attributes = {}
        self.normalization: Attributes | None = None
        self.before: NNVMNode | None = None
        self.behind: NNVMNode | None = None
        for record in attrs.get(RECORDS, ()):
            if record.op in LAYERS:
                self.layer = typed_attributes(record)
            elif record.op == "BatchNorm":
                self.normalization = typed_attributes(record)
            elif record.op not in ("elemwise_add", "_npi_add"):
                first = bool(attrs.get("with_act") or attrs.get("with_eltwise")) and self.before is None
                if first:
                    self.before = record
                else:
                    self.behind = record
        require(bool(self.layer), "no layer inside")
        self.sums = bool(attrs.get("with_sum"))
        stated = bool(attrs.get("with_act") or attrs.get("with_eltwise")), bool(attrs.get("with_postsum_act"))
        require(stated == (self.before is not None, self.behind is not None), f"{attrs}: other activations inside")

    @property
    def last(self) -> NNVMNode | None:
        """The last activation."""
        return self.behind or (None if self.sums else self.before)


def activated(record: NNVMNode | None, data: Array) -> Array:
    """Return the activation of a record inside on real numbers, if there is one."""
    if record is None:
        return data
    attrs: Any = typed_attributes(record)
    match record.op:
        case "Activation":
            return activation(attrs, data)
        case "LeakyReLU":
            return leaky_relu(attrs, data)
        case "clip":
            # oneDNN's bounded ReLU begins at 0 whatever a_min says.
            return np.clip(data, np.float32(0), np.float32(attrs["a_max"])).astype(data.dtype)
    result = UNARY[record.op](attrs, data)
    return result if isinstance(result, np.ndarray) else result[0]


def folded(fused: FusedNode, weight: Array, bias: Array | None, states: Sequence[Array]) -> tuple[Array, Array | None]:
    """Weight and bias with the batch normalization in them."""
    if fused.normalization is None:
        return weight, bias
    gamma, beta, mean, var = states
    scale = np.ones_like(gamma) if fused.normalization.get("fix_gamma") else gamma
    slope = (scale / np.sqrt(var.astype(np.float64) + fused.normalization["eps"])).astype(np.float32)
    inner = mean if bias is None else mean - bias
    return weight * slope.reshape(-1, *(1,) * (weight.ndim - 1)), (beta - slope * inner).astype(np.float32)


def taken(attrs: Attributes, fused: FusedNode, operands: Sequence[Array]) -> tuple[list[Array], Any, list[Array]]:
    """Return the data, weight and bias (folded), the operand to be added if there is one, and the rest."""
    data, weight, *rest = operands
    bias = None if fused.layer.get("no_bias") else rest.pop(0)
    states = [rest.pop(0) for _ in range(4)] if attrs.get("with_bn") else []
    weight, bias = folded(fused, weight, bias, states)
    addend = rest.pop(0) if fused.sums else None
    return [data, weight, *([] if bias is None else [bias])], addend, rest


def fused_convolution(attrs: Attributes, *operands: Array) -> Array | tuple[Array, ...]:
    """Convolution with batch normalization, activation, sum and activation."""
    fused = FusedNode(attrs)
    found, addend, ranges = taken(attrs, fused, operands)
    if not attrs.get("quantized"):
        require(all(array.dtype.kind == "f" for array in operands), "integers that are not quantized")
        result = activated(fused.before, convolution({**fused.layer, "no_bias": len(found) < 3}, *found))
        return activated(fused.behind, result if addend is None else result + addend)
    data, weight, *bias = found
    require_bytes(data)
    spread = calibrated(attrs)
    scale = factor(data.dtype, *ranges[:2])
    if spread is not None:
        data, scale = with_finite(data, scale)
    scales = row_scales(weight, bias, scale) if spread is not None else one_scale(weight)
    shape = (1, -1, *(1,) * (data.ndim - 2))
    groups = int(fused.layer.get("num_group", 1))
    stored = scales if len(scales) == 1 else np.repeat(scales[:groups], len(scales) // groups) if groups > 1 else scales
    integers = [saturated(weight * stored.reshape(-1, *(1,) * (weight.ndim - 1)), "int8")]
    integers += [rounded_bias(row, scales * scale) for row in bias]
    total = convolution({**fused.layer, "no_bias": not bias}, *(part.astype(np.float64) for part in (data, *integers)))
    dtype = "int32"
    if spread is not None:
        dtype = "uint8" if is_positive(fused.last) else "int8"
        wanted = factor(dtype, *spread)
        total = total.astype(np.float32) * np.broadcast_to(wanted / scale / scales, (weight.shape[0],)).reshape(shape)
    else:
        wanted = np.float32(scale * scales[0])
    if not (fused.before is not None and fused.before.op == "clip"):
        total = activated(fused.before, total)
    if addend is not None:
        total = total + np.float32(wanted / factor(addend.dtype, *ranges[2:])) * addend.astype(np.float32)
    total = activated(fused.behind, total)
    if spread is not None:
        held = dtype if addend is None else str(addend.dtype)  # the result is written over the addend, as its dtype
        return (saturated(total, held).view(dtype), *ends(*spread))
    step = product_step("int8", str(data.dtype), (weight.min(), weight.max(), *ranges[:2]))
    return (saturated(total, dtype), *product_ends(step))


def with_finite(data: Array, scale: np.float32) -> tuple[Array, np.float32]:
    """Data and their factor where that is infinite: quantize_v2 makes 127 with an empty range of a tensor that is 0
    throughout, and the layer takes it for 0 again."""
    return (np.zeros_like(data), FINE) if np.isinf(scale) else (data, scale)


def is_positive(record: NNVMNode | None) -> bool:
    """Return whether what comes last gives no negative number, by its kind: then the result is uint8."""
    if record is None:
        return False
    return record.op == "clip" or (record.op == "Activation" and typed_attributes(record)["act_type"] == "relu")


def row_scales(weight: Array, bias: Sequence[Array], scale: np.float32) -> Array:
    """Return one factor a filter; it is such that the bias is at most half of the largest int32."""
    reach = np.abs(weight.reshape(weight.shape[0], -1)).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = (np.float32(127.5) / reach).astype(np.float32)
        for row in bias:
            limit = np.float32(np.where(row > 0, INT32.max, INT32.min)) / 2 / row / scale
            result = np.where(row == 0, result, np.minimum(result, limit)).astype(np.float32)
    return np.where(np.isinf(result), np.float32(1), result)


def one_scale(weight: Array) -> Array:
    """Return one factor for all filters."""
    return np.array([np.float32(127.5) / np.abs(weight).max()], np.float32)


def rounded_bias(bias: Array, scales: Array) -> Array:
    """Return the bias as int32."""
    return np.clip(np.rint(bias * scales).astype(np.float64), INT32.min, INT32.max)


def fused_fully_connected(attrs: Attributes, *operands: Array) -> Array | tuple[Array, ...]:
    """Return a dense layer with an activation, which is computed of real numbers."""
    fused = FusedNode(attrs)
    if not attrs.get("quantized"):
        require(all(array.dtype == np.float32 for array in operands), "operands that are not float32")
        with np.errstate(all="ignore"):
            return activated(fused.before, fully_connected(fused.layer, *operands))
    data, weight, *rest = operands
    require_bytes(data)
    require_one_scale(attrs)
    bias = None if fused.layer.get("no_bias") else rest.pop(0)
    scale = factor(data.dtype, *rest[:2])
    result = calibrated(attrs)
    if result is not None or attrs.get("enable_float_output"):
        data, scale = with_finite(data, scale)
    if attrs.get("channel_wise_quantize"):
        scales = row_scales(weight, () if bias is None else (bias,), scale)
        weight = saturated(weight * scales.reshape(-1, 1), "int8")
        added = None if bias is None else rounded_bias(bias, scales * scale)
    else:
        weight, added, scales = rescaled(weight, bias, scale, rest)
    layer = {**fused.layer, "no_bias": added is None}
    total = fully_connected(layer, *(part.astype(np.float64) for part in (data, weight, added) if part is not None))
    if result is None and not attrs.get("enable_float_output"):
        step = product_step(str(data.dtype), "int8", (*rest[:2], *rest[2:4]))
        with np.errstate(invalid="ignore"):
            made = activated(fused.before, total)
        # oneDNN rounds float32: NaN becomes the largest of it that an int32 holds.
        return (np.clip(np.rint(np.nan_to_num(made, nan=MOST)), INT32.min, MOST).astype(np.int32), *product_ends(step))
    counts = total.astype(np.float32)
    if attrs.get("enable_float_output"):
        return activated(fused.before, counts * (np.float32(np.float32(1) / scale) / scales))
    assert result is not None
    dtype = "uint8" if fused.before is not None and is_unsigned(fused.before) else "int8"
    wanted = factor(dtype, *result)
    with np.errstate(all="ignore"):
        if fused.before is None:
            return (saturated(counts * (np.float32(wanted / scale) / scales), dtype), *ends(*result))
        made = activated(fused.before, counts * (np.float32(np.float32(1) / scale) / scales))
        return (saturated(made * wanted, dtype), *ends(*result))


def rescaled(
    weight: Array, bias: Array | None, scale: np.float32, ranges: Sequence[Array]
) -> tuple[Array, Array | None, Array]:
    """int8 weight and bias (as int32) in their product's units, with the weight's factor.

    Where the bias would be more than half of the largest int32 the weight is made smaller.
    """
    own = factor("int8", *ranges[2:4])
    if bias is None:
        return weight, None, np.array([own])
    bias_factor = factor("int8", *ranges[4:6])
    rescale = np.float32(np.float32(scale * own) / bias_factor)
    with np.errstate(all="ignore"):
        most = np.float32(np.float32(INT32.max // 2) / magnitude(*ranges[4:6]) / bias_factor)
    if rescale > most:
        rescale = most
        smaller = np.float32(rescale * bias_factor / scale / own)
        weight, own = half_up(weight * smaller).astype(np.int8), np.float32(own * smaller)
    return weight, half_up(bias * rescale), np.array([own])


def require_one_scale(attrs: Attributes) -> None:
    """Refuse a calibrated range beside a float32 result, by both of which MXNet scales."""
    both = calibrated(attrs) is not None and bool(attrs.get("enable_float_output"))
    require(not both, "a calibrated range and a float32 result")


def half_up(values: Array) -> Array:
    """C's round: halves away from 0."""
    return np.asarray(np.sign(values) * np.floor(np.abs(values) + 0.5))


def is_unsigned(record: NNVMNode) -> bool:
    """Return whether a dense layer's result with this activation is uint8, which it is for leaky ReLU too."""
    kind = typed_attributes(record).get("act_type")
    if record.op == "Activation":
        return kind in ("relu", "sigmoid", "softrelu")
    return kind == "leaky" if record.op == "LeakyReLU" else True


def _heads(attrs: Attributes) -> int:
    """Return the heads, which the symbol inside has too."""
    heads = int(attrs["heads"])
    inside = [typed_attributes(record)["heads"] for record in attrs[RECORDS] if record.inputs]
    require(inside == [heads], f"heads {heads}, and {inside} in the symbol inside")
    return heads


def self_attention_scores(attrs: Attributes, joined: Array, *ranges: Array) -> Array | tuple[Array, ...]:
    """Q K^T / sqrt(d) of interleaved (T, N, heads * 3 * d), as (N * heads, T, T)."""
    heads = _heads(attrs)
    queries, keys = (heads_first(joined, heads, 3, part) for part in (0, 1))
    return product_of(attrs, queries, keys.swapaxes(1, 2), ranges * 2, 1 / np.sqrt(queries.shape[-1]))


def self_attention_values(
    attrs: Attributes, joined: Array, attention: Array, *ranges: Array
) -> Array | tuple[Array, ...]:
    """Attention (N * heads, T, T) times values of (T, N, heads * 3 * d), as (T, N, heads * d)."""
    heads = _heads(attrs)
    values = heads_first(joined, heads, 3, 2)
    found = product_of(attrs, attention, values, (*ranges[2:], *ranges[:2]), 1.0)
    result = found if isinstance(found, np.ndarray) else found[0]
    length, batch = joined.shape[:2]
    merged = np.asarray(result.reshape(batch, heads, length, -1).transpose(2, 0, 1, 3).reshape(length, batch, -1))
    return merged if isinstance(found, np.ndarray) else (merged, *found[1:])


def fused_batch_dot(attrs: Attributes, left: Array, right: Array, *ranges: Array) -> Array | tuple[Array, ...]:
    """Return a batch of matrix products, quantized where the attributes say so."""
    require(left.ndim >= 3 and right.ndim >= 3, f"{left.shape} and {right.shape}, expected 3 axes or more")
    first = left.swapaxes(-1, -2) if attrs.get("transpose_a") else left
    second = right.swapaxes(-1, -2) if attrs.get("transpose_b") else right
    return product_of(attrs, first, second, ranges, 1.0)


def product_of(
    attrs: Attributes, left: Array, right: Array, ranges: Sequence[Array], scale: float
) -> Array | tuple[Array, ...]:
    """Return a scaled batch of matrix products, quantized where the attributes say so."""
    if not attrs.get("quantized"):
        require(left.dtype == right.dtype == np.float32, f"{left.dtype} and {right.dtype}, expected float32")
        return np.asarray(np.matmul(left * np.float32(scale), right))
    require_bytes(left)
    require_one_scale(attrs)
    require(right.dtype == np.int8, f"queries, keys and values of {right.dtype}, expected int8")
    total = np.matmul(left.astype(np.int64), right.astype(np.int64))
    both = np.float32(factor(left.dtype, *ranges[:2]) * factor("int8", *ranges[2:]))
    result = calibrated(attrs)
    if attrs.get("enable_float_output"):
        return np.asarray(total.astype(np.float32) * np.float32(np.float32(scale) / both))
    if result is None:
        require(scale == 1.0, "scores of int32: MXNet gives them the range 0")
        return (total.astype(np.int32), *product_ends(product_step(str(left.dtype), "int8", tuple(ranges))))
    wanted = np.float32(factor("int8", *result) / both * np.float32(scale))
    return (saturated(total.astype(np.float32) * wanted, "int8"), *ends(*result))


OPERATORS: Mapping[str, Reference] = {
    "_sg_mkldnn_conv": fused_convolution,
    "_sg_mkldnn_fully_connected": fused_fully_connected,
    "_sg_mkldnn_selfatt_qk": self_attention_scores,
    "_sg_onednn_batch_dot": fused_batch_dot,
    "_sg_mkldnn_selfatt_valatt": self_attention_values,
}
