"""Operators of one operand that work element by element."""

from __future__ import annotations

from collections.abc import Callable

from graphir.converters.kernel.importing import direct
from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.pairs import COMPLEX, with_zeros
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.special_functions import ErfInv, LogGamma
from graphir.types import DType


def import_cast(node: ImportNode) -> Value:
    """Cast to `DstT`; floats become integers toward zero, as in ONNX."""
    wanted = node.attrs["DstT"]
    if not isinstance(wanted, DType):
        node.refuse(f"a cast to {wanted}")
    if wanted in COMPLEX:
        real = node.input(0)
        if real.dtype is not COMPLEX[wanted]:
            real = node.cast(real, COMPLEX[wanted], suffix="real")
        return with_zeros(node, real)
    if node.attrs.get("Truncate") and wanted in (DType.BFLOAT16, DType.FLOAT16):
        node.refuse(f"a cast to {wanted} that truncates; ONNX rounds to the nearest")
    if node.input(0).dtype is wanted:
        return node.input(0)
    return node.emit(ew.Cast(wanted), node.input(0))


def imprecise(formula: str, function: Callable[[ImportNode, Value], Value]) -> ImportFunction:
    """Return an operator that ONNX can express by a formula that loses digits."""

    def import_composed(node: ImportNode) -> Value:
        node.decide(DecisionKind.PRECISION, f"{node.op} is {formula}")
        return function(node, node.input(0))

    return import_composed


def import_round(node: ImportNode) -> Value:
    """Round and Rint: halves to even; integers stay as they are."""
    if not node.dtype().is_integer:
        return node.emit(ew.Round(), node.input(0))
    node.decide(
        DecisionKind.ROUNDING, "integers stay as they are, as is documented; TensorFlow 2.21 gives zeros for int32"
    )
    return node.input(0)


IMPORTS: dict[str, ImportFunction] = {
    "Abs": direct(ew.Abs),
    "Acos": direct(ew.Acos),
    "Acosh": direct(ew.Acosh),
    "Asin": direct(ew.Asin),
    "Asinh": direct(ew.Asinh),
    "Atan": direct(ew.Atan),
    "Atanh": direct(ew.Atanh),
    "Cast": import_cast,
    "Ceil": direct(ew.Ceil),
    "Cos": direct(ew.Cos),
    "Cosh": direct(ew.Cosh),
    "Erf": direct(ew.Erf),
    "Erfc": imprecise(
        "1 - erf(x), which loses digits where x is large",
        lambda node, x: node.emit(ew.Sub(), node.scalar_like(x, 1), node.step(ew.Erf(), x)),
    ),
    "Erfinv": direct(ErfInv),
    "Exp": direct(ew.Exp),
    "Expm1": imprecise(
        "exp(x) - 1, which loses digits where x is near 0",
        lambda node, x: node.emit(ew.Sub(), node.step(ew.Exp(), x), node.scalar_like(x, 1)),
    ),
    "Floor": direct(ew.Floor),
    "Inv": direct(ew.Reciprocal),
    "IsFinite": lambda node: node.emit(
        ew.Not(), node.step(ew.Or(), node.step(ew.IsNaN(), node.input(0)), node.step(ew.IsInf(), node.input(0)))
    ),
    "IsInf": direct(ew.IsInf),
    "IsNan": direct(ew.IsNaN),
    "Lgamma": direct(LogGamma),
    "Log": direct(ew.Log),
    "Log1p": imprecise(
        "log(1 + x), which loses digits where x is near 0",
        lambda node, x: node.emit(ew.Log(), node.step(ew.Add(), x, node.scalar_like(x, 1))),
    ),
    "LogicalNot": direct(ew.Not),
    "Neg": direct(ew.Neg),
    "Reciprocal": direct(ew.Reciprocal),
    "Rint": import_round,
    "Round": import_round,
    "Rsqrt": lambda node: node.emit(ew.Reciprocal(), node.step(ew.Sqrt(), node.input(0))),
    "Sign": direct(ew.Sign),
    "Sin": direct(ew.Sin),
    "Sinh": direct(ew.Sinh),
    "Sqrt": direct(ew.Sqrt),
    "Square": lambda node: node.emit(ew.Mul(), node.input(0), node.input(0)),
    "Tan": direct(ew.Tan),
}
