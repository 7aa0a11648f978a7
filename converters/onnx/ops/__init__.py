"""Import from ONNX and export to it, one file a family, with the same names as in `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.onnx.exporting.context import ExportFunction
from graphir.converters.onnx.importing.context import ImportFunction
from graphir.ops.base import Operator
from graphir.ops.families import FamilyTable, family_of

# Those of common operators first: each is imported when an operator is not found in those before it.
FAMILIES = (
    "convolution",
    "activation",
    "normalization",
    "pooling",
    "linear",
    "shape",
    "elementwise",
    "shape_parts",
    "creation",
    "reduction",
    "attention",
    "bitwise",
    "control",
    "detection",
    "factorization",
    "foreign",
    "image",
    "indexing",
    "losses",
    "quantization",
    "random",
    "recurrent",
    "resize",
    "sequence",
    "signal",
    "special_functions",
    "text",
)


@cache
def export_table() -> FamilyTable[type[Operator], ExportFunction]:
    """Return the export function of every operator class that ONNX can say, directly or as a composition."""
    return FamilyTable(__name__, FAMILIES, "EXPORTS", home=family_of)


@cache
def import_table() -> FamilyTable[str, dict[int, ImportFunction]]:
    """Return the import functions of every operator of ONNX's default domain, by the first opset that each is right
    for."""
    return FamilyTable(__name__, FAMILIES, "IMPORTS")


__all__ = ["FAMILIES", "export_table", "import_table"]
