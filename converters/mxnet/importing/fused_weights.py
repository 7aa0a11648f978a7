"""The weights of oneDNN's fused quantized layers: float32 in the file, made integers as MXNet makes them.

The batch normalization goes into weight and bias first. The factor from real to quantized numbers is one a filter where
the result's range is calibrated, else one for all; it is small enough for the bias to be at most half of an int32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.fused import Fused
from graphir.converters.mxnet.importing.ranges import SPANS, Known, apply, cut, held, known, single
from graphir.converters.mxnet.importing.ranges import stored as stored_value
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.graph import Value
from graphir.ops.elementwise import Abs, Add, Clip, Div, Max, Min, Mul, Round, Sqrt, Sub
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Reshape
from graphir.structure.record import record
from graphir.types import UNKNOWN, DType

HALF_OF_INT32 = 1073741824.0
# A filter of zeros has no extent: any factor gives zeros.
LARGEST_FACTOR = 2.0**120


@record
class Weights:
    """The integers; one step a filter, or one for all; the bias as int32; the reach and the factor of one for all."""

    integers: Value
    step: Known
    bias: Known | None
    reach: Known
    factor: Known


def layer_weights(node: ImportNode, fused: Fused, data_factor: Known, *, whole: bool) -> Weights:
    """The weights for data of this factor; with `whole` one factor for all filters."""
    attrs: Any = typed_attributes(fused.layer)
    filters = attrs.get("num_filter") or attrs.get("num_hidden")
    shape = (filters, UNKNOWN, *(attrs.get("kernel") or ()))
    stored: Known = known(node.shaped(1, shape, stated=shape))
    bias = None if fused.operands < 3 else known(node.shaped(2, (filters,), stated=(filters,)))
    axes = len(shape) - 1
    weight = stored
    if fused.normalization is not None:
        slope, bias = _fold_normalization(node, fused, bias)
        weight = apply(node, Mul(), stored, _along(node, slope, axes))
    reach = _reach(node, weight, axes, whole)
    factor = apply(node, Min(), apply(node, Div(), single(SPANS[DType.INT8]), reach), single(LARGEST_FACTOR))
    if bias is not None and not whole:
        size = apply(node, Max(), apply(node, Abs(), bias), single(2.0**-100))
        limit = apply(node, Div(), apply(node, Div(), single(HALF_OF_INT32), size), data_factor)
        factor = apply(node, Min(), factor, limit)
    used = factor if whole else _of_groups(node, factor, attrs.get("num_group") or 1, filters)
    integers = _bytes(node, apply(node, Mul(), weight, _along(node, used, 0 if whole else axes)))
    integers = stored_value(node, integers, DType.INT8, node.input(1))
    if integers.producer is None:
        states = 4 if fused.normalization is not None else 0
        made_of = (node.input(slot) for slot in range(1, fused.operands + states))
        integers.sources = tuple(dict.fromkeys(name for value in made_of for name in value.sources))
    if bias is not None:
        bias = cut(node, apply(node, Mul(), bias, apply(node, Mul(), factor, data_factor)), rounded=True)
    step = apply(node, Div(), single(1.0), factor)
    return Weights(integers, step, bias, reach, apply(node, Mul(), factor, data_factor))


def _fold_normalization(node: ImportNode, fused: Fused, bias: Known | None) -> tuple[Known, Known]:
    """Return the factor that a batch normalization multiplies the weight by, and the bias with it."""
    assert fused.normalization is not None
    attrs: Any = typed_attributes(fused.normalization)
    gamma, beta, mean, var = (known(node.input(fused.operands + slot)) for slot in range(4))
    if isinstance(var, Value):
        deviation = apply(node, Sqrt(), apply(node, Add(), var, single(attrs["eps"])))
    else:
        deviation = np.sqrt(var.astype(np.float64) + attrs["eps"])
    scale = single(1.0) if attrs["fix_gamma"] else gamma
    if isinstance(scale, Value) or isinstance(deviation, Value):
        slope = apply(node, Div(), scale, deviation)
    else:
        slope = np.asarray(scale / deviation, np.float32)
    inside = mean if bias is None else apply(node, Sub(), mean, bias)
    return slope, apply(node, Sub(), beta, apply(node, Mul(), slope, inside))


def _reach(node: ImportNode, weight: Known, axes: int, whole: bool) -> Known:
    """The largest magnitude of each filter, or of all."""
    if not isinstance(weight, Value):
        return np.asarray(np.abs(weight).max(axis=None if whole else tuple(range(1, axes + 1))))
    sizes = node.step(Abs(), weight, suffix="magnitudes")
    if whole:
        return node.step(ReduceMax(keepdims=False), sizes, suffix="reach")
    return node.step(ReduceMax(keepdims=False), sizes, node.vector(range(1, axes + 1)), suffix="reach")


def _of_groups(node: ImportNode, factor: Known, groups: int, filters: int) -> Known:
    """The factors that MXNet multiplies the filters by: those of groups are taken from the first filters in turn."""
    if groups in (1, filters) or isinstance(factor, Value):
        if isinstance(factor, Value) and groups not in (1, filters):
            node.refuse("the weights of a convolution in groups must be known to be quantized")
        return factor
    return np.repeat(np.broadcast_to(factor, (filters,))[:groups], filters // groups)


def _along(node: ImportNode, vector: Known, behind: int) -> Known:
    """A vector along an axis with so many behind it."""
    if not behind:
        return vector
    if isinstance(vector, Value):
        return node.step(Reshape(), vector, node.vector([-1, *(1,) * behind]), suffix="filters")
    return vector.reshape(-1, *(1,) * behind)


def _bytes(node: ImportNode, numbers: Known) -> Known:
    """Rounded to the nearest even int8, limited."""
    if not isinstance(numbers, Value):
        return np.clip(np.rint(numbers), -128, 127).astype(np.int8)
    limits = (held(node, single(-128.0)), held(node, single(127.0)))
    return node.cast(node.step(Clip(), node.step(Round(), numbers), *limits), DType.INT8, suffix="int8")
