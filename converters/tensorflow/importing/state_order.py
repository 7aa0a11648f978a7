"""In which order nodes read and write a variable, as far as their inputs and control dependencies determine it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphir.converters.tensorflow.files.records import FunctionNode
from graphir.converters.tensorflow.importing.order import LOOP_OPS


def waits_for(node: FunctionNode) -> list[str]:
    """Return the nodes and arguments that a node needs or waits for; what a loop of TensorFlow 1 brings back is
    none."""
    inputs = () if node.op in LOOP_OPS else node.inputs
    return [*(text.partition(":")[0] for text in inputs), *node.controls]


def nodes_that_run(nodes: Mapping[str, FunctionNode], roots: Iterable[str]) -> list[FunctionNode]:
    """Return the nodes that run where the roots do, each after those that it waits for; then those that only the next
    iteration of a loop of TensorFlow 1 waits for. Linear."""
    order: list[FunctionNode] = []
    seen: set[str] = set()
    stack = [(name, False) for name in roots]
    next_iterations: list[str] = []
    while stack or next_iterations:
        if not stack:
            stack, next_iterations = [(name, False) for name in next_iterations], []
        name, is_done = stack.pop()
        if is_done:
            order.append(nodes[name])
        elif name in nodes and name not in seen:
            seen.add(name)
            stack.append((name, True))
            stack += [(before, False) for before in waits_for(nodes[name])]
            if nodes[name].op in LOOP_OPS:
                next_iterations += [text.partition(":")[0] for text in nodes[name].inputs]
    return order


@dataclass(frozen=True)
class Versions:
    """Which value of a variable each node sees: the number of writes that came before it. `writes` are in order."""

    writes: Sequence[str]
    seen: Mapping[str, int]


def versions(order: Sequence[FunctionNode], writes: set[str], reads: set[str]) -> Versions | tuple[str, str]:
    """Return the versions of a variable, or two nodes whose order is not determined. Linear.

    A write is ranked by the largest number of writes on a path to it. If all ranks differ, the path to the last one
    goes through all others. A read is in place if the write of its rank, which is the next one, waits for it.
    """
    rank: dict[str, int] = {}
    for node in order:
        before = (rank.get(name, 0) + (name in writes) for name in waits_for(node))
        rank[node.name] = max(before, default=0)
    ordered: dict[int, str] = {}
    for node in order:
        if node.name in writes and (other := ordered.setdefault(rank[node.name], node.name)) != node.name:
            return other, node.name
    following: dict[str, int] = {}  # by node, the least rank of a write that waits for it
    for node in reversed(order):
        least = following.get(node.name, len(writes))
        if node.name in reads and node.name not in writes and least > rank[node.name] < len(writes):
            return node.name, ordered[rank[node.name]]
        least_write = rank[node.name] if node.name in writes else least
        for name in waits_for(node):
            following[name] = min(least_write, following.get(name, least_write))
    return Versions([ordered[version] for version in range(len(ordered))], rank)
