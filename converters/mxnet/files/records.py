"""MXNet's own graph records (NNVM), as the reader gives them: plain data, no IR.

The reader has already applied MXNet's upgrade rules and canonical operator names, so whatever version wrote the file,
a record reads as if MXNet 1.9.1 had written it. Attribute values are still strings; `schema.typed_attributes` types
them and fills in the operator's defaults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from graphir.structure.record import mutable_record, record

VARIABLE = "null"
T = TypeVar("T", bound=Hashable)


@dataclass(slots=True)
class NNVMNode:
    """One node. A variable has `op == "null"`; its outputs are itself.

    `attrs` are the operator's parameters as the file states them, without defaults; `annotations` the user's and
    MXNet's own `__key__` entries (`__shape__`, `__dtype__`, `__init__`, ...), keys with their underscores.
    `inputs` are pairs (index of the producing node, index of its output). `source_op` is the operator's name in the
    file when that was an alias of `op`, else "".
    """

    op: str
    name: str
    attrs: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    inputs: list[tuple[int, int]] = field(default_factory=list)
    subgraphs: list[NNVMGraph] = field(default_factory=list)
    source_op: str = ""


@record
class Upgrade:
    """One change that an upgrade rule made: the rule (R1 to R5, or "alias"), the node, and what was done."""

    rule: str
    node: str
    text: str


@mutable_record
class NNVMGraph:
    """A symbol: nodes in topological order, and heads as pairs (node index, output index).

    `version` is MXNet's version number as the file states it (10901 for 1.9.1), 800 if it states none.
    `np_shape` says that 0 in a shape is a size and -1 the unknown (MXNet's np_shape semantics).
    """

    nodes: list[NNVMNode]
    heads: list[tuple[int, int]]
    version: int = 800
    np_shape: bool = False
    upgrades: list[Upgrade] = field(default_factory=list)

    def post_order(self) -> list[int]:
        """Return the indices of the nodes that the heads depend on, as `post_order` does."""
        return post_order((index for index, _ in self.heads), self._producers)

    def variables(self) -> list[int]:
        """Return the indices of the variables that the heads depend on, in the order of MXNet's `list_inputs`.

        A node with symbols inside it gives them their values in this order.
        """
        return [index for index in self.post_order() if self.nodes[index].op == VARIABLE]

    def variable_names(self) -> list[str]:
        """Return the names of `variables`: arguments and auxiliary states in one list."""
        return [self.nodes[index].name for index in self.variables()]

    def with_nodes(self, order: Sequence[int]) -> NNVMGraph:
        """Return the symbol with these of its nodes alone, in this order; none reads a node that is left out."""
        places = {index: place for place, index in enumerate(order)}
        nodes = [
            replace(node, inputs=[(places[producer], slot) for producer, slot in node.inputs])
            for node in map(self.nodes.__getitem__, order)
        ]
        heads = [(places[index], slot) for index, slot in self.heads]
        return NNVMGraph(nodes, heads, self.version, self.np_shape, self.upgrades)

    def _producers(self, index: int) -> Iterable[int]:
        return [producer for producer, _ in self.nodes[index].inputs]


def post_order(heads: Iterable[T], inputs: Callable[[T], Iterable[T]]) -> list[T]:
    """Return the nodes that the heads depend on, each behind its inputs, in NNVM's order: depth first. Linear."""
    order: list[T] = []
    seen: set[T] = set()
    for head in heads:
        if head in seen:
            continue
        seen.add(head)
        path: list[tuple[T, Iterator[T]]] = [(head, iter(inputs(head)))]
        while path:
            node, rest = path[-1]
            for producer in rest:
                if producer not in seen:
                    seen.add(producer)
                    path.append((producer, iter(inputs(producer))))
                    break
            else:
                order.append(node)
                path.pop()
    return order


def count_operators(graph: NNVMGraph) -> dict[str, int]:
    """Return how many nodes there are of each operator, those of subgraphs included; variables are none."""
    counts: Counter[str] = Counter()
    pending = [graph]
    while pending:
        for node in pending.pop().nodes:
            if node.op != VARIABLE:
                counts[node.op] += 1
            pending.extend(node.subgraphs)
    return dict(counts)
