"""`BucketingModule`: networks for several lengths of input that share their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphir.converters.mxnet.mx.io import DataDesc
from graphir.converters.mxnet.mx.metric import EvalMetric
from graphir.converters.mxnet.mx.module.base_module import BaseModule, Params
from graphir.converters.mxnet.mx.module.module import Module
from graphir.converters.mxnet.mx.monitor import Monitor
from graphir.converters.mxnet.mx.ndarray import NDArray

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.symbol import Symbol

Made = tuple["Symbol", Sequence[str], Sequence[str]]


class BucketingModule(BaseModule):
    """A module for each key that a batch's `bucket_key` names.

    `sym_gen` gives the symbol, the names of data and the names of labels of a key. All share the parameters of the
    default key's module, which should be the largest.
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], Made],
        default_bucket_key: Any = None,
        logger: object = None,
        context: Any = None,
        work_load_list: object = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: object = None,
        compression_params: object = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise AssertionError("a BucketingModule needs its default_bucket_key")
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._context = context
        self._state_names = state_names
        self._buckets: dict[Any, Module] = {}
        self._current: Module | None = None
        self._monitors: list[Monitor] = []

    @property
    def symbol(self) -> Symbol:
        """The network of the current key."""
        return self._bound().symbol

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs of the current key."""
        return self._bound().data_names if self.binded else list(self._sym_gen(self._default_bucket_key)[1])

    @property
    def label_names(self) -> list[str]:
        """The names of the labels of the current key."""
        return self._bound().label_names if self.binded else list(self._sym_gen(self._default_bucket_key)[2] or ())

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs of the current key."""
        return self._bound().output_names if self.binded else self._sym_gen(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self) -> list[DataDesc]:
        """The inputs that the current key's module is bound to."""
        return self._bound().data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """The labels that the current key's module is bound to."""
        return self._bound().label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of an output's name and shape of the current key."""
        return self._bound().output_shapes

    def bind(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: None = None,
        grad_req: Any = "write",
    ) -> None:
        """Bind the default key's module. Raises what `Module.bind` raises."""
        if shared_module is not None:
            raise AssertionError("shared_module for BucketingModule is not supported")
        if self.binded and not force_rebind:
            return
        parameters = self.get_params() if self.params_initialized else None
        module = self._made(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, False, None, grad_req)
        self._buckets = {self._default_bucket_key: module}
        self._monitors.clear()
        self._current = module
        self.binded, self.for_training = True, for_training
        if parameters is not None:
            self.set_params(*parameters)

    def switch_bucket(
        self, bucket_key: Any, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None = None
    ) -> None:
        """Make a key the current one; its module is bound to these shapes when the key is new."""
        default = self._bound() and self._buckets[self._default_bucket_key]
        if bucket_key not in self._buckets:
            module = self._made(bucket_key)
            module.bind(data_shapes, label_shapes, self.for_training, shared_module=default)
            self._buckets[bucket_key] = module
            for monitor in self._monitors:
                module.install_monitor(monitor)
        self._current = self._buckets[bucket_key]

    def _fill(self, *arguments: Any) -> None:
        if not self.binded:
            raise AssertionError("call bind before initializing the parameters")
        self._buckets[self._default_bucket_key].init_params(*arguments)
        for module in self._buckets.values():
            module.params_initialized = True

    def get_params(self) -> tuple[Params, Params]:
        self._check_ready()
        return self._buckets[self._default_bucket_key].get_params()

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute a batch with the module of its `bucket_key`; it says what its arrays are (`provide_data`)."""
        self._check_ready()
        key = getattr(data_batch, "bucket_key", None)
        if key is None:
            key = self._default_bucket_key
        shapes = data_batch.provide_data or self._shapes_of(data_batch)
        self.switch_bucket(key, shapes, data_batch.provide_label)
        self._bound().forward(data_batch, is_train)

    def get_outputs(self, merge_multi_context: bool = True) -> list[NDArray]:
        return self._bound().get_outputs()

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[NDArray], pre_sliced: bool = False) -> None:
        self._bound().update_metric(eval_metric, labels)

    def install_monitor(self, mon: Monitor) -> None:
        """Let a monitor see what the modules of all keys compute."""
        self._bound()
        for module in self._buckets.values():
            module.install_monitor(mon)
        self._monitors.append(mon)

    def _shapes_of(self, batch: Any) -> list[DataDesc]:
        return [
            DataDesc(name, array.shape, array.dtype) for name, array in zip(self.data_names, batch.data, strict=False)
        ]

    def _made(self, key: Any) -> Module:
        symbol, data_names, label_names = self._sym_gen(key)
        return Module(symbol, data_names, label_names, self.logger, self._context, state_names=self._state_names)

    def _bound(self) -> Module:
        if self._current is None:
            raise AssertionError("the module is not bound: call bind first")
        return self._current


__all__ = ["BucketingModule"]
