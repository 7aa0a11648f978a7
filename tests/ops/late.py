"""Operators of bad rows that are refused when they are made: written down in the table, made by the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphir.ops.base import Operator


@dataclass(frozen=True)
class Late:
    """An operator that the test makes."""

    operator: type[Operator]
    values: tuple[Any, ...]
    named: dict[str, Any]

    def __str__(self) -> str:
        shown = [*map(str, self.values), *(f"{name}={value}" for name, value in self.named.items())]
        return f"{self.operator.__name__}({', '.join(shown)})"


def late(operator: type[Operator], *values: Any, **named: Any) -> Late:
    """An operator with these attributes, to be made by the test."""
    return Late(operator, values, named)


def made(op: Operator | Late) -> Operator:
    """The operator, made now if it was not yet."""
    return op.operator(*op.values, **op.named) if isinstance(op, Late) else op
