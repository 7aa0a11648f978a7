"""What the records of a symbol tell by themselves: what heads need, their names, and which nodes may be sparse."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.importing.heads import LOSS_HEADS
from graphir.converters.mxnet.schema.operators import output_names

DENSE, ROWS, MATRIX = "default", "row_sparse", "csr"
STORAGE_TYPE = "__storage_type__"
NUMBERED = {"-1": DENSE, "0": DENSE, "1": ROWS, "2": MATRIX}


def sparse_nodes(source: NNVMGraph) -> frozenset[int]:
    """Casts to a sparse array, variables declared so, and all that depend on those, up to casts to a dense one."""
    results: set[int] = set()
    for index, record in enumerate(source.nodes):
        if record.op == "cast_storage":
            sparse = record.attrs.get("stype") != DENSE
        else:
            declared = NUMBERED.get(record.annotations.get(STORAGE_TYPE, "0")) != DENSE
            sparse = declared or any(read in results for read, _ in record.inputs)
        if sparse:
            results.add(index)
    return frozenset(results)


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
