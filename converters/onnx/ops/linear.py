"""Matrix products."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportTable, direct
from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger

EXPORTS: ExportTable = {Gemm: direct(), MatMul: direct(), MatMulInteger: direct(), Einsum: direct(), Det: direct()}

__all__ = ["EXPORTS"]
