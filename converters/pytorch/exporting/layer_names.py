"""What layers are called: by the scope that the source's names of their weights state, else by that of their nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from graphir.converters.pytorch.exporting.naming import without_common_scope
from graphir.graph import Node, Value
from graphir.ops.activation import Dropout
from graphir.ops.elementwise import Add
from graphir.ops.linear import MatMul
from graphir.ops.traits import Elementwise

# The scope that a weight's name states, and what the weight is of its layer.
SCOPED = re.compile(
    r"(?:(.*)[/.:])?"
    r"(?:weight|bias|((depthwise|pointwise)_)?kernel|embeddings|gamma|beta|alpha|((running|moving)_)?(mean|var|variance))"
    r"(_\d+)?",
    re.DOTALL,
)


def layer_name(node: Node) -> str:
    """Return what the source calls a node: the name of its first result, without what says that it is one, or that
    Gluon puts behind the names of layers."""
    name = node.name or (node.outputs[0].name if node.outputs else node.op.name)
    return name.removesuffix(":0").removesuffix("_output").removesuffix("_fwd")


def names_of_layers(nodes: Mapping[Node, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of nodes that become layers, by what the source calls them. `names` are these without what all
    nodes have in front."""
    layers = {node: weights for node in nodes if (weights := _weights_of(node)) is not None}
    by_weights = {nodes[node]: scope for node, weights in layers.items() if (scope := _scope_of_weights(weights))}
    short = without_common_scope(by_weights.values())
    by_nodes = _scopes_of_nodes(layers, nodes, names)
    return by_nodes | {name: short[scope] for name, scope in by_weights.items()}


def _scopes_of_nodes(layers: Iterable[Node], nodes: Mapping[Node, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the scopes of layers by their names: of those that are alone in their scope, a shift of one aside."""
    given = {nodes[node]: node for node in layers if "/" in nodes[node]}
    counts: Counter[str] = Counter()
    for name, node in given.items():
        parts = names[name].split("/")
        if not isinstance(node.op, Add):
            counts.update(["/".join(parts[:count]) for count in range(1, len(parts))])
    scopes = {name: names[name].rpartition("/")[0] for name in given}
    return {name: scope for name, scope in scopes.items() if counts[scope] == 1}


def _scope_of_weights(weights: Iterable[Value]) -> str:
    """Return the scope that all weights whose names state one have in common, "" where there is none."""
    parts = [SCOPED.fullmatch(value.name) for value in weights]
    scopes = {part[1] or "" for part in parts if part}
    return scopes.pop() if len(scopes) == 1 else ""


def _weights_of(node: Node) -> list[Value] | None:
    """Return the weights of a node that becomes a layer, None for others. What is elementwise is part of a layer, but
    for a Dropout, and what adds a bias to a product."""
    if node.op.elementwise is not Elementwise.NO and not (isinstance(node.op, Add) and any(
        value is not None and value.producer is not None and isinstance(value.producer.op, MatMul)
        for value in node.inputs
    )):  # fmt: skip
        return [] if isinstance(node.op, Dropout) else None
    tensors = [(value, value.tensor) for value in node.inputs if value is not None and value.producer is None]
    return [value for value, tensor in tensors if tensor and tensor.shape and tensor.dtype.is_float] or None
