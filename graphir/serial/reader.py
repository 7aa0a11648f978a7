"""Reading a graph: a chain of small refusals, each with the JSON path of what it refuses. No weight is read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from graphir.errors import FormatError, GraphError, ShapeError, UnsupportedOpError
from graphir.files.paths import resolve_beside
from graphir.files.reading import open_plain
from graphir.graph import Decision, Graph, Value
from graphir.node import set_type
from graphir.ops import operator_table
from graphir.ops.base import Operator
from graphir.plugins import own_operator
from graphir.safety.collector import paused_collector
from graphir.safety.limits import bounded, check_depth
from graphir.tensor import Tensor
from graphir.types import DType, Type, unify

from .attributes import operator_from_json
from .nodes import RULE_FAILURES, VALUE_FIELDS, add_plain, key_of, unknown_operators
from .notation import (
    FORMAT,
    VERSION,
    BadDocument,
    Json,
    items,
    kind,
    members,
    name_from_json,
    parse_json,
    static_type_from_json,
    text_from_json,
    type_from_json,
)
from .weights import WeightsHeader, elements_array

LONGEST_KEY = 400
MOST_KEYS = 50_000

_GRAPH = frozenset({"name", "inputs", "parameters", "nodes", "outputs"})
_GRAPH_ALL = _GRAPH | {"metadata", "decisions"}
_HEAD = frozenset({"format", "version", "weights"})
_VALUE = frozenset({"name", "type"})
_PLACE = frozenset({"data", "stored", "sha256"})
_VALUE_PLACED = VALUE_FIELDS | _PLACE
_NODE = frozenset({"name", "op", "inputs", "outputs"})
_NODE_ALL = _NODE | {"attributes", "subgraphs"}


@bounded
def load_graph(path: str | os.PathLike[str], *, check_hashes: bool = False) -> Graph:
    """Return the graph in a `.graphir.json` file. Its weights stay in the file beside it until they are needed.

    `check_hashes` reads every stored tensor and compares its SHA-256. What a rule can tell of small integer tensors
    (`Value.known`) is not in the file and inferred anew.

    Raises FormatError with the JSON path (or, in the weights, the byte) for whatever the format does not allow, and
    UnsupportedOpError, listing all of them, for operators that this version does not know.
    """
    with paused_collector():
        return _read(Path(path), check_hashes)


def _read(path: Path, check_hashes: bool) -> Graph:
    try:
        with open_plain(path) as file:
            document = parse_json(file.read().decode("utf-8"))
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise FormatError("is not UTF-8 text", path=path, offset=error.start) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"is not JSON: {error}", path=path, offset=getattr(error, "offset", None)) from error
    try:
        return _load(document, path, check_hashes)
    except BadDocument as error:
        unknown = unknown_operators(document)  # of a newer version: that tells more than the first thing not understood
        if unknown:
            raise UnsupportedOpError(f"{path}: operators that this graphir does not know", unknown) from None
        raise FormatError(error.message, path=path, json_path=error.where) from error.__cause__
    except RecursionError as error:
        raise FormatError("graphs or types are nested too deeply", path=path) from error


def _load(document: Json, path: Path, check_hashes: bool) -> Graph:
    if type(document) is not dict or document.get("format") != FORMAT:
        raise BadDocument("$.format", f'this is no graphir file: expected "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise BadDocument(
            "$.version", f"version {version!r}, this graphir reads 1 to {VERSION}; a newer one may read it"
        )
    weights = None
    if "weights" in document:
        name = _plain_name(document["weights"], "$.weights")
        weights = WeightsHeader.open(resolve_beside(path, path.with_name(name), f"the file of its weights, {name!r},"))
    reader = _Reader(weights, check_hashes)
    fields = {key: value for key, value in document.items() if key not in _HEAD}
    graph = reader.graph(fields, "$", None)
    if weights is not None and reader.used != weights.entries.keys():
        names = sorted(weights.entries.keys() - reader.used)
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        message = f"{document['weights']} holds tensors that nothing here refers to: {shown}"
        raise BadDocument("$.weights", f"{message}; were the two files written together?")
    return graph


def _plain_name(raw: Json, where: str) -> str:
    """Return the name of a file in the same folder: no way out of it."""
    name = name_from_json(raw, where)
    if name in (".", "..") or any(character in name for character in "/\\\0"):
        raise BadDocument(where, f"{name!r} is not a plain file name; the weights lie beside the JSON")
    return name


class _Reader:
    """Graphs of one document and the tensors that they use."""

    def __init__(self, weights: WeightsHeader | None, check_hashes: bool) -> None:
        self.used: set[str] = set()
        self._weights = weights
        self._check_hashes = check_hashes
        self._table = operator_table()
        self._operators: dict[tuple[str, bytes], Operator] = {}  # by name and attributes as the document says them
        self._types: dict[bytes, Type] = {}
        self._held: dict[bytes, tuple[DType, tuple[int, ...]]] = {}  # those of tensors with elements

    def graph(self, raw: Json, where: str, parent: Graph | None, depth: int = 0) -> Graph:
        check_depth(depth, f"graphs inside graphs at {where[:100]}")
        fields = members(raw, where, _GRAPH, _GRAPH_ALL)
        graph = Graph(text_from_json(fields["name"], f"{where}.name"), parent=parent)
        metadata = fields.get("metadata", {})
        if type(metadata) is not dict:
            raise BadDocument(f"{where}.metadata", f"expected an object, found {kind(metadata)}")
        for key, text in metadata.items():
            graph.metadata[key] = text_from_json(text, f"{where}.metadata.{key}")
        for index, row in enumerate(items(fields.get("decisions", []), f"{where}.decisions")):
            if type(row) is not list or len(row) != 3 or any(type(part) is not str for part in row):
                raise BadDocument(f"{where}.decisions[{index}]", "expected [kind, node, text]")
            graph.decisions.append(Decision.read(*row))
        for index, row in enumerate(items(fields["inputs"], f"{where}.inputs")):
            self._input(graph, row, f"{where}.inputs[{index}]")
        for index, row in enumerate(items(fields["parameters"], f"{where}.parameters")):
            self._parameter(graph, row, f"{where}.parameters[{index}]")
        rows = items(fields["nodes"], f"{where}.nodes")
        for index, row in enumerate(rows):
            if not add_plain(graph, row, self._operators, self._types):
                self._node(graph, row, f"{where}.nodes[{index}]", depth)
            rows[index] = None  # a large document goes as its graph comes
        outputs = []
        for index, row in enumerate(items(fields["outputs"], f"{where}.outputs")):
            outputs.append(_find_value(graph, row, f"{where}.outputs[{index}]"))
        graph.set_outputs(outputs)
        return graph

    def _input(self, graph: Graph, raw: Json, where: str) -> None:
        name, type_ = self._name_and_type(members(raw, where, _VALUE, VALUE_FIELDS), where)
        try:
            value = graph.add_input(name, type_)
        except GraphError as error:
            raise BadDocument(f"{where}.name", str(error)) from error
        self._describe(value, raw, where)

    def _parameter(self, graph: Graph, raw: Json, where: str) -> None:
        name, type_ = self._name_and_type(members(raw, where, _VALUE, _VALUE_PLACED), where)
        tensor = None
        if not _PLACE.isdisjoint(raw):
            tensor = self._tensor(raw, where)
        try:
            value = graph.add_parameter(name, tensor, type_)
        except GraphError as error:
            raise BadDocument(f"{where}.name", str(error)) from error
        self._describe(value, raw, where)

    def _tensor(self, raw: dict[str, Json], where: str) -> Tensor:
        """Return the tensor that the fields `type` and `data` or `stored` speak of."""
        key = key_of(raw["type"])
        type_ = self._held.get(key)
        if type_ is None:
            type_ = static_type_from_json(raw["type"], f"{where}.type")
            if len(key) <= LONGEST_KEY and len(self._held) < MOST_KEYS:
                self._held[key] = type_
        dtype, shape = type_
        if "data" in raw:
            if "stored" in raw or "sha256" in raw:
                raise BadDocument(where, "the elements are either here (data) or in the weights (stored), not both")
            elements = items(raw["data"], f"{where}.data")
            try:
                return Tensor(dtype, shape, array=elements_array(dtype, shape, elements))
            except (ValueError, BadDocument) as error:
                raise BadDocument(f"{where}.data", str(error)) from error
        if "stored" not in raw:
            raise BadDocument(where, "found nothing that says where its elements are: neither data nor stored")
        return self._read_stored(raw, where, dtype, shape)

    def _read_stored(self, raw: dict[str, Json], where: str, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        key = name_from_json(raw["stored"], f"{where}.stored")
        if self._weights is None:
            raise BadDocument(f"{where}.stored", "the file names no weights file, so that nothing can be stored there")
        if dtype is DType.STRING:
            raise BadDocument(f"{where}.stored", "strings stand in the JSON, not in the weights")
        tensor, reason = self._weights.find(key, dtype, shape)
        if tensor is None:
            raise BadDocument(f"{where}.stored", reason)
        self.used.add(key)
        stated = raw.get("sha256")
        if "sha256" in raw and (type(stated) is not str or not re.fullmatch("[0-9a-f]{64}", stated)):
            raise BadDocument(f"{where}.sha256", "expected 64 hexadecimal digits")
        if self._check_hashes:
            if stated is None:
                raise BadDocument(where, f"{key!r} was saved without a SHA-256, so that it cannot be checked")
            digest = tensor.sha256()
            if digest != stated:
                raise BadDocument(
                    f"{where}.sha256", f"the bytes of {key!r} have the SHA-256 {digest}, expected {stated}"
                )
        return tensor

    def _attribute_tensor(self, raw: Json, where: str) -> Tensor:
        """Return a tensor in an attribute. It is mapped now: an operator cannot be told later that its file was
        replaced."""
        tensor = self._tensor(members(raw, where, frozenset({"type"}), _PLACE | {"type"}), where)
        return tensor if tensor.region is None else Tensor(tensor.dtype, tensor.shape, array=tensor.numpy())

    def _node(self, graph: Graph, raw: Json, where: str, depth: int) -> None:
        fields = members(raw, where, _NODE, _NODE_ALL)
        name = name_from_json(fields["name"], f"{where}.name")
        op = self._operator(fields, where)
        operands = []
        for slot, row in enumerate(items(fields["inputs"], f"{where}.inputs")):
            if row is None and slot < len(op.inputs) and not op.inputs[slot].endswith(("?", "*")):
                raise BadDocument(f"{where}.inputs[{slot}]", f"{op.name} needs its operand {op.inputs[slot]}")
            operands.append(None if row is None else _find_value(graph, row, f"{where}.inputs[{slot}]"))
        results = []
        for index, row in enumerate(items(fields["outputs"], f"{where}.outputs")):
            path = f"{where}.outputs[{index}]"
            results.append(self._name_and_type(members(row, path, _VALUE, VALUE_FIELDS), path))
        names = [result for result, _ in results]
        if len(names) != op.output_count:
            raise BadDocument(f"{where}.outputs", f"{op.name} has {op.output_count} results, found {len(names)}")
        if len(names) > 1 and len(set(names)) != len(names):
            raise BadDocument(f"{where}.outputs", "two results of one node have the same name")
        subgraphs = []
        for index, row in enumerate(items(fields.get("subgraphs", []), f"{where}.subgraphs")):
            subgraphs.append(self.graph(row, f"{where}.subgraphs[{index}]", graph, depth + 1))
        try:
            node = graph.add_node(op, operands, name=name, output_names=names, subgraphs=subgraphs)
        except RULE_FAILURES as error:
            is_explained = isinstance(error, GraphError | ShapeError)
            failure = f"node {name} ({op}): its rule fails: {type(error).__name__}: {error}"
            text = str(error) if is_explained else failure
            raise BadDocument(where, text) from error
        for index, (value, (_, stated)) in enumerate(zip(node.outputs, results, strict=True)):
            if value.type != stated:
                try:
                    unify(value.type, stated)
                except ShapeError as error:
                    raise BadDocument(f"{where}.outputs[{index}].type", f"{value.name} is stated as {stated}, but {op} "
                                      f"makes it {value.type}: {error}") from error
                set_type(value, stated)
            self._describe(value, fields["outputs"][index], f"{where}.outputs[{index}]")

    def _operator(self, fields: dict[str, Json], where: str) -> Operator:
        name = name_from_json(fields["op"], f"{where}.op")
        cls = self._table.get(name)
        if cls is None:
            operator = own_operator(name)
            if operator is None:
                raise BadDocument(f"{where}.op", f"{name!r} is no operator that this graphir knows")
            cls = operator.cls
        raw = fields.get("attributes", {})
        try:
            op = operator_from_json(cls, raw, f"{where}.attributes", self._attribute_tensor)
        except RULE_FAILURES as error:
            raise BadDocument(f"{where}.attributes", f"{cls.__name__} refuses them: {error}") from error
        key = key_of(raw) if "attributes" in fields else b""
        if len(key) <= LONGEST_KEY and len(self._operators) < MOST_KEYS:
            self._operators[cls.__name__, key] = op
        return op

    def _name_and_type(self, fields: dict[str, Json], where: str) -> tuple[str, Type]:
        return name_from_json(fields["name"], f"{where}.name"), self._type(fields["type"], f"{where}.type")

    def _type(self, raw: Json, where: str) -> Type:
        key = key_of(raw)
        type_ = self._types.get(key)
        if type_ is None:
            type_ = type_from_json(raw, where)
            if len(key) <= LONGEST_KEY and len(self._types) < MOST_KEYS:
                self._types[key] = type_
        return type_

    def _describe(self, value: Value, fields: dict[str, Json], where: str) -> None:
        """What a value's source said of it."""
        if "declared" in fields:
            value.declared = self._type(fields["declared"], f"{where}.declared")
        if "sources" in fields:
            sources = items(fields["sources"], f"{where}.sources")
            value.sources = tuple([text_from_json(source, f"{where}.sources") for source in sources])


def _find_value(graph: Graph, raw: Json, where: str) -> Value:
    """Return the value that a name stands for: the graph's own, or that of the nearest graph around it that has the
    name."""
    name, up = raw, 0
    if type(raw) is dict:
        members(raw, where, frozenset({"name", "up"}), frozenset({"name", "up"}))
        name, up = raw["name"], raw["up"]
        if type(up) is not int or up < 1:
            raise BadDocument(f"{where}.up", "expected how many graphs further out the value is, at least 1")
    name = name_from_json(name, where)
    scope: Graph | None = graph
    left = up
    while left and scope is not None:
        scope, left = scope.parent, left - 1
    while scope is not None:
        if name in scope:
            return scope[name]
        scope = None if up else scope.parent
    raise BadDocument(where, f"{name!r} is no value that was produced before")
