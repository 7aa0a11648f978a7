"""Losses of classifiers. Classes are on axis 1 of (N, C, D...), labels are integers (N, D...)."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, DType, Shape, TensorType, format_shape, unify_dim, unify_shape

from .base import Operand, Operator, family, operator, refine, same_dtype
from .dtypes import FLOATS, INDICES
from .steps import of_cross_entropy, of_labels
from .traits import Rounding
from .work import Counted


class LossReduction(enum.Enum):
    """What becomes of the losses of all places: each stays, they are summed, or averaged by their weights."""

    NONE = "none"
    SUM = "sum"
    MEAN = "mean"


@family
class _Loss(Operator):
    """What the losses share: scores, labels, and a weight for each class."""

    rounding = Rounding.SUMS
    takes = (FLOATS, INDICES, FLOATS)
    reduction: LossReduction = LossReduction.MEAN
    ignore_index: int | None = None

    def loss_shape(self, scores: TensorType, labels: TensorType, weights: Operand) -> Shape | None:
        """Return the result's shape. Raises ShapeError."""
        if labels.dtype not in (None, DType.INT32, DType.INT64):
            raise ShapeError(f"the labels are {labels.dtype}, expected int32 or int64")
        shape = labels.shape
        if scores.shape is not None:
            if len(scores.shape) < 2:
                raise ShapeError(f"the scores have the shape {format_shape(scores.shape)}, expected (N, C, ...)")
            expected = (scores.shape[0], *scores.shape[2:])
            try:
                shape = unify_shape(expected, labels.shape)
            except ShapeError:
                raise ShapeError(
                    f"the labels have the shape {format_shape(labels.shape)}, expected {format_shape(expected)}"
                ) from None
            _check_weights(scores.shape, weights)
        return shape if self.reduction is LossReduction.NONE else ()

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        scores, labels = operands[:2]
        assert scores is not None
        assert labels is not None
        dtype = same_dtype(scores, *operands[2:], results[0])
        shape = None if scores.shape is None else (scores.shape[0], *scores.shape[2:])
        if self.reduction is LossReduction.NONE and results[0].shape is not None:
            shape = unify_shape(results[0].shape, shape)
        classes = UNKNOWN if scores.shape is None else scores.shape[1]
        types = [refine(scores, None, dtype), refine(labels, shape)]
        return (*types, *(refine(operand, (classes,), dtype) for operand in operands[2:]))


def _check_weights(scores: Shape, weights: Operand) -> None:
    if weights is None or weights.shape is None:
        return
    try:
        (count,) = weights.shape
        unify_dim(scores[1], count)
    except (ShapeError, ValueError):
        raise ShapeError(
            f"the weights have the shape {format_shape(weights.shape)}, expected one for each of {scores[1]} classes"
        ) from None


@operator
class NegativeLogLikelihoodLoss(_Loss):
    """-input[n, target[n, ...], ...], times the weight of the class; 0 where the target is `ignore_index`.

    Source: ONNX NegativeLogLikelihoodLoss-22.
    """

    inputs = ("input", "target", "weight?")
    outputs = ("loss",)
    work = Counted(of_labels)

    def infer(self, scores: TensorType, target: TensorType, weight: Operand = None) -> TensorType:
        return TensorType(same_dtype(scores, weight), self.loss_shape(scores, target, weight))


@operator
class SoftmaxCrossEntropyLoss(_Loss):
    """NegativeLogLikelihoodLoss of the scores' log softmax along the classes, which is the second result.

    Source: ONNX SoftmaxCrossEntropyLoss-13.
    """

    inputs = ("scores", "labels", "weights?")
    outputs = ("output", "log_prob")
    work = Counted(of_cross_entropy)

    def infer(self, scores: TensorType, labels: TensorType, weights: Operand = None) -> tuple[TensorType, ...]:
        dtype = same_dtype(scores, weights)
        return TensorType(dtype, self.loss_shape(scores, labels, weights)), TensorType(dtype, scores.shape)


OPERATORS = (NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss)
