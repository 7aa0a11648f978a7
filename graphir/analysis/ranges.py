"""Between which numbers a value lies for all inputs, and on which sides of what it compares with a node can be."""

from __future__ import annotations

import math

from graphir.graph import Node, Value
from graphir.ops.activation import Relu
from graphir.ops.control import If
from graphir.ops.elementwise import Add, Clip, Greater, GreaterOrEqual, Less, LessOrEqual, Max, Min, Mod, Mul
from graphir.ops.slicing import Slice
from graphir.ops.traits import ANY, POSITIVE, DecisionTrait, Rounding
from graphir.types import DType, TensorType

Range = tuple[float, float]
ZERO = (0.0, 0.0)
# Constants with more elements are weights, which nothing is compared with.
MOST_ELEMENTS = 4096
# What an int64 has room for.
LARGEST = 2.0**63
# Ranges are followed through so many nodes in a row: behind an activation stand a few that move its numbers.
MOST_NODES = 16
BELOW, BEYOND = -1, 1


def range_of(value: Value, known: dict[Value, Range] | None = None, depth: int = MOST_NODES) -> Range:
    """Return the least and the largest number that a value can be, but for NaN.

    Operators state the bounds of their results (`bounds`). What moves or limits elements gives those of its operands;
    it may put zeros beside what it moves. Linear in the nodes that it looks at.
    """
    known = {} if known is None else known
    if value not in known:
        low, high = _range_of(value, known, depth)
        is_unsigned = value.dtype is not None and value.dtype.is_unsigned
        known[value] = max(low, 0.0) if is_unsigned else low, high
    return known[value]


def _range_of(value: Value, known: dict[Value, Range], depth: int) -> Range:
    node = value.producer
    if value.tensor is not None:
        is_small = value.tensor.size <= MOST_ELEMENTS and (value.tensor.dtype.is_float or value.tensor.dtype.is_integer)
        numbers = value.tensor.numpy() if is_small else None
        return ANY if numbers is None or not numbers.size else (float(numbers.min()), float(numbers.max()))
    if node is None or not depth or not isinstance(value.type, TensorType):
        return ANY
    operator = node.op
    if isinstance(operator, Add | Mul | Mod):
        first, second = (range_of(operand, known, depth - 1) for operand in node.inputs if operand is not None)
        if isinstance(operator, Mod):  # without `fmod` the remainder has the divisor's sign
            return (0.0, second[1]) if second[0] > 0 and not operator.fmod else ANY
        if isinstance(operator, Mul):
            ends = [one * other for one in first for other in second]
        else:
            ends = [first[0] + second[0], first[1] + second[1]]
        # Infinities of both signs have no sum, 0 and an infinity no product; whole numbers may wrap around.
        is_known = not any(map(math.isnan, ends)) and (
            value.dtype in (DType.FLOAT32, DType.FLOAT64)
            or (value.dtype is DType.INT64 and max(map(abs, ends)) < LARGEST)
        )
        return (min(ends), max(ends)) if is_known else ANY
    low, high = POSITIVE if operator.rounding is Rounding.SIZES else operator.bounds
    is_limit = operator.rounding is Rounding.EXACT and operator.decides is DecisionTrait.LIMITS
    if not is_limit and operator.rounding not in (Rounding.VIEWS, Rounding.MOVES):
        return low, high
    data = [operand for operand in node.inputs if operand is not None and operand.dtype is value.dtype]
    ranges = [range_of(operand, known, depth - 1) for operand in data]
    lows, highs = [pair[0] for pair in ranges], [pair[1] for pair in ranges]
    match operator:
        case Max():
            return max(lows), max(highs)
        case Min():
            return min(lows), min(highs)
        case Clip():
            least, most = _ends(node, known)
            return min(max(lows[0], least[0]), most[0]), max(min(highs[0], most[1]), least[1])
    return max(low, min([0.0, *lows])), min(high, max([0.0, *highs]))


def _ends(node: Node, known: dict[Value, Range]) -> tuple[Range, Range]:
    """Return the ranges of a Clip's bounds."""
    least, most = (*node.inputs[1:], None, None)[:2]
    nothing = float("-inf"), float("inf")
    return (
        (nothing[0], nothing[0]) if least is None else range_of(least, known),
        (nothing[1], nothing[1]) if most is None else range_of(most, known),
    )


def possible_sides(node: Node) -> set[int]:
    """Return on which sides of what a node compares it with its first operand can be, as far as ranges tell.

    A Relu that reads a sigmoid is never below 0. Of a Slice nothing may be left, or something be cut off, as its sizes
    tell.
    """
    known: dict[Value, Range] = {}
    ranges = [range_of(value, known) for value in node.inputs if value is not None]
    match node.op:
        case If() if (condition := node.inputs[0]) is not None and condition.tensor is not None:
            return {BEYOND if condition.tensor.numpy().any() else BELOW}
        case Relu() | Mod():
            below, beyond = ZERO, ZERO
        case Clip():
            below, beyond = _ends(node, known)
        case Max() | Min() | Greater() | GreaterOrEqual() | Less() | LessOrEqual() if len(ranges) == 2:
            below = beyond = ranges[1]
        case Slice() if node.inputs[0] is not None and node.outputs[0].shape is not None:
            sizes = node.outputs[0].shape
            is_known = all(isinstance(size, int) and size for size in sizes)
            return ({BELOW} if not is_known else set()) | ({BEYOND} if sizes != node.inputs[0].shape else set())
        case _:
            return {BELOW, BEYOND}
    low, high = ranges[0]
    return {side for side, is_open in ((BELOW, low < below[1]), (BEYOND, high > beyond[0])) if is_open}
