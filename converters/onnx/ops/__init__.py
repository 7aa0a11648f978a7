"""Export to ONNX, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from graphir.converters.onnx.context import ExportTable
from graphir.errors import GraphirError

FAMILIES = (
    "activation",
    "convolution",
    "creation",
    "detection",
    "elementwise",
    "indexing",
    "linear",
    "normalization",
    "pooling",
    "recurrent",
    "reduction",
    "resize",
    "shape",
    "shape_parts",
)


@cache
def export_table() -> ExportTable:
    """The export function of every operator class that ONNX can say, directly or as a composition."""
    found: ExportTable = {}
    for family in FAMILIES:
        for cls, function in import_module(f"{__name__}.{family}").EXPORTS.items():
            if cls in found:
                raise GraphirError(f"two export functions for {cls.__name__}")
            found[cls] = function
    return found


__all__ = ["FAMILIES", "export_table"]
