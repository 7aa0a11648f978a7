"""Functions: the nodes that a call of one stands for, over the call's own operands, results and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from graphir.converters.onnx.files.reader import DEFAULT_DOMAINS
from graphir.errors import ImportFailure

Key = tuple[str, str, str]
FreshName = Callable[[str], str]


class CallExpansion(NamedTuple):
    """What a call stands for: `nodes`, and `copies`, results that are other values by a further name (name, value)."""

    nodes: list[Any]
    copies: list[tuple[str, str]]


class Functions:
    """A model's own functions by domain, name and overload. Raises ImportFailure for two of the same."""

    def __init__(self, protos: Iterable[Any]) -> None:
        self._by_key: dict[Key, Any] = {}
        for proto in protos:
            key = key_of(proto, proto.name)
            if key in self._by_key:
                raise ImportFailure(f"the model defines the function {shown(key)} twice")
            self._by_key[key] = proto

    def find(self, node: Any) -> Any | None:
        """Return the FunctionProto that a node calls, None if it calls none."""
        return self._by_key.get(key_of(node, node.op_type)) if self._by_key else None


def key_of(proto: Any, name: str) -> Key:
    """Return what tells functions apart."""
    return ("" if proto.domain in DEFAULT_DOMAINS else proto.domain, name, getattr(proto, "overload", ""))


def shown(key: Key) -> str:
    """Return a function as errors and decisions name it."""
    domain, name, overload = key
    return f"{domain}::{name}" + (f" ({overload})" if overload else "")


def expanded(function: Any, call: Any, defaults: Mapping[str, Any], fresh: FreshName) -> CallExpansion:
    """Return the nodes of a function's body for one call of it.

    `defaults` are further attributes that a call may state, by name, with an AttributeProto that holds where it does
    not, or None. What the body
    names itself, in the graphs inside it too, is named by `fresh`. Raises ImportFailure for a call that states more
    than the function has, and for a body that uses what it does not have.
    """
    _check_call(function, call, defaults)
    attributes = {**defaults, **{proto.name: proto for proto in function.attribute_proto}}
    attributes |= {proto.name: proto for proto in call.attribute}
    actual = dict.fromkeys(function.input, "")
    actual |= zip(function.input, call.input, strict=False)
    copies: list[tuple[str, str]] = []
    for formal, name in zip(function.output, call.output, strict=False):
        if name and formal in actual:
            copies.append((name, actual[formal]))
        elif name:
            actual[formal] = name
    _name_results(function.node, actual, fresh)
    return CallExpansion([_instance(node, actual, attributes, fresh) for node in function.node], copies)


def _check_call(function: Any, call: Any, defaults: Mapping[str, Any]) -> None:
    known = {*defaults, *function.attribute, *(proto.name for proto in function.attribute_proto)}
    extra = [proto.name for proto in call.attribute if proto.name not in known]
    if extra:
        raise ImportFailure(f"it has no attribute {', '.join(extra)}")
    for what, stated, has in (("inputs", call.input, function.input), ("outputs", call.output, function.output)):
        if len(stated) > len(has):
            raise ImportFailure(f"it is called with {len(stated)} {what}, but has {len(has)}")


def _name_results(nodes: Iterable[Any], actual: dict[str, str], fresh: FreshName) -> None:
    for node in nodes:
        for name in node.output:
            if name and name not in actual:
                actual[name] = fresh(name)


def _instance(proto: Any, actual: Mapping[str, str], attributes: Mapping[str, Any], fresh: FreshName) -> Any:
    """Return one node of a body. An attribute that refers to one that the call lacks is left out, as ONNX has it."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    missing = [name for name in proto.input if name and name not in actual]
    if missing:
        node = f"node {proto.name or proto.op_type} of its body"
        raise ImportFailure(f"{node} uses {', '.join(missing)}, which is neither an input nor a result in it")
    for field in (copy.input, copy.output):
        names = [actual[name] if name else "" for name in field]
        del field[:]
        field.extend(names)
    del copy.attribute[:]
    for attribute in proto.attribute:
        if attribute.ref_attr_name:
            stated = attributes.get(attribute.ref_attr_name)
            if stated is not None:
                copy.attribute.add().CopyFrom(stated)
                copy.attribute[-1].name = attribute.name
            continue
        kept = copy.attribute.add()
        kept.CopyFrom(attribute)
        for graph in (kept.g, *kept.graphs) if kept.HasField("g") else kept.graphs:
            _fill_in_graph(graph, actual, attributes, fresh)
    return copy


def _fill_in_graph(graph: Any, around: Mapping[str, str], attributes: Mapping[str, Any], fresh: FreshName) -> None:
    """The same for a graph inside a node, in place. Its own names are renamed too: they must not hide the call's."""
    tensors = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
    local_names = [*(info.name for info in graph.input), *(tensor.name for tensor in tensors)]
    local_names += [name for node in graph.node for name in node.output if name]
    actual = {**around, **{name: fresh(name) for name in dict.fromkeys(local_names)}}
    for named in (*graph.input, *tensors):
        named.name = actual[named.name]
    nodes = [_instance(node, actual, attributes, fresh) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for info in (*graph.output, *graph.value_info):
        info.name = actual.get(info.name, info.name)
