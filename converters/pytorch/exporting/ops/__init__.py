"""What each operator becomes in PyTorch, one file a family: the files of `graphir.ops`."""

from __future__ import annotations

from functools import cache

from graphir.converters.pytorch.exporting.context import ExportFunction
from graphir.ops.base import Operator
from graphir.ops.families import FamilyTable, family_of

FAMILIES = (
    "activation", "attention", "control", "convolution", "creation", "detection", "elementwise", "extent",
    "factorization", "image", "indexing", "linear", "normalization", "pooling", "quantization", "random", "recurrent",
    "reduction", "refused", "resize", "sequence", "shape", "shape_parts", "signal", "slicing",
)  # fmt: skip


@cache
def export_table() -> FamilyTable[type[Operator], ExportFunction]:
    """Return the export function of every operator that is written as it stands."""
    return FamilyTable(__name__, FAMILIES, "EXPORTS", home=family_of)


__all__ = ["FAMILIES", "export_table"]
