"""The text of a symbol.json, character for character as MXNet 1.9.1 writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring

from graphir.converters.mxnet.mx.symbol.node import CASTS, Entry, Node, post_order
from graphir.converters.mxnet.schema.upgrade import RUNNING_VERSION
from graphir.safety.collector import paused_collector

MOST_ON_A_LINE = 10
"""More numbers or entries than these stand on a line each."""


def to_text(entries: Sequence[Entry], *, np_shape: bool = False, remove_casts: bool = False) -> str:
    """Return the text for what the entries depend on, without the casts of mixed precision if asked. Linear in
    nodes."""
    attributes = {"is_np_shape": '["int", 1]'} if np_shape else {}
    attributes["mxnet_version"] = f'["int", {RUNNING_VERSION}]'
    with paused_collector():
        return _graph(entries, 0, attributes, remove_casts=remove_casts)


def _graph(entries: Sequence[Entry], depth: int, attributes: dict[str, str], *, remove_casts: bool = False) -> str:
    places: dict[int, int] = {}
    passed: dict[tuple[int, int], str] = {}  # what a cast that goes gave: the entry that it read

    def place(entry: Entry) -> str:
        node, slot, version = entry
        found = passed.get((id(node), slot)) if passed else None
        return f"[{places[id(node)]}, {slot}, {version}]" if found is None else found

    nodes: list[str] = []
    variables: list[int] = []
    rows = [0]
    heads = {id(node) for node, *_ in entries}
    for node in post_order(entries):
        inputs = [place(entry) for entry in node.inputs]
        if remove_casts and node.op in CASTS:
            passed.update({(id(node), slot): source for slot, source in enumerate(inputs)})
            if id(node) not in heads:
                continue
        places[id(node)] = len(nodes)
        if node.is_variable:
            variables.append(len(nodes))
        rows.append(rows[-1] + node.outputs)
        nodes.append(_node(node, inputs, depth + 2))
    parts = {
        "nodes": _array(nodes, depth + 1, lines=True),
        "arg_nodes": _array(map(str, variables), depth + 1),
        "node_row_ptr": _array(map(str, rows), depth + 1),
        "heads": _array((f"[{places[id(node)]}, {slot}, {version}]" for node, slot, version in entries), depth + 1),
    }
    if attributes:
        parts["attrs"] = _object(attributes, depth + 1, lines=len(attributes) > 1)
    return _object(parts, depth, lines=True)


def _node(node: Node, inputs: Sequence[str], depth: int) -> str:
    parts = {"op": encode_basestring(node.op), "name": encode_basestring(node.name)}
    if node.attrs:
        texts = {key: encode_basestring(text) for key, text in sorted(node.attrs.items())}
        parts["attrs"] = _object(texts, depth + 1, lines=len(texts) > 1)
    parts["inputs"] = _array(inputs, depth + 1)
    if node.subgraphs:
        parts["subgraphs"] = _array((_graph(held, depth + 2, {}) for held in node.subgraphs), depth + 1, lines=True)
    return _object(parts, depth, lines=True)


def _array(texts: Iterable[str], depth: int, *, lines: bool = False) -> str:
    held = list(texts)
    return _joined("[", held, "]", depth, lines=bool(held) and (lines or len(held) > MOST_ON_A_LINE))


def _object(texts: dict[str, str], depth: int, *, lines: bool) -> str:
    return _joined("{", [f"{encode_basestring(key)}: {text}" for key, text in texts.items()], "}", depth, lines=lines)


def _joined(opening: str, texts: Sequence[str], closing: str, depth: int, *, lines: bool) -> str:
    if not lines:
        return f"{opening}{', '.join(texts)}{closing}"
    margin = "\n" + "  " * (depth + 1)
    return f"{opening}{margin}{f', {margin}'.join(texts)}\n{'  ' * depth}{closing}"
