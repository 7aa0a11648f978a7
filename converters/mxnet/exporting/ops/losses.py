"""Losses: pick of each place's class, weighted, and reduced."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, ExportTable
from graphir.converters.mxnet.exporting.ops.steps import cast, computing, emit_as, held, is_used, wide
from graphir.ops.losses import LossReduction, NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
from graphir.types import DType


def export_nll_loss(node: ExportNode) -> None:
    """The negative of what pick finds, times the weights that take finds."""
    _export_loss(node, wide(node, 0))


def export_cross_entropy_loss(node: ExportNode) -> None:
    """The loss of log_softmax, which is the second result."""
    chances = node.step("log_softmax", wide(node, 0), suffix="log_prob", axis=1)
    if is_used(node, 1):
        emit_as(node, chances, computing(node), 1)
    _export_loss(node, chances)


def _export_loss(node: ExportNode, scores: Entry) -> None:
    dtype = computing(node)
    labels = cast(node, node.entry(1), held(node, 1), DType.FLOAT32 if dtype is not DType.FLOAT64 else dtype)
    chosen = node.step("negative", node.step("pick", scores, labels, axis=1, mode="clip"), suffix="losses")
    weights = _weights(node, labels)
    losses = chosen if weights is None else _weighted(node, chosen, weights)
    if node.op.reduction is LossReduction.NONE:
        emit_as(node, losses, dtype)
        return
    total = node.step("sum", losses, suffix="total")
    if node.op.reduction is LossReduction.MEAN:
        if weights is None:
            total = node.step("mean", losses, suffix="mean")
        else:
            total = node.step("elemwise_div", total, node.step("sum", weights, suffix="weight"), suffix="mean")
    emit_as(node, total, dtype)


def _weights(node: ExportNode, labels: Entry) -> Entry | None:
    """The weight of each place, 0 where it is ignored; None if all are 1."""
    found = None
    if node.operand(2) is not None:
        found = node.step("take", wide(node, 2), labels, suffix="weights", axis=0, mode="clip")
    if node.op.ignore_index is None:
        return found
    counts = node.step("_not_equal_scalar", labels, suffix="counts", scalar=node.op.ignore_index)
    return counts if found is None else node.step("elemwise_mul", found, counts, suffix="counted")


def _weighted(node: ExportNode, losses: Entry, weights: Entry) -> Entry:
    """The losses times their weights; one that is ignored is 0 whatever it was."""
    weighted = node.step("elemwise_mul", losses, weights, suffix="weighted")
    if node.op.ignore_index is None:
        return weighted
    return node.step("where", weights, weighted, node.step("zeros_like", losses, suffix="nothing"), suffix="counting")


EXPORTS: ExportTable = {
    NegativeLogLikelihoodLoss: export_nll_loss,
    SoftmaxCrossEntropyLoss: export_cross_entropy_loss,
}

__all__ = ["EXPORTS"]
