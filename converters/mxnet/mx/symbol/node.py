"""The nodes of a graph that is being composed: shared by the symbols that were made of one another, as in NNVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, TypeVar

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.files.records import post_order as walk
from graphir.converters.mxnet.schema.operators import node_signature
from graphir.converters.mxnet.schema.signature import OperatorSignature
from graphir.converters.mxnet.schema.upgrade import RUNNING_VERSION
from graphir.safety.collector import paused_collector

T = TypeVar("T")
VERSION_PLACE = 2

CASTS = frozenset(("amp_cast", "amp_multicast"))


class SymbolNode:
    """An operator with its operands, or a variable. Symbols share nodes: what changes one shows in all of them.

    `attrs` are all its attributes as text, parameters and `__key__` ones. An entry of `inputs` is a node, the number of
    its output, and how often operators before had changed it (BatchNorm its moving mean), which MXNet writes too;
    `version` counts that for a variable. `subgraphs` are the heads of the graphs that control flow runs.
    """

    __slots__ = ("_signature", "attrs", "inputs", "name", "op", "subgraphs", "version")

    def __init__(
        self, op: str, name: str, attrs: dict[str, str], inputs: list[Entry], subgraphs: Sequence[list[Entry]] = ()
    ) -> None:
        self.op = op
        self.name = name
        self.attrs = attrs
        self.inputs = inputs
        self.subgraphs = list(subgraphs)
        self.version = 0
        self._signature: OperatorSignature | None = None

    @property
    def is_variable(self) -> bool:
        """Whether it is a variable: an argument or an auxiliary state."""
        return self.op == VARIABLE

    @property
    def signature(self) -> OperatorSignature:
        """The names of inputs and outputs, read from the attributes once. Not for variables."""
        if self._signature is None:
            self._signature = node_signature(self.record([(0, 0)] * len(self.inputs)))
        return self._signature

    def forget_signature(self) -> None:
        """Read the attributes again when the signature is asked for: the number of inputs has changed."""
        self._signature = None

    @property
    def visible(self) -> int:
        """How many outputs a symbol of this node has."""
        return 1 if self.is_variable else self.signature.visible

    @property
    def outputs(self) -> int:
        """How many outputs the node has, those that only training uses included."""
        return 1 if self.is_variable else len(self.signature.outputs)

    def output_name(self, slot: int) -> str:
        """Return the name of one output, `<node>_<output>`; a variable's is its own."""
        if self.is_variable:
            return self.name
        name = self.signature.outputs[slot]
        return f"{self.name}_{name}" if self.name else name

    def record(self, inputs: list[tuple[int, int]]) -> NNVMNode:
        """Return the node as a record of a file."""
        hidden = {key: text for key, text in self.attrs.items() if key[:2] == "__" and key[-2:] == "__"}
        plain = {key: text for key, text in self.attrs.items() if key not in hidden} if hidden else dict(self.attrs)
        return NNVMNode(self.op, self.name, plain, hidden, inputs, [records(heads) for heads in self.subgraphs])


Entry = tuple[SymbolNode, int, int]


class Outputs:
    """One or several outputs of nodes: what every symbol is. `np_shape` says that its shapes are those of numpy."""

    __slots__ = ("entries", "np_shape")

    def __init__(self, entries: Sequence[Entry], *, np_shape: bool = False) -> None:
        self.entries = list(entries)
        self.np_shape = np_shape


def post_order(entries: Iterable[Entry]) -> list[SymbolNode]:
    """Return the nodes that the entries depend on, each behind its inputs, as NNVM visits them. Linear in nodes and
    inputs."""
    return walk((node for node, *_ in entries), lambda node: [entry[0] for entry in node.inputs])


def states(order: Iterable[SymbolNode]) -> set[int]:
    """Return the identities of variables that an operator holds as auxiliary states."""
    signatures = ((node, node._signature or node.signature) for node in order if node.op != VARIABLE)
    return {id(producer) for node, signature in signatures if signature.aux
            for producer, _, _ in signature.states(node.inputs) if producer.op == VARIABLE}  # fmt: skip


def variable_names(order: Sequence[SymbolNode]) -> tuple[list[str], list[str]]:
    """Return the names of arguments, and of auxiliary states, in order."""
    stateful = states(order)
    names: tuple[list[str], list[str]] = ([], [])
    for node in order:
        if node.op == VARIABLE:
            names[id(node) in stateful].append(node.name)
    return names


def copied(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries on nodes of their own."""
    heads = list(entries)
    copies: dict[int, SymbolNode] = {}
    for node in post_order(heads):
        inputs = [(copies[id(producer)], slot, version) for producer, slot, version in node.inputs]
        subgraphs = [copied(heads) for heads in node.subgraphs]
        twin = copies[id(node)] = SymbolNode(node.op, node.name, dict(node.attrs), inputs, subgraphs)
        twin.version = node.version
        twin._signature = node._signature
    return [(copies[id(node)], slot, version) for node, slot, version in heads]


def _kept(
    entries: Sequence[Entry], places: dict[int, int], write: Callable[[int, int, int], T], remove_casts: bool
) -> Iterator[tuple[SymbolNode, list[T]]]:
    """Yield the nodes that the entries depend on, each with its inputs as `write` gives them for place, slot, version.

    Casts of mixed precision are left out if asked. `places` gets the places of the nodes, by their ids.
    """
    passed: dict[tuple[int, int], T] = {}  # what a cast that goes gave, and what it read
    heads = {id(node) for node, *_ in entries}
    for node in post_order(entries):
        inputs = [
            passed.get((id(source), slot)) or write(places[id(source)], slot, version)
            for source, slot, version in node.inputs
        ]
        if remove_casts and node.op in CASTS:
            passed.update({(id(node), slot): source for slot, source in enumerate(inputs)})
            if id(node) not in heads:
                continue
        places[id(node)] = len(places)
        yield node, inputs


def records(entries: Sequence[Entry], *, np_shape: bool = False, remove_casts: bool = False) -> NNVMGraph:
    """Return what the entries depend on as records of a file, without the casts of mixed precision if asked."""
    places: dict[int, int] = {}
    kept = _kept(entries, places, lambda place, slot, version: (place, slot), remove_casts)
    nodes = [node.record(inputs) for node, inputs in kept]
    return NNVMGraph(nodes, [(places[id(node)], slot) for node, slot, _ in entries], np_shape=np_shape)


def from_records(graph: NNVMGraph, document: Mapping[str, Any] | None = None) -> list[Entry]:
    """Return the heads of records on nodes of their own.

    Records hold no versions: they are taken from the `document` that the records were read from, unless an upgrade
    changed its nodes, and are 0 without one.
    """
    raw_nodes = _same_nodes(graph, document)
    nodes: list[SymbolNode] = []
    for record, raw in zip(graph.nodes, raw_nodes, strict=True):
        versions = _versions(raw.get("inputs", ()), len(record.inputs))
        inputs = [(nodes[index], slot, version)
                  for (index, slot), version in zip(record.inputs, versions, strict=True)]  # fmt: skip
        inner = raw.get("subgraphs", [None] * len(record.subgraphs))
        subgraphs = [from_records(subgraph, part) for subgraph, part in zip(record.subgraphs, inner, strict=True)]
        nodes.append(SymbolNode(record.op, record.name, record.attrs | record.annotations, inputs, subgraphs))
    versions = _versions((document or {}).get("heads", ()), len(graph.heads))
    return [(nodes[index], slot, version) for (index, slot), version in zip(graph.heads, versions, strict=True)]


def _same_nodes(graph: NNVMGraph, document: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Return the nodes of the document where they are those of the records, else empty ones."""
    raw_nodes = [] if document is None else document["nodes"]
    if [raw["name"] for raw in raw_nodes] == [record.name for record in graph.nodes]:
        return list(raw_nodes)
    return [{}] * len(graph.nodes)


def _versions(entries: Sequence[Sequence[int]], count: int) -> list[int]:
    if len(entries) != count:
        return [0] * count
    return [entry[VERSION_PLACE] if len(entry) > VERSION_PLACE else 0 for entry in entries]


RULE = "-" * 20


def debug_text(entries: Sequence[Entry]) -> str:
    """Return the listing. A variable alone, and an operator without inputs, is named only."""
    if len(entries) == 1 and entries[0][0].is_variable:
        return f"Variable:{entries[0][0].name}\n"
    if len(entries) == 1 and not entries[0][0].inputs:
        return f"AtomicFunctor  Op:{entries[0][0].op}\n"
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{place}]={node.name}({slot})" for place, (node, slot, _) in enumerate(entries)]
    for node in post_order(entries):
        lines += [f"Variable:{node.name}"] if node.is_variable else _operator(node)
    return "\n".join(lines) + "\n"


def _operator(node: SymbolNode) -> Iterator[str]:
    yield RULE
    yield f"Op:{node.op}, Name={node.name}"
    yield "Inputs:"
    for place, (producer, slot, version) in enumerate(node.inputs):
        state = f" version={version}" if producer.is_variable else ""
        yield f"\targ[{place}]={producer.name}({slot}){state}"
    if node.attrs:
        yield "Attrs:"
        yield from (f"\t{key}={text}" for key, text in sorted(node.attrs.items()))


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
    nodes: list[str] = []
    variables: list[int] = []
    rows = [0]
    for node, inputs in _kept(entries, places, "[{}, {}, {}]".format, remove_casts):
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


def _node(node: SymbolNode, inputs: Sequence[str], depth: int) -> str:
    parts = {"op": encode_basestring(node.op), "name": encode_basestring(node.name)}
    if node.attrs:
        texts = {key: encode_basestring(text) for key, text in sorted(node.attrs.items())}
        parts["attrs"] = _object(texts, depth + 1, lines=len(texts) > 1)
    parts["inputs"] = _array(inputs, depth + 1)
    if node.subgraphs:
        parts["subgraphs"] = _array((_graph(body, depth + 2, {}) for body in node.subgraphs), depth + 1, lines=True)
    return _object(parts, depth, lines=True)


def _array(texts: Iterable[str], depth: int, *, lines: bool = False) -> str:
    listed = list(texts)
    return _joined("[", listed, "]", depth, lines=bool(listed) and (lines or len(listed) > MOST_ON_A_LINE))


def _object(texts: dict[str, str], depth: int, *, lines: bool) -> str:
    return _joined("{", [f"{encode_basestring(key)}: {text}" for key, text in texts.items()], "}", depth, lines=lines)


def _joined(opening: str, texts: Sequence[str], closing: str, depth: int, *, lines: bool) -> str:
    if not lines:
        return f"{opening}{', '.join(texts)}{closing}"
    margin = "\n" + "  " * (depth + 1)
    return f"{opening}{margin}{f', {margin}'.join(texts)}\n{'  ' * depth}{closing}"
