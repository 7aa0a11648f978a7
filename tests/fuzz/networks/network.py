"""A symbol in the making: its nodes, and what each of them gives, computed by the numpy reference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.errors import GraphirError

Array = NDArray[Any]
Document = dict[str, Any]


class NoNode(Exception):
    """A node that the reference refuses."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One result of a node with its elements; `exact` ones are the same on every road, to the last bit."""

    node: int
    slot: int
    array: Array
    exact: bool


def document(nodes: Sequence[Document], heads: Sequence[Sequence[int]], np_shape: bool = False) -> Document:
    """A symbol as MXNet 1.9.1 writes it."""
    attrs: Document = {"mxnet_version": ["int", 10901]}
    return {
        "nodes": list(nodes),
        "arg_nodes": [place for place, node in enumerate(nodes) if node["op"] == "null"],
        "node_row_ptr": list(range(len(nodes) + 1)),
        "heads": [[node, slot, 0] for node, slot in heads],
        "attrs": attrs | ({"is_np_shape": ["int", 1]} if np_shape else {}),
    }


@dataclass
class Network:
    """The nodes so far, the arrays of the variables, and the entries that later nodes may read.

    `params` and `aux` name the variables that are weights and states.
    """

    np_shape: bool = False
    nodes: list[Document] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    params: set[str] = field(default_factory=set)
    entries: list[Entry] = field(default_factory=list)
    weights: list[Entry] = field(default_factory=list)

    def variable(self, array: Array, *, param: bool = False) -> Entry:
        """A new variable."""
        name = f"{'w' if param else 'x'}{len(self.nodes)}"
        self.nodes.append({"op": "null", "name": name, "inputs": []})
        self.arrays[name] = array
        found = Entry(len(self.nodes) - 1, 0, array, True)
        if param:
            self.params.add(name)
            self.weights.append(found)
        return found

    def add(
        self,
        op: str,
        operands: Sequence[Entry],
        attrs: Mapping[str, object] | None = None,
        *,
        heads: int = 1,
        exact: bool = False,
        subgraphs: Sequence[Document] = (),
    ) -> list[Entry]:
        """A node over entries: its results. Raises NoNode, the network as it was, where the reference refuses it."""
        texts = {key: str(value) for key, value in (attrs or {}).items()}
        name = f"n{len(self.nodes)}"
        node: Document = {"op": op, "name": name, "inputs": [[each.node, each.slot, 0] for each in operands]}
        if texts:
            node["attrs"] = texts
        if subgraphs:
            node["subgraphs"] = list(subgraphs)
        results = self._computed(node, operands, heads)
        self.nodes.append(node)
        known = exact and all(each.exact for each in operands)
        made = [
            Entry(len(self.nodes) - 1, slot, array, known or array.dtype.kind != "f")
            for slot, array in enumerate(results)
        ]
        self.entries.extend(made)
        return made

    def _computed(self, node: Document, operands: Sequence[Entry], heads: int) -> list[Array]:
        """What the node gives, alone with variables in place of its operands."""
        alone = [{"op": "null", "name": f"o{slot}", "inputs": []} for slot in range(len(operands))]
        reads = [[slot, 0, 0] for slot in range(len(operands))]
        count = len(alone)
        text = json.dumps(document([*alone, node | {"inputs": reads}], [(count, slot) for slot in range(heads)],
                                   self.np_shape))  # fmt: skip
        given = {f"o{slot}": each.array for slot, each in enumerate(operands)}
        try:
            with np.errstate(all="ignore"):
                found = list(evaluate(read_symbol(text), given).values())
        except GraphirError as error:
            raise NoNode(str(error)) from error
        if len(found) != heads:
            raise NoNode(f"{len(found)} results of {heads}")
        return found

    def first_results(self, heads: Sequence[Entry]) -> list[Entry]:
        """The first results of normalizations whose statistics the heads need: MXNet computes none without them."""
        needed = self._needed(heads)
        asked = {node for place in needed for node, slot, _ in self.nodes[place]["inputs"] if slot}
        asked |= {each.node for each in heads if each.slot}
        return [each for each in self.entries if each.node in asked and not each.slot and each.node in needed]

    def _needed(self, heads: Sequence[Entry]) -> set[int]:
        needed: set[int] = set()
        pending = [each.node for each in heads]
        while pending:
            place = pending.pop()
            if place not in needed:
                needed.add(place)
                pending.extend(node for node, *_ in self.nodes[place]["inputs"])
        return needed

    def text(self, heads: Sequence[Entry]) -> str:
        """The symbol's JSON, of what the heads need."""
        needed = self._needed(heads)
        places = {old: new for new, old in enumerate(sorted(needed))}
        nodes = [
            self.nodes[old] | {"inputs": [[places[node], slot, 0] for node, slot, _ in self.nodes[old]["inputs"]]}
            for old in places
        ]
        return json.dumps(document(nodes, [(places[each.node], each.slot) for each in heads], self.np_shape))


__all__ = ["Array", "Document", "Entry", "Network", "NoNode", "document"]
