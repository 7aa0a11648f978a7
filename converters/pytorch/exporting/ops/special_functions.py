"""Functions of one number that ONNX does not have."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import AnyNode, call, row, table
from graphir.converters.pytorch.exporting.ops.elementwise import function_of_one
from graphir.ops import special_functions as ir


def export_gamma(node: AnyNode) -> None:
    """A function of the file: torch has its logarithm alone."""
    node.emit(call(node.function("gamma"), node.tensor()))


EXPORTS = table(
    row(ir.ErfInv, function_of_one("torch.erfinv")),
    row(ir.LogGamma, function_of_one("torch.lgamma")),
    row(ir.Gamma, export_gamma),
)

__all__ = ["EXPORTS"]
