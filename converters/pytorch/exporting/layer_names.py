"""What layers are called: by the scope that the source's names of their weights state, else by that of their nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from graphir.converters.pytorch.exporting.naming import SEPARATORS, without_common_scope
from graphir.graph import Node, Value
from graphir.ops.activation import Dropout
from graphir.ops.traits import Elementwise

# The last part of a weight's name, behind its layer's.
WEIGHT = re.compile(
    r"(weight|bias|((depthwise|pointwise)_)?kernel|embeddings|gamma|beta|alpha|((running|moving)_)?(mean|var|variance))"
    r"(_\d+)?"
)


def layer_name(node: Node) -> str:
    """Return what the source calls a node: the name of its first result, without what says that it is one, or that
    Gluon puts behind the names of layers."""
    name = node.name or (node.outputs[0].name if node.outputs else node.op.name)
    return name.removesuffix(":0").removesuffix("_output").removesuffix("_fwd")


def names_of_layers(nodes: Iterable[Node], names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of nodes that become layers, by what the source calls them. `names` are these without what all
    nodes have in front."""
    layers = {layer_name(node): node for node in nodes if _is_layer(node)}
    by_weights = {name: scope for name, node in layers.items() if (scope := _scope_of_weights(node))}
    short = without_common_scope(by_weights.values())
    by_nodes = _scopes_of_nodes([name for name in layers if "/" in name], names)
    return by_nodes | {name: short[scope] for name, scope in by_weights.items()}


def _scopes_of_nodes(layers: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the scopes of layers by their names: of those that are alone in their scope."""
    given = list(layers)
    counts: Counter[str] = Counter()
    for name in given:
        parts = names[name].split("/")
        counts.update("/".join(parts[:count]) for count in range(1, len(parts)))
    scopes = {name: names[name].rpartition("/")[0] for name in given}
    return {name: scope for name, scope in scopes.items() if counts[scope] == 1}


def _scope_of_weights(node: Node) -> str:
    """Return the scope that all weights of a node whose names state one have in common, "" where there is none."""
    scopes = set()
    for value in filter(_is_weight, node.inputs):
        assert value is not None
        scope, last = _split(value.name)
        if WEIGHT.fullmatch(last):
            scopes.add(scope)
    return scopes.pop() if len(scopes) == 1 else ""


def _split(name: str) -> tuple[str, str]:
    """Return the scope of a name and its last part."""
    *_, last = SEPARATORS.split(name)
    return name.removesuffix(last)[:-1], last


def _is_layer(node: Node) -> bool:
    """Return whether a node has weights, or is a Dropout. What is elementwise is part of a layer."""
    if node.op.elementwise is not Elementwise.NO:
        return isinstance(node.op, Dropout)
    return any(map(_is_weight, node.inputs))


def _is_weight(value: Value | None) -> bool:
    if value is None or value.producer is not None or value.tensor is None:
        return False
    return value.tensor.dtype.is_float and bool(value.tensor.shape)
