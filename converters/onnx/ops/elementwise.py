"""Elementwise operators: ONNX has them all; a few need care with dtypes at older opsets."""

from __future__ import annotations

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportFunction, ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.converters.onnx.ops.activation import compose_prelu, unless_composed
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.shape import Unsqueeze
from graphir.types import DType

_direct = direct()
NARROW_INTEGERS = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)


def export_arithmetic(node: AnyNode) -> None:
    """Arithmetic of integers below 32 bits exists from opset 14 on; before that in int32, cut to what they hold."""
    if node.opset >= 14 or node.dtype() not in NARROW_INTEGERS:
        _direct(node)
        return
    wide = [node.step("Cast", [name], to=CODES[DType.INT32], suffix="wide") for name in node.input_names()]
    result = node.step(node.op.name, wide)
    node.emit("Cast", [result], to=CODES[node.dtype()])


def export_cast(node: ExportNode[ir.Cast]) -> None:
    """Write Cast; a cast to the dtype that the operand has is left out by the passes, not here."""
    op = node.op
    saturate = None if op.saturate or node.opset < 19 else 0
    node.emit("Cast", node.input_names(), to=CODES[op.to], saturate=saturate)


def export_mod(node: ExportNode[ir.Mod]) -> None:
    """Write Mod: ONNX's integer form takes the divisor's sign, and that of floats from opset 28 on.

    Before there is only C's fmod for floats: to a rest of the other sign than the divisor's that is added.
    """
    op = node.op
    names = node.input_names()
    if op.fmod or not node.dtype().is_float or node.opset >= 28:
        node.emit("Mod", names, fmod=1 if op.fmod else None)
        return
    rest = node.step("Mod", names, fmod=1, suffix="fmod")
    zero = node.scalar(0.0)
    signs = [node.step("Less", [name, zero], suffix=suffix) for name, suffix in ((rest, "below"), (names[1], "sign"))]
    is_zero = node.step("Equal", [rest, zero])
    other = node.step("And", [node.step("Xor", signs), node.step("Not", [is_zero])])
    node.emit("Where", [other, node.step("Add", [rest, names[1]]), rest])


def export_is_inf(node: ExportNode[ir.IsInf]) -> None:
    """IsInf takes float16 and bfloat16 from opset 20 on; before it looks at them as float32, which changes nothing."""
    op = node.op
    names = node.input_names()
    if node.opset < 20 and node.dtype().bits < 32:
        names = [node.step("Cast", names, to=CODES[DType.FLOAT32], suffix="wide")]
    positive, negative = (None if is_set else 0 for is_set in (op.detect_positive, op.detect_negative))
    node.emit("IsInf", names, detect_positive=positive, detect_negative=negative)


DIRECT: tuple[type[Operator], ...] = (
    *(ir.Pow, ir.Equal, ir.Greater, ir.GreaterOrEqual, ir.Less),
    *(ir.LessOrEqual, ir.And, ir.Or, ir.Xor, ir.Abs, ir.Acos, ir.Acosh, ir.Asin, ir.Asinh, ir.Atan, ir.Atanh),
    *(ir.Ceil, ir.Cos, ir.Cosh, ir.Erf, ir.Exp, ir.Floor, ir.Identity, ir.Log, ir.Neg, ir.Not, ir.Reciprocal),
    *(ir.Sign, ir.Sin, ir.Sinh, ir.Sqrt, ir.Tan, ir.IsNaN, ir.Sum, ir.Mean, ir.Max, ir.Min, ir.Clip),
    ir.Where,
)
FOUR: tuple[type[Operator], ...] = (ir.Add, ir.Sub, ir.Mul, ir.Div)
EXPORTS = table(
    *rows(DIRECT, _direct),
    *rows(FOUR, export_arithmetic),
    row(ir.Cast, export_cast),
    row(ir.IsInf, export_is_inf),
    row(ir.Mod, export_mod),
    row(ir.PRelu, unless_composed(_direct, compose_prelu)),
    row(ir.Round, lambda node: node.emit("Round" if node.dtype().is_float else "Identity", node.input_names())),
)


def import_legacy_binary(cls: type[Operator]) -> ImportFunction:
    """Return a binary operator before opset 7: operands of equal shapes or, with `broadcast`, B placed at A's axis
    `axis`."""

    def import_binary(node: ImportNode) -> None:
        a, b = node.input(0), node.input(1)
        axis = node.attribute("axis", None)
        if not node.flag("broadcast"):
            node.emit(cls(same_shape=True), a, b)
            return
        if axis is not None and b.rank != 0:
            behind = (axis + node.rank(0) if axis < 0 else axis) + node.rank(1)
            trailing = node.rank(0) - behind
            if trailing < 0:
                node.refuse(f"B has {node.rank(1)} axes, which do not fit at axis {axis} of A with {node.rank(0)}")
            if trailing:
                axes = range(node.rank(1), node.rank(1) + trailing)
                b = node.step(Unsqueeze(), b, node.vector(tuple(axes)), suffix="aligned")
        node.emit(cls(), a, b)

    return import_binary


def import_clip_6(node: ImportNode) -> None:
    """Read Clip before opset 11, whose limits are attributes. From opset 6 on they default to the largest float32s,
    which infinities are limited to; 16 bits hold no number beyond these."""
    dtype = node.input(0).dtype or DType.FLOAT32
    limits = [node.attribute(name, None) if node.has(name) or dtype.bits > 16 else None for name in ("min", "max")]
    bounds = [None if limit is None else node.constant(limit, dtype) for limit in limits]
    if limits == [None, None]:
        node.emit(ir.Identity(), node.input(0))
    else:
        node.emit(ir.Clip(), node.input(0), *bounds)


def import_cast_1(node: ImportNode) -> None:
    """Read Cast-1, whose target is the name of a dtype."""
    name = str(node.attribute("to")).lower()
    name = {"float": "float32", "double": "float64"}.get(name, name)
    dtypes = [dtype for dtype in DType if dtype.value == name]
    if not dtypes:
        node.refuse(f"to is {name!r}, which is no element type")
    node.emit(ir.Cast(dtypes[0]), node.input(0))


def import_cast(node: ImportNode) -> None:
    """Read Cast; how an 8-bit exponent is rounded is for another target."""
    fields = node.fields(ir.Cast)
    if node.attribute("round_mode", "up") != "up":
        node.refuse("round_mode other than up is not supported")
    node.emit(ir.Cast(**fields), node.input(0))


def import_prelu_1(node: ImportNode) -> None:
    """Read PRelu before opset 7, whose slope of more than one element is for each channel."""
    slope = node.input(1)
    rank = node.rank(0)
    if slope.rank == 1 and slope.shape != (1,) and rank > 2:
        slope = node.step(Unsqueeze(), slope, node.vector(tuple(range(1, rank - 1))), suffix="slope")
    node.emit(ir.PRelu(), node.input(0), slope)


ARITHMETIC = (*FOUR, ir.Pow, ir.Equal, ir.Greater, ir.Less, ir.And, ir.Or, ir.Xor)
SPECIAL = (*ARITHMETIC, ir.Clip)
IMPORTS: ImportTable = {
    **{op.__name__: {1: import_direct(op)} for op in (*DIRECT, ir.IsInf, ir.Mod, ir.Round) if op not in SPECIAL},
    **{op.__name__: {1: import_legacy_binary(op), 7: import_direct(op)} for op in ARITHMETIC},
    "PRelu": {1: import_prelu_1, 7: import_direct(ir.PRelu)},
    "Clip": {1: import_clip_6, 11: import_direct(ir.Clip)},
    "Cast": {1: import_cast_1, 6: import_cast},
}
