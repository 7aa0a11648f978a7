"""What each operator becomes in MXNet, one file a family."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from graphir.converters.mxnet.exporting.context import AnyNode, ExportFunction
from graphir.ops.base import Operator
from graphir.ops.families import FamilyTable

FAMILIES = (
    "activation", "attention", "casting", "bitwise", "convolution", "creation",
    "detection", "einsum", "elementwise", "image", "indexing", "linear",
    "ngrams", "normalization", "padding", "pooling", "quantization", "random", "recurrent", "reduction",
    "refused", "resize", "sampling", "scatter", "shape", "shape_parts", "signal", "special_functions",
)  # fmt: skip


@cache
def export_table() -> FamilyTable[type[Operator], ExportFunction]:
    """Return the export function of every operator that MXNet can say."""
    return FamilyTable(__name__, FAMILIES, "EXPORTS", convert=_after_idioms)


def _after_idioms(op: type[Operator], function: ExportFunction) -> ExportFunction:
    """Return the function for the nodes that no idiom writes."""
    from graphir.converters.mxnet.exporting.ops.idioms import IDIOMS

    for idiom in (idiom for written, idiom in IDIOMS if written is op):
        function = partial(_unless, idiom, function)
    return function


def _unless(idiom: Callable[[AnyNode], bool], function: ExportFunction, node: AnyNode) -> None:
    """Export the function for the nodes that the idiom does not write."""
    if not idiom(node):
        function(node)
