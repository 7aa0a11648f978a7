"""The neutral operator set: one file a family, one frozen dataclass an operator.

Names and meanings are ONNX's where ONNX has the operator; the others say so in their docstrings.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from .base import Known, Operator, operator, table

FAMILIES = (
    "activation",
    "attention",
    "bitwise",
    "control",
    "convolution",
    "creation",
    "detection",
    "elementwise",
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
    "text",
)


@cache
def operator_table() -> dict[str, type[Operator]]:
    """Every operator class by name."""
    return table(*(import_module(f"{__name__}.{family}").OPERATORS for family in FAMILIES))


__all__ = ["FAMILIES", "Known", "Operator", "operator", "operator_table"]
