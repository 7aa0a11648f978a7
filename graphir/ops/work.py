"""What an operator computes besides multiply-accumulates, which `macs` counts: its steps.

A step is one addition, subtraction, multiplication, division, comparison, rounding, or function of one number (`exp`,
`tanh`, an activation as a whole), whatever a machine takes for it. An operator states its `work` next to its rule: how
many steps an element takes, a function of the types, why there are none, or why nobody can tell before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphir.symbolic.unknown import UNKNOWN, Unknown
from graphir.types import Dim

if TYPE_CHECKING:
    from graphir.types import TensorType

Operands = tuple["TensorType | None", ...]
Results = tuple["TensorType", ...]


class Work:
    """How many steps an operator takes for operands and results of these types. `why` says it where there are none, or
    where the elements decide."""

    why = ""
    is_open = False

    def steps(self, op: Any, operands: Operands, results: Results) -> Dim:
        """Return a number, an expression in symbolic sizes, or UNKNOWN."""
        return UNKNOWN


class Each(Work):
    """So many steps for each element of the first result."""

    def __init__(self, count: int = 1) -> None:
        self.count = count

    def steps(self, op: Any, operands: Operands, results: Results) -> Dim:
        """Elements times steps."""
        return results[0].elements() * self.count


class EachRead(Each):
    """So many steps for each element of the first operand."""

    def steps(self, op: Any, operands: Operands, results: Results) -> Dim:
        """Elements times steps."""
        return elements(operands, 0) * self.count


class Counted(Work):
    """As many steps as a function of the operator and the types says; `why` is said where it says UNKNOWN and the types
    are known."""

    def __init__(self, count: Callable[[Any, Operands, Results], Dim], why: str = "") -> None:
        self._count = count
        self.why = why

    def steps(self, op: Any, operands: Operands, results: Results) -> Dim:
        """Return what the function says."""
        return self._count(op, operands, results)


class Nothing(Work):
    """No step, and why."""

    def __init__(self, why: str) -> None:
        self.why = why

    def steps(self, op: Any, operands: Operands, results: Results) -> Dim:
        """None."""
        return 0


class Open(Nothing):
    """Steps that nobody can tell from the types, and why."""

    is_open = True

    def steps(self, op: Any, operands: Operands, results: Results) -> Dim:
        """UNKNOWN."""
        return UNKNOWN


def elements(operands: Operands, slot: int) -> Dim:
    """Return how many elements an operand has; 0 for one that is absent."""
    operand = operands[slot] if slot < len(operands) else None
    return 0 if operand is None else operand.elements()


def is_given(operands: Operands, slot: int) -> bool:
    """Return whether there is an operand in a slot."""
    return slot < len(operands) and operands[slot] is not None


def is_open(count: Dim) -> bool:
    """Return whether a count is not known."""
    return isinstance(count, Unknown)


ONLY_MACS = Nothing("all that it computes are multiply-accumulates")
INFERENCE = Nothing("at inference it hands its operand on")
