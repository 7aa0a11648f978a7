"""Arithmetic of import functions in few words, and the logarithm of |gamma(x)|."""

from __future__ import annotations

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.ops.base import Operator
from graphir.ops.special_functions import LogGamma
from graphir.types import DType


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


def log_gamma(steps: Steps, value: Value) -> Value:
    """log |gamma(x)| of float64 numbers: infinite for 0 and negative whole numbers, and for both infinities."""
    return steps(LogGamma(), value)
