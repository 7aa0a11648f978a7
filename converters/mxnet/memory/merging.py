"""Equal expressions as one: what MXNET_ELIMINATE_COMMON_EXPR does before gradients are made."""

from __future__ import annotations

from dataclasses import replace

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import node_signature

_STATEFUL = frozenset(("Custom", "Dropout", "RNN"))
_RANDOM = ("_random_", "_sample_", "sample_", "_shuffle")


def with_equal_merged(graph: NNVMGraph) -> NNVMGraph:
    """Return the graph in which readers of equal nodes read the first of them; numbers of nodes stay as they are.

    Equal are nodes of one result with the same operator, attributes and operands, at least one, that hold no state and
    draw no numbers. Nodes that are outputs of the symbol stay, though MXNet merges some of them too.
    """
    heads = {number for number, _ in graph.heads}
    first: dict[object, int] = {}
    same: dict[int, int] = {}
    nodes: list[NNVMNode] = []
    for number, node in enumerate(graph.nodes):
        inputs = [(same.get(source, source), slot) for source, slot in node.inputs]
        nodes.append(node if inputs == node.inputs else replace(node, inputs=inputs))
        if number in heads or not _may_merge(node):
            continue
        stated = (tuple(sorted(node.attrs.items())), tuple(sorted(node.annotations.items())))
        key = (node.op, stated, tuple(inputs))
        if first.setdefault(key, number) != number:
            same[number] = first[key]
    return NNVMGraph(nodes, graph.heads, graph.version, graph.np_shape, graph.upgrades) if same else graph


def _may_merge(node: NNVMNode) -> bool:
    if node.op == VARIABLE or not node.inputs or node.subgraphs or node.op in _STATEFUL or node.op.startswith(_RANDOM):
        return False
    signature = node_signature(node)
    return len(signature.outputs) == 1 and not signature.aux
