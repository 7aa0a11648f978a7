"""Import from ONNX and export to it, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from graphir.converters.onnx.exporting.context import ExportTable
from graphir.converters.onnx.importing.context import ImportFunction
from graphir.errors import GraphirError

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
def export_table() -> ExportTable:
    """The export function of every operator class that ONNX can say, directly or as a composition."""
    found: ExportTable = {}
    for family in FAMILIES:
        for cls, function in import_module(f"{__name__}.{family}").EXPORTS.items():
            if cls in found:
                raise GraphirError(f"two export functions for {cls.__name__}")
            found[cls] = function
    return found


@cache
def import_table() -> dict[str, dict[int, ImportFunction]]:
    """The import functions of every operator of ONNX's default domain, by the first opset that each is right for."""
    found: dict[str, dict[int, ImportFunction]] = {}
    for family in FAMILIES:
        for op_type, versions in import_module(f"{__name__}.{family}").IMPORTS.items():
            if op_type in found:
                raise GraphirError(f"two families import {op_type}")
            found[op_type] = dict(versions)
    return found


__all__ = ["FAMILIES", "export_table", "import_table"]
