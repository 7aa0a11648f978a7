"""What works element by element, with broadcasting where there are several operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from graphir.converters.pytorch.exporting.context import (
    AnyNode,
    ExportFunction,
    ExportNode,
    Expr,
    binary,
    call,
    calls,
    dtype_text,
    number_text,
    row,
    table,
    unary,
)
from graphir.converters.pytorch.exporting.expression import ATOM
from graphir.converters.pytorch.exporting.unsigned import (
    UNSIGNED,
    comparable,
    comparable_tensor,
    computable,
    computable_tensor,
    restored,
)
from graphir.ops import bitwise, special_functions
from graphir.ops import elementwise as ir
from graphir.ops.activation import Sigmoid
from graphir.tensor import Tensor
from graphir.types import DType


def infix(operator: str, read: Callable[[AnyNode, int], Expr] = computable) -> ExportFunction:
    """Return an operator of Python between two operands."""

    def export_infix(node: AnyNode) -> None:
        node.emit(_restored(node, binary(operator, read(node, 0), read(node, 1))))

    return export_infix


def export_mul(node: ExportNode[ir.Mul]) -> None:
    """A product; that of something with its own sigmoid, which nothing else reads, is F.silu."""
    for gate, data in (node.inputs, node.inputs[::-1]):
        maker = None if gate is None else gate.producer
        if gate is None or data is None or maker is None or not isinstance(maker.op, Sigmoid):
            continue
        if maker.inputs[0] is data and len(gate.uses) == 1 and not gate.is_held:
            node.emit(f"F.silu({node.export.reference(data)})")
            return
    infix("*")(node)


def prefix(operator: str) -> ExportFunction:
    """Return an operator of Python before one operand."""

    def export_prefix(node: AnyNode) -> None:
        node.emit(_restored(node, unary(operator, computable_tensor(node))))

    return export_prefix


def _restored(node: AnyNode, text: Expr) -> str:
    return restored(node, text) if node.result_dtype() in UNSIGNED else text


def export_equal(node: AnyNode) -> None:
    """`==`, which torch has of all its types; a condition or its opposite where it is compared with a constant."""
    read = node.tensor if node.dtype() is DType.UINT64 else node.operand
    for slot in (0, 1) if node.dtype() is DType.BOOL else ():
        if read(slot) == node.number(slot):
            other = node.tensor(1 - slot)
            if node.number(slot) == "True":
                node.alias(other)
            else:
                node.emit(unary("~", other))
            return
    node.emit(binary("==", read(0), read(1)))


def export_div(node: ExportNode[ir.Div]) -> None:
    """`/`; integers are divided toward zero, which is `//` of those without a sign."""
    dtype = node.dtype()
    if dtype is DType.UINT64:
        node.emit(call(node.function("divide_uint64"), node.tensor(0), node.tensor(1)))
    elif dtype.is_float and node.number(0) == node.operand(0) != "1.0":
        # A number divided by a tensor is rounded twice in torch: it multiplies by the reciprocal.
        node.emit(binary("/", node.tensor(0), node.operand(1)))
    elif dtype.is_float or dtype.value.startswith("u"):
        infix("/" if dtype.is_float else "//")(node)
    else:
        node.emit(call("torch.div", node.tensor(0), node.operand(1), rounding_mode='"trunc"'))


def export_mod(node: ExportNode[ir.Mod]) -> None:
    """`%`, which has the sign of the divisor; torch.fmod that of the dividend."""
    dtype = node.dtype()
    if dtype is DType.UINT64:
        node.emit(call(node.function("modulo_uint64"), node.tensor(0), node.tensor(1)))
    elif node.op.fmod and dtype not in UNSIGNED:
        node.emit(call("torch.fmod", node.tensor(0), node.operand(1)))
    else:
        infix("%")(node)


def export_pow(node: ExportNode[ir.Pow]) -> None:
    """`**` in the type of the base, where torch would take the wider of both; integers to the power of floats in
    float64."""
    base, exponent = node.dtype(0), node.dtype(1)
    power = computable(node, 1)
    is_number = node.number(1) == power
    if not base.is_float and exponent.is_float:
        left, right = (node.tensor(slot).atom + ".double()" for slot in (0, 1))
        node.emit(node.cast(binary("**", left, power if is_number else right), base))
        return
    if is_number and power.startswith("-") and not base.is_float:
        power = node.tensor(1)  # torch takes no negative number for integers, but a tensor of them
    if is_number and power.endswith(".0"):
        power = Expr(power.removesuffix(".0"), power.level)
    text = binary("**", node.operand(0) if base is exponent else node.tensor(0), power)
    widens = not is_number and exponent is not base and (exponent.is_float or not base.is_float)
    node.emit(node.cast(text, base) if widens else text)


def export_prelu(node: ExportNode[ir.PRelu]) -> None:
    """nn.PReLU where the slope is constant, of one element or one for each channel; else written out."""
    data, dtype, slope = node.tensor(), node.dtype(), node.weight(1)
    if dtype in UNSIGNED:
        node.alias(data)
        return
    if slope is not None and dtype.is_float and (vector := _channel_slopes(node, slope)) is not None:
        sizes = [vector.size] if vector.size > 1 else []
        layer = node.layer("nn.PReLU", sizes, {}, {"weight": (vector, node.input(1))})
        node.emit(f"{layer}({data})")
        return
    node.emit(call("torch.where", binary(">=", data, "0"), data, binary("*", node.operand(1), data)))


def _channel_slopes(node: AnyNode, slope: Tensor) -> Tensor | None:
    """Return the slopes as a vector that nn.PReLU takes, None where they lie along other axes than the second."""
    shape, rank = slope.shape, node.rank()
    fits = slope.size == 1 or (len(shape) == rank - 1 and shape[0] == slope.size) or (
        len(shape) == rank > 1 and shape[1] == slope.size)  # fmt: skip
    return slope.reshaped((slope.size,)) if fits and rank > 0 else None


def export_abs(node: AnyNode) -> None:
    """torch.abs; numbers without a sign stay."""
    if node.dtype() in UNSIGNED:
        node.alias(node.tensor())
    else:
        node.emit(call("torch.abs", node.tensor()))


def export_erf(node: AnyNode) -> None:
    """torch.erf, of integers back in their type."""
    text = call("torch.erf", node.tensor())
    node.emit(text if node.dtype().is_float else node.cast(text, node.dtype()))


def export_sign(node: AnyNode) -> None:
    """torch.sign, which gives 0 for NaN; of numbers without a sign whether they are not 0."""
    data = node.tensor()
    if node.dtype() in UNSIGNED:
        node.emit(node.cast(binary("!=", data, "0"), node.dtype()))
    elif node.dtype().is_float:
        node.emit(call("torch.where", f"{data.atom}.isnan()", data, f"torch.sign({data})"))
    else:
        node.emit(f"torch.sign({data})")


def export_isinf(node: ExportNode[ir.IsInf]) -> None:
    """isinf, or that of one sign."""
    op, data = node.op, node.tensor().atom
    data += "" if node.dtype().bits > 8 else ".float()"
    if not op.detect_negative and not op.detect_positive:
        node.emit(call("torch.zeros_like", data, dtype="torch.bool"))
        return
    both = op.detect_negative and op.detect_positive
    node.emit(f"{data}.{'isinf' if both else 'isposinf' if op.detect_positive else 'isneginf'}()")


def export_sum(node: ExportNode[ir.Sum | ir.Mean]) -> None:
    """Operands with `+` between them; a mean divides that by their number."""
    operands = [node.operand(slot) for slot in range(len(node))]
    total = reduce(lambda left, right: binary("+", left, right), operands)
    if len(operands) == 1:
        node.alias(total)
    else:
        node.emit(binary("/", total, str(len(operands))) if isinstance(node.op, ir.Mean) else total)


def extreme(function: str, bound: str) -> ExportFunction:
    """torch.maximum or torch.minimum of tensors, clamp of a tensor and a number."""

    def export_extreme(node: AnyNode) -> None:
        operands = [comparable(node, slot) for slot in range(len(node))]
        numbers = [text for slot, text in enumerate(operands) if node.number(slot) == text]
        text = str(reduce(lambda left, right: Expr(call(function, left, right)),
                          (text for text in operands if text not in numbers)))  # fmt: skip
        for number in numbers:
            text = f"{Expr(text).atom}.clamp({bound}={number})"
        if len(operands) == 1:
            node.alias(node.tensor())
        else:
            node.emit(restored(node, text, compared=True))

    return export_extreme


def export_clip(node: ExportNode[ir.Clip]) -> None:
    """clamp, with tensors where a bound is one; F.relu6 from 0 to 6."""
    given = [slot for slot in (1, 2) if node.optional(slot) is not None]
    numbers = {slot: node.number(slot) for slot in given}
    data = comparable_tensor(node)
    if not given:
        node.alias(node.tensor())
        return
    if all(numbers.values()) and node.dtype() is not DType.UINT64:
        bounds = {slot: str(number) for slot, number in numbers.items()}
    else:
        bounds = {slot: str(comparable_tensor(node, slot)) for slot in given}
    if bounds == {1: "0.0", 2: "6.0"}:
        node.emit(call("F.relu6", data))
        return
    limits = call("clamp", bounds.get(1) if len(given) == 2 else None, bounds.get(2) if len(given) == 2 else None,
                  **({} if len(given) == 2 else {{1: "min", 2: "max"}[given[0]]: bounds[given[0]]}))  # fmt: skip
    node.emit(restored(node, f"{data.atom}.{limits}", compared=True))


def export_where(node: ExportNode[ir.Where]) -> None:
    """torch.where, whose operands may be numbers."""
    dtype = node.dtype(1)
    read = node.tensor if dtype is DType.UINT64 else node.operand
    x, y = read(1), read(2)
    text = call("torch.where", node.tensor(0), x, y)
    are_numbers = x == node.number(1) and y == node.number(2)
    usual = dtype in (DType.FLOAT32, DType.INT64, DType.BOOL)
    node.emit(node.cast(text, dtype) if are_numbers and not usual else text)


# The largest number of each float of 8 bits.
LARGEST = {DType.FLOAT8E4M3FN: 448, DType.FLOAT8E4M3FNUZ: 240, DType.FLOAT8E5M2: 57344, DType.FLOAT8E5M2FNUZ: 57344}
# Where numbers round beyond the largest one of float8_e4m3fn, which torch gives for all of them.
BEYOND_E4M3FN = 464


def converted(node: AnyNode, data: Expr, dtype: DType, to: DType, *, saturate: bool) -> str:
    """`.to`; what exceeds a float of 8 bits becomes its largest number, or with not `saturate` what IEEE says."""
    if to in LARGEST and dtype not in LARGEST:
        if dtype in UNSIGNED or not dtype.is_float:
            data = Expr(f"{data.atom}.float()")
        largest = LARGEST[to]
        if saturate:
            data = Expr(f"{data.atom}.clamp(-{largest}, {largest})")
        elif to is DType.FLOAT8E4M3FN:
            data = node.step(data, "quotient") if data.level < ATOM else data
            outside = binary(">", f"{data.atom}.abs()", str(BEYOND_E4M3FN))
            data = Expr(f"{data.atom}.masked_fill({outside}, {number_text(float('nan'), DType.FLOAT32)})")
    if dtype is DType.FLOAT64 and to.is_integer and to.bits < 32:
        # What is beyond the range goes through int32 elsewhere, and through int64 in torch.
        data = Expr(node.cast(data, DType.INT32))
    return node.cast(data, to)


def convert(node: AnyNode, to: DType, *, saturate: bool) -> None:
    """The first operand in another dtype."""
    dtype_text(node.dtype())
    node.emit(converted(node, node.tensor(), node.dtype(), to, saturate=saturate))


FUNCTIONS = {
    ir.Acos: "acos", ir.Acosh: "acosh", ir.Asin: "asin", ir.Asinh: "asinh", ir.Atan: "atan", ir.Atanh: "atanh",
    ir.Ceil: "ceil", ir.Cos: "cos", ir.Cosh: "cosh", ir.Exp: "exp", ir.Floor: "floor", ir.IsNaN: "isnan",
    ir.Log: "log", ir.Round: "round", ir.Sin: "sin", ir.Sinh: "sinh", ir.Sqrt: "sqrt", ir.Tan: "tan",
}  # fmt: skip

def export_shift(node: ExportNode[bitwise.BitShift]) -> None:
    """`<<` or `>>`; uint64 has no sign that would move in."""
    is_right = node.op.direction is bitwise.ShiftDirection.RIGHT
    if is_right and node.dtype() is DType.UINT64:
        node.emit(call(node.function("shift_right_uint64"), node.tensor(0), node.tensor(1)))
    else:
        infix(">>" if is_right else "<<")(node)


EXPORTS = table(
    *(row(op, calls(f"torch.{name}")) for op, name in FUNCTIONS.items()),
    row(ir.Add, infix("+")),
    row(ir.Sub, infix("-")),
    row(ir.Mul, export_mul),
    row(ir.Div, export_div),
    row(ir.Mod, export_mod),
    row(ir.Pow, export_pow),
    row(ir.PRelu, export_prelu),
    row(ir.Equal, export_equal),
    row(ir.Greater, infix(">", comparable)),
    row(ir.GreaterOrEqual, infix(">=", comparable)),
    row(ir.Less, infix("<", comparable)),
    row(ir.LessOrEqual, infix("<=", comparable)),
    row(ir.And, infix("&")),
    row(ir.Or, infix("|")),
    row(ir.Xor, infix("^")),
    row(ir.Not, prefix("~")),
    row(ir.Neg, prefix("-")),
    row(ir.Abs, export_abs),
    row(ir.Erf, export_erf),
    row(ir.Reciprocal, lambda node: node.emit(binary("/", "1", node.tensor()))),
    row(ir.Sign, export_sign),
    row(ir.IsInf, export_isinf),
    row(ir.Sum, export_sum),
    row(ir.Mean, export_sum),
    row(ir.Max, extreme("torch.maximum", "min")),
    row(ir.Min, extreme("torch.minimum", "max")),
    row(ir.Clip, export_clip),
    row(ir.Where, export_where),
    row(ir.Cast, lambda node: convert(node, node.op.to, saturate=node.op.saturate)),
    row(ir.Identity, lambda node: node.alias(node.tensor())),
    row(bitwise.BitwiseAnd, infix("&")),
    row(bitwise.BitwiseOr, infix("|")),
    row(bitwise.BitwiseXor, infix("^")),
    row(bitwise.BitwiseNot, prefix("~")),
    row(bitwise.BitShift, export_shift),
    row(bitwise.BitCast, lambda node: node.emit(f"{node.tensor().atom}.view({dtype_text(node.op.to)})")),
    row(bitwise.CastLike, lambda node: convert(node, node.dtype(1), saturate=node.op.saturate)),
    row(special_functions.ErfInv, calls("torch.erfinv")),
    row(special_functions.LogGamma, calls("torch.lgamma")),
    row(special_functions.Gamma, calls("gamma")),
)
