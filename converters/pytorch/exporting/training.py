"""What a module for training has besides: scores in place of a softmax's result, and weights that stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graphir.converters.pytorch.exporting.state import Submodule
from graphir.decisions import DecisionKind
from graphir.graph import Graph
from graphir.ops.activation import Sigmoid, Softmax
from graphir.ops.base import Operator

# The loss that takes the scores which an operator at the end is given, and computes what that operator does itself.
LOSSES: Mapping[type[Operator], str] = {Softmax: "nn.CrossEntropyLoss", Sigmoid: "nn.BCEWithLogitsLoss"}


def give_scores(graph: Graph) -> dict[str, str]:
    """Have outputs be what the softmax or sigmoid of a loss is given, and return a sentence about the loss by the name
    of its node. A softmax is that of a loss too where it is the only output."""
    heads = {decision.node for decision in graph.decisions if decision.kind is DecisionKind.LOSS_HEAD}
    outputs, sentences = [], {}
    for value in graph.outputs:
        node = value.producer
        loss = None if node is None else LOSSES.get(type(node.op))
        is_alone = loss == LOSSES[Softmax] and len(graph.outputs) == 1
        if node is None or loss is None or not (node.name in heads or is_alone):
            outputs.append(value)
            continue
        scores = node.inputs[0]
        if scores is None or scores.producer is None or graph.is_output(scores):
            outputs.append(value)
            continue
        outputs.append(scores)
        what = "softmax" if isinstance(node.op, Softmax) else "sigmoid"
        sentences[node.name] = f"{scores.name} holds scores: train with {loss}, which computes the {what} itself"
    graph.set_outputs(outputs)
    kind = DecisionKind.LOSS_HEAD
    graph.decisions[:] = [
        decision for decision in graph.decisions if decision.kind is not kind or decision.node not in sentences
    ]
    for name, text in sentences.items():
        graph.decide(kind, name, text)
    return sentences


def count_norms(layers: Iterable[Submodule]) -> int:
    """Return how many layers are batch normalizations."""
    return sum(layer.constructor.startswith("nn.BatchNorm") for layer in layers)


def frozen_lines(frozen: Mapping[str, str], norms: int) -> list[str]:
    """Return the statements of `__init__` that keep weights from being trained: their keys with the classes of their
    layers. `norms` counts all layers that are batch normalizations."""
    keys = list(frozen)
    if len(keys) > 1 and sum(key.endswith(".weight") for key in keys) == len(keys) == norms:
        classes = " | ".join(sorted(set(frozen.values())))
        return [
            "for norm in self.modules():",
            f"    if isinstance(norm, {classes}):",
            "        norm.weight.requires_grad = False",
        ]
    if len(keys) > 2:
        return [f"for key in {tuple(keys)!r}:".replace("'", '"'), "    self.get_parameter(key).requires_grad = False"]
    return [
        f"self.{key}.requires_grad = False" if key.count(".") == 1
        else f'self.get_parameter("{key}").requires_grad = False' for key in keys
    ]  # fmt: skip
