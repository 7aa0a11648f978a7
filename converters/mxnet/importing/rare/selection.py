"""Operators whose results have as many elements as the values say, and _npi_delete."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.sizes import axis_size, static_size
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import ConstantOfShape
from graphir.ops.indexing import Compress, Gather, NonZero, ScatterND, Unique
from graphir.ops.shape import Expand, Reshape, Shape, Transpose, Unsqueeze
from graphir.ops.shape_parts import BEYOND, Concat, Slice
from graphir.types import DType, TensorType

# The dtypes in which onnxruntime compares for Unique.
COMPARED = {DType.INT32: DType.INT64, DType.UINT8: DType.INT64, DType.FLOAT16: DType.FLOAT32}


def import_nonzero(node: ImportNode) -> Value:
    """Return the places of the elements that are not 0, one a row; a tensor without axes is a vector of one."""
    data = node.input(0)
    if node.rank(data) == 0:
        data = node.step(Unsqueeze(), data, node.vector([0]))
    return node.emit(Transpose((1, 0)), node.step(NonZero(), node.cast(data, DType.BOOL)))


def import_boolean_mask(node: ImportNode) -> Value:
    """Return the rows of data at which the vector `index` is not 0."""
    data, mask = node.input(0), node.input(1)
    if node.attrs["axis"] != 0:
        node.refuse(f"axis {node.attrs['axis']}: MXNet takes 0 only")
    node.graph.refine(mask, TensorType(None, (node.shape(data)[0],)))
    return node.emit(Compress(0), data, node.cast(mask, DType.BOOL))


def import_unique(node: ImportNode) -> Sequence[Value]:
    """Return the different elements, or slices along an axis, in order; then, as far as they are asked for, where each
    comes first, which one each of the data is, and how often each comes."""
    data, axis, dtype = node.input(0), node.attrs["axis"], node.input(0).dtype or DType.FLOAT32
    if axis is not None:
        axis = node.axis(axis, node.rank(data))
    elif node.rank(data) == 0:
        data = node.step(Unsqueeze(), data, node.vector([0]))
    wide = COMPARED.get(dtype)
    operand = data if wide is None else node.cast(data, wide, suffix="compared")
    result, *others = node.steps(Unique(axis), operand)
    if wide is not None:
        result = node.cast(result, dtype, suffix="found")
    flags = ("return_index", "return_inverse", "return_counts")
    return [result, *(value for flag, value in zip(flags, others, strict=True) if node.attrs[flag])]


def import_delete(node: ImportNode) -> Value:
    """Return the data without the places that a number, a slice or a tensor names, along an axis or of the flattened
    data."""
    data, attrs = node.input(0), node.attrs
    axis = attrs["axis"]
    if axis is None:
        data, axis = node.step(Reshape(), data, node.vector([-1]), suffix="flat"), 0
    else:
        axis = node.axis(axis, node.rank(data))
    if attrs["step"] is None and attrs["int_ind"] is not None:
        return _without_one(node, data, axis, attrs["int_ind"])
    if attrs["step"] is None:
        return _without_those(node, data, axis, node.input(1))
    if attrs["step"] == 0:
        node.refuse("step may not be 0")
    (size,) = node.sizes(data, [axis])
    node.charge(size, "the places of its slice")
    gone = set(range(size)[slice(attrs["start"], attrs["stop"], attrs["step"])])
    kept = [index for index in range(size) if index not in gone]
    if not gone:
        return node.emit(ew.Identity(), data)
    if not kept:
        return node.emit(Slice(), data, node.vector([0]), node.vector([0]), node.vector([axis]))
    return node.emit(Gather(axis), data, node.vector(kept))


def _without_one(node: ImportNode, data: Value, axis: int, place: int) -> Value:
    size = static_size(data, axis)
    if size is not None and not -size <= place < size:
        node.refuse(f"place {place} is outside an axis of {size}")
    axes = node.vector([axis])
    before = node.step(Slice(), data, node.vector([0]), node.vector([place]), axes)
    if place == -1:
        return before
    behind = node.step(Slice(), data, node.vector([place + 1]), node.vector([BEYOND]), axes)
    return behind if place == 0 else node.step(Concat(axis), before, behind)


def _without_those(node: ImportNode, data: Value, axis: int, places: Value) -> Value:
    """Places below 0 and beyond the end delete nothing: they mark one behind the last instead."""
    flat = places if node.rank(places) == 1 else node.step(Reshape(), places, node.vector([-1]), suffix="places")
    size = axis_size(node, data, axis)
    whole = node.cast(flat, DType.INT64)
    beyond = node.step(ew.Or(), node.step(ew.Less(), flat, node.scalar_like(flat, 0)),
                       node.step(ew.Not(), node.step(ew.Less(), whole, size)))  # fmt: skip
    column = node.step(Unsqueeze(), node.step(ew.Where(), beyond, size, whole), node.vector([1]))
    count = node.step(Unsqueeze(), node.step(ew.Add(), size, node.constant(1, DType.INT64)), node.vector([0]))
    every = node.step(ConstantOfShape(1.0, DType.INT64), count)
    gone = node.step(Expand(), node.constant(0, DType.INT64), node.step(Shape(), flat))
    marks = node.step(ScatterND(), every, column, gone)
    inside = node.step(Slice(), marks, node.vector([0]), node.vector([-1]), node.vector([0]))
    return node.emit(Compress(axis), data, node.cast(inside, DType.BOOL))


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_boolean_mask": import_boolean_mask,
    "_npi_delete": import_delete,
    "_npi_unique": import_unique,
    "_npx_nonzero": import_nonzero,
}
