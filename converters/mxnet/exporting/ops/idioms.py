"""Several operators of a graph that MXNet has one for, found from the last of them.

An idiom says whether it wrote its node. What was written for the operators before it is left out where nothing else
uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.shape import Reshape, Shape, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Slice
from graphir.types import DType

Idiom = Callable[[ExportNode[Any]], bool]
DTYPES = (
    *(DType.FLOAT16, DType.FLOAT32, DType.FLOAT64),
    *(DType.UINT8, DType.INT8, DType.INT32, DType.INT64),
)


def unconverted(value: Value) -> Value:
    """Indices and lengths before they were converted to int64, which MXNet does itself."""
    convert = value.producer
    if convert is None or not isinstance(convert.op, ew.Cast) or value.dtype is not DType.INT64:
        return value
    inner = convert.inputs[0]
    return value if inner is None or inner.dtype is DType.BOOL else inner


def _unsqueezed(value: Value | None) -> tuple[Value, tuple[int, ...]] | None:
    """Return what got new axes, and where they are in the result."""
    result = None if value is None else value.producer
    if value is None or result is None or not isinstance(result.op, Unsqueeze) or value.rank is None:
        return None
    source, indices = result.inputs[0], result.integers(1)
    if source is None or indices is None:
        return None
    return source, tuple(index % value.rank for index in indices)


def _numbers(value: Value | None) -> np.ndarray[Any, Any] | None:
    """Return the elements of a small integer constant."""
    if value is None or value.tensor is None or value.tensor.size > 1 << 16 or not value.tensor.dtype.is_integer:
        return None
    return value.tensor.numpy()


def _hot(value: Value) -> tuple[Value, int] | None:
    """Indices, and the depth of the last axis on which a truth says where they are."""
    equal = value.producer
    if equal is None or not isinstance(equal.op, ew.Equal):
        return None
    result, numbers = _unsqueezed(equal.inputs[0]), _numbers(equal.inputs[1])
    if result is None or numbers is None or numbers.ndim != 1 or not numbers.size:
        return None
    indices, axes = result
    if indices.rank is None or axes != (indices.rank,) or not np.array_equal(numbers, np.arange(numbers.size)):
        return None
    if indices.rank == 0 or indices.dtype is None or not indices.dtype.is_integer:
        return None
    return unconverted(indices), numbers.size


def one_hot_of_truths(node: ExportNode[ew.Cast]) -> bool:
    """Cast of a comparison of indices with all places."""
    result = _hot(node.input(0))
    if result is None or node.op.to not in DTYPES:
        return False
    indices, depth = result
    dtype = None if node.op.to is DType.FLOAT32 else node.op.to.value
    node.emit("one_hot", _index_entry(node, indices), depth=depth, dtype=dtype)
    return True


def one_hot_of_choice(node: AnyNode) -> bool:
    """Where between two numbers, by a comparison of indices with all places."""
    result = _hot(node.input(0))
    on, off, dtype = node.number(1), node.number(2), node.input(1).dtype
    if result is None or on is None or off is None or dtype not in DTYPES or dtype is None:
        return False
    if max(node.input(1).rank or 0, node.input(2).rank or 0) > 1:
        return False
    indices, depth = result
    kind = None if dtype is DType.FLOAT32 else dtype.value
    node.emit("one_hot", _index_entry(node, indices), depth=depth, on_value=on, off_value=off, dtype=kind)
    return True


def _index_entry(node: AnyNode, value: Value) -> Entry:
    """Return the entry of indices in whatever dtype carries them."""
    return node.export.raw(value)


def _line(array: np.ndarray[Any, Any], rank: int) -> int | None:
    """Return the axis, of `rank` axes that end alike, on which the array counts from 0; None if it does not."""
    if array.size != max(array.shape, default=0) or not np.array_equal(array.reshape(-1), np.arange(array.size)):
        return None
    return rank - array.ndim + int(np.argmax(array.shape))


def sequence_mask(node: AnyNode) -> bool:
    """Where between data and a number, by a comparison of positions with lengths."""
    data, number, less = node.input(1), node.number(2), node.input(0).producer
    if less is None or not isinstance(less.op, ew.Less) or number is None or data.shape is None:
        return False
    if node.result.shape != data.shape or data.dtype not in DTYPES:
        return False
    rank, positions, lengths = len(data.shape), _numbers(less.inputs[0]), less.inputs[1]
    if positions is None or lengths is None or positions.size < 2 or positions.ndim > rank:
        return False
    result = _unsqueezed(lengths)
    vector, behind = (lengths, 0) if result is None else (result[0], len(result[1]))
    if vector.rank != 1 or (result is not None and result[1] != tuple(range(1, behind + 1))):
        return False
    axis, batch = _line(positions, rank), rank - 1 - behind
    if axis is None or {axis, batch} != {0, 1} or positions.size != data.shape[axis]:
        return False
    if vector.shape is None or vector.shape[0] != data.shape[batch] or vector.dtype is DType.BOOL:
        return False
    given = unconverted(vector)
    entry = node.export.raw(given)
    if node.export.carried(given) is DType.INT64:
        entry = node.export.cast(entry, DType.INT32)
    attributes: dict[str, Any] = {"axis": axis or None, "value": number or None}
    node.emit("SequenceMask", node.entry(1), entry, use_sequence_length=True, **attributes)
    return True


def reversed_axes(node: AnyNode) -> bool:
    """Slice that goes backwards over whole axes."""
    value = node.input(0)
    known = [node.node.integers(slot) for slot in range(1, 5)]
    if None in known or value.shape is None:
        return False
    starts, ends, axes, steps = (numbers for numbers in known if numbers is not None)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = value.shape[axis]
        last = start == -1 or (isinstance(size, int) and start >= size - 1)
        first = end <= -BEYOND or (isinstance(size, int) and end < -size)
        if step != -1 or not last or not first:
            return False
    indices = tuple(axis % len(value.shape) for axis in axes)
    stored = node.export.carried(value)
    node.emit("reverse", node.export.raw(value), axis=indices if len(indices) > 1 else indices[0], carried=stored)
    return True


def shape_of_another(node: AnyNode) -> bool:
    """Reshape to the whole shape of another tensor, of which more than one size is open."""
    value, wanted = node.input(0), node.input(1)
    source = wanted.producer
    if source is None or not isinstance(source.op, Shape) or source.op.start or source.op.end is not None:
        return False
    like, shape = source.inputs[0], value.shape or ()
    if like is None or wanted.known is None:
        return False
    sizes = enumerate(wanted.known.elements)
    if sum(not isinstance(size, int) and shape[axis : axis + 1] != (size,) for axis, size in sizes) < 2:
        return False
    stored = node.export.carried(value)
    node.emit("reshape_like", node.export.raw(value), node.export.raw(like), carried=stored)
    return True


IDIOMS: tuple[tuple[type[Operator], Idiom], ...] = (
    (ew.Cast, one_hot_of_truths),
    (ew.Where, one_hot_of_choice),
    (ew.Where, sequence_mask),
    (Slice, reversed_axes),
    (Reshape, shape_of_another),
)
