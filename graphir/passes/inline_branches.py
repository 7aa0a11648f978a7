"""If with a known condition: the branch that runs takes its place. Exact: no number changes."""

from __future__ import annotations

from graphir.graph import Graph, Node
from graphir.inference import infer_graph
from graphir.ops.control import If

from .inline import Body, Names, take_place
from .outcome import Outcome


def inline_branches(graph: Graph, names: Names | None = None) -> Outcome:
    """Put the branch in place of each If whose condition is known, also in subgraphs.

    `names` are those of the graph, if the caller has them. Cost: linear in nodes, those of the branches included.
    Raises ShapeError for a branch that contradicts what the graph knows of its results.
    """
    if not any(isinstance(node.op, If) for node in _all_nodes(graph)):
        return Outcome()
    return _inline(graph, Names(graph) if names is None else names)


def _all_nodes(graph: Graph) -> list[Node]:
    nodes: list[Node] = []
    pending = [graph]
    while pending:
        for node in pending.pop().nodes:
            nodes.append(node)
            pending.extend(node.subgraphs)
    return nodes


def _inline(graph: Graph, names: Names) -> Outcome:
    outcome = Outcome()
    pending = list(graph.nodes)[::-1]
    while pending:
        node = pending.pop()
        branch = _live_branch(node)
        if branch is None:
            for inner in node.subgraphs:
                outcome |= _inline(inner, names)
            continue
        body = Body(branch, graph, names, node.name)
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
