"""Operators of MXNet's NumPy-style interface that classic symbols have no word for."""

from __future__ import annotations

from graphir.converters.mxnet.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.elementwise import Identity, Round
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Trilu
from graphir.types import DType


def import_reshape(node: ImportNode) -> Value:
    """A shape as it stands: 0 is a size, -1 the one that is left, () a tensor without axes."""
    if node.attrs["order"] != "C":
        node.refuse(f"order {node.attrs['order']!r}: only C is known")
    return node.emit(Reshape(allowzero=True), node.input(0), node.vector(node.attrs["newshape"]))


def import_around(node: ImportNode) -> Value:
    """Numbers rounded to integers, ties to even ones."""
    if node.attrs["decimals"]:
        node.refuse(f"decimals {node.attrs['decimals']}: only rounding to integers is known")
    data = node.input(0)
    if data.dtype is DType.FLOAT16:
        node.refuse("float16, which MXNet does not round")
    whole = data.dtype is not None and not data.dtype.is_float
    return node.emit(Identity() if whole else Round(), data)


def import_tril(node: ImportNode) -> Value:
    """The lower triangle up to diagonal k, zeros above it."""
    data = node.input(0)
    if node.rank(data) < 2:
        node.refuse("a vector, of which MXNet makes a matrix first")
    return node.emit(Trilu(upper=False), data, node.constant(node.attrs["k"], DType.INT64))


IMPORTS: dict[str, ImportFunction] = {
    "_np_reshape": import_reshape,
    "_npi_around": import_around,
    "_npi_tril": import_tril,
}

__all__ = ["IMPORTS"]
