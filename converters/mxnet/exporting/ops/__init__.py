"""What each operator becomes in MXNet, one file a family."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from graphir.converters.mxnet.exporting.context import ExportFunction, ExportNode, ExportTable
from graphir.errors import GraphirError

FAMILIES = (
    "activation",
    "attention",
    "casting",
    "bitwise",
    "convolution",
    "convolution_deformable",
    "creation",
    "cumulative",
    "detection",
    "einsum",
    "elementwise",
    "foreign",
    "image",
    "indexing",
    "linear",
    "ngrams",
    "normalization",
    "pad",
    "pooling",
    "quantization",
    "quantized_products",
    "random",
    "recurrent",
    "reduction",
    "resize",
    "sampling",
    "scatter",
    "shape",
    "shape_parts",
    "signal",
    "text",
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
    for op, idiom in import_module(f"{__name__}.idioms").IDIOMS:
        found[op] = _unless(idiom, found[op])
    return found


def _unless(idiom: Callable[[ExportNode], bool], function: ExportFunction) -> ExportFunction:
    """The function for the nodes that the idiom does not write."""

    def export_node(node: ExportNode) -> None:
        if not idiom(node):
            function(node)

    return export_node


__all__ = ["FAMILIES", "export_table"]
