"""Products of matrices and vectors, and determinants."""

from __future__ import annotations

from graphir.converters.kernel.importing import direct
from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.elementwise import Abs, Log, Mul, Sign, Sub
from graphir.ops.indexing import Gather
from graphir.ops.linear import Det, Einsum, Gemm, MatMul
from graphir.ops.reduction import ReduceSumSquare
from graphir.ops.shape import Transpose
from graphir.types import DType


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


def import_batch_mat_mul(node: ImportNode) -> Value:
    """BatchMatMul of all versions: matrices in the last two axes; `adj_x` and `adj_y` transpose them first."""
    operands = [
        swap_last_axes(node, node.input(slot)) if node.attrs[flag] else node.input(slot)
        for slot, flag in enumerate(("adj_x", "adj_y"))
    ]
    wanted = node.attrs.get("Tout", node.dtype())
    if not isinstance(wanted, DType):
        node.refuse(f"a product of type {wanted}")
    operands = [
        node.cast(value, wanted, suffix="cast") for value in operands
    ]
    return node.emit(MatMul(), *operands)


def swap_last_axes(node: ImportNode, value: Value) -> Value:
    """Return the value with its last two axes exchanged."""
    rank = node.rank(value)
    return node.step(Transpose((*range(rank - 2), rank - 1, rank - 2)), value)


def import_sparse_mat_mul(node: ImportNode) -> Value:
    """SparseMatMul: a MatMul; that many elements are zeros changes no result."""
    operands = []
    for slot, flag in enumerate(("transpose_a", "transpose_b")):
        value = node.input(slot)
        if value.dtype is not DType.FLOAT32:
            value = node.cast(value, DType.FLOAT32, suffix="cast")
        operands.append(swap_last_axes(node, value) if node.attrs[flag] else value)
    return node.emit(MatMul(), *operands)


def import_cross(node: ImportNode) -> Value:
    """Return the cross product of vectors of three elements along the last axis."""
    turned = {}
    for name, value in zip("ab", node.inputs, strict=True):
        for first, order in ((1, (1, 2, 0)), (2, (2, 0, 1))):
            turned[name, first] = node.step(Gather(axis=-1), value, node.vector(order), suffix=f"{name}_from_{first}")
    left = node.step(Mul(), turned["a", 1], turned["b", 2], suffix="left")
    return node.emit(Sub(), left, node.step(Mul(), turned["a", 2], turned["b", 1], suffix="right"))


def import_log_determinant(node: ImportNode) -> tuple[Value, Value]:
    """Return the sign and the logarithm of the magnitude of the determinant."""
    node.decide(
        DecisionKind.PRECISION, "the determinant itself is computed, which may overflow where its logarithm would not"
    )
    det = node.step(Det(), node.input(0))
    return node.step(Sign(), det), node.step(Log(), node.step(Abs(), det))


IMPORTS: dict[str, ImportFunction] = {
    "BatchMatMul": import_batch_mat_mul,
    "BatchMatMulV2": import_batch_mat_mul,
    "BatchMatMulV3": import_batch_mat_mul,
    "Cross": import_cross,
    "Einsum": lambda node: node.emit(Einsum(node.attrs["equation"].replace(" ", "")), *node.inputs),
    "L2Loss": lambda node: node.emit(
        Mul(), node.step(ReduceSumSquare(keepdims=False), node.input(0)), node.scalar_like(node.input(0), 0.5)
    ),
    "LogMatrixDeterminant": import_log_determinant,
    "MatMul": import_mat_mul,
    "MatrixDeterminant": direct(Det),
    "SparseMatMul": import_sparse_mat_mul,
}
