"""The order of ONNX nodes: as the file has them, or sorted where it uses values before they are produced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphir.converters.onnx.files.inner import inner_graphs
from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure

if TYPE_CHECKING:
    from graphir.converters.onnx.importing.scope import Scope


def sorted_nodes(nodes: Sequence[Any], scope: Scope) -> Sequence[Any]:
    """Return the nodes, each behind those whose results it uses; nodes in order stay as they are. Linear.

    Raises ImportFailure for a value that two nodes produce, and for a cycle, with the nodes on it.
    """
    graph = scope.graph
    producers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.output:
            if name and (name in producers or name in graph):
                other = f"node {_name(nodes[producers[name]])}" if name in producers else "an input or initializer"
                raise ImportFailure(f"value {name} is produced by node {_name(node)} and by {other}")
            if name:
                producers[name] = index
    if _is_sorted(nodes, producers):
        return nodes
    needs = [[producers[name] for name in names_read(node) if name in producers] for node in nodes]
    order = _depth_first(nodes, needs)
    scope.decide(
        DecisionKind.NODE_ORDER, "-", "the file uses values before the nodes that produce them; its nodes were sorted"
    )
    return [nodes[index] for index in order]


def _is_sorted(nodes: Sequence[Any], producers: dict[str, int]) -> bool:
    for index, node in enumerate(nodes):
        for name in names_read(node):
            if producers.get(name, -1) >= index:
                return False
    return True


def names_read(node: Any) -> list[str]:
    """Return the names of values around a node that it or its subgraphs read."""
    names = [name for name in node.input if name]
    for inner in inner_graphs(node):
        names += free_names(inner)
    return names


def free_names(graph: Any) -> list[str]:
    """Return the names that a GraphProto reads and does not define itself, each once."""
    local_names = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    local_names |= {sparse.values.name for sparse in graph.sparse_initializer}
    read: dict[str, None] = {}
    for node in graph.node:
        read.update(dict.fromkeys(names_read(node)))
        local_names.update(node.output)
    read.update(dict.fromkeys(info.name for info in graph.output))
    return [name for name in read if name not in local_names]


def _depth_first(nodes: Sequence[Any], needs: Sequence[Sequence[int]]) -> list[int]:
    order: list[int] = []
    state = [0] * len(nodes)
    for root in range(len(nodes)):
        stack = [(root, iter(needs[root]))] if state[root] == 0 else []
        state[root] = max(state[root], 1)
        while stack:
            index, pending = stack[-1]
            following = next(pending, None)
            if following is None:
                state[index] = 2
                order.append(index)
                stack.pop()
            elif state[following] == 1:
                path = [index for index, _ in stack]
                cycle = [*path[path.index(following) :], following]
                shown = " -> ".join(_name(nodes[index]) for index in reversed(cycle))
                raise ImportFailure(f"the graph has a cycle: {shown}")
            elif state[following] == 0:
                state[following] = 1
                stack.append((following, iter(needs[following])))
    return order


def _name(node: Any) -> str:
    return str(node.name or next((name for name in node.output if name), node.op_type))
