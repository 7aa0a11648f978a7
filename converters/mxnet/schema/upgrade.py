"""MXNet's upgrade rules for symbols that older versions wrote (`src/nnvm/legacy_json_util.cc`), on NNVM records.

MXNet runs a rule when the file's version is older than the rule's. R2 parses the attributes, which changes a record
in one case alone: the fused oneDNN convolution renamed two of its own. Each rule notes in `graph.upgrades` what it
changed. R6 is ours: it brings what MXNet 2.0 spells otherwise to the spelling of 1.9.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode, Upgrade
from graphir.converters.mxnet.schema.operators import node_signature

RUNNING_VERSION = 10901
FIRST_OF_TWO = 20000
_VALUE_TYPES = {"0": "int", "1": "uint", "2": "double"}
_NUMBERS = {
    **dict.fromkeys(("_full", "_npi_full"), ("value",)),
    **dict.fromkeys(("_linspace", "_npi_linspace"), ("start", "stop")),
}
# The keys that MXNet hides as `__key__` since 0.9; before, they stood bare or as `<argument>_key`.
HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")

_RENAMED = {"_sg_mkldnn_conv": {"with_relu": "with_act", "with_postsum_relu": "with_postsum_act"}}
_BATCH_NORM_INIT = {3: '["zero", {}]', 4: '["one", {}]'}
_INITIAL = {
    "BatchNorm": _BATCH_NORM_INIT,
    "BatchNorm_v1": _BATCH_NORM_INIT,
    "IdentityAttachKLSparseReg": {1: '["zero", {}]'},
    "LeakyReLU": {1: '["Constant", {"value": 0.25}]'},
    "UpSampling": {1: '["bilinear", {}]'},
    "_contrib_BatchNormWithReLU": _BATCH_NORM_INIT,
    "_contrib_SyncBatchNorm": _BATCH_NORM_INIT,
}


def initial_value(operator: str, slot: int) -> str | None:
    """Return what MXNet states as `__init__` of a variable that it makes for an input of the operator."""
    return _INITIAL.get(operator, {}).get(slot)


def version_name(number: int) -> str:
    """Return a number as people write it.

    >>> version_name(1201), version_name(10000)
    ('0.12.1', '1.0.0')
    """
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def is_hidden_key(key: str) -> bool:
    """Return whether R1 looks at the attribute: it is, begins with, or ends with a hidden key.

    >>> is_hidden_key("lr_mult"), is_hidden_key("weight_lr_mult"), is_hidden_key("__lr_mult__")
    (True, True, False)
    """
    return key.startswith(HIDDEN_KEYS) or key.endswith(HIDDEN_KEYS)


def upgrade(graph: NNVMGraph, suspects: Iterable[int]) -> None:
    """Apply the rules that the graph's version asks for, in MXNet's order.

    `suspects` are the nodes, in order, with an attribute that `is_hidden_key`. Nodes must be in topological order.
    """
    if graph.version < RUNNING_VERSION:
        for index in suspects:
            _hide_keys(graph, graph.nodes[index])
    _rename_attributes(graph)
    if graph.version < 900:
        _add_missing_variables(graph)
    if graph.version < 904:
        _state_initial_values(graph)
    if graph.version < 905:
        _flatten_argmax(graph)
    if graph.version >= FIRST_OF_TWO:
        _state_one_value(graph)


def _hide_keys(graph: NNVMGraph, node: NNVMNode) -> None:
    """R1: `key` becomes `__key__` on the node, `<argument>_key` becomes `__key__` on that input's variable."""
    for name in [name for name in node.attrs if is_hidden_key(name)]:
        if name in HIDDEN_KEYS:
            node.annotations[f"__{name}__"] = node.attrs.pop(name)
            graph.upgrades.append(Upgrade("R1", node.name, f"{name} became __{name}__"))
            continue
        key = next((key for key in HIDDEN_KEYS if name.endswith("_" + key)), None)
        if key is None or node.op == VARIABLE:
            continue
        target = _input_variable(graph, node, name, name[: -len(key) - 1])
        if target is not None:
            target.annotations[f"__{key}__"] = node.attrs.pop(name)
            graph.upgrades.append(Upgrade("R1", node.name, f"{name} became __{key}__ of {target.name}"))


def _input_variable(graph: NNVMGraph, node: NNVMNode, attribute: str, argument: str) -> NNVMNode | None:
    bare = NNVMNode(node.op, node.name, {name: text for name, text in node.attrs.items() if name != attribute})
    bare.inputs = node.inputs
    names = node_signature(bare).inputs[: len(node.inputs)]
    if argument not in names:
        return None
    variable = graph.nodes[node.inputs[names.index(argument)][0]]
    return variable if variable.op == VARIABLE else None


def _rename_attributes(graph: NNVMGraph) -> None:
    """R2, the part that shows: `src/operator/subgraph/mkldnn/mkldnn_conv.cc` renames attributes when it parses them."""
    for node in graph.nodes:
        for old, new in _RENAMED.get(node.op, {}).items():
            if old in node.attrs:
                node.attrs[new] = node.attrs.pop(old)
                graph.upgrades.append(Upgrade("R2", node.name, f"{old} became {new}"))


def _add_missing_variables(graph: NNVMGraph) -> None:
    """R3: MXNet 0.8 did not store auxiliary variables; each missing input becomes `<node>_<input>`, put before it."""
    nodes: list[NNVMNode] = []
    moved: list[int] = []
    for node in graph.nodes:
        node.inputs = [(moved[producer], slot) for producer, slot in node.inputs]
        if node.op != VARIABLE:
            names = node_signature(node).inputs
            for name in names[len(node.inputs) :]:
                variable = NNVMNode(VARIABLE, f"{node.name}_{name}", dict(node.attrs), dict(node.annotations))
                node.inputs.append((len(nodes), 0))
                nodes.append(variable)
                graph.upgrades.append(Upgrade("R3", node.name, f"the missing input {name} became {variable.name}"))
        moved.append(len(nodes))
        nodes.append(node)
    graph.nodes = nodes
    graph.heads = [(moved[node_index], slot) for node_index, slot in graph.heads]


def _state_initial_values(graph: NNVMGraph) -> None:
    """R4: variables that have an initial value by their role in an operator say so in `__init__`."""
    for node in graph.nodes:
        for slot, initial in _INITIAL.get(node.op, {}).items():
            if slot >= len(node.inputs):
                continue
            variable = graph.nodes[node.inputs[slot][0]]
            if variable.op == VARIABLE and "__init__" not in variable.annotations:
                variable.annotations["__init__"] = initial
                graph.upgrades.append(Upgrade("R4", node.name, f"{variable.name} got __init__ {initial}"))


def _flatten_argmax(graph: NNVMGraph) -> None:
    """R5: axis -1 of argmax and argmin meant all axes, which is said by no axis since."""
    for node in graph.nodes:
        if node.op in ("argmax", "argmin") and node.attrs.get("axis") == "-1":
            del node.attrs["axis"]
            graph.upgrades.append(Upgrade("R5", node.name, "axis -1 meant all axes: it was removed"))


def _state_one_value(graph: NNVMGraph) -> None:
    """R6: MXNet 2.0 states a number as int_value, uint_value and double_value; value_type tells which counts."""
    for node in graph.nodes:
        kind = node.attrs.pop("value_type", "")
        for name in _NUMBERS.get(node.op, ()) if kind in _VALUE_TYPES else ():
            spelled = {each: _join(each, name) for each in _VALUE_TYPES.values()}
            if spelled[_VALUE_TYPES[kind]] in node.attrs:
                node.attrs[name] = node.attrs[spelled[_VALUE_TYPES[kind]]]
            for each in spelled.values():
                node.attrs.pop(each, None)


def as_two_writes(graph: NNVMGraph) -> NNVMGraph:
    """Return the graph with the names that MXNet 2.0 has for its operators, where it has no longer those of 1.9.1; what
    R6 changed stays, for 2.0 reads both."""
    if graph.version < FIRST_OF_TWO:
        return graph
    nodes = [
        replace(node, op=node.source_op) if node.source_op and node.op not in _NUMBERS else node for node in graph.nodes
    ]
    return replace(graph, nodes=nodes)


def _join(kind: str, name: str) -> str:
    return f"{kind}_{name}" if name == "value" else f"{name}_{kind}"
