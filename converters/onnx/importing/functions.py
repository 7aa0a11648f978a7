"""The bodies of ONNX operators that ONNX defines as functions, filled in for one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphir.converters.onnx.files.reader import DEFAULT_DOMAINS
from graphir.converters.onnx.importing.function_calls import expanded


class Definition(NamedTuple):
    """Nodes that compute what an operator does, and the versions of the domains that they mean."""

    nodes: Sequence[Any]
    opsets: Mapping[str, int]


def definition_of(model: Any) -> Definition | None:
    """Return what the only node of a ModelProto is made of, by ONNX's own definition; None if ONNX states no body for
    it.

    The model's inputs and initializers state the operands' types. The body is the newest that the operator has.
    """
    import onnx
    import onnx.defs

    (node,) = model.graph.node
    domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    opset = next(entry.version for entry in model.opset_import if entry.domain == domain)
    if not onnx.defs.has(node.op_type, opset, domain):
        return None
    schema = onnx.defs.get_schema(node.op_type, opset, domain)
    data = _body(schema, model)
    if not data:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(data)
    versions = {entry.domain: entry.version for entry in function.opset_import}
    return Definition(_instantiate_nodes(function, node, schema), versions)


def _body(schema: Any, model: Any) -> bytes:
    """Return the bytes of the newest FunctionProto; empty if there is none."""
    (node,) = model.graph.node
    if schema.has_function:
        return bytes(schema.get_function_with_opset_version(max(schema.function_opset_versions)))
    if not schema.has_context_dependent_function:
        return b""
    types = _types(model)
    stated = [types.get(name, b"") for name in node.input]
    version = max(schema.context_dependent_function_opset_versions)
    return bytes(schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), stated))


def _types(model: Any) -> dict[str, bytes]:
    """Return the TypeProtos of inputs and initializers, by name."""
    import onnx

    types = {info.name: info.type for info in model.graph.input}
    for tensor in model.graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return {name: type_.SerializeToString() for name, type_ in types.items()}


def _instantiate_nodes(function: Any, node: Any, schema: Any) -> list[Any]:
    """Return the function's nodes over the node's own operands, results and attributes."""
    defaults = {name: stated.default_value for name, stated in schema.attributes.items() if stated.default_value.name}
    stated = dict.fromkeys(schema.attributes) | defaults
    call = expanded(function, node, stated, lambda name: name)
    copies = [type(node)(op_type="Identity", input=[value], output=[name]) for name, value in call.copies]
    return [*call.nodes, *copies]
