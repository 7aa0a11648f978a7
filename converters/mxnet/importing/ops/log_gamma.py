"""The logarithm of |gamma(x)| in operators that ONNX has.

Source: Stirling's series (Abramowitz and Stegun, 6.1.41) from 8 on; below that gamma(x + 1) = x gamma(x) leads there,
and for negative numbers the reflection gamma(x) gamma(1 - x) = pi / sin(pi x) to positive ones.
"""

from __future__ import annotations

import math

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.types import DType

SHIFT = 8
# The coefficients of 1/z, 1/z^3, ...: what is left out is below 2e-13 from 8 on.
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


class Steps:
    """Arithmetic of a node on its way to its result, in one dtype; numbers become constants."""

    def __init__(self, node: ImportNode, dtype: DType) -> None:
        self.node = node
        self.dtype = dtype

    def number(self, number: float) -> Value:
        """A constant."""
        return self.node.constant(number, self.dtype)

    def __call__(self, op: Operator, *operands: Value | float) -> Value:
        values = [each if isinstance(each, Value) else self.number(each) for each in operands]
        return self.node.step(op, *values)

    def add(self, left: Value | float, right: Value | float) -> Value:
        """left + right."""
        return self(ir.Add(), left, right)

    def sub(self, left: Value | float, right: Value | float) -> Value:
        """left - right."""
        return self(ir.Sub(), left, right)

    def mul(self, left: Value | float, right: Value | float) -> Value:
        """left right."""
        return self(ir.Mul(), left, right)

    def div(self, left: Value | float, right: Value | float) -> Value:
        """left / right."""
        return self(ir.Div(), left, right)

    def log(self, value: Value) -> Value:
        """The natural logarithm."""
        return self(ir.Log(), value)

    def where(self, condition: Value, then: Value | float, other: Value | float) -> Value:
        """The one or the other, element by element."""
        values = [each if isinstance(each, Value) else self.number(each) for each in (then, other)]
        return self.node.step(ir.Where(), condition, *values)

    def below(self, left: Value | float, right: Value | float) -> Value:
        """left < right."""
        return self(ir.Less(), left, right)


def log_gamma_of_positive(steps: Steps, value: Value) -> Value:
    """log gamma(x) of float64 numbers x >= 0."""
    small = steps.below(value, float(SHIFT))
    low = steps(ir.Min(), value, float(SHIFT))
    product = low
    for offset in range(1, SHIFT):
        product = steps.mul(product, steps.add(low, float(offset)))
    z = steps.where(small, steps.add(value, float(SHIFT)), value)
    inverse = steps.div(1.0, z)
    square = steps.mul(inverse, inverse)
    series: Value | float = SERIES[-1]
    for coefficient in SERIES[-2::-1]:
        series = steps.add(steps.mul(square, series), coefficient)
    whole = steps.mul(z, steps.sub(steps.log(z), 1.0))
    found = steps.sub(whole, steps.mul(steps.log(z), 0.5))
    found = steps.add(steps.add(found, 0.5 * math.log(2 * math.pi)), steps.mul(inverse, series))
    found = steps.where(small, steps.sub(found, steps.log(product)), found)
    return steps.where(steps.node.step(ir.Equal(), value, steps.number(math.inf)), math.inf, found)


def log_gamma(steps: Steps, value: Value) -> Value:
    """log |gamma(x)| of float64 numbers: infinite for 0 and negative whole numbers, and for both infinities."""
    negative = steps.below(value, 0.0)
    positive = steps.where(negative, steps.sub(1.0, value), value)
    found = log_gamma_of_positive(steps, positive)
    size = steps(ir.Abs(), value)
    fraction = steps.sub(size, steps(ir.Floor(), size))  # of an infinity NaN, which what follows replaces
    sine = steps(ir.Abs(), steps(ir.Sin(), steps.mul(fraction, math.pi)))
    reflected = steps.sub(steps.sub(math.log(math.pi), steps.log(sine)), found)
    pole = steps.node.step(ir.Or(), steps.node.step(ir.Equal(), fraction, steps.number(0.0)),
                           steps.node.step(ir.Equal(), size, steps.number(math.inf)))  # fmt: skip
    return steps.where(negative, steps.where(pole, math.inf, reflected), found)


__all__ = ["Steps", "log_gamma", "log_gamma_of_positive"]
