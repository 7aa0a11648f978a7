"""Matrix products."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import direct, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger

EXPORTS = table(
    row(Gemm, direct()),
    row(MatMul, direct()),
    row(MatMulInteger, direct()),
    row(Einsum, direct()),
    row(Det, direct()),
)


def import_gemm_1(node: ImportNode) -> None:
    """Gemm before opset 7, where `broadcast` allowed a C of another shape; now it always may have one."""
    node.ignore("broadcast")
    node.emit(Gemm(**node.fields(Gemm)), *node.inputs)


IMPORTS: ImportTable = {
    **{op.__name__: {1: import_direct(op)} for op in (MatMul, MatMulInteger, Einsum, Det)},
    "Gemm": {1: import_gemm_1, 7: import_direct(Gemm)},
}

__all__ = ["EXPORTS", "IMPORTS"]
