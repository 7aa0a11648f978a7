"""Calls of functions replaced by the functions' nodes, so that the importer sees one flat graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphir.converters.tensorflow.files.records import (
    Bound,
    Endpoint,
    FunctionCall,
    FunctionNode,
    TFFunction,
    TFGraph,
    TFNode,
    is_number,
)
from graphir.converters.tensorflow.importing.order import check_cycles
from graphir.converters.tensorflow.schema.conformity import check_edges, check_nodes
from graphir.converters.tensorflow.schema.operators import output_slots
from graphir.errors import ImportFailure
from graphir.safety.limits import charge_nodes, check_depth

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


@dataclass
class Flat:
    """Nodes without calls. `aliases` says which endpoint the results of a call that was replaced are now."""

    nodes: list[TFNode] = field(default_factory=list)
    aliases: dict[Endpoint, Endpoint] = field(default_factory=dict)
    inlined: list[str] = field(default_factory=list)

    def resolve(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint itself, or what became of it. Raises ImportFailure where calls give each other's
        results."""
        passed: dict[Endpoint, None] = {}
        while endpoint in self.aliases:
            if endpoint in passed:
                shown = " -> ".join(str(call) for call in (*passed, endpoint))
                raise ImportFailure(f"the graph has a cycle of {len(passed)} calls: {shown}")
            passed[endpoint] = None
            endpoint = self.aliases[endpoint]
        return endpoint


def called(node: TFNode, functions: Mapping[str, TFFunction]) -> FunctionCall | None:
    """Return the function that a node calls, None if it is no call. Raises ImportFailure for one that the library
    lacks."""
    if node.op in CALLS:
        call = node.attrs.get("f")
        if not isinstance(call, FunctionCall) or call.name not in functions:
            name = call.name if isinstance(call, FunctionCall) else call
            raise ImportFailure(f"node {node.name} calls the function {name!r}, which is not in the library")
        return call
    if node.op in functions:
        return FunctionCall(node.op, node.attrs)
    return None


def flatten(graph: TFGraph) -> Flat:
    """Return the graph's nodes, every call replaced. Names of a function's nodes get the call's name before them.

    Raises ImportFailure for a function that is missing or calls itself, and for a cycle; FormatError for what does not
    fit TensorFlow's operators, and where calls make far more nodes than the file holds.
    """
    flat = Flat()
    for node in graph.nodes:
        _add(replace(node), graph.functions, flat, ())
    _settle(flat)
    check_edges({node.name: node for node in flat.nodes})
    return flat


def _settle(flat: Flat) -> None:
    """Let the nodes' inputs be what the calls' results are, and check what the nodes are then."""
    for node in flat.nodes:
        node.inputs = tuple(map(flat.resolve, node.inputs))
    nodes = {node.name: node for node in flat.nodes}
    if len(nodes) < len(flat.nodes):
        names = Counter(node.name for node in flat.nodes)
        twice = next(name for name, count in names.items() if count > 1)
        raise ImportFailure(f"two nodes are called {twice!r}, one of them inside of a function that is called there")
    check_cycles(nodes)


def _add(node: TFNode, functions: Mapping[str, TFFunction], flat: Flat, around: tuple[str, ...]) -> None:
    call = called(node, functions)
    if call is None:
        flat.nodes.append(node)
        return
    if call.name in around:
        raise ImportFailure(f"the function {call.name} calls itself ({' -> '.join((*around, call.name))})")
    check_depth(len(around) + 1, f"the call {node.name} of the function {call.name}")
    function = functions[call.name]
    if len(node.inputs) != len(function.arguments):
        raise ImportFailure(
            f"node {node.name} calls {call.name} with {len(node.inputs)} arguments, expected {len(function.arguments)}"
        )
    flat.inlined.append(node.name)
    arguments = dict(zip(function.arguments, node.inputs, strict=True))
    control = ""
    if node.controls:  # no name of TensorFlow's has that sign
        control = f"{node.name}/^"
        flat.nodes.append(TFNode(control, "NoOp", (), node.controls))
    nodes, results = body(function, call.attrs, f"{node.name}/", arguments, functions, control)
    for inner in nodes:
        _add(inner, functions, flat, (*around, call.name))
    flat.aliases |= {Endpoint(node.name, slot): result for slot, result in enumerate(results)}


def flat_body(
    function: TFFunction,
    attrs: Mapping[str, Any],
    prefix: str,
    arguments: Mapping[str, Endpoint],
    functions: Mapping[str, TFFunction],
) -> tuple[list[TFNode], list[Endpoint]]:
    """Return what `body` does, with the calls in it replaced too. Raises ImportFailure as `flatten` does."""
    nodes, results = body(function, attrs, prefix, arguments, functions)
    flat = Flat()
    for node in nodes:
        _add(node, functions, flat, (function.name,))
    _settle(flat)
    if not function.is_made:
        check_edges({node.name: node for node in flat.nodes})
    return flat.nodes, [flat.resolve(result) for result in results]


def body(
    function: TFFunction,
    attrs: Mapping[str, Any],
    prefix: str,
    arguments: Mapping[str, Endpoint],
    functions: Mapping[str, TFFunction],
    control: str = "",
) -> tuple[list[TFNode], list[Endpoint]]:
    """Return a function's nodes with a prefix before their names, and its results.

    `attrs` are the attributes of the call, `arguments` what each argument is. Nodes that take no argument wait for
    `control`, as the others wait for what gives theirs. Raises ImportFailure for a reference to nothing, FormatError as
    `flatten` does.
    """
    charge_nodes(len(function.nodes), f"the function {function.name} as {prefix}")
    bound = {node.name: bound_attributes(node.attrs, attrs) for node in function.nodes}
    by_name = {node.name: node for node in function.nodes}

    def endpoint(text: str) -> Endpoint:
        name, _, rest = text.partition(":")
        if name in arguments:
            return arguments[name]
        if name not in by_name:
            raise ImportFailure(f"function {function.name} uses {text!r}, which is neither argument nor node")
        if not rest or is_number(rest):
            return Endpoint(prefix + name, int(rest or 0))
        node = by_name[name]
        called = functions.get(node.op)
        slots = (
            output_slots(node.op, bound[name]) if called is None
            else {output: slot for slot, output in enumerate(called.outputs)}
        )  # fmt: skip
        return Endpoint(prefix + name, _slot(function, node, rest, slots))

    def controls(node: FunctionNode) -> tuple[str, ...]:
        inside = tuple(prefix + name for name in node.controls if name in by_name)
        return inside if node.inputs or not control else (*inside, control)

    what = f" of function {function.name}"
    if not function.is_made:
        check_nodes((node.name + what, node.op, bound[node.name], len(node.inputs)) for node in function.nodes)

    nodes = [
        TFNode(prefix + node.name, node.op, tuple(map(endpoint, node.inputs)), controls(node), bound[node.name])
        for node in function.nodes
    ]
    return nodes, [endpoint(text) for text in function.results]


def bound_attributes(attrs: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with those of the call for those that name one; left out where the call states none."""
    values: dict[str, Any] = {}
    for name, value in attrs.items():
        if not isinstance(value, Bound):
            values[name] = value
        elif value.name in call:
            values[name] = call[value.name]
    return values


def _slot(function: TFFunction, node: FunctionNode, text: str, slots: Mapping[str, int]) -> int:
    """Return the slot that `output:1` means among the node's results. Raises ImportFailure for a result that it has
    not."""
    name, _, index = text.partition(":")
    if (slots and name not in slots) or (index and not is_number(index)):
        known = ", ".join(slots) or "none"
        raise ImportFailure(
            f"function {function.name} uses {text!r} of its node {node.name} ({node.op}); the results are {known}"
        )
    return slots.get(name, 0) + int(index or 0)
