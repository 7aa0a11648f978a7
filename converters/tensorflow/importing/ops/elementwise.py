"""Operators of several operands that work element by element, with numpy's broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable

from graphir.converters.kernel.importing import direct
from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.shape import Unsqueeze
from graphir.symbolic.dims import lower_bound
from graphir.types import DType

UNSIGNED = frozenset({DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64})


def import_truncate_div(node: ImportNode) -> Value:
    """TruncateDiv: rounded toward zero, of floats too."""
    if not node.dtype().is_float:
        return node.emit(ew.Div(), node.input(0), node.input(1))
    quotient = node.step(ew.Div(), node.input(0), node.input(1))
    whole = node.step(ew.Floor(), node.step(ew.Abs(), quotient, suffix="size"), suffix="whole")
    return node.emit(ew.Mul(), node.step(ew.Sign(), quotient), whole)


def import_floor_div(node: ImportNode) -> Value:
    """FloorDiv: rounded down, of integers too."""
    a, b = node.input(0), node.input(1)
    dtype = node.dtype()
    if dtype.is_float:
        return node.emit(ew.Floor(), node.step(ew.Div(), a, b))
    if dtype in UNSIGNED or (_is_natural(a) and _is_natural(b)):
        return node.emit(ew.Div(), a, b)
    rest = node.step(ew.Mod(), a, b)
    return node.emit(ew.Div(), node.step(ew.Sub(), a, rest), b)


def _is_natural(value: Value) -> bool:
    """Return whether the elements are known not to be below zero."""
    if value.known is None:
        return False
    bounds = [None if isinstance(element, float) else lower_bound(element) for element in value.known.elements]
    return all(bound is not None and bound >= 0 for bound in bounds)


def import_floor_mod(node: ImportNode) -> Value:
    """FloorMod: the remainder has the divisor's sign. ONNX has it for integers; floats are corrected after C's fmod."""
    a, b = node.input(0), node.input(1)
    if not node.dtype().is_float:
        return node.emit(ew.Mod(), a, b)
    rest = node.step(ew.Mod(fmod=True), a, b)
    signs = node.step(ew.Mul(), node.step(ew.Sign(), rest), b, suffix="signs")
    differ = node.step(ew.Less(), signs, node.scalar_like(b, 0), suffix="differ")
    return node.emit(ew.Where(), differ, node.step(ew.Add(), rest, b, suffix="moved"), rest)


def import_squared_difference(node: ImportNode) -> Value:
    """(x - y) squared."""
    difference = node.step(ew.Sub(), node.input(0), node.input(1))
    return node.emit(ew.Mul(), difference, difference)


def import_add_n(node: ImportNode) -> Value:
    """AddN and AccumulateNV2: the sum of all inputs, which have one shape."""
    values = node.inputs
    if len(values) == 1:
        return values[0]
    if len(values) == 2:
        return node.emit(ew.Add(), *values)
    return node.emit(ew.Sum(), *values)


def import_bias_add(node: ImportNode) -> Value:
    """BiasAdd: a vector along the channels, which are the last axis, or with data_format NCHW the second."""
    data, bias = node.input(0), node.input(1)
    if node.attrs.get("data_format", "NHWC") == "NHWC":
        return node.emit(ew.Add(), data, bias)
    rank = node.rank(data)
    if rank > 2:
        bias = node.step(Unsqueeze(), bias, node.vector(range(1, rank - 1)), suffix="bias")
    return node.emit(ew.Add(), data, bias)


def import_select(node: ImportNode) -> Value:
    """Select of version 1: a condition of rank 1 chooses whole rows of operands of a higher rank."""
    condition, x, y = node.inputs
    if node.rank(condition) == 1 and node.rank(x) > 1:
        condition = node.step(Unsqueeze(), condition, node.vector(range(1, node.rank(x))), suffix="rows")
    return node.emit(ew.Where(), condition, x, y)


def import_clip(node: ImportNode) -> Value:
    """ClipByValue: constant limits make a Clip, others the minimum and maximum with them.

    Where the limits cross, TensorFlow gives the lower one, a Clip the higher.
    """
    data, low, high = node.inputs
    constant = all(limit.shape == () and limit.tensor is not None for limit in (low, high))
    if constant and not node.elements(1, "the lower limit") > node.elements(2, "the higher limit"):
        return node.emit(ew.Clip(), data, low, high)
    return node.emit(ew.Max(), node.step(ew.Min(), data, high), low)


def keeping_zeros(slot: int, function: Callable[[ImportNode, Value, Value], Value]) -> ImportFunction:
    """Return a function of two operands that is 0 where the one in `slot` is, whatever the other one is."""

    def import_kept(node: ImportNode) -> Value:
        value, decider = function(node, *node.inputs), node.input(slot)
        zero = node.scalar_like(decider, 0)
        return node.emit(ew.Where(), node.step(ew.Equal(), decider, zero), zero, value)

    return import_kept


def angle_of(node: ImportNode, y: Value, x: Value) -> Value:
    """Return the angle of (x, y), which is the node's result."""
    node.decide(
        DecisionKind.PRECISION,
        "Atan2 is atan(y / x) moved to its quadrant: zeros have no sign, and two infinite operands give NaN",
    )
    zero = node.scalar_like(x, 0)
    angle = node.step(ew.Atan(), node.step(ew.Div(), y, x, suffix="slope"))
    is_below = node.step(ew.Less(), y, zero, suffix="below")
    turn = node.step(ew.Where(), is_below, node.scalar_like(x, -math.pi), node.scalar_like(x, math.pi), suffix="turn")
    is_left = node.step(ew.Less(), x, zero, suffix="left")
    moved = node.step(ew.Where(), is_left, node.step(ew.Add(), angle, turn, suffix="turned"), angle, suffix="moved")
    half = node.step(ew.Mul(), node.step(ew.Sign(), y), node.scalar_like(x, math.pi / 2), suffix="vertical")
    return node.emit(ew.Where(), node.step(ew.Equal(), x, zero, suffix="on_axis"), half, moved)


IMPORTS: dict[str, ImportFunction] = {
    "AccumulateNV2": import_add_n,
    "Add": direct(ew.Add),
    "AddN": import_add_n,
    "AddV2": direct(ew.Add),
    # The difference is the tolerance at most, which TensorFlow's kernels allow, unlike its documentation.
    "ApproximateEqual": lambda node: node.emit(
        ew.LessOrEqual(),
        node.step(ew.Abs(), node.step(ew.Sub(), *node.inputs)),
        node.scalar_like(node.input(0), node.attrs["tolerance"]),
    ),
    "Atan2": lambda node: angle_of(node, *node.inputs),
    "BiasAdd": import_bias_add,
    "BiasAddV1": import_bias_add,
    "ClipByValue": import_clip,
    "Div": direct(ew.Div),
    "DivNoNan": keeping_zeros(1, lambda node, x, y: node.step(ew.Div(), x, y)),
    "Equal": direct(ew.Equal),
    "FloorDiv": import_floor_div,
    "FloorMod": import_floor_mod,
    "Greater": direct(ew.Greater),
    "GreaterEqual": direct(ew.GreaterOrEqual),
    "Less": direct(ew.Less),
    "LessEqual": direct(ew.LessOrEqual),
    "LogicalAnd": direct(ew.And),
    "LogicalOr": direct(ew.Or),
    "Maximum": direct(ew.Max),
    "Minimum": direct(ew.Min),
    "Mod": direct(ew.Mod(fmod=True)),
    "Mul": direct(ew.Mul),
    "MulNoNan": keeping_zeros(1, lambda node, x, y: node.step(ew.Mul(), x, y)),
    "NotEqual": lambda node: node.emit(ew.Not(), node.step(ew.Equal(), node.input(0), node.input(1))),
    "Pow": direct(ew.Pow),
    "RealDiv": direct(ew.Div),
    "Select": import_select,
    "SelectV2": direct(ew.Where),
    "SquaredDifference": import_squared_difference,
    "Sub": direct(ew.Sub),
    "TruncateDiv": import_truncate_div,
    "TruncateMod": direct(ew.Mod(fmod=True)),
    "Xdivy": keeping_zeros(0, lambda node, x, y: node.step(ew.Div(), x, y)),
    "Xlog1py": keeping_zeros(
        0,
        lambda node, x, y: node.step(
            ew.Mul(), x, node.step(ew.Log(), node.step(ew.Add(), y, node.scalar_like(y, 1)))
        ),
    ),
    "Xlogy": keeping_zeros(0, lambda node, x, y: node.step(ew.Mul(), x, node.step(ew.Log(), y))),
}
