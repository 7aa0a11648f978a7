"""Metrics of counts and of correlation: F1, MCC, PCC, Pearson's."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.mx.metric import EvalMetric


class _Counts(EvalMetric):
    """A score of two classes: the mean of those of all batches (`macro`), or that of all samples (`micro`)."""

    NAME: ClassVar[str]

    def __init__(
        self, name: str | None = None, output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        self.average = average
        super().__init__(self.NAME if name is None else name, output_names, label_names)

    def reset(self) -> None:
        """Forget all samples."""
        self.counts = np.zeros((2, 2))
        super().reset()

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and its scores of two classes. Raises ValueError for more classes."""
        classes, truth = prediction.argmax(axis=1), label.astype(np.int32)
        if len(np.unique(truth)) > 2:
            raise ValueError(f"{type(self).__name__} currently only supports binary classification.")
        np.add.at(self.counts, ((truth == 1).ravel().astype(int), (classes == 1).ravel().astype(int)), 1)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch."""
        super().update(labels, preds)
        if self.average == "macro":
            self.sum_metric += self.score()
            self.num_inst += 1
            self.counts[:] = 0
        else:
            self.num_inst = self.counts.sum()
            self.sum_metric = self.score() * self.num_inst

    def score(self) -> float:
        """Return the score of the samples counted, by truth and by prediction."""
        raise NotImplementedError(f"{type(self).__name__} does not define score")


class F1(_Counts):
    """2 precision recall / (precision + recall)."""

    NAME = "f1"

    def score(self) -> float:
        """Return F1, 0 where nothing is positive."""
        (_, wrong), (missed, hits) = self.counts
        return float(2 * hits / (2 * hits + wrong + missed)) if hits else 0.0


class MCC(_Counts):
    """Matthews' correlation coefficient."""

    NAME = "mcc"

    def score(self) -> float:
        """Return the coefficient; sums that are 0 count as 1."""
        (rest, wrong), (missed, hits) = self.counts
        if not self.counts.any():
            return 0.0
        terms = (hits + wrong, hits + missed, rest + wrong, rest + missed)
        return float((hits * rest - wrong * missed) / math.sqrt(math.prod(term for term in terms if term)))


class PearsonCorrelation(EvalMetric):
    """The correlation of predictions and labels, the mean over batches."""

    def __init__(
        self, name: str = "pearsonr", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        if average != "macro":
            raise ValueError("PearsonCorrelation is computed of each batch here (average='macro')")
        super().__init__(name, output_names, label_names)

    def add(self, label: Array, prediction: Array) -> None:
        self.sum_metric += float(np.corrcoef(prediction.ravel(), label.ravel())[0, 1])
        self.num_inst += 1


class PCC(EvalMetric):
    """The correlation of discrete classes, of all samples: MCC for any number of them."""

    def __init__(
        self, name: str = "pcc", output_names: Any = None, label_names: Any = None, has_global_stats: bool = True
    ) -> None:
        super().__init__(name, output_names, label_names)

    def reset(self) -> None:
        """Forget all samples."""
        self.counts = np.zeros((2, 2))
        super().reset()

    def add(self, label: Array, prediction: Array) -> None:
        """Count the samples of one label array, by prediction and by truth."""
        classes = prediction if prediction.shape == label.shape else prediction.argmax(axis=1)
        classes, truth = (places.astype(np.int32).ravel() for places in (classes, label))
        missing = max(0, int(max(classes.max(), truth.max())) + 1 - len(self.counts))
        self.counts = np.pad(self.counts, ((0, missing), (0, missing)))
        np.add.at(self.counts, (classes, truth), 1)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch."""
        super().update(labels, preds)
        self.num_inst += 1
        self.sum_metric = self.score() * self.num_inst

    def score(self) -> float:
        """Return the coefficient, NaN where all samples are of one class."""
        count, by_class, by_truth = self.counts.sum(), self.counts.sum(axis=1), self.counts.sum(axis=0)
        spreads = [float(np.sum(sums * (count - sums))) for sums in (by_class, by_truth)]
        if 0 in spreads:
            return math.nan
        return float(np.sum(self.counts.diagonal() * count - by_class * by_truth)) / math.sqrt(math.prod(spreads))
