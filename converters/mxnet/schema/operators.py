"""What MXNet 1.9.1 knows of its operators: canonical names, typed attributes with defaults, inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.kernel.attributes import Attributes
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.registry import (
    OperatorSchema,
    canonical_names,
    mxnet2_parameters,
    operator_schema,
)
from graphir.converters.mxnet.schema.signature import OperatorSignature, signature
from graphir.converters.mxnet.schema.values import OperatorParameter
from graphir.errors import FormatError
from graphir.plugins import SourceOperator, source_operator

OPEN_ENTRIES = frozenset({"begin", "end", "step"})
"""Shapes in which MXNet lets an entry be None; the registry calls them as it calls all others."""
OPEN_TUPLES = frozenset({("_npi_flip", "axis")})
"""Tuples that have to be stated and may all the same be None, by operator and name."""

CUSTOM = "Custom"

_Key = tuple[str, tuple[tuple[str, str], ...], int]
_KNOWN: dict[_Key, Attributes] = {}
_SIGNATURES: dict[_Key, OperatorSignature] = {}
_KNOWN_LIMIT = 1 << 14


def canonical_name(name: str) -> str | None:
    """Return the name under which MXNet 1.9.1 registers the operator, or None if it knows none of that name.

    >>> canonical_name("_Plus"), canonical_name("Softmax"), canonical_name("BinaryConvolution")
    ('elemwise_add', 'SoftmaxOutput', None)
    """
    return canonical_names().get(name)


def typed_attributes(node: NNVMNode) -> Attributes:
    """Return the node's attributes as Python values.

    Unknown operators and variables have no parameters: all they state is in `unknown`. The number of inputs of a
    variadic operator may be left out; the node's inputs are counted then. Raises FormatError for a value that is not of
    the parameter's type and for a parameter that MXNet requires and the node does not state.
    """
    key = (node.op, tuple(node.attrs.items()), len(node.inputs))
    result = _KNOWN.get(key)
    if result is None:
        if _may_be_plugged(node):  # not kept: which plugins there are may change
            plugin = plugged(node)
            return _typed(node) if plugin is None else _of_plugin(node, plugin)
        if len(_KNOWN) >= _KNOWN_LIMIT:
            _KNOWN.clear()
        result = _KNOWN[key] = _typed(node)
    return result


def plugged(node: NNVMNode) -> SourceOperator | None:
    """Return what a plugin says of the node's operator, of which MXNet 1.9.1 says nothing; None if no plugin does."""
    plugin = source_operator("mxnet", name_for_plugins(node)) if _may_be_plugged(node) else None
    return None if plugin is None else plugin.of_node(node.attrs)


def _may_be_plugged(node: NNVMNode) -> bool:
    return node.op != VARIABLE and (node.op == CUSTOM or node.op not in canonical_names())


def name_for_plugins(node: NNVMNode) -> str:
    """Return what plugins call the node's operator: `Custom` is one for each op_type, `Custom:my_type`."""
    return f"{CUSTOM}:{node.attrs.get('op_type', '')}" if node.op == CUSTOM else node.op


def _of_plugin(node: NNVMNode, plugin: SourceOperator) -> Attributes:
    stated = frozenset(name for name in plugin.attributes if name in node.attrs)
    unknown = {name: text for name, text in node.attrs.items() if name not in stated and name != "op_type"}
    return _attributes(node.op, plugin.typed(node.attrs), stated, unknown)


def _typed(node: NNVMNode) -> Attributes:
    if node.op == VARIABLE or node.op not in canonical_names():
        return _attributes(node.op, {}, frozenset(), dict(node.attrs))
    schema = operator_schema(node.op)
    values: dict[str, object] = {}
    for name, parameter in schema.parameters.items():
        text = node.attrs.get(name)
        values[name] = _unstated(node, schema, parameter) if text is None else _parsed(node, parameter, text)
    for name, parameter in mxnet2_parameters(schema.name).items():
        if name not in values:
            text = node.attrs.get(name)
            values[name] = parameter.default if text is None else _parsed(node, parameter, text)
    if schema.free:  # it reads its attributes itself, whose kinds the registry does not tell: they stay texts
        values |= {name: node.attrs.get(name) for name in schema.keywords}
    unknown = {name: text for name, text in node.attrs.items() if name not in values}
    stated = frozenset(node.attrs) - frozenset(unknown)
    return _attributes(node.op, values, stated, unknown)


def _attributes(
    operator: str, values: Mapping[str, object], stated: frozenset[str], unknown: Mapping[str, str]
) -> Attributes:
    """Return the values of all parameters: bool, int, float, str (names of enums and element types), tuples (of int or
    None for shapes) and None for what is unset."""

    def missing(name: str) -> KeyError:
        return KeyError(f"{operator} has no parameter {name!r}; it has {', '.join(values)}")

    return Attributes(values, stated, missing, unknown)


def _parsed(node: NNVMNode, parameter: OperatorParameter, text: str) -> object:
    try:
        value = _value(canonical_names()[node.op], parameter, text)
        may_be_open = parameter.kind.endswith(" or None") or (node.op, parameter.name) in OPEN_TUPLES
        if value is None and parameter.required and not may_be_open:
            raise ValueError("it cannot be left open")
        if isinstance(value, tuple) and None in value and parameter.name not in OPEN_ENTRIES:
            raise ValueError("no entry can be left open")
    except ValueError as error:
        raise FormatError(
            f"node {node.name!r} ({node.op}): attribute {parameter.name} is {text!r}, "
            f"expected {parameter.kind}: {error}"
        ) from error
    return value


def _value(operator: str, parameter: OperatorParameter, text: str) -> object:
    """Return the text's value as MXNet 1.9.1 reads it or else as 2.0 does, where a dtype None stands for the default
    one."""
    try:
        return parameter.parse(text)
    except ValueError:
        wider = mxnet2_parameters(operator).get(parameter.name)
        if wider is None:
            raise
        value = wider.parse(text)
        return parameter.default if parameter.name == "dtype" and value in (None, "None") else value


def _unstated(node: NNVMNode, schema: OperatorSchema, parameter: OperatorParameter) -> object:
    if not parameter.required:
        return parameter.default
    if parameter.name == schema.variadic:
        return len(node.inputs)
    raise FormatError(
        f"node {node.name!r} ({node.op}): attribute {parameter.name} is missing, expected {parameter.kind}; "
        "MXNet has no default for it"
    )


def node_signature(node: NNVMNode) -> OperatorSignature:
    """Return the names of the node's inputs and outputs. Raises FormatError as `typed_attributes` does."""
    key = (node.op, tuple(node.attrs.items()), len(node.inputs))
    known = _SIGNATURES.get(key)
    if known is not None:
        return known
    plugin = plugged(node)
    if plugin is not None:
        further = tuple(f"arg{slot}" for slot in range(len(plugin.inputs), len(node.inputs)))
        takes = None if plugin.unread or not plugin.inputs else len(plugin.inputs)
        return OperatorSignature((*plugin.inputs, *further), (), plugin.outputs, len(plugin.outputs), takes)
    attributes = typed_attributes(node)
    try:
        result = signature(node.op, attributes, len(node.inputs))
    except FormatError as error:
        raise FormatError(f"node {node.name!r} ({node.op}): {error}") from error
    if not _may_be_plugged(node):
        if len(_SIGNATURES) >= _KNOWN_LIMIT:
            _SIGNATURES.clear()
        _SIGNATURES[key] = result
    return result


def is_readable(node: NNVMNode) -> bool:
    """Return whether the node's attributes can be read, and give it a result. The importer says what is wrong with
    others."""
    try:
        return bool(node_signature(node).outputs)
    except FormatError:
        return False


def result_count(node: NNVMNode) -> int:
    """Return how many visible results the node has: one where its attributes do not tell."""
    return node_signature(node).visible if is_readable(node) else 1


def output_names(node: NNVMNode) -> list[str]:
    """Return the node's visible outputs as MXNet's `list_outputs` names them; a variable's is its own name."""
    if node.op == VARIABLE:
        return [node.name]
    names = node_signature(node)
    return [f"{node.name}_{name}" for name in names.outputs[: names.visible]]


def output_name(node: NNVMNode, slot: int) -> str:
    """Return the name of one output of a node; outputs that only training uses have names too."""
    return node.name if node.op == VARIABLE else f"{node.name}_{node_signature(node).outputs[slot]}"


def state_variables(symbol: NNVMGraph) -> set[int]:
    """Return the indices of the variables that an operator holds as auxiliary states, such as the moving mean of a
    BatchNorm."""
    nodes = symbol.nodes
    operators = (node for node in nodes if node.op != VARIABLE)
    stored = {index for node in operators for index, _ in node_signature(node).states(node.inputs)}
    return {index for index in stored if nodes[index].op == VARIABLE}
