"""Attention in a sliding window (Longformer's), which MXNet has since 2.0.

For each place the window holds W places, `dilation` of the head apart: w before it, itself and, where it is symmetric,
w behind it. Places outside the sequence give 0.
"""

from __future__ import annotations

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype
from graphir.converters.mxnet.importing.sizes import axis_size
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import Range
from graphir.ops.indexing import GatherND
from graphir.ops.linear import Einsum
from graphir.ops.shape import Transpose, Unsqueeze
from graphir.types import UNKNOWN, DType, TensorType

SINGLE = DType.FLOAT32


def _floats(node: ImportNode, slot: int) -> Value:
    value = node.input(slot)
    node.graph.refine(value, TensorType(None, (UNKNOWN,) * 4))
    if value.dtype not in (None, SINGLE):
        node.refuse(f"{value.name} is {value.dtype}; MXNet takes float32 only")
    return value


def _numbers(node: ImportNode, slot: int) -> Value:
    value = node.input(slot)
    node.graph.refine(value, TensorType(None, (UNKNOWN,)))
    if value.dtype not in (None, DType.INT32):
        node.refuse(f"{value.name} is {value.dtype}; MXNet takes int32 only")
    return as_dtype(node, value, DType.INT64)


def _places(node: ImportNode, length: Value, dilation: Value) -> tuple[Value, Value]:
    """Return the places (heads, length, W) of the windows, and the places (length, 1) that they are of."""
    width = node.attrs["w"]
    if width < 0:
        node.refuse(f"w {width}")
    steps = node.constant(np.arange(-width, width + 1 if node.attrs["symmetric"] else 1, dtype=np.int64))
    apart = node.step(Unsqueeze(), dilation, node.vector([1, 2]), suffix="dilation")
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    own = node.step(Unsqueeze(), node.step(Range(), zero, length, one), node.vector([1]), suffix="own")
    return node.step(ew.Add(), own, node.step(ew.Mul(), apart, steps), suffix="places"), own


def _inside(node: ImportNode, places: Value, length: Value) -> Value:
    zero = node.constant(0, DType.INT64)
    low = node.step(ew.GreaterOrEqual(), places, zero)
    return node.step(ew.And(), low, node.step(ew.Less(), places, length), suffix="inside")


def _windows(node: ImportNode, value: Value, dilation: Value) -> Value:
    """(N, length, heads, d) as (heads, length, W, N, d), 0 outside the sequence."""
    length = axis_size(node, value, 1)
    indices, _ = _places(node, length, dilation)
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    last = node.step(ew.Sub(), length, one, suffix="last")
    limited = node.step(ew.Min(), node.step(ew.Max(), indices, zero), last, suffix="limited")
    by_head = node.step(Transpose((2, 1, 0, 3)), value, suffix="by_head")
    index = node.step(Unsqueeze(), limited, node.vector([-1]), suffix="index")
    result = node.step(GatherND(batch_dims=1), by_head, index, suffix="windows")
    inside = node.step(Unsqueeze(), _inside(node, indices, length), node.vector([-2, -1]), suffix="is_inside")
    return node.step(ew.Where(), inside, result, node.constant(0.0, SINGLE), suffix="known")


def import_score(node: ImportNode) -> Value:
    """Return the products (N, length, heads, W) of each query with the keys in its window."""
    query, key = _floats(node, 0), _floats(node, 1)
    windows = _windows(node, key, _numbers(node, 2))
    return node.emit(Einsum("nlhd,hlwnd->nlhw"), query, windows)


def import_context(node: ImportNode) -> Value:
    """Return the sums (N, length, heads, d) of the values in each window, weighted by the scores."""
    score, value = _floats(node, 0), _floats(node, 1)
    windows = _windows(node, value, _numbers(node, 2))
    return node.emit(Einsum("nlhw,hlwnd->nlhd"), score, windows)


def import_mask_like(node: ImportNode) -> Value:
    """1 where a place and the one in its window are both below the valid length, else 0, in the shape of the scores."""
    score, dilation, valid = _floats(node, 0), _numbers(node, 1), _numbers(node, 2)
    indices, own = _places(node, axis_size(node, score, 1), dilation)
    limit = node.step(Unsqueeze(), valid, node.vector([1, 2, 3]), suffix="limit")
    stored = _inside(node, indices, limit)
    both = node.step(ew.And(), stored, node.step(ew.Less(), own, limit), suffix="both")
    ordered = node.step(Transpose((0, 2, 1, 3)), both, suffix="ordered")
    return node.emit(ew.Cast(SINGLE), ordered)


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_sldwin_atten_context": import_context,
    "_contrib_sldwin_atten_mask_like": import_mask_like,
    "_contrib_sldwin_atten_score": import_score,
}
