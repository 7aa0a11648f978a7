"""`mx.metric`: how well predictions fit labels, over many batches, by MXNet's formulas."""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy  # noqa: ICN001 - np is a function of this module

from graphir.arrays import Array
from graphir.converters.mxnet.mx.ndarray import NDArray

SMALLEST = 1e-12


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Raise ValueError unless there are as many labels as predictions, or under `shape` both have the same shape."""
    found, expected = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if found != expected:
        raise ValueError(f"the labels are {found}, the predictions {expected}")
    if wrap:
        labels, preds = ([arrays] if isinstance(arrays, NDArray) else arrays for arrays in (labels, preds))
    return labels, preds


class EvalMetric:
    """A mean over what was seen: `update` adds a batch, `get` gives the name and the value, nan before any."""

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._kwargs = kwargs
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.num_inst: float = 0
        self.sum_metric: float = 0.0

    def update(self, labels: Sequence[NDArray], preds: Sequence[NDArray]) -> None:
        """Add a batch: labels and predictions in the same order. Raises ValueError if they do not belong together."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, prediction in zip(labels, preds, strict=True):
            self.add(_elements(label), _elements(prediction))

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and its prediction."""
        raise NotImplementedError(f"{type(self).__name__} does not define add")

    def update_dict(self, label: dict[str, NDArray], pred: dict[str, NDArray]) -> None:
        """`update` by name: of `label_names` and `output_names` where those are stated."""
        chosen = [list(pred.values()) if self.output_names is None else [pred[name] for name in self.output_names]]
        labels = list(label.values()) if self.label_names is None else [label[name] for name in self.label_names]
        self.update(labels, chosen[0])

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value."""
        return self.name, self.sum_metric / self.num_inst if self.num_inst else math.nan

    def get_name_value(self) -> list[tuple[str, float]]:
        """Pairs of name and value."""
        names, values = self.get()
        return list(zip(names, values, strict=True)) if isinstance(names, list) else [(names, values)]

    def get_config(self) -> dict[str, Any]:
        """Return what makes such a metric again."""
        return self._kwargs | {
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def _count(self, total: float, count: float) -> None:
        self.sum_metric += float(total)
        self.num_inst += count


class Accuracy(EvalMetric):
    """The share of rows whose largest entry along `axis` is the label's."""

    def __init__(self, axis: int = 1, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(name, axis=axis, **kwargs)
        self.axis = axis

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and its prediction, which may hold classes itself."""
        classes = prediction.argmax(self.axis) if prediction.shape != label.shape else prediction
        classes, label = classes.astype(numpy.int32).reshape(-1), label.astype(numpy.int32).reshape(-1)
        check_label_shapes(label, classes)
        self._count(int((classes == label).sum()), classes.size)


class TopKAccuracy(EvalMetric):
    """The share of rows whose label is among the `top_k` largest entries. Raises AssertionError for top_k = 1."""

    def __init__(self, top_k: int = 1, name: str = "top_k_accuracy", **kwargs: Any) -> None:
        if top_k <= 1:
            raise AssertionError(f"top_k is {top_k}, expected 2 or more; for 1 there is Accuracy")
        super().__init__(f"{name}_{top_k}", top_k=top_k, **kwargs)
        self.top_k = top_k

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and its prediction: rows, or classes themselves."""
        label = label.astype(numpy.int32).reshape(-1)
        check_label_shapes(label, prediction)
        if prediction.ndim == 1:
            hits = (numpy.argsort(prediction.astype(numpy.float32)) == label).sum()
        else:
            best = numpy.argsort(prediction.astype(numpy.float32), axis=1)[:, -self.top_k :]
            hits = (best == label[:, None]).sum()
        self._count(int(hits), len(label))


class CrossEntropy(EvalMetric):
    """The mean of -log(probability of the label + eps)."""

    def __init__(self, eps: float = SMALLEST, name: str = "cross-entropy", **kwargs: Any) -> None:
        super().__init__(name, eps=eps, **kwargs)
        self.eps = eps

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and the probabilities, a row for each label."""
        label = label.reshape(-1)
        check_label_shapes(label, prediction)
        chosen = prediction[numpy.arange(label.shape[0]), label.astype(numpy.int64)]
        self._count(float((-numpy.log(chosen + self.eps)).sum()), label.shape[0])


class NegativeLogLikelihood(CrossEntropy):
    """CrossEntropy by another name."""

    def __init__(self, eps: float = SMALLEST, name: str = "nll-loss", **kwargs: Any) -> None:
        super().__init__(eps, name, **kwargs)


class Perplexity(EvalMetric):
    """exp of the mean of -log(probability of the label); labels that are `ignore_label` count for nothing."""

    def __init__(
        self, ignore_label: int | None = None, axis: int = -1, name: str = "perplexity", **kwargs: Any
    ) -> None:
        super().__init__(name, ignore_label=ignore_label, axis=axis, **kwargs)
        self.ignore_label, self.axis = ignore_label, axis

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and the probabilities, the classes along `axis`."""
        classes = prediction.shape[-1]
        if label.size != prediction.size // classes:
            raise AssertionError(f"shape mismatch: {label.shape} vs. {prediction.shape}")
        rows = numpy.moveaxis(prediction, self.axis, -1).reshape(-1, classes)
        label = label.reshape(-1).astype(numpy.int64)
        chosen = rows[numpy.arange(label.size), label]
        counts = label != self.ignore_label if self.ignore_label is not None else numpy.ones(label.size, bool)
        self._count(float(-numpy.log(numpy.maximum(1e-10, chosen))[counts].sum()), int(counts.sum()))

    def get(self) -> tuple[str, float]:
        return self.name, math.exp(self.sum_metric / self.num_inst) if self.num_inst else math.nan


class _Regression(EvalMetric, ABC):
    """A mean over batches of what each one's differences give, by default under `NAME`."""

    NAME: ClassVar[str]

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(self.NAME if name is None else name, **kwargs)

    def add(self, label: Array, prediction: Array) -> None:
        """Add one label array and its prediction of the same elements; vectors count as columns."""
        label = label.reshape(-1, 1) if label.ndim == 1 else label
        prediction = prediction.reshape(-1, 1) if prediction.ndim == 1 else prediction
        self._count(self.measure(label - prediction), 1)

    @abstractmethod
    def measure(self, differences: Array) -> float:
        """Return the number of a batch."""


class MAE(_Regression):
    """The mean absolute difference, averaged over batches."""

    NAME = "mae"

    def measure(self, differences: Array) -> float:
        return float(numpy.abs(differences).mean())


class MSE(_Regression):
    """The mean squared difference, averaged over batches."""

    NAME = "mse"

    def measure(self, differences: Array) -> float:
        return float((differences**2).mean())


class RMSE(_Regression):
    """The root of the mean squared difference, averaged over batches."""

    NAME = "rmse"

    def measure(self, differences: Array) -> float:
        return float(numpy.sqrt((differences**2).mean()))


class Loss(EvalMetric):
    """The mean of all outputs; labels are not looked at."""

    def __init__(self, name: str = "loss", **kwargs: Any) -> None:
        super().__init__(name, **kwargs)

    def update(self, labels: object, preds: Sequence[NDArray] | NDArray) -> None:
        """Add the outputs of a batch."""
        for prediction in [preds] if isinstance(preds, NDArray) else preds:
            elements = _elements(prediction)
            self._count(float(elements.sum()), elements.size)


class CustomMetric(EvalMetric):
    """The mean of what a function of a label array and its prediction gives: a number, or a sum and a count."""

    def __init__(
        self, feval: Callable[..., Any], name: str | None = None, allow_extra_outputs: bool = False, **kwargs: Any
    ) -> None:
        called = getattr(feval, "__name__", type(feval).__name__)
        super().__init__(name or (f"custom({called})" if "<" in called else called), **kwargs)
        self._feval, self._allow_extra_outputs = feval, allow_extra_outputs

    def update(self, labels: Sequence[NDArray], preds: Sequence[NDArray]) -> None:
        """Add a batch."""
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for prediction, label in zip(preds, labels, strict=False):
            value = self._feval(_elements(label), _elements(prediction))
            self._count(*(value if isinstance(value, tuple) else (value, 1)))


class CompositeEvalMetric(EvalMetric):
    """Several metrics in one."""

    def __init__(self, metrics: Sequence[Any] | None = None, name: str = "composite", **kwargs: Any) -> None:
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, **kwargs)

    def add_metric(self, metric: Any) -> None:
        """Add one more, by name or itself."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return one of them by its number."""
        return self.metrics[index]

    def reset(self) -> None:
        super().reset()
        for metric in self.metrics:
            metric.reset()

    def update(self, labels: Sequence[NDArray], preds: Sequence[NDArray]) -> None:
        """Add a batch to each."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def get(self) -> tuple[list[str], list[float]]:
        """Return the names and the values."""
        pairs = [pair for metric in self.metrics for pair in metric.get_name_value()]
        return [name for name, _ in pairs], [value for _, value in pairs]


_KINDS: dict[str, type[EvalMetric]] = {
    "acc": Accuracy,
    "accuracy": Accuracy,
    "ce": CrossEntropy,
    "composite": CompositeEvalMetric,
    "compositeevalmetric": CompositeEvalMetric,
    "crossentropy": CrossEntropy,
    "loss": Loss,
    "mae": MAE,
    "mse": MSE,
    "negativeloglikelihood": NegativeLogLikelihood,
    "nll_loss": NegativeLogLikelihood,
    "perplexity": Perplexity,
    "rmse": RMSE,
    "top_k_acc": TopKAccuracy,
    "top_k_accuracy": TopKAccuracy,
    "topkaccuracy": TopKAccuracy,
}


_SCORES = {"f1": "F1", "mcc": "MCC", "pcc": "PCC",
           **dict.fromkeys(("pearsonr", "pearsoncorrelation"), "PearsonCorrelation")}  # fmt: skip
"""Metrics of another module, which needs this one."""


def __getattr__(name: str) -> Any:
    if name not in _SCORES.values():
        raise AttributeError(f"mx.metric.{name} is not here; there are {', '.join(__all__)}")
    return getattr(importlib.import_module(f"{__name__}_scores"), name)


def register(klass: type[EvalMetric]) -> type[EvalMetric]:
    """Make a metric known by its name in lower case."""
    _KINDS[klass.__name__.lower()] = klass
    return klass


def alias(*aliases: str) -> Callable[[type[EvalMetric]], type[EvalMetric]]:
    """Return a decorator that makes a metric known by other names."""

    def registered(klass: type[EvalMetric]) -> type[EvalMetric]:
        _KINDS.update(dict.fromkeys(map(str.lower, aliases), klass))
        return klass

    return registered


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """Return the metric of a name, of a function, of several, or itself. Raises AssertionError for a name that none
    has."""
    if isinstance(metric, EvalMetric):
        return metric
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list | tuple):
        return CompositeEvalMetric([create(each, *args, **kwargs) for each in metric])
    kind = _KINDS.get(str(metric).lower()) or _SCORES.get(str(metric).lower())
    if isinstance(kind, str):
        kind = __getattr__(kind)
    if kind is None:
        raise AssertionError(f"{metric} is not registered; metrics here are {', '.join(sorted(_KINDS))}")
    return kind(*args, **kwargs)


def np(
    numpy_feval: Callable[..., Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Return a metric of a function of numpy arrays."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


def _elements(array: Any) -> Array:
    return array.asnumpy() if hasattr(array, "asnumpy") else numpy.asarray(array)


__all__ = [
    "MAE",
    "MSE",
    "RMSE",
    "Accuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "Perplexity",
    "TopKAccuracy",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
