"""Losses of classifiers: features (N, C) and labels, with the gradient by the features as the second result."""

from __future__ import annotations

from graphir.converters.tensorflow.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.sizes import as_vector, size_at
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.activation import LogSoftmax, Softmax
from graphir.ops.indexing import OneHot
from graphir.ops.losses import LossReduction, SoftmaxCrossEntropyLoss
from graphir.ops.reduction import ReduceSum
from graphir.ops.shape import Squeeze


def import_cross_entropy(node: ImportNode) -> tuple[Value, ...]:
    """-sum(labels * log softmax(features)) of each row; features and labels broadcast."""
    features, labels = node.input(0), node.input(1)
    classes = node.vector([1])
    if _may_broadcast(features, labels):
        node.decide("broadcast", "features and labels are taken to have the same number of classes")
    product = node.step(ew.Mul(), labels, node.step(LogSoftmax(1), features))
    total = node.step(ReduceSum(keepdims=False), product, classes)
    loss = node.emit(ew.Neg(), total)
    if not node.used(1):
        return (loss,)
    return loss, node.step(ew.Sub(), node.step(Softmax(1), features), labels, suffix="gradient")


def _may_broadcast(features: Value, labels: Value) -> bool:
    """Whether the features may have one class only and the labels more: then softmax would come after broadcasting."""
    shape, other = features.shape, labels.shape
    return shape is None or other is None or len(shape) != 2 or len(other) != 2 or shape[1] != other[1]


def import_sparse_cross_entropy(node: ImportNode) -> tuple[Value, ...]:
    """The same for labels (N,) that are numbers of classes."""
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

__all__ = ["IMPORTS"]
