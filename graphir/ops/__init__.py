"""The neutral operator set: one file a family, one frozen dataclass an operator.

Names and meanings are ONNX's where ONNX has the operator; the others say so in their docstrings.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from .base import Known, Operator, operator
from .families import FamilyTable

FAMILIES = (
    "activation",
    "attention",
    "bitwise",
    "control",
    "convolution",
    "creation",
    "detection",
    "elementwise",
    "factorization",
    "foreign",
    "image",
    "indexing",
    "linear",
    "losses",
    "normalization",
    "pooling",
    "quantization",
    "random",
    "recurrent",
    "reduction",
    "resize",
    "sequence",
    "shape",
    "shape_parts",
    "signal",
    "special_functions",
    "text",
)


@cache
def operator_table() -> FamilyTable[str, type[Operator]]:
    """Return every operator class by name."""
    return FamilyTable(__name__, FAMILIES, "OPERATORS", listed=by_name)


@cache
def traits_of(name: str) -> type[Operator]:
    """Return the operator class that states the traits of an operator of ONNX: those of an unknown one are
    `Foreign`'s."""
    from .foreign import TRAITS_OF, Foreign

    return operator_table().get(TRAITS_OF.get(name, name), Foreign)


def by_name(operators: Iterable[type[Operator]]) -> dict[str, type[Operator]]:
    """Return the classes by their names."""
    return {cls.__name__: cls for cls in operators}


def __getattr__(name: str) -> Any:
    operator = operator_table().get(name) if name[:1].isupper() else None
    if operator is None:
        raise AttributeError(f"module {__name__!r} has no operator {name!r}")
    return operator


def __dir__() -> list[str]:
    return sorted([*__all__, *operator_table()])


__all__ = ["FAMILIES", "Known", "Operator", "by_name", "operator", "operator_table", "traits_of"]
