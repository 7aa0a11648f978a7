"""What is computed by factors of matrices."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, row, table
from graphir.ops import factorization as ir


def export_triangular_solve(node: ExportNode[ir.TriangularSolve]) -> None:
    """torch.linalg.solve_triangular, which does not read the other triangle either."""
    op = node.op
    matrix = f"{node.tensor(0).atom}.mT" if op.transpose else node.tensor(0)
    left = "False" if op.rightside else None
    upper = str(op.lower == op.transpose)
    node.emit(call("torch.linalg.solve_triangular", matrix, node.tensor(1), upper=upper, left=left))


def export_sign_log_det(node: ExportNode[ir.SignLogDet]) -> None:
    """torch.linalg.slogdet."""
    node.emit_all(f"torch.linalg.slogdet({node.tensor()})")


EXPORTS = table(row(ir.TriangularSolve, export_triangular_solve), row(ir.SignLogDet, export_sign_log_det))

__all__ = ["EXPORTS"]
