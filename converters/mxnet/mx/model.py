"""`mx.model`: checkpoints, and `FeedForward`, the module of scripts older than modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphir.converters.mxnet.mx.checkpoints import load_checkpoint, load_params, save_checkpoint
from graphir.converters.mxnet.mx.initializer import Uniform
from graphir.converters.mxnet.mx.io import DataIter, NDArrayIter
from graphir.converters.mxnet.mx.metric import create as create_metric
from graphir.converters.mxnet.mx.module.module import Module
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.refusals import refused_method

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.symbol import Symbol

PREDICTS = "FeedForward.load and predict run a network that was trained"


class BatchEndParam(NamedTuple):
    """What callbacks get at the end of a batch."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


class FeedForward:
    """A symbol with its parameters. Arguments whose names end in `label` are labels, all others that are no parameters
    data."""

    def __init__(
        self,
        symbol: Symbol | Callable[..., Any],
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: object = "sgd",
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default, which has no state
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        self.symbol: Any = symbol
        self.ctx = ctx
        self.num_epoch, self.epoch_size, self.optimizer, self.kwargs = num_epoch, epoch_size, optimizer, kwargs
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params, self.aux_params = arg_params, aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self._module: Module | None = None

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """Return the model of a checkpoint. Raises FormatError."""
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arguments, aux_params=states, begin_epoch=epoch, **kwargs)

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write `prefix-symbol.json` and `prefix-EPOCH.params`. Raises ExportFailure."""
        number = self.num_epoch if epoch is None else epoch
        if number is None:
            raise AssertionError("save needs the number of an epoch")
        given = self.arg_params or {}, self.aux_params or {}
        save_checkpoint(prefix, number, self.symbol, *given, remove_amp_cast=remove_amp_cast)

    def predict(
        self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True
    ) -> Any:
        """Return the outputs for all rows as a numpy array, or a list of one for each output.

        `X` is an iterator or an array. With `return_data` also the data and the labels.
        """
        batches = self._batches(X)
        module = self._ready(batches)
        outputs: list[list[Any]] = []
        data: list[list[Any]] = []
        labels: list[list[Any]] = []
        for results, _, batch in module.iter_predict(batches, num_batch, reset):
            rows = -(batch.pad or 0) or None
            outputs.append([array.asnumpy() for array in results])
            data.append([array.asnumpy()[:rows] for array in batch.data or ()])
            labels.append([array.asnumpy()[:rows] for array in batch.label or ()])
        if return_data:
            return _merged(outputs), _merged(data), _merged(labels)
        return _merged(outputs)

    def score(
        self,
        X: Any,
        eval_metric: Any = "acc",
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:
        """Return the metric's value over the batches of an iterator."""
        batches = self._batches(X)
        metric = create_metric(eval_metric)
        self._ready(batches).score(batches, metric, num_batch, batch_end_callback, reset=reset)
        return metric.get()[1]

    fit = refused_method("FeedForward.fit", PREDICTS)
    create = refused_method("FeedForward.create", PREDICTS)

    def _batches(self, given: Any) -> DataIter:
        if isinstance(given, DataIter):
            return given
        if not isinstance(given, NDArray | np.ndarray):
            raise TypeError(f"X must be a DataIter, an NDArray or a numpy array, found {type(given)}")
        rows = given.shape[0]
        return NDArrayIter(given, np.zeros(rows), min(rows, self.numpy_batch_size))

    def _ready(self, batches: Any) -> Module:
        names = [described.name for described in batches.provide_data]
        if self._module is None:
            labels = [name for name in self.symbol.list_arguments() if name.endswith("label") and name not in names]
            self._module = Module(self.symbol, names, labels, context=self.ctx)
        shapes = [described for described in batches.provide_label if described.name in self._module.label_names]
        self._module.bind(batches.provide_data, shapes or None, for_training=False, force_rebind=True)
        if self.arg_params is None:
            raise AssertionError("the model has no parameters: give arg_params, or load it")
        self._module.set_params(self.arg_params, self.aux_params or {}, allow_extra=self.allow_extra_params)
        return self._module


def _merged(batches: list[list[Any]]) -> Any:
    merged = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
    return merged[0] if len(merged) == 1 else merged


__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]
