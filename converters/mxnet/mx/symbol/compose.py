"""Composition: making an operator's node with its inputs, and putting symbols in place of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.symbol.node import Entry, SymbolNode, post_order, states
from graphir.converters.mxnet.schema.operators import CUSTOM, plugged, typed_attributes
from graphir.converters.mxnet.schema.registry import OperatorSchema, operator_schema, registered_names
from graphir.converters.mxnet.schema.signature import has_input_rule
from graphir.converters.mxnet.schema.upgrade import HIDDEN_KEYS, initial_value
from graphir.errors import FormatError

NOT_COMPOSED = {
    **dict.fromkeys(("_CachedOp", "_CachedOpThreadSafe"), "a compiled block"),
    **dict.fromkeys(("_CustomFunction", "_NDArray", "_Native"), "functions in Python"),
    **dict.fromkeys(("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"), "a fused graph"),
}
STATED = {"_contrib_quantized_rnn": {"quantized": "true"}}
"""What MXNet adds to the attributes of an operator by itself."""

GRAPHS = {"_cond": 3, "_foreach": 1, "_while_loop": 2}
"""How many symbols of control flow's first ones become graphs inside the node."""

PARTS = ("nodes", "arg_nodes", "node_row_ptr", "heads", "attrs")
Operands = Sequence[Sequence[Entry]]
NamedOperands = Mapping[str, Sequence[Entry]]


def create(op: str, attributes: Mapping[str, str], name: str = "") -> SymbolNode:
    """Return a node of the operator without inputs. Raises MXNetError, with the name, for parameters that it does not
    take."""
    attrs: dict[str, str] = {}
    for key, text in attributes.items():
        attrs.setdefault(_stored_key(key, text), text)
    node = SymbolNode(registered_names()[op], name, attrs, [])
    try:
        _check_parameters(node.record([]))
    except FormatError as error:
        raise MXNetError(str(error)) from error
    if node.op in NOT_COMPOSED:
        raise MXNetError(f"{op} is made by MXNet itself out of what is no symbol: {NOT_COMPOSED[node.op]}")
    if node.op == "Custom" and "op_type" not in attrs:
        raise MXNetError("Custom needs op_type, the name under which the operator is registered in Python")
    attrs |= {key: text for key, text in STATED.get(node.op, {}).items() if key not in attrs}
    return node


def _check_parameters(record: NNVMNode) -> None:
    """Raise FormatError for a value that is none of its parameter's, and for a parameter that the operator lacks."""
    schema = operator_schema(record.op)
    unknown = [name for name in record.attrs if name not in schema.parameters]
    if unknown and not schema.free:  # said first: a parameter that is missing may be one that was misspelt
        names = ", ".join(schema.parameters) or "none"
        raise FormatError(f"{record.op} {record.name!r}: cannot find argument {unknown[0]!r}; it takes {names}")
    typed = typed_attributes(record)
    for name in typed.stated:
        _check_value(record, schema, name, typed[name])


def _check_value(record: NNVMNode, schema: OperatorSchema, name: str, value: object) -> None:
    if name not in schema.parameters:  # read by the operator itself, whose kinds the registry does not tell
        return
    kind = schema.parameters[name].kind
    members = kind[1:-1].replace("'", "").split(", ") if kind.startswith("{") else []
    if members and record.attrs[name] not in members:
        raise FormatError(f"{record.op} {record.name!r}: {name} is {record.attrs[name]!r}, expected one of {kind}")
    if not isinstance(value, int | float):
        return
    least, most = schema.least.get(name, value), schema.most.get(name, value)
    if not least <= value <= most:
        wanted = f"at least {least:g}" if value < least else f"at most {most:g}"
        raise FormatError(f"{record.op} {record.name!r}: {name} is {value}, expected {wanted}")


def check_loadable(document: Mapping[str, object], graph: NNVMGraph, path: str | None) -> None:
    """Raise FormatError for what MXNet 1.9.1 refuses to load and graphir's reader takes."""
    unknown = [key for key in document if key not in PARTS]
    if unknown:
        raise FormatError(f"unknown field {unknown[0]!r}; a symbol has {', '.join(PARTS)}", path=path)
    if "arg_nodes" not in document:
        raise FormatError("missing field 'arg_nodes'", path=path)
    for record in graph.nodes:
        if record.op == VARIABLE:
            continue
        if record.op not in registered_names():
            raise FormatError(f"node {record.name!r}: MXNet 1.9.1 has no operator {record.op}", path=path)
        _check_parameters(record)


def _stored_key(key: str, text: str) -> str:
    """Return the key under which MXNet holds an attribute: its own hidden ones get underscores."""
    for hidden in HIDDEN_KEYS:
        if key.startswith(hidden):
            return f"__{key}__"
        if key.endswith(hidden):
            raise deprecated(key, hidden, text)
    return key


def deprecated(key: str, hidden: str, text: str) -> MXNetError:
    """Return what is said to an attribute `weight_lr_mult`, which was one of a variable before MXNet 0.9."""
    argument = key[: -len(hidden)].rstrip("_")
    return MXNetError(
        f"setting variable attributes with {key} is deprecated; give the operator the variable: "
        f"{argument}=mx.sym.Variable(name, {hidden}={text})"
    )


def compose(node: SymbolNode, args: Operands, kwargs: NamedOperands, name: str) -> None:
    """Give a fresh node its name and inputs; those that are not given become variables `<name>_<input>`.

    Raises MXNetError for operands of several outputs, too many of them, and names that are no inputs.
    """
    graphs = GRAPHS.get(node.op, 0)
    if graphs:
        if len(args) < graphs:
            raise MXNetError(f"{node.op} takes {graphs} symbols as graphs first, {len(args)} are given in order")
        node.subgraphs, args = [list(entries) for entries in args[:graphs]], args[graphs:]
    for slot, entries in enumerate(args):
        _check_single(entries, f"argument {slot}")
    for key, entries in kwargs.items():
        _check_single(entries, f"keyword argument {key}")
    node.name = name or node.name
    names = _input_names(node, len(args))
    if len(args) > len(names):
        raise MXNetError(f"{node.op} takes {len(names)} inputs, {len(args)} are given: incorrect number of arguments")
    schema = operator_schema(node.op)
    if len(args) < len(names) and schema.uncertain and not has_input_rule(node.op) and node.op != CUSTOM:
        raise MXNetError(f"not enough argument to call operator {node.op}: MXNet makes no variables for it")
    unknown = [key for key in kwargs if key not in names[len(args) :]]
    if unknown:
        raise _no_such_argument(unknown[0], names[len(args) :])
    node.inputs = [entries[0] for entries in args]
    for input_name in names[len(args) :]:
        given = kwargs.get(input_name)
        node.inputs.append(_variable(node, input_name) if given is None else given[0])
    node.forget_signature()
    update_versions(node)
    for slot, (producer, *_) in enumerate(node.inputs):
        initial = initial_value(node.op, slot) if producer.is_variable else None
        if initial is not None:
            producer.attrs.setdefault("__init__", initial)


def _check_single(entries: Sequence[Entry], what: str) -> None:
    if len(entries) != 1:
        raise MXNetError(f"{what} has {len(entries)} outputs, a single value is required")


def _input_names(node: SymbolNode, given: int) -> tuple[str, ...]:
    schema = operator_schema(node.op)
    is_known = node.op == CUSTOM and plugged(node.record([])) is not None
    if node.op in GRAPHS or (schema.uncertain and not schema.inputs and not is_known):
        return tuple(f"arg{slot}" for slot in range(given))
    names = node.signature.inputs
    counted = node.attrs.get(schema.variadic)
    if counted is not None and len(names) < int(counted):
        names += tuple(f"arg{slot}" for slot in range(len(names), int(counted)))
    return names


def _variable(node: SymbolNode, input_name: str) -> Entry:
    """Return the variable of an input that was not given: MXNet gives it the attributes of the operator."""
    return SymbolNode(VARIABLE, f"{node.name}_{input_name}" if node.name else input_name, dict(node.attrs), []), 0, 0


def update_versions(node: SymbolNode) -> None:
    """Note in the inputs how often operators changed them; this one changes its auxiliary states.

    Raises MXNetError where such a state is no variable.
    """
    signature = node.signature
    for slot, (producer, output, version) in enumerate(node.inputs):
        changed = bool(signature.aux) and slot < len(signature.inputs) and signature.inputs[slot] in signature.aux
        if changed and not producer.is_variable:
            name = signature.inputs[slot]
            raise MXNetError(f"the input {name} of {node.name} must be a variable: training changes it")
        if changed:
            producer.version += 1
        node.inputs[slot] = (producer, output, producer.version if producer.is_variable else version)


def recompose(heads: Sequence[Entry], kwargs: NamedOperands, name: str) -> list[Entry]:
    """Put symbols in place of variables by name, in nodes that nobody else holds. Returns the heads.

    Raises MXNetError for a name that no variable has.
    """
    for key, entries in kwargs.items():
        _check_single(entries, f"keyword argument {key}")
    order = post_order(heads)
    variables = [node for node in order if node.is_variable]
    places = {id(node): kwargs[node.name][0] for node in variables if node.name in kwargs}
    known = {node.name for node in variables}
    unknown = [key for key in kwargs if key not in known]
    if unknown:
        auxiliary = states(order)
        raise _no_such_argument(unknown[0], [node.name for node in variables if id(node) not in auxiliary])
    if len(places) > len(kwargs):
        twice = next(node.name for node in variables if node.name in kwargs)
        raise MXNetError(f"several variables are named {twice!r}: MXNet would leave them all, without a word")
    if name:
        heads[0][0].name = name
    for node in order:
        if any(id(producer) in places for producer, *_ in node.inputs):
            node.inputs = [places.get(id(entry[0]), entry) for entry in node.inputs]
            update_versions(node)
    return [places.get(id(entry[0]), entry) for entry in heads]


def _no_such_argument(name: str, candidates: Iterable[str]) -> MXNetError:
    shown = ", ".join(candidates) or "none"
    return MXNetError(f"keyword argument name {name} not found; candidate arguments are {shown}")


def schema_of(op: str) -> OperatorSchema:
    """Return the schema of an operator by any of its names."""
    return operator_schema(registered_names()[op])
