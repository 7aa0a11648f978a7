"""The structure of a symbol's records as MXNet shows it: order of nodes, arguments, auxiliary states, outputs."""

from __future__ import annotations

from collections.abc import Iterable

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import node_signature, output_names

Entry = tuple[int, int]


def post_order(nodes: list[NNVMNode], heads: Iterable[Entry]) -> list[int]:
    """The nodes that the heads depend on, each behind its inputs, in the order in which NNVM visits them.

    Linear in nodes and inputs.
    """
    order: list[int] = []
    seen: set[int] = set()
    for head, _ in heads:
        if head in seen:
            continue
        seen.add(head)
        way = [(head, iter(nodes[head].inputs))]
        while way:
            index, rest = way[-1]
            producer = next((producer for producer, _ in rest if producer not in seen), None)
            if producer is None:
                order.append(index)
                way.pop()
            else:
                seen.add(producer)
                way.append((producer, iter(nodes[producer].inputs)))
    return order


def state_variables(nodes: list[NNVMNode], order: Iterable[int]) -> set[int]:
    """The variables that an operator holds as auxiliary states, such as the moving mean of a BatchNorm."""
    found: set[int] = set()
    for index in order:
        node = nodes[index]
        if node.op == VARIABLE or not (signature := node_signature(node)).aux:
            continue
        for name, (producer, _) in zip(signature.inputs, node.inputs, strict=False):
            if name in signature.aux and nodes[producer].op == VARIABLE:
                found.add(producer)
    return found


def input_names(symbol: NNVMGraph) -> list[str]:
    """Arguments and auxiliary states in one list, as `list_inputs` gives them."""
    return [symbol.nodes[index].name for index in post_order(symbol.nodes, symbol.heads)
            if symbol.nodes[index].op == VARIABLE]  # fmt: skip


def head_names(nodes: list[NNVMNode], heads: Iterable[Entry]) -> list[str]:
    """The name of each head, as `list_outputs` gives it."""
    return [output_name(nodes[index], slot) for index, slot in heads]


def output_name(node: NNVMNode, slot: int) -> str:
    """The name of one output of a node; outputs that only training uses have names too."""
    if node.op == VARIABLE:
        return node.name
    names = output_names(node)
    return names[slot] if slot < len(names) else f"{node.name}_{node_signature(node).outputs[slot]}"


__all__ = ["Entry", "head_names", "input_names", "output_name", "post_order", "state_variables"]
