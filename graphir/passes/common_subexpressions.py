"""What is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import sha256

from graphir.graph import Graph, Node, Value
from graphir.ops.foreign import Foreign
from graphir.ops.random import OPERATORS as RANDOM
from graphir.ops.shape_parts import Concat
from graphir.types import DType

from .dead_code import remove_dead_code
from .outcome import Outcome


def merge_equal_nodes(graph: Graph) -> Outcome:
    """Let one node stand for all that apply the same operator to the same operands; join a Concat with the Concat that
    alone reads it.

    Nodes with subgraphs, of other domains or with random results are left alone, and so are outputs, whose names stay.
    No number changes. Linear in nodes.
    """
    first: dict[Hashable, Node] = {}
    outcome = Outcome()
    for node in list(graph.nodes):
        if isinstance(node.op, Concat) and _join(graph, node):
            outcome.note(node.name, "it joins what the Concats in front of it join")
        if node.graph is not graph or node.subgraphs or isinstance(node.op, (Foreign, *RANDOM)) or not node.inputs:
            continue
        twin = first.setdefault((node.op, node.inputs), node)
        if twin is node or any(graph.is_output(value) for value in node.outputs):
            continue
        for old, new in zip(node.outputs, twin.outputs, strict=True):
            graph.replace_uses(old, new)
            new.sources = tuple(dict.fromkeys((*new.sources, *old.sources)))
        graph.erase(node)
        outcome.note(node.name, "another node applies the same operator to the same operands")
    if outcome:
        outcome |= remove_dead_code(graph)
    return outcome


def share_parameters(graph: Graph) -> Outcome:
    """Let one parameter stand for all that hold the same bytes in the same shape; what alone is held by an output
    stays. Linear in their bytes, of which only those are read that have a twin by dtype and shape."""
    alike: dict[Hashable, list[Value]] = {}
    for value in graph.parameters:
        if value.tensor is not None and value.dtype is not DType.STRING and value.graph is graph:
            alike.setdefault((value.dtype, value.tensor.shape), []).append(value)
    outcome = Outcome()
    for values in alike.values():
        first: dict[bytes, Value] = {}
        for value in values if len(values) > 1 else ():
            assert value.tensor is not None
            twin = first.setdefault(sha256(value.tensor.numpy().tobytes()).digest(), value)
            if twin is not value and not value.is_held:
                graph.replace_uses(value, twin)
                twin.sources = tuple(dict.fromkeys((*twin.sources, *value.sources)))
                graph.erase_value(value)
                outcome.note(value.name, "another parameter holds the same")
    return outcome


def _join(graph: Graph, node: Node) -> bool:
    """Let a Concat read what the Concats read that only it uses, where both join the same axis."""
    operands: list[Value | None] = []
    for value in node.inputs:
        inner = None if value is None else value.producer
        alone = value is not None and len(value.uses) == 1 and not graph.is_output(value)
        if inner is not None and alone and inner.graph is graph and _same_axis(node, inner):
            operands += inner.inputs
        else:
            operands.append(value)
    if len(operands) == len(node.inputs):
        return False
    result = node.outputs[0]
    shared = graph.add_node(node.op, operands, name=node.name, before=node).outputs[0]
    name, sources = result.name, result.sources
    graph.replace_uses(result, shared)
    graph.erase(node)
    graph.rename(shared, name)
    shared.sources = sources
    return True


def _same_axis(node: Node, inner: Node) -> bool:
    if not isinstance(inner.op, Concat) or not isinstance(node.op, Concat):
        return False
    rank = node.outputs[0].rank
    return node.op.axis == inner.op.axis or (rank is not None and node.op.axis % rank == inner.op.axis % rank)
