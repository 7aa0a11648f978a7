"""Writing a graph: the JSON text first, then both files beside their targets, then the renames."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from graphir.errors import ExportFailure, Gap, UnsupportedOpError
from graphir.files.writing import replacing, replacing_pair
from graphir.graph import Graph, Node, Value
from graphir.ops import operator_table
from graphir.plugins import own_operator
from graphir.tensor import Tensor
from graphir.types import ANYTHING, Type

from .attributes import attributes_to_json
from .notation import FORMAT, SUFFIX, VERSION, WEIGHTS_SUFFIX, Json, Unencodable, text_to_json, type_to_json
from .weights import Store

_encoder = json.JSONEncoder(check_circular=False, allow_nan=False)
dumps: Callable[[Json], str] = _encoder.encode


def save_graph(graph: Graph, path: str | os.PathLike[str], *, hashes: bool = False) -> None:
    """Write `graph` to `path`, which ends in `.graphir.json`, and its weights to the `.graphir.safetensors` beside it.

    Weights are streamed: none is held in memory, except one at a time of those that are computed. With `hashes` each
    stored tensor gets its SHA-256, which reads every weight once more. The same graph gives the same bytes each time.
    Where the graph's own weights lie in the file that is replaced, its parameters point into the new file afterwards.

    Raises ExportFailure for what the format cannot hold or where a file cannot be written, and UnsupportedOpError,
    listing all of them, for nodes whose operators or attributes it cannot hold. The targets stay as they were then.
    """
    target = Path(path)
    if not target.name.endswith(SUFFIX) or target.name == SUFFIX:
        raise ExportFailure(f"cannot write {target}: the name of graphir's own format ends in {SUFFIX}")
    weights = target.with_name(target.name.removesuffix(SUFFIX) + WEIGHTS_SUFFIX)
    store = Store(hashes=hashes)
    writer = _Writer(store)
    try:
        body = writer.graph(graph, "", [])
        if store.tensors:
            text_to_json(weights.name)  # refused before anything is written
    except Unencodable as error:
        raise ExportFailure(f"cannot write {target}: {error}") from error
    if writer.gaps:
        raise UnsupportedOpError(f"cannot write {target}: the format cannot hold these nodes", writer.gaps)
    if not store.tensors:
        with replacing(target) as (file,):
            file.write(_text(body, None))
        return
    replaced = _paths_at(store.tensors.values(), weights)
    with replacing_pair(weights, target) as pair:
        store.write(pair.weights)
        for name, file in pair.descriptions:
            file.write(_text(body, name))
    if replaced:
        _follow(graph, store, weights, replaced)


def _text(body: list[str], weights: str | None) -> bytes:
    head = [f'"format": {dumps(FORMAT)}', f'"version": {VERSION}']
    if weights is not None:
        head.append(f'"weights": {dumps(text_to_json(weights))}')
    return _document([*head, *body], "").encode("ascii") + b"\n"


class _Writer:
    """The text of a graph and of the graphs inside it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.gaps: list[Gap] = []
        self._table = operator_table()
        self._ready: set[Value] = set()

    def graph(self, graph: Graph, indent: str, around: list[Graph]) -> list[str]:
        """Return the fields of a graph, each as text. `around` holds the graphs that its nodes may use values of."""
        scopes = [graph, *around]
        fields = [f'"name": {dumps(text_to_json(graph.name))}']
        if graph.metadata:
            pairs = [f"{dumps(text_to_json(k))}: {dumps(text_to_json(v))}" for k, v in graph.metadata.items()]
            fields.append(_section("metadata", "{}", pairs, indent))
        inputs = [dumps(self._value(value, value.type)) for value in graph.inputs]
        fields.append(_section("inputs", "[]", inputs, indent))
        fields.append(_section("parameters", "[]", [dumps(self._parameter(v)) for v in graph.parameters], indent))
        self._ready.update(graph.inputs, graph.parameters)
        nodes = []
        for node in graph.nodes:
            nodes.append(self._node(node, indent + " ", scopes))
            self._ready.update(node.outputs)
        fields.append(_section("nodes", "[]", nodes, indent))
        outputs = [self._reference(value, scopes, "the outputs") for value in graph.outputs]
        fields.append(f'"outputs": {dumps(outputs)}')
        if graph.decisions:
            rows = [[text_to_json(part) for part in (d.kind, d.node, d.text)] for d in graph.decisions]
            fields.append(_section("decisions", "[]", [dumps(row) for row in rows], indent))
        return fields

    def _value(self, value: Value, default: Type) -> dict[str, Json]:
        entry: dict[str, Json] = {"name": text_to_json(value.name), "type": self._type(value.type, value)}
        if value.declared != default:
            entry["declared"] = self._type(value.declared, value)
        if value.sources:
            entry["sources"] = [text_to_json(source) for source in value.sources]
        return entry

    def _type(self, type_: Type, value: Value) -> Json:
        try:
            return type_to_json(type_)
        except Unencodable as error:
            raise Unencodable(f"{value.name}: {error}") from error

    def _parameter(self, value: Value) -> dict[str, Json]:
        entry = self._value(value, value.type)
        if value.tensor is not None:
            if value.tensor.type != value.type:
                raise Unencodable(f"{value.name} is {value.type}, but its elements are {value.tensor.type}")
            entry |= self.store.place(value.tensor, value.name)
        return entry

    def _node(self, node: Node, indent: str, scopes: list[Graph]) -> str:
        entry: dict[str, Json] = {"name": text_to_json(node.name), "op": node.op.name}
        try:
            operator = own_operator(node.op.name) if node.op.domain else None
            if (self._table.get(node.op.name) if operator is None else operator.cls) is not type(node.op):
                raise Unencodable("it is not one of graphir's operators")
            attributes = attributes_to_json(node.op, lambda tensor: self._tensor(tensor, node.name))
            if attributes:
                entry["attributes"] = attributes
        except Unencodable as error:
            self.gaps.append(Gap(node.op.name, str(error), (node.name,)))
        entry["inputs"] = [
            None if value is None else self._reference(value, scopes, f"node {node.name}") for value in node.inputs
        ]
        entry["outputs"] = [self._value(value, ANYTHING) for value in node.outputs]
        text = dumps(entry)
        if not node.subgraphs:
            return text
        inner = [_document(self.graph(graph, indent + " ", scopes), indent + " ") for graph in node.subgraphs]
        return f"{text[:-1]}, {_section('subgraphs', '[]', inner, indent)}}}"

    def _tensor(self, tensor: Tensor, wanted: str) -> dict[str, Json]:
        return {"type": type_to_json(tensor.type), **self.store.place(tensor, wanted)}

    def _reference(self, value: Value, scopes: list[Graph], user: str) -> Json:
        """Return the value's name, where that finds it; else the name and how many graphs further out it belongs."""
        if value not in self._ready or value.graph not in scopes:
            raise Unencodable(f"{user} uses {value.name}, which is not produced before it in the graph")
        up = scopes.index(value.graph)
        hidden = any(value.name in graph for graph in scopes[:up])
        return {"name": value.name, "up": up} if hidden else value.name


def _document(fields: list[str], indent: str) -> str:
    inner = ",\n".join(f"{indent}{field}" for field in fields)
    return f"{{\n{inner}\n{indent}}}"


def _section(name: str, brackets: str, lines: list[str], indent: str) -> str:
    """Return a field with one line for each element."""
    if not lines:
        return f'"{name}": {brackets}'
    inner = ",\n".join(f"{indent} {line}" for line in lines)
    return f'"{name}": {brackets[0]}\n{inner}\n{indent}{brackets[1]}'


def _paths_at(tensors: Iterable[Tensor], weights: Path) -> set[str]:
    """Return the paths among the tensors' regions that are the file at `weights`."""
    paths = {tensor.region.path for tensor in tensors if tensor.region is not None}
    return {path for path in paths if weights.exists() and os.path.exists(path) and os.path.samefile(path, weights)}


def _follow(graph: Graph, store: Store, weights: Path, replaced: set[str]) -> None:
    """Let parameters whose bytes lay in a file that is gone now find them in the new one."""
    path = os.path.abspath(weights)
    for value in graph.parameters:
        if value.tensor is not None and value.tensor.region is not None and value.tensor.region.path in replaced:
            key = store.place(value.tensor, value.name).get("stored")
            if key is not None:
                value.tensor = Tensor.at(path, store.offsets[key], value.tensor.dtype, value.tensor.shape)
    for node in graph.nodes:
        for inner in node.subgraphs:
            _follow(inner, store, weights, replaced)
