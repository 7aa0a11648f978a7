"""What becomes of training heads: which are losses only, and what the others mean at inference."""

from __future__ import annotations

from graphir.converters.mxnet.records import NNVMNode

LOSS_HEADS = {
    "SoftmaxOutput": "the training loss is gone, its label input with it: what stays is the softmax",
    "LinearRegressionOutput": "the training loss is gone, its label input with it: what stays is the prediction",
    "MAERegressionOutput": "the training loss is gone, its label input with it: what stays is the prediction",
    "LogisticRegressionOutput": "the training loss is gone, its label input with it: what stays is the sigmoid",
    "SVMOutput": "the training loss is gone, its label input with it: what stays is the score",
}

ONLY_LOSSES = frozenset({"MakeLoss", "make_loss", "CTCLoss", "softmax_cross_entropy"})


def only_losses(node: NNVMNode) -> bool:
    """Whether the node's output is a loss and nothing that inference wants."""
    return node.op in ONLY_LOSSES


__all__ = ["LOSS_HEADS", "ONLY_LOSSES", "only_losses"]
