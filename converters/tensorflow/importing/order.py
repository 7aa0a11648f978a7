"""Which nodes are needed, and an order in which every node comes after what it uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.guards import SWITCHES, Guards, plain_op
from graphir.converters.tensorflow.importing.state_writes import is_write
from graphir.converters.tensorflow.schema.operators import operator_schema, output_types
from graphir.errors import FormatError, ImportFailure

# Results of these nodes are no outputs of a model, even if nothing uses them.
NO_OUTPUTS = frozenset({"Const", "NoOp", "Assert", "Placeholder", "PlaceholderWithDefault", "PlaceholderV2",
                        "IteratorToStringHandle"})  # fmt: skip
# What results of these types name: variables, iterators, tables, data sets.
HANDLES = frozenset({"resource", "variant"})
LOOP_OPS = frozenset({"NextIteration", "RefNextIteration"})
CONDITIONALS = frozenset({"Case", "If", "Merge", "StatelessCase", "StatelessIf"})
SHOWN = 8


def find_outputs(nodes: Iterable[TFNode]) -> list[str]:
    """Return the nodes whose results nothing uses, without those that give none or write a variable: what a frozen
    graph is there for.

    What is computed in a branch or a loop is no output: it may not run, or runs many times. Nor are the variables of a
    loop, its counter for one, if something uses another of them; nor a conditional that the outputs wait for, which is
    there for its effects; nor the copy of its condition that TensorFlow 1 puts beside every conditional.
    """
    by_name = {node.name: node for node in nodes}
    used = {endpoint.node for node in by_name.values() for endpoint in node.inputs}
    guards = Guards(by_name)
    left = {guards.loop_of(by_name[name]) for name in used if name in by_name and plain_op(by_name[name]) == "Exit"}
    unused = [node for node in by_name.values() if node.name not in used and plain_op(node) not in SWITCHES]
    unused = [node for node in unused if not guards.of_node(node.name) and _gives_something(node)]
    unused = [node for node in unused if plain_op(node) != "Exit" or guards.loop_of(node) not in left]
    conditions = {_condition(node, guards) for node in by_name.values() if plain_op(node) == "Switch"}
    unused = [node for node in unused if plain_op(node) != "Identity" or _copy_source(node, guards) not in conditions]
    waited = _nodes_before(unused, by_name)
    sources = {name: by_name.get(guards.behind_identities(Endpoint(name)).node) for name in waited}
    effects = {name for name, node in sources.items() if node is not None and plain_op(node) in CONDITIONALS}
    return [node.name for node in unused if node.name not in effects]


def _condition(switch: TFNode, guards: Guards) -> tuple[str, Endpoint] | None:
    """Return the name scope and the condition of the Switch that begins a conditional: it takes its own condition
    apart."""
    if len(switch.inputs) != 2:
        return None
    data, condition = (guards.behind_identities(endpoint) for endpoint in switch.inputs)
    return (switch.name.rpartition("/")[0], condition) if data == condition else None


def _copy_source(identity: TFNode, guards: Guards) -> tuple[str, Endpoint]:
    """Return the name scope of a copy, and what it is a copy of."""
    return identity.name.rpartition("/")[0], guards.behind_identities(Endpoint(identity.name))


def _nodes_before(nodes: Iterable[TFNode], by_name: Mapping[str, TFNode]) -> set[str]:
    """Return the nodes that run before any of these, because it uses them or waits for them. Linear."""
    names: set[str] = set()
    stack = [name for node in nodes for name in (*node.controls, *(source.node for source in node.inputs))]
    while stack:
        name = stack.pop()
        if name not in names and name in by_name:
            names.add(name)
            stack += [*by_name[name].controls, *(source.node for source in by_name[name].inputs)]
    return names


def _gives_something(node: TFNode) -> bool:
    if node.op in NO_OUTPUTS or is_write(node.op):
        return False
    schema = operator_schema(node.op)
    if schema is None:
        return True
    try:
        types = output_types(node.op, node.attrs) or []
    except FormatError:  # attributes that contradict each other: the importer says what is wrong
        return bool(schema.outputs)
    return any(dtype not in HANDLES for dtype in types)


def sorted_nodes(
    nodes: Mapping[str, TFNode], wanted: Iterable[Endpoint], given: Iterable[Endpoint] = ()
) -> list[TFNode]:
    """Return the nodes that the wanted results need, each after those that it uses; `given` need no node. Linear.

    Raises ImportFailure for a node that does not exist and for a cycle, which it names.
    """
    order: list[TFNode] = []
    done = {endpoint.node for endpoint in given}
    for endpoint in wanted:
        _visit(endpoint.node, nodes, done, order)
    return order


def check_cycles(nodes: Mapping[str, TFNode]) -> None:
    """Raise ImportFailure, naming it, for a cycle that is no loop of TensorFlow 1's: the walks behind nodes that change
    nothing would not end in one. Nodes that do not exist are left to whoever needs them. Linear."""
    done: set[str] = set()
    for start in nodes:
        if start in done:
            continue
        open_: dict[str, None] = {start: None}
        stack = [(start, iter(nodes[start].inputs))]
        while stack:
            name, inputs = stack[-1]
            following = next(inputs, None)
            if following is None:
                stack.pop()
                del open_[name]
                done.add(name)
            elif following.node in open_:
                _fail_cycle(following.node, list(open_), nodes)
            elif following.node in nodes and following.node not in done:
                node = nodes[following.node]
                if node.op not in LOOP_OPS:
                    open_[following.node] = None
                    stack.append((following.node, iter(node.inputs)))


def _visit(start: str, nodes: Mapping[str, TFNode], done: set[str], order: list[TFNode]) -> None:
    if start in done:
        return
    open_: dict[str, None] = {start: None}
    stack = [(start, iter(_get_node(start, nodes, start).inputs))]
    while stack:
        name, inputs = stack[-1]
        following = next(inputs, None)
        if following is None:
            stack.pop()
            del open_[name]
            done.add(name)
            order.append(nodes[name])
        elif following.node in open_:
            _fail_cycle(following.node, list(open_), nodes)
        elif following.node not in done:
            open_[following.node] = None
            stack.append((following.node, iter(_get_node(following.node, nodes, name).inputs)))


def _get_node(name: str, nodes: Mapping[str, TFNode], user: str) -> TFNode:
    node = nodes.get(name)
    if node is None:
        raise ImportFailure(f"node {user} uses {name!r}, which is not in the graph")
    return node


def _fail_cycle(name: str, around: list[str], nodes: Mapping[str, TFNode]) -> None:
    cycle = around[around.index(name) :]
    loops = sorted(member for member in cycle if nodes[member].op in LOOP_OPS)
    shown = " -> ".join([*cycle[:SHOWN], *(["..."] if len(cycle) > SHOWN else []), name])
    if loops:
        raise ImportFailure(f"a while loop of TensorFlow 1 around {', '.join(loops[:SHOWN])} cannot be imported")
    raise ImportFailure(f"the graph has a cycle of {len(cycle)} nodes: {shown}")
