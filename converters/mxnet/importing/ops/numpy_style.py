"""Operators of MXNet's NumPy-style interface that classic symbols lack, and those that join and split tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.integers import import_whole, is_integer
from graphir.converters.mxnet.importing.ops.numpy_shape import new_axes, of_one_axis, of_three_axes, of_two_axes
from graphir.converters.mxnet.importing.ops.shape_parts import import_stack, split
from graphir.graph import Value
from graphir.ops.elementwise import Div, Identity, Mul, Round
from graphir.ops.shape import Expand, Reshape, Shape
from graphir.ops.shape_parts import Concat, Trilu
from graphir.types import DType

DECIMALS = 308


def import_reshape(node: ImportNode) -> Value:
    """Return a shape as it stands: 0 is a size, -1 the one that is left, () a tensor without axes. MXNet takes no
    notice of the attribute `order`."""
    newshape = node.attrs["newshape"]
    if min(newshape, default=0) < -1 or newshape.count(-1) > 1 or (-1 in newshape and 0 in newshape):
        node.refuse(f"newshape {newshape}, expected sizes and at most one -1, with no size of 0 beside it")
    return node.emit(Reshape(allowzero=True), node.input(0), node.vector(newshape))


def import_around(node: ImportNode) -> Value:
    """Numbers rounded to so many decimals, ties to even ones."""
    data, decimals = node.input(0), node.attrs["decimals"]
    if is_integer(data):
        return _around_integers(node, data, decimals)
    if data.dtype is DType.FLOAT16:
        node.refuse("float16, which MXNet does not round")
    if abs(decimals) > DECIMALS:
        node.refuse(f"decimals {decimals}, expected {DECIMALS} at most: float64 has no more")
    if not decimals:
        return node.emit(Round(), data)
    ten = node.scalar_like(data, 10)
    to, back = (Mul(), Div()) if decimals > 0 else (Div(), Mul())
    for _ in range(abs(decimals)):  # one by one, as MXNet does: each step rounds
        data = node.step(to, data, ten, suffix="shifted")
    data = node.step(Round(), data)
    for _ in range(abs(decimals)):
        data = node.step(back, data, ten, suffix="back")
    return node.emit(Identity(), data)


def _around_integers(node: ImportNode, data: Value, decimals: int) -> Value:
    """Integers toward 0 at the digit that negative decimals name; those of 64 bits rounded by float64 otherwise."""
    if decimals >= 0:
        return import_whole(node)
    unit = 10 ** min(-decimals, 19)
    if unit > (1 << data.dtype.bits - 1) - 1:  # type: ignore[union-attr]
        return node.emit(Expand(), node.scalar_like(data, 0), node.step(Shape(), data))
    divisor = node.scalar_like(data, unit)
    return node.emit(Mul(), node.step(Div(), data, divisor), divisor)


def as_matrix(node: ImportNode, data: Value) -> Value:
    """Data of two axes or more; a vector as each row of a square matrix. Refuses what has no axes."""
    rank = node.rank(data)
    if rank == 0:
        node.refuse("a tensor without axes")
    if rank > 1:
        return data
    size = node.step(Shape(), data, suffix="size")
    return node.step(Expand(), data, node.step(Concat(axis=0), size, size, suffix="square"), suffix="matrix")


def _joined(node: ImportNode, values: Sequence[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else node.emit(Concat(axis), *values)


def import_concatenate(node: ImportNode) -> Value:
    """Return the inputs joined along `axis`; without it their elements in one vector."""
    axis = node.attrs["axis"]
    if axis is None:
        flat = [node.step(Reshape(), value, node.vector([-1]), suffix="flat") for value in node.inputs]
        return _joined(node, flat, 0)
    first = node.input(0)
    return _joined(node, node.inputs, axis if first.rank is None else node.axis(axis, first.rank))


def _stacked(grown: Callable[[ImportNode, Value], Value], axis: int, node: ImportNode) -> Value:
    """Return the inputs joined along an axis once they have as many as it takes."""
    return _joined(node, [grown(node, value) for value in node.inputs], axis)


def triangle(*, upper: bool) -> ImportFunction:
    """Return a triangle of each matrix, from diagonal `k` on; of a vector as many rows."""
    return lambda node: node.emit(
        Trilu(upper), as_matrix(node, node.input(0)), node.constant(node.attrs["k"], DType.INT64)
    )


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
    "_np_reshape": import_reshape,
    "_npi_around": import_around,
    "_npi_tril": triangle(upper=False),
    "_npi_column_stack": partial(_stacked,
        lambda node, data: new_axes(node, data, {0: [0, 1], 1: [1]}.get(node.rank(data), [])), 1
    ),
    "_npi_concatenate": import_concatenate,
    "_npi_dsplit": import_dsplit,
    "_npi_dstack": partial(_stacked, of_three_axes, 2),
    "_npi_hsplit": import_hsplit,
    "_npi_hstack": import_hstack,
    "_npi_stack": import_stack,
    "_npi_vstack": partial(_stacked, of_two_axes, 0),
}
