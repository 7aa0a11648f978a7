"""Operators of unknown domains, kept as they are."""

from __future__ import annotations

from ..types import ANYTHING, Type
from .base import Operator, operator


@operator
class Foreign(Operator):
    """An operator that graphir does not know: its domain, name, attributes (name and value) and number of results.

    Nothing follows for the types of its results.
    """

    inputs = ("inputs*",)
    foreign_domain: str = ""
    operator_name: str = ""
    attribute_items: tuple[tuple[str, object], ...] = ()
    results: int = 1

    @property
    def output_count(self) -> int:
        """How many results the source states."""
        return self.results

    def infer(self, *operands: Type | None) -> tuple[Type, ...]:
        return (ANYTHING,) * self.results


OPERATORS = (Foreign,)

__all__ = ["OPERATORS", "Foreign"]
