"""What becomes of training heads: which are losses only, and what the others mean at inference."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.schema.operators import is_readable, typed_attributes

LOSS_HEADS = {
    "SoftmaxOutput": "the training loss is gone, its label input with it: what stays is the softmax",
    "LinearRegressionOutput": "the training loss is gone, its label input with it: what stays is the prediction",
    "MAERegressionOutput": "the training loss is gone, its label input with it: what stays is the prediction",
    "LogisticRegressionOutput": "the training loss is gone, its label input with it: what stays is the sigmoid",
    "SVMOutput": "the training loss is gone, its label input with it: what stays is the score",
}

# Losses by their meaning: they read a label, and nothing at inference wants what they give.
LOSSES = frozenset({"CTCLoss", "softmax_cross_entropy"})
# What is inside them stands there as it is: a loss if a label is part of it, else anything.
LOSS_WRAPPERS = frozenset({"MakeLoss", "make_loss"})
# The slots in which operators read labels.
LABEL_SLOTS = dict.fromkeys((*LOSS_HEADS, *LOSSES, "_contrib_MultiBoxTarget"), 1)
LABEL_NAMES = re.compile(r"(.*[^a-z])?(labels?|targets?)[^a-z]*|(.*[^a-z])?gt[^a-z].*|.*label")


class Head(Enum):
    """What an output of the symbol is."""

    RESULT = "an output that inference wants"
    LOSS = "a loss without meaning at inference"
    LABEL = "a label handed on, without meaning at inference"
    KEPT = "no label reaches it, so it is no loss: what is inside stays"
    DOUBTFUL = (
        "no label that could be told by its name or its use reaches it, so what is inside stays; a loss with other "
        "names for its labels is to be cut off"
    )

    @property
    def goes(self) -> bool:
        """Whether the head is left out."""
        return self in (Head.LOSS, Head.LABEL)


def classify_heads(source: NNVMGraph, params: Collection[str] = ()) -> list[Head]:
    """Return what each head is, in their order. `params` are the names of the variables with elements. Linear."""
    labels = _labels(source, params)
    reads_label: list[bool] = []
    reads_other: list[bool] = []
    for index, node in enumerate(source.nodes):
        read = _read(node)
        is_label = index in labels
        reads_label.append(is_label or any(reads_label[producer] for producer, _ in read))
        is_other = node.op == VARIABLE and not is_label
        reads_other.append(is_other or any(reads_other[producer] for producer, _ in read))
    return [_kind(source.nodes[index], reads_label[index], reads_other[index]) for index, _ in source.heads]


def dropped_heads(source: NNVMGraph, params: Collection[str] = ()) -> dict[int, Head]:
    """Return the places of the heads that a conversion leaves out, and what they are; none if nothing would be left."""
    result = {place: head for place, head in enumerate(classify_heads(source, params)) if head.goes}
    return result if len(result) < len(source.heads) else {}


def _kind(node: NNVMNode, reads_label: bool, reads_other: bool) -> Head:
    if node.op in LOSSES:
        return Head.LOSS
    if node.op not in LOSS_WRAPPERS and node.op != "BlockGrad":
        return Head.RESULT
    if reads_label and not reads_other:
        return Head.LABEL
    if node.op == "BlockGrad":
        return Head.RESULT
    if reads_label:
        return Head.LOSS
    silent = node.op == "MakeLoss" and is_readable(node) and typed_attributes(node)["grad_scale"] == 0
    return Head.KEPT if silent else Head.DOUBTFUL


def _read(node: NNVMNode) -> list[tuple[int, int]]:
    """Return the operands that a node's result depends on at inference."""
    return node.inputs[:1] if node.op in LOSS_HEADS else node.inputs


def _labels(source: NNVMGraph, params: Collection[str]) -> set[int]:
    """Return the variables without elements that are labels: that no result needs, and whose name or reader says so."""
    nodes = source.nodes
    results = [index for index, _ in source.heads if _is_result(nodes[index])]
    needed: set[int] = set()
    while results:
        index = results.pop()
        if index not in needed:
            needed.add(index)
            results.extend(producer for producer, _ in _read(nodes[index]))
    named = {index for index, node in enumerate(nodes) if LABEL_NAMES.fullmatch(node.name.lower())}
    for node in nodes:
        slot = LABEL_SLOTS.get(node.op)
        if slot is not None and slot < len(node.inputs):
            named.add(_origin(nodes, node.inputs[slot][0]))
    return {
        index for index in named - needed if nodes[index].op == VARIABLE and nodes[index].name not in params
    }  # fmt: skip


def _is_result(node: NNVMNode) -> bool:
    return node.op not in LOSSES and node.op not in LOSS_WRAPPERS and node.op not in ("BlockGrad", VARIABLE)


def _origin(nodes: list[NNVMNode], index: int) -> int:
    """Return what a node hands on: the first one above it that has not one operand."""
    while len(nodes[index].inputs) == 1:
        index = nodes[index].inputs[0][0]
    return index
