"""Factors of matrices as MXNet's own operators."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode, ExportFunction, ExportNode, row, table
from graphir.ops import factorization as ir


def named(operator: str) -> ExportFunction:
    """An operator with the same operands and results, without attributes."""
    return lambda node: node.emit(operator, *node.entries())


def export_cholesky(node: ExportNode[ir.Cholesky]) -> None:
    """_linalg_potrf."""
    node.emit("_linalg_potrf", node.entry(0), lower=node.op.lower)


def export_triangular_solve(node: ExportNode[ir.TriangularSolve]) -> None:
    """_linalg_trsm."""
    op = node.op
    node.emit(
        "_linalg_trsm", *node.entries(), lower=op.lower, transpose=op.transpose, rightside=op.rightside
    )


def export_sign_log_det(node: AnyNode) -> None:
    """_linalg_slogdet, which gives vectors of one element for a single matrix unless it runs with numpy's shapes."""
    node.emit("_linalg_slogdet", node.entry(0))


EXPORTS = table(
    row(ir.Cholesky, export_cholesky),
    row(ir.Inverse, named("_linalg_inverse")),
    row(ir.LQ, named("_linalg_gelqf")),
    row(ir.SVD, named("_npi_svd")),
    row(ir.SignLogDet, export_sign_log_det),
    row(ir.Solve, named("_npi_solve")),
    row(ir.SymmetricEigen, named("_linalg_syevd")),
    row(ir.TriangularSolve, export_triangular_solve),
)
