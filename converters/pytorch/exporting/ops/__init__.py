"""What each operator becomes in PyTorch, one file a family: the files of `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.pytorch.exporting.context import ExportFunction
from graphir.ops.base import Operator
from graphir.ops.families import FamilyTable

FAMILIES = (
    "activation",
    "attention",
    "bitwise",
    "blocks",
    "control",
    "convolution",
    "creation",
    "detection",
    "elementwise",
    "extent",
    "factorization",
    "foreign",
    "image",
    "indexing",
    "linear",
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
    "slicing",
    "special_functions",
    "text",
)


@cache
def export_table() -> FamilyTable[type[Operator], ExportFunction]:
    """The export function of every operator that is written as it stands."""
    return FamilyTable(__name__, FAMILIES, "EXPORTS")


__all__ = ["FAMILIES", "export_table"]
