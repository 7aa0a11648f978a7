"""Symbols and parameters as an older release of MXNet reads them: names, attributes, layout of the files.

What the release lacks is refused, all of it at once; what it has under another name or says in another way is written
so. A newer MXNet that loads such a file sees its version and upgrades it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphir.converters.mxnet.exporting.state import SUFFIX
from graphir.converters.mxnet.files.nnvm_json import to_json
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.history import OLDEST_LIBRARY, Absent, OldOperator, operator_at, releases
from graphir.converters.mxnet.schema.operators import node_signature, typed_attributes
from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema
from graphir.converters.mxnet.schema.release_changes import CHANGED, LIMITED, NOTED, rank_of
from graphir.converters.mxnet.schema.upgrade import HIDDEN_KEYS, RUNNING_VERSION, version_name
from graphir.converters.mxnet.schema.values import Parameter
from graphir.decisions import DecisionKind
from graphir.errors import ExportFailure, Gap, UnsupportedOpError
from graphir.graph import Decision, Graph
from graphir.passes.pipelines import export
from graphir.tensor import Tensor
from graphir.types import DType

OLDEST = 700
NNVM = 900  # the records are NNVM's, and auxiliary states are variables among them
ATTRS = 10000  # attributes are called `attrs`
NP_SHAPE = 10501
# Since when a .params file holds elements of a type; the others are as old as the format (see `ndarray_list`).
_DTYPES_SINCE = {
    DType.INT8: 905,
    DType.INT64: 1100,
    DType.BOOL: 10600,
    **dict.fromkeys((DType.INT16, DType.UINT16, DType.UINT32, DType.UINT64, DType.BFLOAT16), 10700),
}
# A parameter that is not stated: what it was by default then, and what it is now, mean the same.
_SAME_DEFAULT = frozenset((((), None), ((0, 0), ())))

Arrays = dict[str, Tensor]


def parse_version(text: str | int) -> int:
    """MXNet's number of a version: `1.4.1` is 10401, `0.12` the newest known of its series, 1201.

    Raises ExportFailure for what is no version from 0.7 to 1.9.1.

    >>> parse_version("1.4.1"), parse_version("0.8"), parse_version("1.9"), parse_version(10000)
    (10401, 800, 10901, 10000)
    """
    if isinstance(text, int):
        number = text
    else:
        match = re.fullmatch(r"v?(\d+)\.(\d{1,2})(?:\.(\d{1,2}))?", text.strip())
        if match is None:
            raise ExportFailure(f"{text!r} is no version of MXNet; expected one such as 1.4.1 or 0.12")
        series = int(match[1]) * 10000 + int(match[2]) * 100
        known = [release for release in releases() if release // 100 == series // 100]
        number = series + int(match[3]) if match[3] else max(known, default=series)
    if not OLDEST <= number <= RUNNING_VERSION:
        raise ExportFailure(f"MXNet {text} cannot be written for; versions from 0.7 to 1.9.1 can")
    return number


def export_for(graph: Graph, version: str | int | None = None) -> tuple[NNVMGraph, Arrays]:
    """A graph's symbol and parameters in the terms of a version, of 1.9.1 without one.

    Raises UnsupportedOpError with every node that the version cannot say, and ExportFailure for what is no version.
    """
    from graphir.converters.mxnet.exporting.exporter import export_graph

    number = RUNNING_VERSION if version is None else parse_version(version)
    with export().on_copy(graph) as live:
        model = export_graph(live)
    ranks = {value.name.removesuffix(SUFFIX): max(value.rank, 1) for value in graph.values if value.rank is not None}
    symbol, params, decisions = for_version(model.symbol, model.params, number, ranks)
    graph.decisions.extend(made for made in decisions if made not in graph.decisions)
    return symbol, params


def for_version(
    symbol: NNVMGraph, params: Arrays, version: int, ranks: Mapping[str, int] | None = None
) -> tuple[NNVMGraph, Arrays, list[Decision]]:
    """The symbol and its parameters in the terms of a release, and what that changed.

    `symbol` and `params` (`arg:w`, `aux:m`) are in the terms of 1.9.1 and stay as they are; `ranks` are the numbers of
    axes of variables and of the first results of nodes, by name. Raises UnsupportedOpError with every node, attribute
    and array that the release lacks.
    """
    if version >= RUNNING_VERSION:
        return symbol, params, []
    older = _Older(version, params, ranks or {})
    nodes = older.nodes(symbol)
    older.check_arrays()
    if symbol.np_shape and version < NP_SHAPE:
        older.refuse("np_shape", "tensors without axes or elements are there since 1.5", "the symbol")
    older.raise_refusals()
    return NNVMGraph(nodes, symbol.heads, version, symbol.np_shape), older.params, older.decisions


class _Older:
    """One rewriting: the parameters, what was refused, and what was decided so far."""

    def __init__(self, version: int, params: Mapping[str, Tensor], ranks: Mapping[str, int]) -> None:
        self.version = version
        self.params = dict(params)
        self.ranks = ranks
        self.decisions: list[Decision] = []
        self._refused: dict[tuple[str, str], list[str]] = {}

    def refuse(self, operator: str, reason: str, node: str) -> None:
        self._refused.setdefault((operator, reason), []).append(node)

    def raise_refusals(self) -> None:
        if self._refused:
            gaps = [Gap(op, reason, tuple(nodes)) for (op, reason), nodes in self._refused.items()]
            count = sum(len(gap.nodes) for gap in gaps)
            raise UnsupportedOpError(f"{count} node(s) cannot be written for MXNet {version_name(self.version)}:", gaps)

    def nodes(self, symbol: NNVMGraph) -> list[NNVMNode]:
        """The nodes of the symbol; what is inside their subgraphs too."""
        if self.version < NNVM:
            self._name_states(symbol)
        return [self._node(symbol, node) for node in symbol.nodes]

    def _node(self, symbol: NNVMGraph, node: NNVMNode) -> NNVMNode:
        if node.op == VARIABLE or node.op not in canonical_names():
            return node  # a variable, or an operator of the user's own
        if node.op == "softmax" and self.version < OLDEST_LIBRARY:
            node = _softmax_activation(symbol, node, self.ranks)
        self._check_axes(symbol, node)
        old = operator_at(node.op, self.version)
        if isinstance(old, Absent):
            self.refuse(node.op, f"MXNet has it since {version_name(old.since)}", node.name)
            return node
        attrs = self._attributes(node, old)
        subgraphs = [
            NNVMGraph(self.nodes(inner), inner.heads, self.version, inner.np_shape) for inner in node.subgraphs
        ]
        return NNVMNode(old.name, node.name, attrs, node.annotations, node.inputs, subgraphs)

    def _check_axes(self, symbol: NNVMGraph, node: NNVMNode) -> None:
        """Refuse data of a number of axes that the release computes wrongly or not; note it where that is open."""
        for limit in LIMITED.get(node.op, ()):
            if not limit.since <= self.version < limit.until or not limit.concerns(typed_attributes(node)):
                continue
            rank = rank_of(symbol, *node.inputs[0], self.ranks)
            if rank is None:
                text = f"MXNet {version_name(self.version)}: {limit.reason}"
                self.decisions.append(Decision(DecisionKind.OLDER_RELEASE, node.name, text))
            elif not limit.takes(rank):
                self.refuse(node.op, limit.reason, node.name)

    def _attributes(self, node: NNVMNode, old: OldOperator) -> dict[str, str]:
        typed, schema = typed_attributes(node), operator_schema(node.op)
        attrs = {name: text for name, text in node.attrs.items() if name not in schema.parameters}
        for name, then in old.parameters.items():
            stated = node.attrs.get(name)
            now = schema.parameters[name]
            if isinstance(then, Absent):
                if typed[name] != now.default:
                    reason = f"its parameter {name} ({stated}) is there since {version_name(then.since)}"
                    self.refuse(node.op, reason, node.name)
                continue
            if stated is None and _same_default(then, now):
                continue
            wanted = str(typed[name]) if stated is None else stated
            text = _written(wanted, typed[name], then)
            if text is None:
                self.refuse(node.op, f"{name}={wanted}: this MXNet takes {then.kind} only", node.name)
            else:
                attrs[name] = text
        for change in CHANGED.get(node.op, ()):
            if self.version < change.until and change.concerns(typed):
                self.refuse(node.op, change.reason, node.name)
        for since, until, text, concerns in NOTED.get(node.op, ()):
            if since <= self.version < until and concerns(typed):
                self.decisions.append(Decision(DecisionKind.OLDER_RELEASE, node.name, text))
        return attrs

    def _name_states(self, symbol: NNVMGraph) -> None:
        """Before 0.9 an auxiliary state has no variable of its own: it is `<node>_<state>`, and the arrays with it."""
        held = {name: tensor for name, tensor in self.params.items() if not name.startswith("aux:")}
        for node in symbol.nodes:
            if node.op == VARIABLE or not (names := node_signature(node)).aux:
                continue
            for state, (producer, _) in zip(names.inputs, node.inputs, strict=False):
                if state not in names.aux:
                    continue
                variable, wanted = symbol.nodes[producer], f"{node.name}_{state}"
                tensor = self.params.get(f"aux:{variable.name}")
                if variable.op != VARIABLE:
                    self.refuse(node.op, f"its {state} is computed; before 0.9 each node holds its own", node.name)
                elif tensor is not None:
                    held[f"aux:{wanted}"] = tensor
                if variable.name != wanted:
                    self.decisions.append(
                        Decision(DecisionKind.STATE_RENAMED, node.name, f"{variable.name} is {wanted} before MXNet 0.9")
                    )
        self.params = held

    def check_arrays(self) -> None:
        """Refuse arrays of a type that the release does not read."""
        for name, tensor in self.params.items():
            since = _DTYPES_SINCE.get(tensor.dtype, 0)
            if self.version < since:
                reason = f"a .params file holds {tensor.dtype} since MXNet {version_name(since)}"
                self.refuse("array", reason, name)


def _softmax_activation(symbol: NNVMGraph, node: NNVMNode, ranks: Mapping[str, int]) -> NNVMNode:
    """A softmax in the words of 0.8, over the features of a matrix or the channels of a picture; else as it is."""
    typed, rank = typed_attributes(node), rank_of(symbol, *node.inputs[0], ranks)
    axis, parameters = typed["axis"], operator_schema(node.op).parameters
    special = any(typed[name] != parameters[name].default for name in parameters if name != "axis")
    if rank is None or special or not isinstance(axis, int) or axis % rank != 1:
        return node
    return replace(node, op="SoftmaxActivation", attrs={"mode": "channel"} if rank > 2 else {})


def _same_default(then: Parameter, now: Parameter) -> bool:
    """Whether a parameter that is not stated means then what it means now. Types without words are left alone."""
    if then.required or now.required:
        return then.required == now.required
    return then.kind == "any" or then.default == now.default or (then.default, now.default) in _SAME_DEFAULT


def _written(stated: str, value: object, then: Parameter) -> str | None:
    """The text for a value under the type of then, None if that has none. Of a tuple of one, the entry will do."""
    for text in (stated, *([str(value[0])] if isinstance(value, tuple) and len(value) == 1 else [])):
        try:
            found = then.parse(text)
        except ValueError:
            continue
        if then.kind.startswith("{") and f"'{text}'" not in then.kind:
            continue  # the parser knows element types by more names than this release
        if found is not None or then.kind.endswith(" or None") or then.kind == "any":
            return text
    return None


def to_text(graph: NNVMGraph) -> str:
    """The JSON text of a symbol in the form of its own version."""
    if graph.version >= RUNNING_VERSION:
        return to_json(graph)
    document = _document(graph, graph.version)
    if graph.version >= NNVM:
        attributes: dict[str, Any] = {"mxnet_version": ["int", graph.version]}
        if graph.np_shape:
            attributes["is_np_shape"] = ["int", 1]
        document["attrs"] = attributes
    return json.dumps(document, indent=2, ensure_ascii=False)


def _document(graph: NNVMGraph, version: int) -> dict[str, Any]:
    nodes, heads = (graph.nodes, graph.heads) if version >= NNVM else _without_states(graph)
    end = [0] if version >= NNVM else []
    return {
        "nodes": [_node_document(node, version) for node in nodes],
        "arg_nodes": [index for index, node in enumerate(nodes) if node.op == VARIABLE],
        "heads": [[index, slot, *end] for index, slot in heads],
    }


def _node_document(node: NNVMNode, version: int) -> dict[str, Any]:
    document: dict[str, Any] = {"op": node.op, "name": node.name}
    if version < NNVM:
        document["param"] = {} if node.op == VARIABLE else dict(sorted(node.attrs.items()))
        users = {_bare(key): text for key, text in sorted(node.annotations.items())}
        return document | {
            "inputs": [[producer, slot] for producer, slot in node.inputs],
            "backward_source_id": -1,
            **({"attr": users} if users else {}),
        }
    attributes = node.annotations | node.attrs
    if attributes:
        document["attrs" if version >= ATTRS else "attr"] = dict(sorted(attributes.items()))
    document["inputs"] = [[producer, slot, 0] for producer, slot in node.inputs]
    if node.subgraphs:
        document["subgraphs"] = [_document(inner, version) for inner in node.subgraphs]
    return document


def _bare(key: str) -> str:
    """MXNet's own keys stood without underscores before 0.9."""
    return key.strip("_") if key.strip("_") in HIDDEN_KEYS else key


def _without_states(graph: NNVMGraph) -> tuple[list[NNVMNode], list[tuple[int, int]]]:
    """Nodes and heads without the variables of auxiliary states, which MXNet 0.8 adds itself."""
    states = set()
    for node in graph.nodes:
        if node.op == VARIABLE:
            continue
        names = node_signature(_canonical(node))
        read = zip(names.inputs, node.inputs, strict=False)
        states |= {source for name, (source, _) in read if name in names.aux}
    places = {index: place for place, index in enumerate(i for i in range(len(graph.nodes)) if i not in states)}
    nodes = []
    for index in places:
        node = graph.nodes[index]
        inputs = [(places[source], slot) for source, slot in node.inputs if source not in states]
        nodes.append(NNVMNode(node.op, node.name, node.attrs, node.annotations, inputs))
    return nodes, [(places[index], slot) for index, slot in graph.heads]


def _canonical(node: NNVMNode) -> NNVMNode:
    return NNVMNode(canonical_names().get(node.op, node.op), node.name, node.attrs, {}, node.inputs)


def array_layout(version: int) -> str:
    """How arrays are laid out in a release's .params files."""
    return "V2" if version >= 1200 else "V1" if version >= 1100 else "V0"


__all__ = ["OLDEST", "array_layout", "export_for", "for_version", "parse_version", "to_text", "version_name"]
