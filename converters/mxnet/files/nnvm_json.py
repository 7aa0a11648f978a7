"""Reader and writer of MXNet's symbol.json, all versions from 0.7 to 2.0.

A reader of records: upgrade rules and canonical names are applied, attributes stay text, operators that nobody knows
stay in the graph under their own name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from graphir.converters.mxnet.files.checkpoint import is_symbol_text
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import is_readable, node_signature
from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema
from graphir.converters.mxnet.schema.upgrade import RUNNING_VERSION, is_hidden_key, upgrade
from graphir.errors import FormatError
from graphir.files.reading import open_plain
from graphir.safety.collector import paused_collector
from graphir.safety.json_text import NoJson, read_json
from graphir.safety.limits import bounded, check_depth, hold_nodes

_NO_VERSION = 800
_STRING = frozenset((str,))
_PLAIN, _MIXED, _SUSPECT = range(3)
_CONTROL_FLOW_OUTPUTS = frozenset(("_cond", "_foreach", "_while_loop"))


@bounded
def read_symbol(source: object) -> NNVMGraph:
    """Return the symbol in a file, in JSON text (it begins with `{`), in bytes, or in an object with `tojson()`.

    Nodes that are not in topological order are put into it. Linear in nodes. Raises FormatError, with the place in the
    JSON document, for what is no symbol: other files, missing parts, inputs and heads that lead nowhere, cycles.
    """
    with paused_collector():
        return read_parsed(*parse_symbol(source))


def parse_symbol(source: object) -> tuple[dict[str, Any], str | None]:
    """Return the JSON document of what `read_symbol` takes, and the path that messages name. Raises FormatError."""
    text, path = _text_of(source)
    return _parsed(text, path), path


@bounded
def read_parsed(document: dict[str, Any], path: str | None) -> NNVMGraph:
    """Return the symbol of a document that `parse_symbol` gave. Raises FormatError as `read_symbol` does."""
    with paused_collector():
        return _NNVMReader(path).graph(document)


def to_json(graph: NNVMGraph) -> str:
    """Return the graph as MXNet 1.9.1 writes it, for a live MXNet to load; `node_row_ptr`, which is optional, is left
    out."""
    document = _graph_document(graph)
    attributes: dict[str, Any] = {"mxnet_version": ["int", max(RUNNING_VERSION, graph.version)]}
    if graph.np_shape:
        attributes["is_np_shape"] = ["int", 1]
    document["attrs"] = attributes
    return json.dumps(document, indent=2, ensure_ascii=False)  # MXNet's own JSON reader knows no \u


def _graph_document(graph: NNVMGraph) -> dict[str, Any]:
    return {
        "nodes": [_node_document(node) for node in graph.nodes],
        "arg_nodes": [index for index, node in enumerate(graph.nodes) if node.op == VARIABLE],
        "heads": [[index, slot, 0] for index, slot in graph.heads],
    }


def _node_document(node: NNVMNode) -> dict[str, Any]:
    document: dict[str, Any] = {"op": node.op, "name": node.name}
    attributes = node.annotations | node.attrs
    if attributes:
        document["attrs"] = dict(sorted(attributes.items()))
    document["inputs"] = [[producer, slot, 0] for producer, slot in node.inputs]
    if node.subgraphs:
        document["subgraphs"] = [_graph_document(subgraph) for subgraph in node.subgraphs]
    return document


def _text_of(source: object) -> tuple[str, str | None]:
    if isinstance(source, str) and is_symbol_text(source):
        return source, None
    if isinstance(source, (bytes, bytearray)):
        return _decoded(bytes(source), None), None
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        try:
            with open_plain(path) as file:
                return _decoded(file.read(), path), path
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from error
    tojson = getattr(source, "tojson", None)
    if tojson is None:
        raise FormatError(f"expected a path, JSON text, bytes or an object with tojson(), got {type(source).__name__}")
    return str(tojson()), None


def _decoded(data: bytes, path: str | None) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "; it looks like a .params file" if data[:8] == (0x112).to_bytes(8, "little") else ""
        raise FormatError(f"not a symbol.json: not UTF-8 text{hint}", path=path, offset=error.start) from error


def _parsed(text: str, path: str | None) -> dict[str, Any]:
    begin = text.lstrip()[:64].lower()
    if not begin:
        raise FormatError("the file is empty, expected a symbol.json", path=path)
    if begin.startswith("<"):
        raise FormatError("an HTML page, not a symbol.json; was a download answered with an error page?", path=path)
    if begin.startswith("version https://git-lfs"):
        raise FormatError("a Git LFS pointer, not a symbol.json; `git lfs pull` fetches the file itself", path=path)
    try:
        document = read_json(text)
    except NoJson as error:
        raise FormatError(str(error), path=path, offset=error.offset) from error
    if "\\ud" in text.lower() and not _is_unicode(document):
        raise FormatError("a text in it holds half of a surrogate pair (\\ud800 to \\udfff)", path=path)
    if not isinstance(document, dict):
        raise FormatError(f"expected a JSON object with nodes and heads, found {type(document).__name__}", path=path)
    return document


def _is_unicode(document: object) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


class _NNVMReader:
    """Reads one document; `path` is for messages."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.canonical: Mapping[str, str] = canonical_names()
        self.key_sets: dict[tuple[str, ...], int] = {(): _PLAIN}

    def fail(self, message: str, place: str) -> FormatError:
        return FormatError(message, path=self.path, json_path=place)

    def graph(self, document: dict[str, Any], place: str = "", depth: int = 0) -> NNVMGraph:
        check_depth(depth, f"{self.path or 'the symbol'}: graphs inside graphs")
        raw_nodes = self._list(document, "nodes", place)
        raw_heads = self._list(document, "heads", place)
        suspects: list[int] = []
        hold_nodes(len(raw_nodes))
        nodes = self._nodes(raw_nodes, place, suspects, depth)
        heads = [self._entry(head, f"{place}heads[{slot}]", nodes) for slot, head in enumerate(raw_heads)]
        if not heads:
            raise self.fail("the symbol has no heads, so nothing is computed", f"{place}heads")
        version, np_shape = self._graph_attributes(document)
        graph = NNVMGraph(nodes, heads, version, np_shape)
        positions = self._sort(graph, place)
        if place == "":
            upgrade(graph, sorted(positions[index] for index in suspects) if positions else suspects)
        self._check_outputs(graph, place)
        return graph

    def _list(self, document: dict[str, Any], key: str, place: str) -> list[Any]:
        value = document.get(key)
        if isinstance(value, list):
            return value
        fault = "is missing" if key not in document else f"is a {type(value).__name__}"
        if isinstance(document.get("class"), str):  # as GluonTS keeps a block
            fault += f"; it names the Python class {document['class'][:100]!r}, whose graph MXNet's `export` writes"
            fault += " (in GluonTS `as_symbol_block_predictor`)"
        raise self.fail(f"not an MXNet symbol: the list {key!r} {fault}", f"{place}{key}")

    def _graph_attributes(self, document: dict[str, Any]) -> tuple[int, bool]:
        attributes = document.get("attrs")
        if not isinstance(attributes, dict):
            return _NO_VERSION, False
        return self._number(attributes, "mxnet_version", _NO_VERSION), bool(self._number(attributes, "is_np_shape", 0))

    def _number(self, attributes: dict[str, Any], key: str, default: int) -> int:
        pair = attributes.get(key)
        if pair is None:
            return default
        if isinstance(pair, list) and len(pair) == 2 and type(pair[1]) is int:
            return pair[1]
        raise self.fail(f'expected ["int", number], found {json.dumps(pair)[:80]}', f"attrs.{key}")

    def _nodes(self, raw_nodes: list[Any], place: str, suspects: list[int], depth: int) -> list[NNVMNode]:
        """Return the records, in the file's order; fills `suspects` with the nodes that R1 has to look at."""
        canonical = self.canonical
        key_sets = self.key_sets
        count = len(raw_nodes)
        nodes: list[NNVMNode] = []
        append = nodes.append
        for index, raw in enumerate(raw_nodes):
            try:
                op = raw["op"]
                name = raw["name"]
                attributes = raw.get("attrs")
                if attributes is None or "param" in raw or "attr" in raw:
                    attributes = self._merged(raw, f"{place}nodes[{index}]")
                inputs = [(entry[0], entry[1]) for entry in raw["inputs"]]
                kind = key_sets.get(tuple(attributes))
                texts = attributes.values()
            except (KeyError, IndexError, TypeError, AttributeError):
                raise self._broken_node(raw, f"{place}nodes[{index}]") from None
            if type(op) is not str or type(name) is not str:
                raise self._broken_node(raw, f"{place}nodes[{index}]")
            if kind is None:
                kind = key_sets[tuple(attributes)] = _key_set_kind(attributes)
            if attributes and not _STRING.issuperset(map(type, texts)):
                raise self._broken_attribute(attributes, f"{place}nodes[{index}]")
            annotations: dict[str, str] = {}
            if kind != _PLAIN:
                annotations = {key: text for key, text in attributes.items() if _is_annotation(key)}
                attributes = {key: text for key, text in attributes.items() if key not in annotations}
                if kind == _SUSPECT:
                    suspects.append(index)
            for producer, slot in inputs:
                if type(producer) is not int or type(slot) is not int or not 0 <= producer < count or slot < 0:
                    raise self._broken_input(inputs, count, f"{place}nodes[{index}]")
            known = canonical.get(op, op)
            record = NNVMNode(known, name, attributes, annotations, inputs, [], "" if known == op else op)
            if "subgraphs" in raw:
                record.subgraphs = self._subgraphs(raw["subgraphs"], f"{place}nodes[{index}].", depth)
            append(record)
        return nodes

    def _merged(self, raw: dict[str, Any], place: str) -> dict[str, str]:
        """`attrs`, `attr` and `param` in one; of a key that several state the first counts, as in MXNet."""
        merged: dict[str, str] = {}
        for key in ("param", "attr", "attrs"):
            part = raw.get(key)
            if part is None:
                continue
            if not isinstance(part, dict):
                raise self.fail(f"expected an object, found {type(part).__name__}", f"{place}.{key}")
            merged.update(part)
        return merged

    def _broken_node(self, raw: Any, place: str) -> FormatError:
        if not isinstance(raw, dict):
            return self.fail(f"expected a node, found {type(raw).__name__}", place)
        for key, kind in (("op", str), ("name", str), ("inputs", list)):
            if not isinstance(raw.get(key), kind):
                kind_name = type(raw[key]).__name__ if key in raw else "nothing"
                return self.fail(f"a node needs {key!r}: expected {kind.__name__}, found {kind_name}", f"{place}.{key}")
        if not isinstance(raw.get("attrs", {}), dict):
            return self.fail(f"expected an object, found {type(raw['attrs']).__name__}", f"{place}.attrs")
        return self.fail("an input is a list [node, output] or [node, output, version]", f"{place}.inputs")

    def _broken_attribute(self, attributes: dict[str, Any], place: str) -> FormatError:
        key = next(key for key, value in attributes.items() if type(value) is not str)
        return self.fail(f"attribute {key} is {attributes[key]!r}, expected a string", f"{place}.attrs.{key}")

    def _broken_input(self, inputs: list[tuple[Any, Any]], count: int, place: str) -> FormatError:
        slot = next(slot for slot, entry in enumerate(inputs) if not _is_entry(entry, count))
        return self.fail(f"leads to {list(inputs[slot])}; there are {count} nodes", f"{place}.inputs[{slot}]")

    def _entry(self, entry: Any, place: str, nodes: list[NNVMNode]) -> tuple[int, int]:
        if isinstance(entry, list) and len(entry) in (2, 3) and _is_entry(entry, len(nodes)):
            return entry[0], entry[1]
        raise self.fail(f"expected [node, output], node below {len(nodes)}, found {json.dumps(entry)[:80]}", place)

    def _subgraphs(self, raw: Any, place: str, depth: int) -> list[NNVMGraph]:
        if not isinstance(raw, list):
            raise self.fail(f"expected a list, found {type(raw).__name__}", f"{place}subgraphs")
        graphs = []
        for slot, document in enumerate(raw):
            if not isinstance(document, dict):
                raise self.fail(f"expected a graph, found {type(document).__name__}", f"{place}subgraphs[{slot}]")
            graphs.append(self.graph(document, f"{place}subgraphs[{slot}].", depth + 1))
        return graphs

    def _sort(self, graph: NNVMGraph, place: str) -> list[int] | None:
        """Put the nodes into topological order. Returns each node's new position, None if they were in order."""
        if all(producer < index for index, node in enumerate(graph.nodes) for producer, _ in node.inputs):
            return None
        order = self._topological_order(graph.nodes, place)
        positions = [0] * len(order)
        for position, index in enumerate(order):
            positions[index] = position
        graph.nodes = [graph.nodes[index] for index in order]
        for node in graph.nodes:
            node.inputs = [(positions[producer], slot) for producer, slot in node.inputs]
        graph.heads = [(positions[index], slot) for index, slot in graph.heads]
        return positions

    def _topological_order(self, nodes: list[NNVMNode], place: str) -> list[int]:
        """Depth first along the inputs, from the nodes in their order. Raises FormatError that names a cycle."""
        order: list[int] = []
        state = bytearray(len(nodes))  # 0: not reached, 1: on the way down, 2: placed
        for start in range(len(nodes)):
            way = [] if state[start] else [(start, iter(nodes[start].inputs))]
            state[start] = state[start] or 1
            while way:
                index, rest = way[-1]
                producer = next((producer for producer, _ in rest if state[producer] != 2), None)
                if producer is None:
                    state[index] = 2
                    order.append(index)
                    way.pop()
                elif state[producer] == 1:
                    cycle = [step for step, _ in way]
                    names = [nodes[step].name for step in cycle[cycle.index(producer) :]]
                    shown = " <- ".join(names[:10]) + (" <- ..." if len(names) > 10 else f" <- {names[0]}")
                    raise self.fail(f"the nodes form a cycle: {shown}", f"{place}nodes[{producer}]")
                else:
                    state[producer] = 1
                    way.append((producer, iter(nodes[producer].inputs)))
        return order

    def _check_outputs(self, graph: NNVMGraph, place: str) -> None:
        for index, node in enumerate(graph.nodes):
            if node.op == VARIABLE and node.inputs:
                raise self.fail(f"the variable {node.name!r} has inputs", f"{place}nodes[{index}].inputs")
            for slot, (producer, output) in enumerate(node.inputs):
                if output:
                    self._check_output(graph.nodes[producer], output, f"{place}nodes[{index}].inputs[{slot}]")
        for slot, (producer, output) in enumerate(graph.heads):
            if output:
                self._check_output(graph.nodes[producer], output, f"{place}heads[{slot}]")

    def _check_output(self, node: NNVMNode, output: int, place: str) -> None:
        count = _output_count(node)
        if count is not None and output >= count:
            raise self.fail(f"output {output} of {node.name!r} ({node.op}), which has {count}", place)


def _is_annotation(key: str) -> bool:
    return key.startswith("__") and key.endswith("__")


def _is_entry(entry: Any, count: int) -> bool:
    return type(entry[0]) is int and type(entry[1]) is int and 0 <= entry[0] < count and entry[1] >= 0


def _key_set_kind(keys: Mapping[str, str]) -> int:
    if any(map(is_hidden_key, keys)):
        return _SUSPECT
    return _MIXED if any(map(_is_annotation, keys)) else _PLAIN


def _output_count(node: NNVMNode) -> int | None:
    """Return how many outputs the node has, hidden ones included; None where its attributes do not tell."""
    if node.op == VARIABLE:
        return 1
    if node.op not in canonical_names() or node.op.startswith("_np"):
        return None
    if operator_schema(node.op).uncertain and node.op not in _CONTROL_FLOW_OUTPUTS:
        return None
    return len(node_signature(node).outputs) if is_readable(node) else None
