"""`mx.viz.print_summary`: the table of a symbol's layers as MXNet 1.9.1 prints it, its faults included.

Old logs are compared with it, so that each character is MXNet's. Its counts are rough: a FullyConnected on more than
two axes counts the second one only, weights that layers share count for each, auxiliary states and the parameters of
operators other than the five below count for none. `graphir summary` counts what is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphir.converters.mxnet.mx.symbol import Symbol
from graphir.safety.foreign_text import one_line
from graphir.safety.json_text import read_json

HEADER = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")
POSITIONS = (0.44, 0.64, 0.74, 1.0)

Record = Mapping[str, Any]
Shapes = Mapping[str, tuple[int, ...]]


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, tuple[int, ...]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = POSITIONS,
) -> None:
    """Print a line for each layer of a symbol: name and operator, shape of its output, parameters, layers before it.

    `shape` are the inputs' shapes by name; without it the columns of shapes are empty and what depends on them counts
    nothing. `positions` are where the columns end, in characters or as parts of `line_length`. Raises TypeError for
    what is no symbol, and ValueError where the shapes do not tell those of all layers.
    """
    if not isinstance(symbol, Symbol):
        raise TypeError(f"expected a Symbol, found {type(symbol).__name__}")
    table = _Table(read_json(symbol.tojson()), None if shape is None else _shapes_of(symbol, shape))
    ends = [int(line_length * end) for end in positions] if positions[-1] <= 1 else [int(end) for end in positions]
    print("\n".join(table.lines(line_length, ends)))


def _shapes_of(symbol: Symbol, given: Mapping[str, tuple[int, ...]]) -> Shapes:
    internals = symbol.get_internals()
    _, inferred, _ = internals.infer_shape(**given)
    if inferred is None:
        raise ValueError("the shapes of the inputs leave others open; state those of all inputs")
    return {name: shape or () for name, shape in zip(internals.list_outputs(), inferred, strict=True)}


class _Table:
    """The layers of a symbol's JSON. `shapes` are those of all its values by name, None where no shape was given."""

    def __init__(self, document: Record, shapes: Shapes | None) -> None:
        self.nodes: list[Record] = document["nodes"]
        # MXNet takes all numbers of the first head for nodes: the output's number and the version, mostly 0, too.
        self.shown = set(document["heads"][0])
        self.shapes = shapes

    def lines(self, width: int, ends: Sequence[int]) -> list[str]:
        """Return the whole text, line by line."""
        rows = ["_" * width, _row(HEADER, ends), "=" * width]
        total = 0
        for index, node in enumerate(self.nodes):
            if _is_variable(node) and index > 0:
                continue
            previous = self._previous(node)
            count = self._parameters(node, previous)
            total += count
            first = previous[0]["name"] if previous else ""
            rows.append(_row((f"{node['name']}({node['op']})", self._shape_text(index), count, first), ends))
            rows += [_row(("", "", "", other["name"]), ends) for other in previous[1:]]
            rows.append(("=" if index == len(self.nodes) - 1 else "_") * width)
        return [*rows, f"Total params: {total}", "_" * width]

    def _previous(self, node: Record) -> list[Record]:
        """Return the nodes that a node reads, variables left out unless they are shown."""
        if _is_variable(node):
            return []
        producers = [entry[0] for entry in node["inputs"]]
        return [self.nodes[index] for index in producers if not _is_variable(self.nodes[index]) or index in self.shown]

    def _parameters(self, node: Record, previous: Sequence[Record]) -> int:
        count = COUNTS.get(node["op"])
        if count is None:
            return 0
        sizes = [self._sizes_behind_batch(before) for before in previous]
        channels = sum(size[0] for size in sizes if size)
        own = self._sizes_behind_batch(node)
        return count(node.get("attrs", {}), channels, own[0] if own else 0)

    def _sizes_behind_batch(self, node: Record) -> tuple[int, ...]:
        """Return the shape of a node's first output without its first axis; () where it is not known."""
        name = node["name"] if _is_variable(node) else f"{node['name']}_output"
        return () if self.shapes is None else tuple(self.shapes.get(name, ())[1:])

    def _shape_text(self, index: int) -> str:
        node = self.nodes[index]
        if _is_variable(node) and index not in self.shown:
            return ""
        return "x".join(map(str, self._sizes_behind_batch(node)))


def _row(cells: Sequence[object], ends: Sequence[int]) -> str:
    """Return the cells one behind the other, each cut and filled to where its column ends."""
    line = ""
    for cell, end in zip(cells, ends, strict=True):
        line = f"{line}{one_line(cell)}"[:end].ljust(end)
    return line


def _is_variable(node: Record) -> bool:
    return bool(node["op"] == "null")


def _without_bias(attributes: Mapping[str, str]) -> bool:
    return attributes.get("no_bias") == "True"


def _convolution(attributes: Mapping[str, str], channels: int, width: int) -> int:
    filters = int(attributes["num_filter"])
    count = channels * filters // int(attributes.get("num_group", "1"))
    for size in re.findall(r"\d+", attributes["kernel"]):
        count *= int(size)
    return count if _without_bias(attributes) else count + filters


def _fully_connected(attributes: Mapping[str, str], channels: int, width: int) -> int:
    return (channels if _without_bias(attributes) else channels + 1) * int(attributes["num_hidden"])


def _batch_norm(attributes: Mapping[str, str], channels: int, width: int) -> int:
    return 2 * width


def _embedding(attributes: Mapping[str, str], channels: int, width: int) -> int:
    return int(attributes["input_dim"]) * int(attributes["output_dim"])


# By operator: the parameters by its attributes, the channels that come in, and those of its output.
COUNTS: Mapping[str, Callable[[Mapping[str, str], int, int], int]] = {
    "BatchNorm": _batch_norm,
    "Convolution": _convolution,
    "Embedding": _embedding,
    "FullyConnected": _fully_connected,
}
