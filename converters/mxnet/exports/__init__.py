"""What each operator becomes in MXNet, one file a family."""

from __future__ import annotations

from importlib import import_module

from graphir.converters.mxnet.export_context import ExportTable
from graphir.errors import GraphirError

FAMILIES = (
    "activation",
    "convolution",
    "creation",
    "elementwise",
    "indexing",
    "linear",
    "normalization",
    "pooling",
    "reduction",
    "resize",
    "shape",
    "shape_parts",
)


def export_table() -> ExportTable:
    """The export function of every operator that MXNet can say. An operator that comes twice is an error."""
    found: ExportTable = {}
    for family in FAMILIES:
        entries: ExportTable = import_module(f"{__name__}.{family}").EXPORTS
        for op, function in entries.items():
            if op in found:
                raise GraphirError(f"two export functions for {op.__name__}")
            found[op] = function
    return found


__all__ = ["FAMILIES", "export_table"]
