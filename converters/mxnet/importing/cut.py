"""A part of a symbol as a symbol of its own: what some of its values depend on, up to values that become variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import output_names
from graphir.errors import ImportFailure
from graphir.structure.lookup import Lookup
from graphir.structure.reaching import reachable

Entry = tuple[int, int]


class SymbolNames:
    """The values of a symbol by MXNet's names for them, and by those of their layers."""

    def __init__(self, symbol: NNVMGraph, where: str) -> None:
        self.names: dict[Entry, str] = {}
        entries: dict[str, Entry] = {}
        layers: dict[str, list[str]] = {}
        for index, node in enumerate(symbol.nodes):
            for slot, name in enumerate(output_names(node)):
                self.names[index, slot] = name
                entries.setdefault(name, (index, slot))
                if node.op != VARIABLE:
                    layers.setdefault(node.name, []).append(name)
        self._lookup = Lookup(where, entries, layers)

    def entries(self, given: Sequence[str], what: str) -> list[Entry]:
        """Return the entries that are meant. Raises GraphError for names that there are not, and ImportFailure for a
        value that is named twice."""
        found: dict[Entry, str] = {}
        for name in given:
            entry = self._lookup.find(name)
            if entry in found:
                raise ImportFailure(f"the {what} {self.names[entry]} is named twice, as {found[entry]!r} and {name!r}")
            found[entry] = name
        return list(found)


def cut_symbol(symbol: NNVMGraph, heads: Sequence[Entry], inputs: Mapping[Entry, str]) -> NNVMGraph:
    """Return the nodes that the heads depend on, with variables of these names in place of some entries. Linear."""

    def producers(entries: Sequence[Entry]) -> list[int]:
        return [entry[0] for entry in entries if entry not in inputs]

    needed = set(reachable(producers(heads), lambda index: producers(symbol.nodes[index].inputs)))
    nodes = [NNVMNode(VARIABLE, name) for name in inputs.values()]
    fed = {entry: (place, 0) for place, entry in enumerate(inputs)}
    places: dict[int, int] = {}

    def moved(entry: Entry) -> Entry:
        return fed[entry] if entry in fed else (places[entry[0]], entry[1])

    for index, node in enumerate(symbol.nodes):
        if index in needed:
            places[index] = len(nodes)
            nodes.append(replace(node, inputs=[moved(entry) for entry in node.inputs]))
    return replace(symbol, nodes=nodes, heads=[moved(head) for head in heads])
