"""Operators of MXNet's NumPy-style interface that join tensors and take them apart along axes of their own choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.numpy_shape import new_axes, of_one_axis, of_three_axes, of_two_axes
from graphir.converters.mxnet.importing.ops.shape_parts import import_stack, split
from graphir.graph import Value
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat


def _joined(node: ImportNode, values: Sequence[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else node.emit(Concat(axis), *values)


def import_concatenate(node: ImportNode) -> Value:
    """The inputs joined along `axis`; without it their elements in one vector."""
    axis = node.attrs["axis"]
    if axis is None:
        flat = [node.step(Reshape(), value, node.vector([-1]), suffix="flat") for value in node.inputs]
        return _joined(node, flat, 0)
    first = node.input(0)
    return _joined(node, node.inputs, axis if first.rank is None else node.axis(axis, first.rank))


def _stacked(grown: Callable[[ImportNode, Value], Value], axis: int) -> ImportFunction:
    """The inputs joined along an axis once they have as many as it takes."""

    def import_stacked(node: ImportNode) -> Value:
        return _joined(node, [grown(node, value) for value in node.inputs], axis)

    return import_stacked


def _column(node: ImportNode, data: Value) -> Value:
    return new_axes(node, data, {0: [0, 1], 1: [1]}.get(node.rank(data), []))


def import_hstack(node: ImportNode) -> Value:
    """Vectors joined end to end, all others along their second axis."""
    values = [of_one_axis(node, value) for value in node.inputs]
    return _joined(node, values, 0 if values[0].rank == 1 else 1)


def import_hsplit(node: ImportNode) -> Sequence[Value]:
    """Parts along the second axis, of a vector along its only one; the attribute `axis` means nothing."""
    data = node.input(0)
    rank = node.rank(data)
    if rank == 0:
        node.refuse("a tensor without axes")
    return split(node, data, 0 if rank == 1 else 1)


def import_dsplit(node: ImportNode) -> Sequence[Value]:
    """Parts along the third axis. With another `axis` than that one, as with the default, MXNet 1.9.1 cuts along it and
    writes what comes out into tensors of other shapes, or beyond their ends."""
    data, axis = node.input(0), node.attrs["axis"]
    rank = node.rank(data)
    if rank < 3:
        node.refuse(f"{data.type}, expected 3 axes or more")
    if node.axis(axis, rank) != 2:
        node.refuse(f"axis {axis}: MXNet mixes it with the third one; state axis 2")
    return split(node, data, 2)


IMPORTS: dict[str, ImportFunction] = {
    "_npi_column_stack": _stacked(_column, 1),
    "_npi_concatenate": import_concatenate,
    "_npi_dsplit": import_dsplit,
    "_npi_dstack": _stacked(of_three_axes, 2),
    "_npi_hsplit": import_hsplit,
    "_npi_hstack": import_hstack,
    "_npi_stack": import_stack,
    "_npi_vstack": _stacked(of_two_axes, 0),
}
