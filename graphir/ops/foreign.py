"""Operators of unknown domains, kept as they are."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.types import ANYTHING, Type

from .base import Operator, operator
from .traits import Rounding
from .work import Open


@operator
class Foreign(Operator):
    """An operator that graphir does not know: its domain, name, attributes (name and value) and number of results.

    An attribute is a number, a text, a tuple of such, or what the source's format wrote for it as bytes.
    `absent_results` are those that the source gives no name, `unnamed` says that it gives the node none.
    Nothing follows for the types of the results.
    """

    inputs = ("inputs*",)
    may_leave_gaps = True
    rounding = Rounding.UNKNOWN
    work = Open("graphir does not know what the operator computes")
    foreign_domain: str = ""
    operator_name: str = ""
    attribute_items: tuple[tuple[str, object], ...] = ()
    results: int = 1
    absent_results: tuple[int, ...] = ()
    unnamed: bool = False

    @property
    def shown_name(self) -> str:
        """What its source calls it."""
        return self.operator_name

    @property
    def output_count(self) -> int:
        """How many results the source states."""
        return self.results

    def infer(self, *operands: Type | None) -> tuple[Type, ...]:
        return (ANYTHING,) * self.results


OPERATORS = (Foreign,)
TRAITS_OF: Mapping[str, str] = {"FusedMatMul": "MatMul", "Upsample": "Resize"}
"""Operators of onnxruntime and of old opsets, by name, with the operator whose traits they have."""
