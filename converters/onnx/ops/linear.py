"""Matrix products."""

from __future__ import annotations

from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger

from ..context import ExportTable, direct

EXPORTS: ExportTable = {Gemm: direct(), MatMul: direct(), MatMulInteger: direct(), Einsum: direct(), Det: direct()}

__all__ = ["EXPORTS"]
