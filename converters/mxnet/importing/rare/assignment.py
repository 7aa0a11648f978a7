"""Operators that write into a copy of a tensor: slices, rows and places assigned, and the arithmetic of places."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.kernel.importing import direct
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import Entry, axis_of, axis_size, shape_vector, static_shape, static_size
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import Range
from graphir.ops.indexing import Gather, ScatterND
from graphir.ops.shape import Expand, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Split
from graphir.types import UNKNOWN, Dim, DType, TensorType

# A size that no place reaches.
ENDLESS = 1 << 62


def _cuts(node: ImportNode, data: Value) -> dict[int, range]:
    """Return the places that begin, end and step choose, by axis, of those axes of which they do not choose all in
    order."""
    begin, end = node.attrs["begin"], node.attrs["end"]
    step = node.attrs["step"] or (None,) * len(begin)
    if not len(begin) == len(end) == len(step) or len(begin) > node.rank(data):
        node.refuse(f"begin {begin}, end {end} and step {step} for {data.type}")
    if 0 in step:
        node.refuse("step may not be 0")
    result = {}
    for axis, bounds in enumerate(zip(begin, end, step, strict=True)):
        if bounds[0] in (None, 0) and bounds[1] is None and bounds[2] in (None, 1):
            continue
        (size,) = node.sizes(data, [axis])
        node.charge(size, "the places of its slice")
        indices = range(size)[slice(*bounds)]
        if indices != range(size):
            result[axis] = indices
    return result


def _mask(node: ImportNode, data: Value, cuts: dict[int, range]) -> Value:
    """Where the slice is, broadcast over the axes of which it has all."""
    rank, masks = node.rank(data), []
    for axis, indices in cuts.items():
        hit = np.zeros(static_size(data, axis) or 0, bool)
        hit[list(indices)] = True
        masks.append(node.constant(hit.reshape(-1, *[1] * (rank - axis - 1)), DType.BOOL))
    result = masks[0]
    for mask in masks[1:]:
        result = node.step(ew.And(), result, mask, suffix="there")
    return result


def import_slice_assign(node: ImportNode) -> Value:
    """Return the first input with the second one in place of its slice."""
    data, new = node.input(0), node.input(1)
    cuts = _cuts(node, data)
    shape: list[Dim] = [UNKNOWN if axis in cuts else size for axis, size in enumerate(node.shape(data))]
    for axis, indices in cuts.items():
        shape[axis] = len(indices)
    node.graph.refine(new, TensorType(data.dtype, tuple(shape)))
    if not cuts:
        return node.emit(ew.Identity(), new)
    if any(len(indices) == 0 for indices in cuts.values()):
        return node.emit(ew.Identity(), data)
    for axis, indices in cuts.items():
        source = np.zeros(static_size(data, axis) or 0, np.int64)
        source[list(indices)] = np.arange(len(indices))
        new = node.step(Gather(axis), new, node.vector(source.tolist()))
    return node.emit(ew.Where(), _mask(node, data, cuts), new, data)


def import_slice_assign_scalar(node: ImportNode) -> Value:
    """Return the input with a number in place of its slice."""
    data = node.input(0)
    cuts = _cuts(node, data)
    if any(len(indices) == 0 for indices in cuts.values()) or data.rank == 0:
        return node.emit(ew.Identity(), data)
    number = node.scalar_like(data, node.attrs["scalar"])
    if cuts:
        return node.emit(ew.Where(), _mask(node, data, cuts), number, data)
    whole: list[Entry] = [axis_of(data, axis) for axis in range(node.rank(data))]
    return node.emit(Expand(), number, shape_vector(node, whole))


def _decide_places(node: ImportNode) -> None:
    text = "places are taken to be inside the tensor (MXNet writes beside it) and to come once, or the last one counts"
    node.decide(DecisionKind.INDEX_MODE, text)


def import_index_copy(node: ImportNode) -> Value:
    """Return the first input with rows of the third one at the places of the second."""
    data, indices, rows = node.take_inputs(3)
    count = static_size(indices, 0)
    if indices.rank not in (None, 1):
        node.refuse(f"the places are {indices.type}, expected a vector")
    node.graph.refine(rows, TensorType(data.dtype, (count or UNKNOWN, *node.shape(data)[1:])))
    _decide_places(node)
    column = node.step(Unsqueeze(), node.cast(indices, DType.INT64), node.vector([-1]))
    return node.emit(ScatterND(), data, column, rows)


def import_scatter_set_nd(node: ImportNode) -> Value:
    """Return the first input with elements of the second one at the places that the columns of the third one name."""
    data, new, indices = node.take_inputs(3)
    rank = node.rank(indices)
    if rank < 2:
        node.refuse(f"the indices are {indices.type}, expected two axes or more")
    node.graph.refine(data, TensorType(new.dtype, tuple(node.attrs["shape"])))
    _decide_places(node)
    vectors = node.step(Transpose((*range(1, rank), 0)), node.cast(indices, DType.INT64))
    return node.emit(ScatterND(), data, vectors, new)


def _dimensions(node: ImportNode) -> tuple[int, ...]:
    """Return the attribute `shape`, whose first entry means nothing."""
    sizes = node.attrs["shape"] or ()
    if not sizes or min(sizes[1:], default=1) < 1 or math.prod(sizes[1:]) >= ENDLESS:
        node.refuse(f"shape {sizes}, expected sizes of 1 or more")
    return tuple(sizes)


def import_unravel_index(node: ImportNode) -> Value:
    """Return the coordinates of places in a tensor of `shape`: (axes, places), divided as C divides integers."""
    data, sizes = node.input(0), _dimensions(node)
    if node.rank(data) != 1:
        node.refuse(f"{data.type}, expected a vector: of others MXNet fills a part of the result only")
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    indices = node.step(Unsqueeze(), node.cast(data, DType.INT64), node.vector([0]))
    result = node.step(ew.Div(), indices, node.constant([[stride] for stride in strides], DType.INT64))
    limits = node.constant([[size] for size in (ENDLESS, *sizes[1:])], DType.INT64)
    result = node.step(ew.Sub(), result, node.step(ew.Mul(), node.step(ew.Div(), result, limits), limits))
    return result if data.dtype is DType.INT64 else node.emit(ew.Cast(data.dtype or DType.FLOAT32), result)


def import_ravel_multi_index(node: ImportNode) -> Value:
    """Return the places in a tensor of `shape` that the columns of a matrix are coordinates of.

    Of floats MXNet rounds each sum to the dtype, and then to an integer.
    """
    data, sizes = node.input(0), _dimensions(node)
    if node.rank(data) != 2 or static_size(data, 0) not in (None, len(sizes)):
        node.refuse(f"{data.type}, expected a matrix of {len(sizes)} rows")
    dtype = data.dtype or DType.FLOAT32
    if not dtype.is_float:
        data = node.cast(data, DType.INT64)
    parts = node.steps(Split(len(sizes), 0), data) if len(sizes) > 1 else (data,)
    rows = [node.step(Squeeze(), part, node.vector([0])) for part in parts]
    total = node.cast(rows[0], DType.INT64)
    for row, size in zip(rows[1:], sizes[1:], strict=True):
        total = node.step(ew.Mul(), total, node.constant(size, DType.INT64))
        if dtype.is_float:
            total = node.cast(node.step(ew.Add(), node.cast(total, dtype), row), DType.INT64)
        else:
            total = node.step(ew.Add(), total, row)
    return total if dtype is DType.INT64 else node.emit(ew.Cast(dtype), total)


def import_index_array(node: ImportNode) -> Value:
    """For each element its coordinates, of all axes or those named: (*shape, how many)."""
    data, stated = node.input(0), node.attrs["axes"]
    rank = node.rank(data)
    axes = list(range(rank)) if stated is None else [node.axis(axis, rank) for axis in stated]
    shape = static_shape(data)
    if shape is not None or not axes:
        sizes = node.sizes(data)
        node.charge(len(axes) * math.prod(sizes), "its coordinates")
        result = np.indices(sizes).reshape(rank, *sizes)[axes]
        return node.graph.constant(np.moveaxis(result, 0, -1).astype(np.int64), name=node.output_names[0])
    zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
    whole = shape_vector(node, [*(axis_of(data, axis) for axis in range(rank)), 1])
    parts = []
    for axis in axes:
        indices = node.step(Range(), zero, axis_size(node, data, axis), one)
        column = node.step(Unsqueeze(), indices, node.vector(range(1, rank - axis + 1)))
        parts.append(node.step(Expand(), column, whole))
    return parts[0] if len(parts) == 1 else node.emit(Concat(rank), *parts)


IMPORTS: dict[str, ImportFunction] = {
    "_CrossDeviceCopy": direct(ew.Identity),
    "_contrib_index_array": import_index_array,
    "_contrib_index_copy": import_index_copy,
    "_ravel_multi_index": import_ravel_multi_index,
    "_scatter_set_nd": import_scatter_set_nd,
    "_slice_assign": import_slice_assign,
    "_slice_assign_scalar": import_slice_assign_scalar,
    "_unravel_index": import_unravel_index,
}
