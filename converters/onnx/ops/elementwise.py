"""Elementwise operators: ONNX has them all; a few need care with dtypes at older opsets."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable, direct
from graphir.converters.onnx.dtypes import CODES
from graphir.ops import elementwise as ir


def export_cast(node: ExportNode) -> None:
    """Cast; a cast to the dtype that the operand has is left out by the passes, not here."""
    op: ir.Cast = node.op
    node.emit("Cast", node.input_names(), to=CODES[op.to], saturate=None if op.saturate else 0)


def export_mod(node: ExportNode) -> None:
    """Mod: ONNX's integer form takes the divisor's sign; for floats there is only C's fmod, which is taken twice."""
    op: ir.Mod = node.op
    names = node.input_names()
    if op.fmod or not node.dtype().is_float:
        node.emit("Mod", names, fmod=1 if op.fmod else None)
        return
    rest = node.step("Mod", names, fmod=1, suffix="fmod")
    node.emit("Mod", [node.step("Add", [rest, names[1]]), names[1]], fmod=1)


def export_round(node: ExportNode) -> None:
    """Round exists for floats only; integers are round."""
    node.emit("Round" if node.dtype().is_float else "Identity", node.input_names())


DIRECT = (
    *(ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Pow, ir.PRelu, ir.Equal, ir.Greater, ir.GreaterOrEqual, ir.Less),
    *(ir.LessOrEqual, ir.And, ir.Or, ir.Xor, ir.Abs, ir.Acos, ir.Acosh, ir.Asin, ir.Asinh, ir.Atan, ir.Atanh),
    *(ir.Ceil, ir.Cos, ir.Cosh, ir.Erf, ir.Exp, ir.Floor, ir.Identity, ir.Log, ir.Neg, ir.Not, ir.Reciprocal),
    *(ir.Sign, ir.Sin, ir.Sinh, ir.Sqrt, ir.Tan, ir.IsNaN, ir.IsInf, ir.Sum, ir.Mean, ir.Max, ir.Min, ir.Clip),
    ir.Where,
)
EXPORTS: ExportTable = {op: direct() for op in DIRECT} | {
    ir.Cast: export_cast,
    ir.Mod: export_mod,
    ir.Round: export_round,
}

__all__ = ["EXPORTS"]
