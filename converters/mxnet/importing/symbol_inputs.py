"""What the records of a symbol tell by themselves: what its heads need, and their names."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.importing.heads import LOSS_HEADS
from graphir.converters.mxnet.schema.operators import output_names


def needed_nodes(symbol: NNVMGraph, heads: Sequence[tuple[int, int]]) -> set[int]:
    """Return the indices of the nodes that these heads depend on at inference, where losses do not read their
    labels."""
    needed: set[int] = set()
    stack = [node for node, _ in heads]
    while stack:
        index = stack.pop()
        if index in needed:
            continue
        needed.add(index)
        record = symbol.nodes[index]
        read = record.inputs[:1] if record.op in LOSS_HEADS else record.inputs
        stack.extend(source for source, _ in read)
    return needed


def entry_names(source: NNVMGraph) -> dict[tuple[int, int], str]:
    """MXNet's name of each output of the head nodes."""
    results: dict[tuple[int, int], str] = {}
    for index in {index for index, _ in source.heads}:
        for slot, name in enumerate(output_names(source.nodes[index])):
            results[index, slot] = name
    return results
