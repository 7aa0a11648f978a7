"""Regions of no image for live MXNet, whose CPU build leaves their rows as memory was and zeroes elements of others."""

from __future__ import annotations

from dataclasses import replace

from graphir.converters.mxnet.files.records import NNVMGraph, NNVMNode

# Its regions have a batch index in their first column, which below 0 says that the row only fills the table up: each
# level of a pyramid pools the regions of its size.
ALIGN = "_contrib_ROIAlign"


def with_zeros_for_no_image(symbol: NNVMGraph) -> NNVMGraph:
    """Return the symbol whose pooled regions are zeros where the batch index is below 0, as MXNet has them on GPUs.

    Such regions are pooled from the first image, so that nothing is left unwritten, and zeros are chosen behind.
    """
    if not any(node.op == ALIGN for node in symbol.nodes):
        return symbol
    nodes: list[NNVMNode] = []
    places: list[int] = []
    for node in symbol.nodes:
        moved = replace(node, inputs=[(places[producer], slot) for producer, slot in node.inputs])
        nodes += _around(moved, len(nodes)) if node.op == ALIGN else [moved]
        places.append(len(nodes) - 1)
    heads = [(places[producer], slot) for producer, slot in symbol.heads]
    return replace(symbol, nodes=nodes, heads=heads)


def _around(node: NNVMNode, first: int) -> list[NNVMNode]:
    """Return a pooling of regions with what stands before and behind it; the last one has its name."""
    data, regions, *more = node.inputs
    name = f"{node.name}_graphir_"
    return [
        NNVMNode("slice_axis", f"{name}image", {"axis": "1", "begin": "0", "end": "1"}, {}, [regions]),
        NNVMNode("slice_axis", f"{name}corners", {"axis": "1", "begin": "1", "end": "None"}, {}, [regions]),
        NNVMNode("relu", f"{name}first", {}, {}, [(first, 0)]),
        NNVMNode("Concat", f"{name}of_images", {"dim": "1", "num_args": "2"}, {}, [(first + 2, 0), (first + 1, 0)]),
        replace(node, name=f"{name}pooled", inputs=[data, (first + 3, 0), *more]),
        NNVMNode("_greater_scalar", f"{name}held", {"scalar": "-1"}, {}, [(first, 0)]),
        NNVMNode("Reshape", f"{name}rows", {"shape": "(-1,)"}, {}, [(first + 5, 0)]),
        NNVMNode("zeros_like", f"{name}zeros", {}, {}, [(first + 4, 0)]),
        NNVMNode("where", node.name, {}, {}, [(first + 6, 0), (first + 4, 0), (first + 7, 0)]),
    ]
