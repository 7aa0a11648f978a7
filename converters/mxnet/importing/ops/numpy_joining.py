"""Operators of MXNet's NumPy-style interface that join tensors and take them apart along axes of their own choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.numpy_shape import new_axes, of_one_axis, of_three_axes, of_two_axes
from graphir.converters.mxnet.importing.ops.shape_parts import import_stack, part_lengths, split
from graphir.converters.mxnet.importing.sizes import Entry, axis_of, shape_vector
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat, Split


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
    """Parts with the sizes of cuts along the third axis.

    MXNet 1.9.1 cuts along the second one and puts the elements, in their order, into tensors of those sizes, which is
    possible where as many come out.
    """
    data = node.input(0)
    if node.rank(data) < 3:
        node.refuse(f"{data.type}, expected 3 axes or more")
    second, third = node.sizes(data, (1, 2))
    cut, wanted = part_lengths(node, second), part_lengths(node, third)
    if any(size * third != other * second for size, other in zip(cut, wanted, strict=True)):
        node.refuse(f"parts of {wanted} on axis 2: MXNet cuts {cut} on axis 1, and writes beyond the ends of the parts")
    squeeze = node.attrs["squeeze_axis"]
    if squeeze and set(wanted) != {1}:
        node.refuse(f"squeeze_axis wants parts of size 1, found {wanted}")
    if not wanted or (not node.attrs["sections"] and node.attrs["indices"][0] != 0):
        node.refuse(f"indices {node.attrs['indices']} do not begin with 0, where the first part begins")
    if len(wanted) > 1:
        text = "the parts are those of axis 1 in shapes of parts of axis 2, as MXNet 1.9.1 computes them"
        node.decide(DecisionKind.FRAMEWORK_DEFECT, text)
    parts = node.steps(Split(len(cut), 1), data, node.vector(cut)) if len(cut) > 1 else (data,)
    found = []
    for part, size in zip(parts, wanted, strict=True):
        middle: list[Entry] = [] if squeeze else [size]
        behind = [axis_of(data, axis) for axis in range(3, node.rank(data))]
        shape = shape_vector(node, [axis_of(data, 0), second, *middle, *behind])
        found.append(node.step(Reshape(allowzero=0 in (size, second)), part, shape))
    return found


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

__all__ = ["IMPORTS"]
