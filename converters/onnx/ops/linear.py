"""Matrix products."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportTable, direct
from graphir.converters.onnx.import_context import ImportTable
from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger

EXPORTS: ExportTable = {Gemm: direct(), MatMul: direct(), MatMulInteger: direct(), Einsum: direct(), Det: direct()}

IMPORTS: ImportTable = {}

__all__ = ["EXPORTS", "IMPORTS"]
