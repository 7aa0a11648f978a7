"""Elementwise operators: unary, binary with and without broadcasting, with constants, comparisons, choices."""

from __future__ import annotations

import math
from functools import partial

from graphir.converters.mxnet.exporting.context import (
    AnyNode,
    Entry,
    ExportFunction,
    ExportNode,
    dtype_name,
    row,
    table,
)
from graphir.converters.mxnet.exporting.ops.linear import export_dense_sum
from graphir.converters.mxnet.exporting.ops.normalization import export_l2_normalization
from graphir.converters.mxnet.exporting.ops.steps import same_truths
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.types import DType


def unary(name: str) -> ExportFunction:
    """Return an operator of one operand."""
    return lambda node: node.emit(name, node.entry(0))


def constant_beside(node: AnyNode) -> tuple[int, float] | None:
    """Return the slot of the operand beside which the other one is a constant number, and that number."""
    for slot in (0, 1):
        number = node.number(1 - slot)
        if number is None or node.number(slot) is not None:
            continue
        other, constant = node.input(slot), node.input(1 - slot)
        grows = other.rank is None or constant.rank is None or constant.rank > other.rank
        if other.dtype is DType.BOOL or (grows and constant.rank != 0):
            continue
        return slot, number
    return None


def pair(node: AnyNode) -> tuple[list[Entry], DType | None]:
    """Two operands in one dtype, and what carries them if they are truths."""
    return same_truths(node, (node.input(0), node.input(1)))


MOST_GROUPS = 5  # of neighbouring axes that broadcast alike, in MXNet's kernels


def broadcast_groups(node: AnyNode) -> int:
    """Return the groups of neighbouring axes in which the same operands broadcast; 0 where the shapes are not known."""
    shapes = [node.input(slot).shape for slot in (0, 1)]
    if None in shapes:
        return 0
    left, right = (shape or () for shape in shapes)
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    kinds = [(one == 1, other == 1) for one, other in pairs if (one, other) != (1, 1)]
    return sum(kind != before for kind, before in zip(kinds, [None, *kinds], strict=False))


def compared(node: AnyNode, op: str) -> None:
    """The result of an operator that gives truths, which are carried in the dtype of the operands."""
    entries, carried = pair(node)
    node.emit(op, *entries, carried=carried or node.dtype(0 if node.input(0).dtype is not None else 1))


def binary(same: str, wide: str, scalar: str, reverse: str, node: AnyNode) -> None:
    """`same` where the shapes are one, `wide` where they broadcast, `scalar` and `reverse` beside a constant."""
    constant = constant_beside(node)
    if constant is not None:
        slot, number = constant
        node.emit(reverse if slot else scalar, node.entry(slot), scalar=number)
        return
    if broadcast_groups(node) > MOST_GROUPS:
        types = f"{node.input(0).type} and {node.input(1).type}"
        node.refuse(f"operands of {types} broadcast in more than {MOST_GROUPS} groups of axes, which MXNet refuses")
    node.emit(same if getattr(node.op, "same_shape", False) else wide, *pair(node)[0])


def export_div(node: ExportNode[ir.Div]) -> None:
    """A quotient, unless it is a normalization."""
    if export_l2_normalization(node):
        return
    if not node.dtype().is_float and node.number(0) is not None and node.number(1) is None:
        node.emit("broadcast_div", *pair(node)[0])  # _rdiv_scalar takes integers as float32
    else:
        binary("elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar", node)


def export_add(node: ExportNode[ir.Add]) -> None:
    """A sum, unless it is the bias of a dense layer."""
    if not export_dense_sum(node):
        binary("elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar", node)


def export_mod(node: ExportNode[ir.Mod]) -> None:
    """The remainder with the divisor's sign, or for `fmod` that of magnitudes with the dividend's sign.

    MXNet gives 0 where floats are divided by 0, which is NaN in the graph: a divisor that can be 0 becomes NaN there.
    """
    dtype = node.dtype()
    divisor = node.input(1).tensor
    may_be_zero = dtype.is_float and (divisor is None or not divisor.numpy().astype(bool).all())
    if dtype is DType.INT64:
        node.decide(
            DecisionKind.PRECISION, "MXNet takes remainders of int64 as float64: exact for numbers below 2**53 only"
        )
    if not node.op.fmod and not may_be_zero:
        binary("_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar", node)
        return
    left, right = node.entry(0), node.entry(1)
    if may_be_zero:
        nothing = node.step("_plus_scalar", right, suffix="nan", scalar=math.nan)
        right = node.step("where", node.step("_equal_scalar", right, suffix="zero", scalar=0.0), nothing, right)
    if not node.op.fmod:
        node.emit("broadcast_mod", left, right)
        return
    remainder = node.step("broadcast_mod", node.step("abs", left), node.step("abs", right))
    node.emit("broadcast_mul", remainder, node.step("sign", left))


def export_pow(node: ExportNode[ir.Pow]) -> None:
    """Powers, in the dtype of the base; MXNet takes integers as float32, which float64 spares those below 2^53."""
    base, exponent = node.dtype(0), node.dtype(1)
    number = node.number(1)
    if base is DType.INT64:
        node.decide(DecisionKind.PRECISION, "powers of int64 are taken as float64: exact for numbers below 2**53 only")
    if base.is_float and (base is exponent or number is not None):
        binary("_power", "broadcast_power", "_power_scalar", "_rpower_scalar", node)
        return
    meeting = base if base.is_float else DType.FLOAT64
    left, right = (
        node.entry(slot) if dtype is meeting else node.export.cast(node.entry(slot), meeting)
        for slot, dtype in enumerate((base, exponent))
    )
    if meeting is base:
        node.emit("broadcast_power", left, right)
        return
    node.emit("Cast", node.step("broadcast_power", left, right, suffix="power"), dtype=dtype_name(base))


def export_abs(node: AnyNode) -> None:
    """|x|."""
    if node.dtype() is DType.INT64:
        node.emit("_maximum", node.entry(0), node.step("negative", node.entry(0)))
    else:
        node.emit("abs", node.entry(0))


def export_sign(node: AnyNode) -> None:
    """-1, 0 or 1; what is not a number stays so, of which MXNet's sign makes 0."""
    if not node.dtype().is_float:
        node.emit("sign", node.entry(0))
        return
    data = node.entry(0)
    node.emit("where", node.step("_equal", data, data, suffix="is_number"), node.step("sign", data), data)


def export_round(node: AnyNode) -> None:
    """around, which takes ties to even numbers as ONNX does; of float16 through float32."""
    if node.dtype() is DType.FLOAT16:
        wide = node.export.cast(node.entry(0), DType.FLOAT32)
        node.emit("Cast", node.step("_npi_around", wide, decimals=0), dtype="float16")
    elif node.dtype().is_float:
        node.emit("_npi_around", node.entry(0), decimals=0)
    else:
        node.emit("_copy", node.entry(0))


def comparison(name: str, mirrored: str, node: AnyNode) -> None:
    """Export a comparison; its result is carried as numbers of the operands' dtype."""
    constant = constant_beside(node)
    if constant is not None:
        slot, number = constant
        op = mirrored if slot else name
        node.emit(f"_{op}_scalar", node.entry(slot), scalar=number, carried=node.dtype(slot))
        return
    compared(node, f"_{name}" if getattr(node.op, "same_shape", False) else f"broadcast_{name}")


def logical(name: str, node: AnyNode) -> None:
    """And, or, xor of truths."""
    for slot in (0, 1):
        number, other = node.number(1 - slot), node.input(slot)
        if number is not None and node.input(1 - slot).rank == 0:
            entry = node.export.raw(other)
            stored = node.export.carried(other)
            node.emit(f"_logical_{name}_scalar", entry, scalar=number, carried=stored)
            return
    compared(node, f"broadcast_logical_{name}")


def moving(op: str, node: AnyNode) -> None:
    """Export an operator whose truths stay what the operand's are."""
    entry, carried = node.moved(0)
    node.emit(op, entry, carried=carried)


def export_is_inf(node: ExportNode[ir.IsInf]) -> None:
    """What is infinite, of the signs that count."""
    if not (node.op.detect_negative or node.op.detect_positive):
        node.emit("zeros_like", node.entry(0), carried=node.dtype())
        return
    if not (node.op.detect_negative and node.op.detect_positive):
        sign = math.inf if node.op.detect_positive else -math.inf
        node.emit("_equal_scalar", node.entry(0), scalar=sign, carried=node.dtype())
        return
    node.emit("_equal_scalar", node.step("abs", node.entry(0)), scalar=math.inf, carried=node.dtype())


def chain(same: str, wide: str, scalar: str, node: AnyNode) -> None:
    """Export an operator of any number of operands as a chain of binary ones."""
    if len(node) == 2:
        binary(same, wide, scalar, scalar, node)
        return
    if len(node) == 1:
        node.emit("_copy", node.entry(0))
        return
    first, *middle, last = node.entries()
    for entry in middle:
        first = node.step(wide, first, entry)
    node.emit(wide, first, last)


def export_sum(node: ExportNode[ir.Sum]) -> None:
    """add_n of equal shapes, else a chain of sums."""
    shapes = {operand.shape for operand in node.node.inputs if operand is not None}
    if len(shapes) == 1 and None not in shapes:
        node.emit("add_n", *node.entries(), num_args=len(node))
        return
    chain("broadcast_add", "broadcast_add", "_plus_scalar", node)


def export_mean(node: ExportNode[ir.Mean]) -> None:
    """The sum divided by the number of operands."""
    total, *others = node.entries()
    for entry in others:
        total = node.step("broadcast_add", total, entry)
    node.emit("_div_scalar", total, scalar=float(len(node)))


def export_clip(node: ExportNode[ir.Clip]) -> None:
    """clip; one bound alone, bounds of integers, and computed ones are a maximum and a minimum."""
    bounds = [None if node.optional(slot) is None else node.number(slot) for slot in (1, 2)]
    low, high = bounds
    if low is not None and high is not None and low <= high and node.dtype().is_float:
        node.emit("clip", node.entry(0), a_min=low, a_max=high)
        return
    given = [slot for slot in (1, 2) if node.optional(slot) is not None]
    if not given:
        node.emit("_copy", node.entry(0))
        return
    data = node.entry(0)
    for slot in given:
        name = ("maximum", "minimum")[slot - 1]
        number = bounds[slot - 1]
        if number is not None:
            data = node.step(f"_{name}_scalar", data, scalar=number)
        else:
            data = node.step(f"broadcast_{name}", data, node.entry(slot))
    node.bind(data)


def _with_axes(node: AnyNode, entry: Entry, value: Value, rank: int) -> Entry:
    """Return an operand's entry with axes of one element before its own."""
    shape = value.shape
    if shape is None:
        node.refuse("the shapes of its operands are unknown; `where` does not broadcast")
    missing = rank - max(len(shape), 1)
    sizes = [dim if isinstance(dim, int) else -1 for dim in shape] or [1]
    if missing > 0 and sizes.count(-1) <= 1:
        return node.step("Reshape", entry, suffix="apart", shape=(*(1,) * missing, *sizes))
    for _ in range(missing):
        entry = node.step("expand_dims", entry, suffix="apart", axis=0)
    return entry


def _in_one_shape(node: AnyNode, values: list[Value], entries: list[Entry]) -> list[Entry]:
    """Return the operands' entries with the result's shape, for `where`, which does not broadcast."""
    wanted = node.result.shape
    if wanted is None:
        node.refuse("the shapes of its operands are unknown; `where` does not broadcast")
    entries = [_with_axes(node, entry, value, len(wanted)) for entry, value in zip(entries, values, strict=True)]
    whole = [value.shape == wanted for value in values]
    if all(isinstance(dim, int) for dim in wanted):
        sizes = tuple(wanted)
        return [
            entry if done else node.step("broadcast_to", entry, suffix="stretched", shape=sizes)
            for entry, done in zip(entries, whole, strict=True)
        ]
    if any(whole):
        like = entries[whole.index(True)]
    else:
        zeros = [node.step("Cast", node.step("zeros_like", entry, suffix="zeros"), suffix="zeros", dtype="float32")
                 for entry in entries]  # fmt: skip
        like = node.step("broadcast_add", *zeros[:2], suffix="like")
        like = node.step("broadcast_add", like, zeros[2], suffix="like")
    return [
        entry if done else node.step("broadcast_like", entry, like, suffix="stretched")
        for entry, done in zip(entries, whole, strict=True)
    ]


def export_where(node: ExportNode[ir.Where]) -> None:
    """where, its operands brought to one shape first."""
    values = [node.input(slot) for slot in range(3)]
    choices, carried = same_truths(node, values[1:])
    entries = [node.export.raw(values[0]), *choices]
    if len({value.shape for value in values}) > 1:
        entries = _in_one_shape(node, values, entries)
    node.emit("where", *entries, carried=carried)


UNARY: dict[type[Operator], str] = {
    ir.Acos: "arccos",
    ir.Acosh: "arccosh",
    ir.Asin: "arcsin",
    ir.Asinh: "arcsinh",
    ir.Atan: "arctan",
    ir.Atanh: "arctanh",
    ir.Ceil: "ceil",
    ir.Cos: "cos",
    ir.Cosh: "cosh",
    ir.Erf: "erf",
    ir.Exp: "exp",
    ir.Floor: "floor",
    ir.Log: "log",
    ir.Neg: "negative",
    ir.Reciprocal: "reciprocal",
    ir.Sin: "sin",
    ir.Sinh: "sinh",
    ir.Sqrt: "sqrt",
    ir.Tan: "tan",
}

EXPORTS = table(
    *{op: unary(name) for op, name in UNARY.items()}.items(),
    row(ir.Abs, export_abs),
    row(ir.Add, export_add),
    row(ir.Mul, partial(binary, "elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar")),
    row(ir.Sub, partial(binary, "elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar")),
    row(ir.Div, export_div),
    row(ir.Pow, export_pow),
    row(ir.Round, export_round),
    row(ir.Sign, export_sign),
    row(ir.Mod, export_mod),
    row(ir.Equal, partial(comparison, "equal", "equal")),
    row(ir.Greater, partial(comparison, "greater", "lesser")),
    row(ir.GreaterOrEqual, partial(comparison, "greater_equal", "lesser_equal")),
    row(ir.Less, partial(comparison, "lesser", "greater")),
    row(ir.LessOrEqual, partial(comparison, "lesser_equal", "greater_equal")),
    row(ir.And, partial(logical, "and")),
    row(ir.Or, partial(logical, "or")),
    row(ir.Xor, partial(logical, "xor")),
    row(ir.Not, partial(moving, "logical_not")),
    row(ir.IsNaN, lambda node: node.emit("_not_equal", node.entry(0), node.entry(0), carried=node.dtype())),
    row(ir.IsInf, export_is_inf),
    row(ir.Sum, export_sum),
    row(ir.Mean, export_mean),
    row(ir.Max, partial(chain, "_maximum", "broadcast_maximum", "_maximum_scalar")),
    row(ir.Min, partial(chain, "_minimum", "broadcast_minimum", "_minimum_scalar")),
    row(ir.Clip, export_clip),
    row(ir.Identity, partial(moving, "_copy")),
    row(ir.Where, export_where),
)
