"""What is computed by factors of matrices."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, ExportFunction, ExportNode, call, row, table
from graphir.ops import factorization as ir


def of_file(name: str) -> ExportFunction:
    """Return what calls a function of the file on all operands."""

    def export_call(node: AnyNode) -> None:
        node.emit_all(call(node.function(name), *node.tensors()))

    return export_call


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


def export_sign_log_det(node: ExportNode[ir.SignLogDet]) -> None:
    """torch.linalg.slogdet."""
    node.emit_all(f"torch.linalg.slogdet({node.tensor()})")


EXPORTS = table(
    row(ir.TriangularSolve, export_triangular_solve),
    row(ir.SignLogDet, export_sign_log_det),
    row(ir.Cholesky, export_cholesky),
    row(ir.Inverse, export_inverse),
    row(ir.Solve, of_file("solve")),
    row(ir.LQ, export_lq),
    row(ir.SymmetricEigen, of_file("symmetric_eigen")),
    row(ir.SVD, of_file("svd")),
)
