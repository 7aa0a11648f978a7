"""Unary operators that ONNX lacks, as compositions."""

from __future__ import annotations

import math
from functools import partial

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.shape import Shape
from graphir.types import DType


def _fraction_above(node: ImportNode, value: Value, floor: Value, op: Operator) -> Value:
    """1 where the value's fraction compares with 0.5 as `op` says, else 0. The subtraction is exact."""
    fraction = node.step(ir.Sub(), value, floor, suffix="fraction")
    above = node.step(op, fraction, node.scalar_like(value, 0.5), suffix="above")
    return node.cast(above, value.dtype or DType.FLOAT32, suffix="step")


def import_rint(node: ImportNode) -> Value:
    """Return the nearest integer, of two equally near ones the smaller; ONNX's Round would take the even one."""
    data = node.input(0)
    floor = node.step(ir.Floor(), data)
    return node.emit(ir.Add(), floor, _fraction_above(node, data, floor, ir.Greater()))


def import_round(node: ImportNode) -> Value:
    """Return the nearest integer, of two equally near ones the one farther from 0."""
    data = node.input(0)
    size = node.step(ir.Abs(), data)
    floor = node.step(ir.Floor(), size)
    rounded = node.step(ir.Add(), floor, _fraction_above(node, size, floor, ir.GreaterOrEqual()), suffix="rounded")
    return node.emit(ir.Mul(), node.step(ir.Sign(), data), rounded)


def import_truncate(node: ImportNode) -> Value:
    """Rounded toward 0."""
    data = node.input(0)
    floor = node.step(ir.Floor(), node.step(ir.Abs(), data))
    return node.emit(ir.Mul(), node.step(ir.Sign(), data), floor)


def _cube_root(node: ImportNode, data: Value) -> Value:
    """sign(x) |x|^(1/3); 0 stays the 0 that it is, of which -0 has a reciprocal of its own."""
    root = node.step(ir.Pow(), node.step(ir.Abs(), data), node.scalar_like(data, 1 / 3))
    below = node.step(ir.Less(), data, node.scalar_like(data, 0.0))
    return node.step(ir.Where(), below, node.step(ir.Neg(), root), root, suffix="cbrt")


def import_rcbrt(node: ImportNode) -> Value:
    """1 / cube root: -inf of -0."""
    data = node.input(0)
    inverse = node.step(ir.Reciprocal(), _cube_root(node, data))
    is_zero = node.step(ir.Equal(), data, node.scalar_like(data, 0.0), suffix="is_zero")
    return node.emit(ir.Where(), is_zero, node.step(ir.Reciprocal(), data, suffix="of_zero"), inverse)


def import_log1p(node: ImportNode) -> Value:
    """log(1 + x)."""
    data = node.input(0)
    node.decide(DecisionKind.COMPOSITION, "log1p became log(1 + x): near 0 its error is that of 1 + x, not of x")
    return node.emit(ir.Log(), node.step(ir.Add(), data, node.scalar_like(data, 1.0)))


def import_expm1(node: ImportNode) -> Value:
    """exp(x) - 1."""
    data = node.input(0)
    node.decide(DecisionKind.COMPOSITION, "expm1 became exp(x) - 1: near 0 its error is that of exp(x), not of x")
    return node.emit(ir.Sub(), node.step(ir.Exp(), data), node.scalar_like(data, 1.0))


def scaled(factor: float, node: ImportNode, *, op: Operator | None=None) -> Value:
    """`op` (if given) of the data, times a constant."""
    data = node.input(0)
    value = data if op is None else node.step(op, data)
    return node.emit(ir.Mul(), value, node.scalar_like(data, factor))


def import_quadratic(node: ImportNode) -> Value:
    """a x^2 + b x + c, as (a x + b) x + c; integers and float16 go through float32, and float16 rounds each step."""
    data, dtype = node.input(0), node.input(0).dtype
    single = dtype is not None and (dtype.is_integer or dtype is DType.FLOAT16)
    wide = node.cast(data, DType.FLOAT32) if single else data
    a, b, c = (node.scalar_like(wide, to_single(node.attrs[name])) for name in "abc")

    def rounded(value: Value) -> Value:
        if dtype is not DType.FLOAT16:
            return value
        return node.cast(node.cast(value, DType.FLOAT16), DType.FLOAT32, suffix="rounded")

    slope = rounded(node.step(ir.Add(), rounded(node.step(ir.Mul(), wide, a)), b, suffix="slope"))
    curve = rounded(node.step(ir.Mul(), slope, wide, suffix="curve"))
    if not single or dtype is None:
        return node.emit(ir.Add(), curve, c)
    if dtype.is_integer:
        node.decide(
            DecisionKind.INTEGER_DATA, f"{dtype} data goes through the polynomial as float32; the fraction is dropped"
        )
    return node.emit(ir.Cast(dtype), node.step(ir.Add(), curve, c, suffix="sum"))


def _div_by_whole_root(node: ImportNode, data: Value) -> Value:
    """Integers are divided by the root's whole number, toward 0."""
    size = node.sizes(data)[-1]
    node.decide(
        DecisionKind.INTEGER_DATA, f"{data.dtype} data is divided by {math.isqrt(size)}, the whole part of sqrt({size})"
    )
    return node.emit(ir.Div(), data, node.scalar_like(data, math.isqrt(size)))


def import_div_sqrt_dim(node: ImportNode) -> Value:
    """x / sqrt(size of the last axis)."""
    data = node.input(0)
    if data.dtype is not None and data.dtype.is_integer:
        return _div_by_whole_root(node, data)
    if data.shape and isinstance(data.shape[-1], int):
        return node.emit(ir.Div(), data, node.scalar_like(data, math.sqrt(data.shape[-1])))
    size = node.cast(node.step(Shape(start=-1), data), data.dtype or DType.FLOAT32)
    return node.emit(ir.Div(), data, node.step(ir.Sqrt(), size))


# degrees and radians multiply by a number of single precision in every dtype.
COMPOSITIONS: dict[str, ImportFunction] = {
    "_contrib_div_sqrt_dim": import_div_sqrt_dim,
    "_contrib_quadratic": import_quadratic,
    "_contrib_round_ste": import_round,
    "cbrt": lambda node: _cube_root(node, node.input(0)),
    "degrees": partial(scaled, 57.2957763671875),
    "expm1": import_expm1,
    "fix": import_truncate,
    "log10": partial(scaled, 1 / math.log(10), op=ir.Log()),
    "log1p": import_log1p,
    "log2": partial(scaled, 1 / math.log(2), op=ir.Log()),
    "radians": partial(scaled, 0.01745329238474369),
    "rcbrt": import_rcbrt,
    "rint": import_rint,
    "round": import_round,
    "rsqrt": lambda node: node.emit(ir.Reciprocal(), node.step(ir.Sqrt(), node.input(0))),  # -inf of -0
    "square": lambda node: node.emit(ir.Mul(), node.input(0), node.input(0)),
    "trunc": import_truncate,
}
