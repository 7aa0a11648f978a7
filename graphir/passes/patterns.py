"""Patterns of nodes: how a value is computed, written as nested operators with names for what may be anything."""

from __future__ import annotations

from typing import TypeAlias

from graphir.graph import Value
from graphir.ops.base import Operator

Operand: TypeAlias = "Pattern | str | None"


class Pattern:
    """An operator class with its operands: a Pattern, a name that an operand is bound to, None for an absent one.

    `Pattern(Mul, "x", Pattern(Sigmoid, "x"))` describes `x * sigmoid(x)`: a name that comes twice is one value.
    Operands are matched in the order in which they are written.
    """

    __slots__ = ("op", "operands")

    def __init__(self, op: type[Operator], *operands: Operand) -> None:
        self.op = op
        self.operands = operands

    def match(self, value: Value) -> dict[str, Value] | None:
        """Return the values by name if the value is computed as described, else None. Linear in the pattern."""
        names: dict[str, Value] = {}
        return names if self._bind(value, names) else None

    def _bind(self, value: Value | None, names: dict[str, Value]) -> bool:
        node = value.producer if value is not None else None
        if node is None or not isinstance(node.op, self.op) or len(node.inputs) != len(self.operands):
            return False
        for operand, expected in zip(node.inputs, self.operands, strict=True):
            if isinstance(expected, Pattern):
                if not expected._bind(operand, names):
                    return False
            elif expected is None or operand is None:
                if not (expected is None and operand is None):
                    return False
            elif names.setdefault(expected, operand) is not operand:
                return False
        return True
