"""Losses of classifiers: features (N, C) and labels, with the gradient by the features as the second result."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import as_vector, size_at
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.activation import LogSoftmax, Softmax
from graphir.ops.indexing import OneHot
from graphir.ops.losses import LossReduction, SoftmaxCrossEntropyLoss
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Expand, Squeeze
from graphir.types import UNKNOWN


def import_cross_entropy(node: ImportNode) -> tuple[Value, ...]:
    """-sum(labels * log softmax(features)) of each row; features and labels broadcast."""
    features, labels = node.input(0), node.input(1)
    classes = node.vector([1])
    features = _broadcast_labels(node, features, labels)
    product = node.step(ew.Mul(), labels, node.step(LogSoftmax(1), features))
    total = node.step(ReduceSum(keepdims=False), product, classes)
    loss = node.emit(ew.Neg(), total)
    if not node.used(1):
        return (loss,)
    return loss, node.step(ew.Sub(), node.step(Softmax(1), features), labels, suffix="gradient")


def _broadcast_labels(node: ImportNode, features: Value, labels: Value) -> Value:
    """Return the features with as many classes as the labels have: one column stands for all, before softmax."""
    sizes = [value.shape[1] if value.shape is not None and len(value.shape) == 2 else UNKNOWN
             for value in (features, labels)]  # fmt: skip
    if sizes[0] == sizes[1] and sizes[0] is not UNKNOWN:
        return features
    if sizes[0] == 1:
        return node.step(Expand(), features, as_vector(node, [1, size_at(node, labels, 1)]), suffix="columns")
    if not isinstance(sizes[0], int):
        node.decide(DecisionKind.BROADCAST, "features and labels are taken to have the same number of classes")
    return features


def import_sparse_cross_entropy(node: ImportNode) -> tuple[Value, ...]:
    """Return the same for labels (N,) that are numbers of classes."""
    features, labels = node.input(0), node.input(1)
    loss = node.emit(SoftmaxCrossEntropyLoss(LossReduction.NONE), features, labels)
    if not node.used(1):
        return (loss,)
    depth = node.step(Squeeze(), as_vector(node, [size_at(node, features, 1)]), node.vector([0]), suffix="classes")
    choices = node.constant([0, 1], node.dtype())
    labels = node.step(OneHot(axis=1), node.int64(labels), depth, choices)
    return loss, node.step(ew.Sub(), node.step(Softmax(1), features), labels, suffix="gradient")


IMPORTS: dict[str, ImportFunction] = {
    "SoftmaxCrossEntropyWithLogits": import_cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": import_sparse_cross_entropy,
}
