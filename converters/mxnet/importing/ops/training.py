"""Arithmetic of training that a symbol may hold: straight-through estimators, checks of gradients, steps of LAMB.

A step of an optimizer gives its result; the states that MXNet changes in place with it stay what is fed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphir.converters.kernel.numbers import converted
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.converters.mxnet.importing.ops.elementwise import IMPORTS as ELEMENTWISE
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.reduction import ReduceMin, ReduceSum
from graphir.ops.shape import Reshape
from graphir.ops.shape_parts import Concat
from graphir.types import DType, TensorType

SINGLE = DType.FLOAT32
BEYOND_HALF = 65520.0  # what float16 rounds to infinity


def _share_dtype(node: ImportNode, values: Sequence[Value]) -> None:
    """Values whose dtype is not known have that of the first."""
    for value in values:
        if value.dtype is None:
            node.graph.refine(value, TensorType(values[0].dtype))


def _floats(node: ImportNode) -> tuple[Value, ...]:
    """The operands, floats of one dtype. Refuses others, as MXNet does, and counts that are not theirs."""
    values = node.inputs
    _share_dtype(node, values)
    if node.attrs.get("num_arrays", len(values)) != len(values):
        node.refuse(f"num_arrays {node.attrs['num_arrays']} of {len(values)} operands")
    for value in values:
        if value.dtype is None or not value.dtype.is_float or value.dtype is not values[0].dtype:
            node.refuse(f"{value.name} is {value.type}, expected floats of one dtype")
    return values


def _as(node: ImportNode, value: Value, dtype: DType, suffix: str = "") -> Value:
    return value if value.dtype is dtype else node.step(ir.Cast(dtype), value, suffix=suffix)


def import_all_finite(node: ImportNode) -> Value:
    """1 as float32 (1,) if no element of any operand is infinite or not a number, else 0."""
    if not node.attrs["init_output"]:
        node.refuse("init_output False: the result depends on what its memory held before")
    every: Value | None = None
    for value in _floats(node):
        rest = node.step(ir.Sub(), value, value, suffix="rest")  # 0, or NaN of what is not finite
        good = node.step(ir.Cast(DType.INT32), node.step(ir.Equal(), rest, rest, suffix="finite"), suffix="good")
        least = node.step(ReduceMin(keepdims=False), good, suffix="least")
        every = least if every is None else node.step(ir.Min(), every, least, suffix="all")
    if every is None:
        node.refuse("no operands")
    return node.emit(ir.Cast(SINGLE), node.step(Reshape(), every, node.vector([1]), suffix="vector"))


def _square(node: ImportNode, value: Value) -> Value:
    """The squares as float32 of the operand's dtype: of float16 those beyond its range are infinite.

    They are not rounded to float16: onnxruntime drops such a cast between two others.
    """
    if value.dtype is not DType.FLOAT16:
        return _as(node, node.step(ir.Mul(), value, value, suffix="square"), SINGLE, "single")
    wide = _as(node, value, SINGLE, "single")
    square = node.step(ir.Mul(), wide, wide, suffix="square")
    beyond = node.step(ir.GreaterOrEqual(), square, node.constant(BEYOND_HALF, SINGLE), suffix="beyond")
    return node.step(ir.Where(), beyond, node.constant(math.inf, SINGLE), square, suffix="limited")


def import_sums_of_squares(node: ImportNode) -> Value:
    """The sum of the squares of each operand, as float32 (operands,); the squares are of the operand's dtype."""
    found = []
    for value in _floats(node):
        square = _square(node, value)
        total = node.step(ReduceSum(keepdims=False), square, suffix="total")
        found.append(node.step(Reshape(), total, node.vector([1]), suffix="one"))
    if not found:
        node.refuse("no operands")
    return node.emit(Concat(axis=0), *found)


def import_lars(node: ImportNode) -> Value:
    """Rates scaled by LARS: lr eta |w| / (|g| rescale + wd |w| + eps) where both norms are above 0, else lr."""
    rates, weights, gradients, decays = _floats(node)
    if rates.dtype is not SINGLE:
        node.refuse(f"{rates.dtype}, expected float32, as MXNet does")
    node.same_shapes(rates, weights, gradients, decays)
    eta, eps, rescale = (to_single(node.attrs[name]) for name in ("eta", "eps", "rescale_grad"))
    norm, slope = (node.step(ir.Sqrt(), value, suffix="norm") for value in (weights, gradients))
    below = node.step(ir.Mul(), slope, node.scalar_like(slope, rescale), suffix="rescaled")
    below = node.step(ir.Add(), below, node.step(ir.Mul(), decays, norm, suffix="decay"), suffix="sum")
    below = node.step(ir.Add(), below, node.scalar_like(below, eps), suffix="divisor")
    above = node.step(ir.Mul(), rates, node.scalar_like(rates, eta), suffix="scaled")
    above = node.step(ir.Mul(), above, norm, suffix="dividend")
    zero = node.scalar_like(rates, 0)
    good = [node.step(ir.Greater(), value, zero, suffix="above_zero") for value in (weights, gradients)]
    return node.emit(ir.Where(), node.step(ir.And(), *good), node.step(ir.Div(), above, below, suffix="rate"), rates)


def import_allclose(node: ImportNode) -> Value:
    """Whether all |a - b| <= atol + rtol |b|, as a uint8 without axes."""
    left, right = node.take_inputs(2)
    node.same_shapes(left, right)
    if left.dtype is None or left.dtype is not right.dtype:
        node.refuse(f"{left.type} and {right.type}, expected one dtype")
    wide = DType.FLOAT64 if left.dtype is DType.FLOAT64 or left.dtype.is_integer else SINGLE
    a, b = (_as(node, value, wide, "wide") for value in (left, right))
    rtol, atol = (node.scalar_like(b, to_single(node.attrs[name])) for name in ("rtol", "atol"))
    bound = node.step(ir.Mul(), node.step(ir.Abs(), b), rtol, suffix="of_b")
    bound = node.step(ir.Add(), bound, atol, suffix="bound")
    apart = node.step(ir.Abs(), node.step(ir.Sub(), a, b, suffix="difference"), suffix="distance")
    near = node.step(ir.LessOrEqual(), apart, bound, suffix="near")
    near = node.step(ir.Or(), near, node.step(ir.Equal(), a, b, suffix="same"), suffix="close")
    if node.attrs["equal_nan"] and left.dtype.is_float:
        both = node.step(ir.And(), node.step(ir.IsNaN(), a), node.step(ir.IsNaN(), b), suffix="both_nan")
        near = node.step(ir.Or(), near, both, suffix="close_or_nan")
    number = node.step(ir.Cast(DType.INT32), near, suffix="number")
    return node.emit(ir.Cast(DType.UINT8), node.step(ReduceMin(keepdims=False), number, suffix="least"))


class _Step:
    """One step of an optimizer: arithmetic of tensors and numbers in one float dtype."""

    def __init__(self, node: ImportNode, dtype: DType) -> None:
        self.node = node
        self.dtype = dtype

    def number(self, value: float) -> Value:
        """A constant of the step's dtype."""
        return self.node.constant(value, self.dtype)

    def __call__(self, op: Operator, left: Value, right: Value | float, suffix: str) -> Value:
        other = right if isinstance(right, Value) else self.number(right)
        return self.node.step(op, left, other, suffix=suffix)


def _step_of(node: ImportNode, values: tuple[Value, ...]) -> _Step:
    _share_dtype(node, values)
    dtype = values[0].dtype
    if dtype not in (DType.FLOAT32, DType.FLOAT64) or any(value.dtype is not dtype for value in values):
        shown = ", ".join(str(value.type) for value in values)
        node.refuse(f"operands {shown}: expected float32, or float64, throughout; float16 MXNet rounds at every step")
    text = "gives its result; the states that it changes in training stay what is fed"
    node.decide(DecisionKind.TRAINING, text)
    return _Step(node, dtype)


def _rescaled(node: ImportNode, step: _Step, gradient: Value, half: bool) -> Value:
    """The gradient times `rescale_grad`, within its limits; of float16 MXNet rounds product and limits to that."""
    attrs = node.attrs
    found = step(ir.Mul(), gradient, to_single(attrs["rescale_grad"]), "rescaled")
    clip = to_single(attrs["clip_gradient"])
    if half:
        found = _as(node, _as(node, found, DType.FLOAT16, "rounded"), SINGLE, "rescaled")
        clip = converted(clip, DType.FLOAT16)
    if clip >= 0:
        found = step(ir.Min(), step(ir.Max(), found, -clip, "raised"), clip, "clipped")
    return found


def _direction(
    node: ImportNode, weight: Value, gradient: Value, mean: Value, variance: Value, half: bool = False
) -> Value:
    step, attrs = _step_of(node, (weight, gradient, mean, variance)), node.attrs
    node.same_shapes(weight, gradient, mean, variance)
    first, second = to_single(attrs["beta1"]), to_single(attrs["beta2"])
    gradient = _rescaled(node, step, gradient, half)
    new = step(ir.Mul(), gradient, 1 - first, "new_part")
    mean = step(ir.Add(), step(ir.Mul(), mean, first, "old_part"), new, "mean")
    square = step(ir.Mul(), step(ir.Mul(), gradient, 1 - second, "new_square"), gradient, "square")
    variance = step(ir.Add(), step(ir.Mul(), variance, second, "old_square"), square, "variance")
    if attrs["bias_correction"]:
        mean = step(ir.Div(), mean, 1 - to_single(first ** attrs["t"]), "mean_hat")
        variance = step(ir.Div(), variance, 1 - to_single(second ** attrs["t"]), "variance_hat")
    below = step(ir.Add(), node.step(ir.Sqrt(), variance), to_single(attrs["epsilon"]), "below")
    decay = step(ir.Mul(), weight, to_single(attrs["wd"]), "decay")
    return node.emit(ir.Add(), step(ir.Div(), mean, below, "ratio"), decay)


def _stepped(node: ImportNode, weight: Value, direction: Value, norms: tuple[Value, Value]) -> Value:
    step, attrs = _step_of(node, (weight, direction, *norms)), node.attrs
    node.same_shapes(weight, direction)
    first, second = (node.step(Reshape(), norm, node.vector([1]), suffix="norm") for norm in norms)
    lower, upper = to_single(attrs["lower_bound"]), to_single(attrs["upper_bound"])
    if lower >= 0:
        first = step(ir.Max(), first, lower, "raised")
    if upper >= 0:
        first = step(ir.Min(), first, upper, "lowered")
    none = node.step(ir.Or(), step(ir.Equal(), first, 0.0, "no_r1"), step(ir.Equal(), second, 0.0, "no_r2"))
    ratio = node.step(ir.Where(), none, step.number(1.0), step(ir.Div(), first, second, "quotient"), suffix="ratio")
    rate = step(ir.Mul(), ratio, to_single(attrs["lr"]), "rate")
    return step(ir.Sub(), weight, step(ir.Mul(), direction, rate, "change"), "moved")


def import_lamb_direction(node: ImportNode) -> Value:
    """The first phase of LAMB: mean / (sqrt(variance) + epsilon) + wd weight, of the averages with this gradient."""
    weight, gradient, mean, variance = (node.input(slot) for slot in range(4))
    return _direction(node, weight, gradient, mean, variance)


def import_lamb_direction_mixed(node: ImportNode) -> Value:
    """The same for float16 weights, from the float32 ones that go with them."""
    _, gradient, mean, variance, weight = node.take_inputs(5)
    node.same_shapes(*node.inputs)
    half = gradient.dtype is DType.FLOAT16
    return _direction(node, weight, _as(node, gradient, SINGLE, "single"), mean, variance, half)


def import_lamb_step(node: ImportNode) -> Value:
    """The second phase of LAMB: weight - lr ratio g; the ratio is r1 / r2, r1 in its bounds, 1 where one is 0."""
    weight, direction, first, second = (node.input(slot) for slot in range(4))
    return node.emit(ir.Identity(), _stepped(node, weight, direction, (first, second)))


def import_lamb_step_mixed(node: ImportNode) -> Value:
    """The same for float16 weights, from the float32 ones that go with them."""
    half, direction, first, second, weight = (node.input(slot) for slot in range(5))
    node.same_shapes(half, direction, weight)
    found = _stepped(node, weight, direction, (first, second))
    return node.emit(ir.Cast(half.dtype or DType.FLOAT16), found)


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_allclose": import_allclose,
    "_contrib_round_ste": ELEMENTWISE["round"],
    "_contrib_sign_ste": ELEMENTWISE["sign"],
    "all_finite": import_all_finite,
    "lamb_update_phase1": import_lamb_direction,
    "lamb_update_phase2": import_lamb_step,
    "mp_lamb_update_phase1": import_lamb_direction_mixed,
    "mp_lamb_update_phase2": import_lamb_step_mixed,
    "multi_all_finite": import_all_finite,
    "multi_lars": import_lars,
    "multi_sum_sq": import_sums_of_squares,
}

__all__ = ["IMPORTS"]
