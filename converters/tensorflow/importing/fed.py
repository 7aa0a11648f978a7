"""Graphs that read their data themselves: what an iterator gives becomes the graph's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.context import result_name
from graphir.converters.tensorflow.importing.inline import Flat

ITERATORS = frozenset({"IteratorGetNext", "IteratorGetNextSync"})


def feed_iterators(flat: Flat) -> list[str]:
    """Put a placeholder in place of each element that an iterator gives, and return their names, which are the
    endpoints' own.

    Dtypes and shapes are those that the node states. The iterator, and the data sets that it reads, are left out.
    Linear in nodes.
    """
    nodes: list[TFNode] = []
    names: list[str] = []
    moved: dict[Endpoint, Endpoint] = {}
    for node in flat.nodes:
        if node.op not in ITERATORS:
            nodes.append(node)
            continue
        dtypes, shapes = _read_list(node.attrs, "output_types"), _read_list(node.attrs, "output_shapes")
        for slot, dtype in enumerate(dtypes):
            name = result_name(node.name, slot)
            attrs = {"dtype": dtype, "shape": shapes[slot] if slot < len(shapes) else None}
            nodes.append(TFNode(name, "Placeholder", (), (), attrs))
            names.append(name)
            if slot:
                moved[Endpoint(node.name, slot)] = Endpoint(name)
    if moved:
        for node in nodes:
            node.inputs = tuple(moved.get(endpoint, endpoint) for endpoint in node.inputs)
        flat.aliases = {old: moved.get(new, new) for old, new in flat.aliases.items()} | moved
    flat.nodes = nodes
    return names


def _read_list(attrs: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    values = attrs.get(name)
    return values if isinstance(values, tuple) else ()
