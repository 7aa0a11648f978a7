"""Linear algebra beyond products."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.linear import Det
from graphir.ops.shape import Reshape


def import_det(node: ImportNode) -> Value:
    """The determinant of square matrices; that of a single one has the shape (1,)."""
    data = node.input(0)
    if node.rank(data) == 2 and not node.np_shape:
        return node.emit(Reshape(), node.step(Det(), data), node.vector([1]))
    return node.emit(Det(), data)


IMPORTS: dict[str, ImportFunction] = {"_linalg_det": import_det}

__all__ = ["IMPORTS"]
