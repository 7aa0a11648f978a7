"""What is computed by factors of matrices."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, calls, row, table
from graphir.ops import factorization as ir


def export_cholesky(node: ExportNode[ir.Cholesky]) -> None:
    """A function of the file: torch.linalg.cholesky raises an error where there is no factor."""
    node.emit(call(node.function("cholesky"), node.tensor(), lower=None if node.op.lower else "False"))


def export_inverse(node: ExportNode[ir.Inverse]) -> None:
    """What is solved for the unit matrix; torch.linalg.inv raises an error for singular matrices."""
    like = f"dtype={node.tensor().atom}.dtype, device={node.tensor().atom}.device"
    node.emit(call(node.function("solve"), node.tensor(), f"torch.eye({node.size(0, -1)}, {like})"))


def export_triangular_solve(node: ExportNode[ir.TriangularSolve]) -> None:
    """torch.linalg.solve_triangular, which does not read the other triangle either."""
    op = node.op
    matrix = f"{node.tensor(0).atom}.mT" if op.transpose else node.tensor(0)
    left = "False" if op.rightside else None
    upper = str(op.lower == op.transpose)
    node.emit(call("torch.linalg.solve_triangular", matrix, node.tensor(1), upper=upper, left=left))


def export_lq(node: ExportNode[ir.LQ]) -> None:
    """torch.linalg.qr of the transposed matrix."""
    q, r = node.assign(["q", "r"], f"torch.linalg.qr({node.tensor().atom}.mT)")
    node.emit(f"{q.atom}.mT", 0)
    node.emit(f"{r.atom}.mT", 1)


EXPORTS = table(
    row(ir.TriangularSolve, export_triangular_solve),
    row(ir.SignLogDet, calls("torch.linalg.slogdet")),
    row(ir.Cholesky, export_cholesky),
    row(ir.Inverse, export_inverse),
    row(ir.Solve, calls("solve")),
    row(ir.LQ, export_lq),
    row(ir.SymmetricEigen, calls("symmetric_eigen")),
    row(ir.SVD, calls("svd")),
)
