"""If: with a known condition the branch that runs takes its place; else both are computed, and Where selects."""

from __future__ import annotations

from graphir.decisions import DecisionKind
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.inference import infer_graph
from graphir.ops.control import If
from graphir.ops.elementwise import Where
from graphir.ops.shape import Squeeze
from graphir.structure.reaching import nodes_within
from graphir.types import DType, TensorType, Unknown

from .inline import GraphNames, InlinedGraph, take_place
from .outcome import Outcome


def inline_branches(graph: Graph, names: GraphNames | None = None) -> Outcome:
    """Put the branch in place of each If whose condition is known, also in subgraphs.

    `names` are those of the graph, if the caller has them. Cost: linear in nodes, those of the branches included.
    Raises ShapeError for a branch that contradicts what the graph knows of its results.
    """
    if not any(isinstance(node.op, If) for node in nodes_within(graph.nodes)):
        return Outcome()
    return _inline(graph, GraphNames(graph) if names is None else names)


def _inline(graph: Graph, names: GraphNames) -> Outcome:
    outcome = Outcome()
    pending = list(graph.nodes)[::-1]
    while pending:
        node = pending.pop()
        branch = _live_branch(node)
        if branch is None:
            for inner in node.subgraphs:
                outcome |= _inline(inner, names)
            continue
        body = InlinedGraph(branch, graph, names, node.name)
        take_place(graph, node, body.copy({}, node), body.new_nodes)
        pending.extend(reversed(body.new_nodes))
        outcome.note(node.name, f"its condition is known: the branch {branch.name} runs")
    if outcome:
        infer_graph(graph)
    return outcome


def _live_branch(node: Node) -> Graph | None:
    """Return the branch of an If that runs, None if its condition is not known (or the node is another)."""
    condition = node.inputs[0].known if isinstance(node.op, If) and node.inputs[0] is not None else None
    numbers = None if condition is None else condition.integers()
    if numbers is None or len(numbers) != 1:
        return None
    return node.subgraphs[0 if numbers[0] else 1]


WHY = "its condition is known at run time only; Where selects"


def select_branches(graph: Graph, names: GraphNames | None = None) -> Outcome:
    """Put both branches in place of each If, and a Where for each result that is needed.

    For targets without control flow: what is computed stays the same, but more of it is, which is a decision. An If
    whose branches give results of different or unknown shapes stays. `names` are those of the graph, if the caller has
    them. Linear in nodes, those of the branches included.
    """
    outcome = Outcome()
    pending = [node for node in graph.nodes if isinstance(node.op, If)][::-1]
    names = names or (GraphNames(graph) if pending else None)
    while pending and names is not None:
        node = pending.pop()
        branches = [InlinedGraph(inner, graph, names, node.name) for inner in node.subgraphs]
        try:
            nodes = _select(graph, node, branches)
        except GraphirError as error:
            for branch in reversed(branches):
                branch.take_back()
            outcome.reasons[node] = str(error)
            continue
        graph.decide(DecisionKind.BOTH_BRANCHES_COMPUTED, node.name, WHY)
        outcome.note(node.name, WHY)
        pending.extend(new for new in reversed(nodes) if isinstance(new.op, If))
    if outcome:
        infer_graph(graph)
    return outcome


def _select(graph: Graph, node: Node, branches: list[InlinedGraph]) -> list[Node]:
    condition = node.inputs[0]
    assert condition is not None
    results = [branch.copy({}, node) for branch in branches]
    last = branches[-1]
    scalar = as_scalar(last, condition, node)
    chosen = []
    for old, value, other in zip(node.outputs, *results, strict=True):
        if not old.is_needed:
            chosen.append(old)
            continue
        if not have_same_shape(value, other):
            types = f"{value.type} and {other.type}"
            raise GraphirError(f"its branches give {types} for {old.name}, which no Where selects")
        chosen.append(last.add(Where(), [scalar, value, other], node, "selected").outputs[0])
    nodes = [new for branch in branches for new in branch.new_nodes]
    take_place(graph, node, chosen, nodes)
    return nodes


def as_scalar(body: InlinedGraph, condition: Value, before: Node) -> Value:
    """Return a condition of one element without axes, so that it broadcasts to anything."""
    if not condition.rank:
        return condition
    axes = body.target.constant(list(range(condition.rank)), DType.INT64)
    return body.add(Squeeze(), [condition, axes], before, "condition").outputs[0]


def have_same_shape(left: Value, right: Value) -> bool:
    """Return whether both are tensors whose shapes are known to be the same."""
    if not isinstance(left.type, TensorType) or not isinstance(right.type, TensorType):
        return False
    known = left.shape is not None and not any(isinstance(dim, Unknown) for dim in left.shape)
    return known and left.shape == right.shape
