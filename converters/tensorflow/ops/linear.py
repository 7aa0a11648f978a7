"""Matrix products."""

from __future__ import annotations

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.graph import Value
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.shape import Transpose


def import_mat_mul(node: ImportNode) -> Value:
    """MatMul of two matrices, either of them transposed first."""
    a, b = node.input(0), node.input(1)
    flags = bool(node.attrs["transpose_a"]), bool(node.attrs["transpose_b"])
    if not any(flags):
        return node.emit(MatMul(), a, b)
    if node.dtype().is_float:
        return node.emit(Gemm(transA=flags[0], transB=flags[1]), a, b)
    operands = [
        node.step(Transpose((1, 0)), value) if flag else value for value, flag in zip((a, b), flags, strict=True)
    ]
    return node.emit(MatMul(), *operands)


IMPORTS: dict[str, ImportFunction] = {
    "MatMul": import_mat_mul,
}

__all__ = ["IMPORTS"]
