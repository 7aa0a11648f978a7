"""What every module does with batches: predicting, scoring, loading and saving of parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.files.params import split_prefixes, write_params
from graphir.converters.mxnet.mx.initializer import Uniform
from graphir.converters.mxnet.mx.io import DataBatch, DataDesc, DataIter
from graphir.converters.mxnet.mx.metric import EvalMetric
from graphir.converters.mxnet.mx.metric import create as create_metric
from graphir.converters.mxnet.mx.ndarray import NDArray, concatenate
from graphir.converters.mxnet.mx.ndarray import load as load_arrays
from graphir.converters.mxnet.mx.refusals import refused_method
from graphir.errors import FormatError

Params = dict[str, NDArray]
PREDICTS = "predict, score and forward(is_train=False) run a network that has its parameters"


class BaseModule:
    """A network that is bound to shapes, gets parameters, and computes batches.

    Subclasses define `forward`, `get_outputs`, `get_params`, `init_params` and `bind`.
    """

    def __init__(self, logger: object = None) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False

    @property
    def symbol(self) -> Any:
        """The network."""
        raise NotImplementedError(f"{type(self).__name__} does not define symbol")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define output_names")

    @property
    def label_names(self) -> list[str]:
        """The names of the labels."""
        raise NotImplementedError(f"{type(self).__name__} does not define label_names")

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define data_names")

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def get_outputs(self, merge_multi_context: bool = True) -> list[NDArray]:
        """Return the outputs of the last `forward`."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_outputs")

    def get_params(self) -> tuple[Params, Params]:
        """Arguments and auxiliary states by name."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_params")

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default, which has no state
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Fill the parameters: those that are given with their arrays, others by the initializer.

        Parameters that are there stay unless `force_init`. Raises RuntimeError for one that is missing among those that
        are given, unless `allow_missing`, under which one that the network does not have is a ValueError, unless
        `allow_extra`; and MXNetError for one of another shape.
        """
        if self.params_initialized and not force_init:
            return
        self._fill(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self.params_initialized = True

    def _fill(self, *arguments: Any) -> None:
        """Fill the parameters, given the arguments of `init_params` in their order."""
        raise NotImplementedError(f"{type(self).__name__} does not define init_params")

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[NDArray], pre_sliced: bool = False) -> None:
        """Add the outputs and these labels to a metric."""
        raise NotImplementedError(f"{type(self).__name__} does not define update_metric")

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Write parameters. Raises RuntimeError for one that is missing, unless `allow_missing`.

        Parameters that the network does not have are passed over, so that a network that was cut off takes those of the
        whole; under `allow_missing` they are a ValueError, unless `allow_extra`.
        """
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def save_params(self, fname: str) -> None:
        """Write the parameters as a .params file. Raises ExportFailure."""
        arguments, states = self.get_params()
        tensors = {f"arg:{name}": array.tensor for name, array in arguments.items()}
        write_params(fname, tensors | {f"aux:{name}": array.tensor for name, array in states.items()})

    def load_params(self, fname: str) -> None:
        """Take the parameters of a .params file. Raises FormatError, and ValueError for names without arg: or aux:."""
        loaded = load_arrays(fname)
        if not isinstance(loaded, dict):
            raise FormatError("its arrays have no names, expected arg:... and aux:...", path=fname)
        arguments, states, others = split_prefixes(loaded)
        if others:
            raise ValueError(f"{fname}: the name {next(iter(others))} begins neither with arg: nor aux:")
        self.set_params(arguments, states)

    def score(
        self,
        eval_data: DataIter,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: object = None,
    ) -> list[tuple[str, float]]:
        """Pairs of a metric's name and its value over the batches; `pad` rows count, as in MXNet."""
        self._check_ready()
        if reset:
            eval_data.reset()
        metric = create_metric(eval_metric)
        metric.reset()
        count = 0
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                break
            self.forward(batch, is_train=False)
            self.update_metric(metric, batch.label or [])
            count += 1
            _call(batch_end_callback, epoch, number, metric)
        if count:
            _call(score_end_callback, epoch, count, metric)
        return metric.get_name_value()

    def iter_predict(
        self, eval_data: DataIter, num_batch: int | None = None, reset: bool = True, sparse_row_id_fn: object = None
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """For each batch its outputs without the `pad` rows, its number, and the batch."""
        self._check_ready()
        if reset:
            eval_data.reset()
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                return
            self.forward(batch, is_train=False)
            rows = -(batch.pad or 0) or None
            kept = [NDArray(np.asarray(array)[:rows].copy(), array.context) for array in self.get_outputs()]
            yield kept, number, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: object = None,
    ) -> Any:
        """Return the outputs for all rows: an array, or a list of one for each output where there are several.

        `eval_data` is an iterator or an array, which is one batch. Without `merge_batches` a list of each batch's
        outputs. Raises ValueError for anything else, and for batches with other numbers of outputs.
        """
        self._check_ready()
        if isinstance(eval_data, NDArray | np.ndarray):
            batch = eval_data if isinstance(eval_data, NDArray) else NDArray(np.asarray(eval_data, np.float32))
            self.forward(DataBatch([batch]), is_train=False)
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter) and not hasattr(eval_data, "reset"):
            raise ValueError(f"eval_data is a {type(eval_data).__name__}, expected an NDArray or a DataIter")
        batches = [outputs for outputs, *_ in self.iter_predict(eval_data, num_batch, reset)]
        if not batches or not merge_batches:
            return batches
        if len({len(outputs) for outputs in batches}) > 1:
            raise ValueError("batches have other numbers of outputs; take them with merge_batches=False")
        merged = [concatenate(list(column)) for column in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    forward_backward = refused_method("Module.forward_backward", PREDICTS)
    fit = refused_method("Module.fit", PREDICTS)
    backward = refused_method("Module.backward", PREDICTS)
    update = refused_method("Module.update", PREDICTS)
    init_optimizer = refused_method("Module.init_optimizer", PREDICTS)
    get_input_grads = refused_method("Module.get_input_grads", PREDICTS)

    def prepare(self, data_batch: object, sparse_row_id_fn: object = None) -> None:
        """Nothing: parameters are all here."""

    def _check_ready(self) -> None:
        if not self.binded or not self.params_initialized:
            what = "bind it first" if not self.binded else "give it parameters first (set_params, init_params)"
            raise AssertionError(f"the module is not ready: {what}")


class _BatchEnd:
    """What a callback is given."""

    def __init__(self, epoch: int, nbatch: int, eval_metric: EvalMetric) -> None:
        self.epoch, self.nbatch, self.eval_metric, self.time = epoch, nbatch, eval_metric, time.time()
        self.locals: dict[str, object] = {}


def _call(callbacks: Any, epoch: int, number: int, metric: EvalMetric) -> None:
    called: Sequence[Callable[[object], object]]
    called = callbacks if isinstance(callbacks, list | tuple) else [callbacks] if callbacks is not None else []
    for callback in called:
        callback(_BatchEnd(epoch, number, metric))


def described(shapes: Sequence[Any] | None) -> list[DataDesc]:
    """Descriptions of inputs from pairs of name and shape, DataDesc among them."""
    return [entry if isinstance(entry, DataDesc) else DataDesc(*entry) for entry in shapes or ()]


__all__ = ["BaseModule", "Params", "described"]
