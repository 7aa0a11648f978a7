"""`mx.gluon.loss`: losses as blocks, computed for validation; nothing is trained by them here."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, ClassVar

from graphir.converters.mxnet.mx.gluon.hybrid_block import ArgumentBlock, HybridBlock
from graphir.converters.mxnet.mx.ndarray import NDArray


def _apply_weighting(F: Any, loss: Any, weight: float | None = None, sample_weight: Any = None) -> Any:
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    return loss if weight is None else loss * weight


def _reshape_like(F: Any, x: Any, y: Any) -> Any:
    return x.reshape(y.shape) if isinstance(x, NDArray) else F.reshape_like(x, y)


class Loss(HybridBlock):
    """A loss for each sample of a batch, times a weight."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight, self._batch_axis = weight, batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"


class _GluonLoss(ArgumentBlock, Loss):
    """A loss whose arguments are a table."""

    ARGUMENTS = {"weight": None, "batch_axis": 0}

    def _build(self, arguments: SimpleNamespace) -> None:
        self._arguments = arguments
        self._weight, self._batch_axis = arguments.weight, arguments.batch_axis


class _Mean(_GluonLoss):
    """A mean over all axes but the batch's of what `elements` gives."""

    FACTOR: ClassVar[float | None] = None

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        factor = self.FACTOR
        weight = self._weight if factor is None or self._weight is None else self._weight * factor
        loss = _apply_weighting(F, self.elements(F, pred, label), weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        """Return the loss of each element."""
        raise NotImplementedError(f"{type(self).__name__} does not define elements")


class L2Loss(_Mean):
    """(label - pred)^2 / 2."""

    ARGUMENTS = {"weight": 1.0, "batch_axis": 0}
    FACTOR = 0.5

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        return F.square(_reshape_like(F, label, pred) - pred)


class L1Loss(_Mean):
    """|label - pred|."""

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        return F.abs(_reshape_like(F, label, pred) - pred)


class HuberLoss(_Mean):
    """A square near 0, a line beyond `rho`."""

    ARGUMENTS = {"rho": 1, "weight": None, "batch_axis": 0}

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        rho = self._arguments.rho
        distance = F.abs(_reshape_like(F, label, pred) - pred)
        return F.where(distance > rho, distance - 0.5 * rho, (0.5 / rho) * F.square(distance))


class HingeLoss(_Mean):
    """max(0, margin - pred label), for labels of -1 and 1."""

    ARGUMENTS = {"margin": 1, "weight": None, "batch_axis": 0}

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        return F.relu(self._arguments.margin - pred * _reshape_like(F, label, pred))


class SquaredHingeLoss(HingeLoss):
    """The square of HingeLoss."""

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        return F.square(super().elements(F, pred, label))


def _logistic(F: Any, pred: Any, label: Any) -> Any:
    return F.relu(pred) - pred * label + F.Activation(-F.abs(pred), act_type="softrelu")


class LogisticLoss(_Mean):
    """log(1 + exp(-pred label)), for `signed` labels of -1 and 1, or `binary` ones of 0 and 1."""

    ARGUMENTS = {"weight": None, "batch_axis": 0, "label_format": "signed"}

    def _build(self, arguments: SimpleNamespace) -> None:
        super()._build(arguments)
        if arguments.label_format not in ("signed", "binary"):
            raise ValueError(f"label_format can only be signed or binary, recieved {arguments.label_format}.")

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        label = _reshape_like(F, label, pred)
        return _logistic(F, pred, (label + 1.0) / 2.0 if self._arguments.label_format == "signed" else label)


class SigmoidBinaryCrossEntropyLoss(_GluonLoss):
    """The cross entropy of a sigmoid of pred, or of pred `from_sigmoid`."""

    ARGUMENTS = {"from_sigmoid": False, "weight": None, "batch_axis": 0}

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None
    ) -> Any:
        """Return the loss of each sample; `pos_weight` is a factor of positive labels."""
        label = _reshape_like(F, label, pred)
        if self._arguments.from_sigmoid:
            positive = F.log(pred + 1e-12) * label
            positive = positive if pos_weight is None else F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + 1e-12) * (1.0 - label))
        elif pos_weight is None:
            loss = _logistic(F, pred, label)
        else:
            factor = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + factor * (
                F.Activation(-F.abs(pred), act_type="softrelu") + F.relu(-pred)
            )
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class SoftmaxCrossEntropyLoss(_Mean):
    """The cross entropy of a softmax of pred, with class numbers as labels, or probabilities."""

    ARGUMENTS = {"axis": -1, "sparse_label": True, "from_logits": False, "weight": None, "batch_axis": 0}

    def elements(self, F: Any, pred: Any, label: Any) -> Any:
        axis = self._arguments.axis
        if not self._arguments.from_logits:
            pred = F.log_softmax(pred, axis)
        if self._arguments.sparse_label:
            return -F.pick(pred, label, axis=axis, keepdims=True)
        return -F.sum(pred * _reshape_like(F, label, pred), axis=axis, keepdims=True)


class KLDivLoss(_GluonLoss):
    """The sum of label (log(label) - pred), for logarithms of probabilities, or others than `from_logits`."""

    ARGUMENTS = {"from_logits": True, "axis": -1, "weight": None, "batch_axis": 0}

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._arguments.from_logits:
            pred = F.log_softmax(pred, self._arguments.axis)
        loss = _apply_weighting(F, label * (F.log(label + 1e-12) - pred), self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class SDMLLoss(_GluonLoss):
    """How far the distances of two batches are from those of pairs: rows of the same number are near each other."""

    ARGUMENTS = {"smoothing_parameter": 0.3, "weight": 1.0, "batch_axis": 0}

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        """Return the loss of each sample, of arrays (N, K)."""
        count, share = x1.shape[0], self._arguments.smoothing_parameter
        squares = F.square(F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0)))
        pairs = F.eye(count)
        labels = pairs * (1 - share) + (1 - pairs) * share / (count - 1)
        return KLDivLoss()(F.log_softmax(-F.sum(squares, axis=2), axis=1), labels)


class TripletLoss(_GluonLoss):
    """max(0, |pred - positive|^2 - |pred - negative|^2 + margin), the squares summed."""

    ARGUMENTS = {"margin": 1, "weight": None, "batch_axis": 0}

    def hybrid_forward(self, F: Any, pred: Any, positive: Any, negative: Any, sample_weight: Any = None) -> Any:
        near, far = (F.square(_reshape_like(F, other, pred) - pred) for other in (positive, negative))
        loss = F.relu(F.sum(near - far, axis=self._batch_axis, exclude=True) + self._arguments.margin)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class PoissonNLLLoss(_GluonLoss):
    """pred - target log(pred), or exp(pred) - target pred `from_logits`, as a mean over all."""

    ARGUMENTS = {"weight": None, "from_logits": True, "batch_axis": 0, "compute_full": False}

    def hybrid_forward(self, F: Any, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-08) -> Any:
        """Return the mean; with `compute_full` Stirling's formula for the target's factorial is added."""
        target = _reshape_like(F, target, pred)
        from_logits = self._arguments.from_logits
        loss = F.exp(pred) - target * pred if from_logits else pred - target * F.log(pred + epsilon)
        if self._arguments.compute_full:
            factorial = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            loss = loss + factorial * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(_GluonLoss):
    """1 - cos of two vectors for a label of 1, max(0, cos - margin) for -1."""

    ARGUMENTS = {"weight": None, "batch_axis": 0, "margin": 0}

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None) -> Any:
        input1 = _reshape_like(F, input1, input2)
        product = F.sum(input1 * input2, axis=-1).reshape((-1, 1))
        norms = [F.norm(vectors, axis=-1).reshape((-1, 1)) for vectors in (input1, input2)]
        cosine = F.broadcast_div(product, F.broadcast_maximum(norms[0] * norms[1], F.full((1, 1), 1e-12)))
        label = F.reshape(label, (-1, 1))
        apart = F.maximum(0, cosine - self._arguments.margin)
        loss = F.broadcast_mul(label == 1, 1 - cosine) + F.broadcast_mul(label == -1, apart)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class CTCLoss(_GluonLoss):
    """Connectionist temporal classification; the last class is the blank."""

    ARGUMENTS = {"layout": "NTC", "label_layout": "NT", "weight": None}

    def _build(self, arguments: SimpleNamespace) -> None:
        arguments.batch_axis = arguments.label_layout.find("N")
        super()._build(arguments)

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, pred_lengths: Any = None, label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:  # fmt: skip
        pred = F.swapaxes(pred, 0, 1) if self._arguments.layout == "NTC" else pred
        label = F.swapaxes(label, 0, 1) if self._arguments.label_layout == "TN" else label
        lengths = [given for given in (pred_lengths, label_lengths) if given is not None]
        loss = F.CTCLoss(
            pred, label, *lengths, use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None, blank_label="last",
        )  # fmt: skip
        return _apply_weighting(F, loss, self._weight, sample_weight)


SigmoidBCELoss, SoftmaxCELoss = SigmoidBinaryCrossEntropyLoss, SoftmaxCrossEntropyLoss

__all__ = [
    "CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss", "LogisticLoss", "Loss",
    "PoissonNLLLoss", "SDMLLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss", "SquaredHingeLoss", "TripletLoss",
]  # fmt: skip
