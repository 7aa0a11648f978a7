"""MXNet symbols put together without MXNet: parts that are equal are one node."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Part:
    """One result of a node; a variable has the operator `null`. Nodes without a name get one when they are written."""

    op: str
    name: str = ""
    inputs: tuple[Part, ...] = ()
    attrs: tuple[tuple[str, str], ...] = ()
    slot: int = 0

    def __getitem__(self, slot: int) -> Part:
        return Part(self.op, self.name, self.inputs, self.attrs, slot)


def variable(name: str, **attrs: object) -> Part:
    """A variable."""
    return Part("null", name, (), _texts(attrs))


def node(op: str, *inputs: Part, name: str = "", **attrs: object) -> Part:
    """The first result of an operator."""
    return Part(op, name, inputs, _texts(attrs))


def _texts(attrs: dict[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((key, str(value)) for key, value in attrs.items())


def symbol_json(*heads: Part) -> str:
    """The symbol of these heads, as MXNet 1.9.1 writes it."""
    nodes: list[dict[str, Any]] = []
    places: dict[Part, int] = {}

    def place(part: Part) -> list[int]:
        whole = part[0]
        if whole not in places:
            inputs = [place(held) for held in part.inputs]
            places[whole] = len(nodes)
            name = part.name or f"{part.op.lower().lstrip('_')}{len(nodes)}"
            nodes.append({"op": part.op, "name": name, "attrs": dict(part.attrs), "inputs": inputs})
        return [places[whole], part.slot, 0]

    entries = [place(head) for head in heads]
    arguments = [index for index, made in enumerate(nodes) if made["op"] == "null"]
    attributes = {"mxnet_version": ["int", 10901]}
    return json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": entries, "attrs": attributes})
