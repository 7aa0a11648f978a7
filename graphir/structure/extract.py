"""A part of a graph as a graph of its own: what some of its values depend on, up to values that become inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphir.decisions import Decision, DecisionKind
from graphir.errors import GraphError
from graphir.node import Node, Value
from graphir.safety.arguments import expect_items
from graphir.safety.foreign_text import listing
from graphir.structure.cloning import Images, clone_node, take_over
from graphir.structure.lookup import GraphLookup
from graphir.structure.names import free_name
from graphir.structure.reaching import graphs_within, reachable

if TYPE_CHECKING:
    from graphir.graph import Graph

EVERYWHERE = ("", "-")


def extract(graph: Graph, outputs: Sequence[Value | str], inputs: Sequence[Value | str] = ()) -> Graph:
    """Return a part of a graph; see `Graph.extract`. Linear in the graph's size."""
    if graph.parent is not None:
        raise GraphError(f"cannot extract from {graph.name}: it is the body of a node of {graph.parent.name}")
    lookup = GraphLookup(graph)
    wanted, cuts = _choose_values(lookup, outputs, "output"), _choose_values(lookup, inputs, "input")
    if not wanted:
        raise GraphError(f"cannot extract nothing from {graph.name}: name at least one output")
    _check_outputs(graph, wanted, cuts)
    needed, nodes = _find_needed(wanted, cuts)
    idle = [value.name for value in cuts if value not in needed]
    if idle:
        shown = ", ".join(value.name for value in wanted)
        raise GraphError(f"cannot cut {graph.name} at {listing(idle)}: no output ({shown}) depends on it")
    part = type(graph)(graph.name)
    part.metadata = dict(graph.metadata)
    images: Images = {}
    for value in dict.fromkeys([*cuts, *(source for source in graph.inputs if source in needed)]):
        image = images[value] = take_over(value, part, value.name)
        image.declared, image.known, image.tensor, image._index = image.type, None, None, 0
        part._inputs.append(image)
    given = set(cuts)
    for value in graph.parameters:
        if value in needed and value not in given:
            image = images[value] = take_over(value, part, value.name)
            part._parameters[image] = None
    for node in graph.nodes:
        if node in nodes:
            _add(part, node, images, graph)
    part.set_outputs([images[value] for value in wanted])
    _infer_anew(part, cuts)
    part.decisions = _decisions(graph, part, cuts, needed)
    return part


def _choose_values(lookup: GraphLookup, given: Sequence[Value | str], what: str) -> list[Value]:
    """Return the values that are meant. Raises GraphError for one that is named twice, and for those of other
    graphs."""
    graph = lookup.graph
    expected = "a Value or the name of one"
    items: tuple[Value | str, ...] = expect_items(given, (Value, str), f"the {what}s of a part", expected)
    names: dict[Value, str] = {}
    for item in items:
        value = lookup.find(item) if isinstance(item, str) else item
        if not graph.holds(value):
            raise GraphError(f"{value.name} is not a value of {graph.name} and can be no {what} of a part of it")
        name = item if isinstance(item, str) else value.name
        if value in names:
            both = repr(name) if name == names[value] else f"{names[value]!r} and {name!r}, which are one value,"
            raise GraphError(f"the {what} {both} is named twice: name each {what} once")
        names[value] = name
    return list(names)


def _check_outputs(graph: Graph, wanted: Sequence[Value], cuts: Sequence[Value]) -> None:
    """Raise GraphError for outputs that the part would not compute."""
    given = set(cuts)
    for value in wanted:
        if value in given:
            raise GraphError(f"{value.name} is to be an output and an input: nothing would compute it")
        if value.producer is None:
            what = "a parameter" if value.is_parameter else "an input"
            raise GraphError(f"{value.name} is {what} of {graph.name}: no node computes it, so it can be no output")


def _find_needed(wanted: Sequence[Value], cuts: Sequence[Value]) -> tuple[set[Value], set[Node]]:
    """Return the values that the outputs depend on, up to and with those that become inputs, and the nodes that make
    them."""
    given = set(cuts)
    nodes: set[Node] = set()

    def used(value: Value) -> list[Value]:
        if value in given or value.producer is None or value.producer in nodes:
            return []
        nodes.add(value.producer)
        return uses_of(value.producer)

    return set(reachable(wanted, used)), nodes


def uses_of(node: Node) -> list[Value]:
    """Return what a node uses of its graph: its operands, and what its subgraphs capture."""
    values = [value for value in node.inputs if value is not None]
    pending = list(node.subgraphs)
    while pending:
        graph = pending.pop()
        used = [value for child in graph.nodes for value in child.inputs if value is not None]
        values += [value for value in (*used, *graph.outputs) if value.graph is node.graph]
        pending.extend(inner for child in graph.nodes for inner in child.subgraphs)
    return values


def _add(part: Graph, node: Node, images: Images, graph: Graph) -> None:
    """Take a node over. A result of it that became an input keeps its name there, and gets another one here."""
    cut = {value: images[value] for value in node.outputs if value in images}
    for value in node.outputs:
        name = free_name(f"{value.name}__uncut", graph, {}) if value in cut else value.name
        images[value] = take_over(value, part, name)
        if value in cut:
            images[value].sources = ()
    clone_node(node, part, images)
    images.update(cut)


def _infer_anew(part: Graph, cuts: Sequence[Value]) -> None:
    """Where the elements of an input were known before the cut, what followed from them does not hold any more."""
    if not any(value.known is not None for value in cuts):
        return
    from graphir.inference.engine import infer_graph

    for graph in graphs_within(part):
        for value in graph.values:
            if value.producer is not None or graph is not part:
                value._type, value.known = value.declared, value.known if value.is_parameter else None
    infer_graph(part)


def _decisions(graph: Graph, part: Graph, cuts: Sequence[Value], needed: set[Value]) -> list[Decision]:
    """Return those on what is left, and those that were taken here."""
    left = {node.name for node in part.nodes}
    for value in part.values:
        left |= {value.name, *value.sources}
    gone = {node.name for node in graph.nodes}
    for value in graph.values:
        gone |= {value.name, *value.sources}
    gone -= left
    decisions = [decision for decision in graph.decisions if decision.node in EVERYWHERE or decision.node not in gone]
    for value in cuts:
        kind = "parameter" if value.is_parameter else "input" if value.producer is None else value.producer.op.name
        does = "it is an input already" if kind == "input" else f"the graph is cut at this {kind}"
        rest = "" if value.producer is None else ": what comes before it is left out"
        decisions.append(Decision(DecisionKind.INPUTS_CHOSEN, value.name, does + rest))
    idle = [value.name for value in graph.inputs if value not in needed]
    if idle:
        text = f"no output depends on {listing(idle)}"
        decisions.append(Decision(DecisionKind.UNUSED_INPUTS_REMOVED, "-", text))
    return decisions
