"""Lookups by index, and the operators on padded sequences.

MXNet's indices are of any dtype and are cut to integers; what lies outside an axis is moved inside it (clip), wrapped
around, or an error, as `mode` says. ONNX wants int64 inside the axis, so these steps are spelled out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import axis_size, static_shape, static_size
from graphir.decisions import DecisionKind
from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.ops.base import normalize_axis
from graphir.ops.creation import ConstantOfShape, Range
from graphir.ops.elementwise import Cast, Clip, Equal, Less, Mod, Sub, Where
from graphir.ops.indexing import Gather, GatherElements, GatherND, ScatterND
from graphir.ops.shape import Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, ReverseSequence, Slice
from graphir.types import UNKNOWN, DType, TensorType, unify_shape


def _inside(node: ImportNode, indices: Value, data: Value, axis: int, mode: str) -> Value:
    """Return the indices as int64 on an axis of the data."""
    result = node.cast(indices, DType.INT64)
    if mode == "raise":
        told = "raise: onnxruntime fails too on an index outside the axis, but counts one below 0 from the end"
        node.decide(DecisionKind.INDEX_MODE, told)
        return result
    size = static_size(data, axis)
    if mode == "wrap":
        return node.step(Mod(), result, axis_size(node, data, axis))
    if size is not None:
        last = node.constant(size - 1, DType.INT64)
    else:
        last = node.step(Sub(), axis_size(node, data, axis), node.constant(1, DType.INT64), suffix="last")
    return node.step(Clip(), result, node.constant(0, DType.INT64), last)


def import_embedding(node: ImportNode) -> Value:
    """Rows of the weight (input_dim, output_dim); indices outside are limited to the table."""
    data = node.input(0)
    size = (node.attrs["input_dim"], node.attrs["output_dim"])
    weight = node.shaped(1, size, stated=size)
    if weight.dtype is None:
        node.graph.refine(weight, TensorType(DType.of(node.attrs["dtype"])))
    return node.emit(Gather(), weight, _inside(node, data, weight, 0, "clip"))


def import_take(node: ImportNode) -> Value:
    """Slices of data along an axis, one an index."""
    data, axis = node.input(0), node.attrs["axis"]
    if data.rank is not None:
        axis = normalize_axis(axis, data.rank)
    indices = _inside(node, node.input(1), data, axis, node.attrs["mode"])
    return node.emit(Gather(axis), data, indices)


def import_batch_take(node: ImportNode) -> Value:
    """data[i, indices[i]] of a matrix."""
    data, indices = node.input(0), node.input(1)
    rows, picked = static_shape(data), static_shape(indices)
    if rows is not None and picked is not None and math.prod(picked) != rows[0]:
        node.refuse(f"{math.prod(picked)} indices for {rows[0]} rows, expected one for each")
    column = node.step(Unsqueeze(), _inside(node, indices, data, 1, "clip"), node.vector([1]))
    if node.rank(indices) != 1:
        column = node.step(Reshape(), _inside(node, indices, data, 1, "clip"), node.vector([-1, 1]), suffix="column")
        result = node.step(GatherElements(1), data, column)
        return node.emit(Reshape(), result, node.step(Shape(), indices))
    return node.emit(Squeeze(), node.step(GatherElements(1), data, column), node.vector([1]))


def import_pick(node: ImportNode) -> Value:
    """Return one element of each slice along an axis; axis None picks from the flattened data."""
    data, indices, axis = node.input(0), node.input(1), node.attrs["axis"]
    mode = node.attrs["mode"]
    if axis is None:
        flat = node.step(Reshape(), data, node.vector([-1]), suffix="flat")
        return node.emit(Gather(), flat, _inside(node, indices, flat, 0, mode))
    rank = node.rank(data)
    axis = normalize_axis(axis, rank)
    sizes = node.shape(data)  # MXNet infers the indices from them too
    middle = (1,) if indices.rank == rank else ()
    node.graph.refine(indices, TensorType(None, (*sizes[:axis], *middle, *sizes[axis + 1 :])))
    chosen = _inside(node, indices, data, axis, mode)
    kept = tuple(1 if index == axis else size for index, size in enumerate(node.shape(data)))
    if node.rank(indices) == rank:
        unify_shape(indices.shape, kept)
    else:
        unify_shape(indices.shape, (*kept[:axis], *kept[axis + 1 :]))
        chosen = node.step(Unsqueeze(), chosen, node.vector([axis]))
    if node.attrs["keepdims"] or rank == 1:  # a vector's one element stays a vector
        return node.emit(GatherElements(axis), data, chosen)
    return node.emit(Squeeze(), node.step(GatherElements(axis), data, chosen), node.vector([axis]))


def _vectors(node: ImportNode, indices: Value) -> Value:
    """MXNet's index vectors lie along the first axis, ONNX's along the last."""
    rank = node.rank(indices)
    return indices if rank == 1 else node.step(Transpose((*range(1, rank), 0)), indices)


def import_gather_nd(node: ImportNode) -> Value:
    """data[indices[0], ..., indices[m - 1]]; negative indices count from the end, as in ONNX."""
    data, indices = node.input(0), node.input(1)
    count = static_size(indices, 0)
    if count is not None and data.rank is not None and count > data.rank:
        node.refuse(f"{count} indices for data {data.type}")
    return node.emit(GatherND(), data, _vectors(node, node.cast(indices, DType.INT64)))


def import_scatter_nd(node: ImportNode) -> Value:
    """Zeros of `shape` with data written at indices."""
    data, indices = node.input(0), node.input(1)
    op, shape = ConstantOfShape(0.0, data.dtype or DType.FLOAT32), node.vector(node.attrs["shape"])
    if 0 in node.attrs["shape"]:  # there is nothing to write to, and onnxruntime refuses indices of it
        return node.emit(op, shape)
    zeros = node.step(op, shape)
    return node.emit(ScatterND(), zeros, _vectors(node, node.cast(indices, DType.INT64)), data)


def import_one_hot(node: ImportNode) -> Value:
    """Return a new last axis of `depth`: on_value at the index.

    ONNX's OneHot would count negative indices from the end; in MXNet they hit nothing.
    """
    attrs = node.attrs
    dtype = DType.of(attrs["dtype"])
    apart = node.step(Unsqueeze(), node.cast(node.input(0), DType.INT64), node.vector([-1]))
    hit = node.step(Equal(), apart, node.vector(range(attrs["depth"])))
    if attrs["on_value"] == 1 and attrs["off_value"] == 0:
        return node.emit(Cast(dtype), hit)
    on, off = (node.constant(attrs[key], dtype) for key in ("on_value", "off_value"))
    return node.emit(Where(), hit, on, off)


def _sequence_axis(node: ImportNode, data: Value) -> int:
    axis = node.attrs["axis"]
    rank = node.rank(data)
    if axis not in (0, 1) or rank < 2:
        node.refuse(f"axis {axis} of {data.type}, expected 0 or 1 of at least two axes")
    return int(axis)


def _lengths(node: ImportNode, data: Value, batch_axis: int) -> Value:
    """sequence_length (batch) as int64."""
    shape = node.shape(data)
    if batch_axis >= len(shape):
        raise ShapeError(f"{data.name} is {data.type}, expected at least two axes")
    size = shape[batch_axis]
    node.shaped(1, (size if isinstance(size, int) else UNKNOWN,))
    return node.cast(node.input(1), DType.INT64)


def _unsqueezed(node: ImportNode, value: Value, axes: Sequence[int]) -> Value:
    return node.step(Unsqueeze(), value, node.vector(axes)) if axes else value


def import_sequence_mask(node: ImportNode) -> Value:
    """`value` wherever the position is not before the sequence's length."""
    data = node.input(0)
    if not node.attrs["use_sequence_length"]:
        return data
    axis = _sequence_axis(node, data)
    rank = node.rank(data)
    lengths = _lengths(node, data, 1 - axis)
    steps = static_size(data, axis)
    if steps is not None:
        shape = [-1] + [1] * (rank - 1 - axis)
        numbers = node.vector(range(steps)).tensor
        assert numbers is not None
        positions = node.constant(numbers.numpy().reshape(shape))
    else:
        zero, one = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
        positions = node.step(Range(), zero, axis_size(node, data, axis), one, suffix="positions")
        positions = _unsqueezed(node, positions, range(1, rank - axis))
    lengths = _unsqueezed(node, lengths, range(1, rank - 1 + axis))
    inside = node.step(Less(), positions, lengths)
    return node.emit(Where(), inside, data, node.scalar_like(data, node.attrs["value"]))


def import_sequence_last(node: ImportNode) -> Value:
    """Return the last element of each sequence."""
    data = node.input(0)
    axis = _sequence_axis(node, data)
    if not node.attrs["use_sequence_length"]:
        return node.emit(Gather(axis), data, node.constant(-1, DType.INT64))
    last = node.step(Sub(), _lengths(node, data, 1 - axis), node.constant(1, DType.INT64), suffix="last")
    indices = node.step(Unsqueeze(), last, node.vector([1]))
    if axis == 0:
        data = node.step(Transpose((1, 0, *range(2, node.rank(data)))), data)
    return node.emit(GatherND(1), data, indices)


def import_sequence_reverse(node: ImportNode) -> Value:
    """Return each sequence of (T, N, ...) reversed up to its length; what follows stays."""
    data = node.input(0)
    if node.attrs["axis"] != 0:
        node.refuse(f"axis {node.attrs['axis']}; MXNet reverses along axis 0 only")
    if not node.attrs["use_sequence_length"]:
        back = node.vector([-1])
        return node.emit(Slice(), data, back, node.vector([-BEYOND]), node.vector([0]), back)
    return node.emit(ReverseSequence(), data, _lengths(node, data, 1))


IMPORTS: dict[str, ImportFunction] = {
    "Embedding": import_embedding,
    "take": import_take,
    "batch_take": import_batch_take,
    "pick": import_pick,
    "gather_nd": import_gather_nd,
    "scatter_nd": import_scatter_nd,
    "one_hot": import_one_hot,
    "SequenceMask": import_sequence_mask,
    "SequenceLast": import_sequence_last,
    "SequenceReverse": import_sequence_reverse,
}
