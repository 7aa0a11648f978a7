"""`Module`: one symbol with its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.checkpoints import load_checkpoint, save_checkpoint
from graphir.converters.mxnet.mx.context import context_of
from graphir.converters.mxnet.mx.execution import Executor, copy_into
from graphir.converters.mxnet.mx.executor import check_requests, simple_bind
from graphir.converters.mxnet.mx.initializer import InitDesc
from graphir.converters.mxnet.mx.io import DataDesc
from graphir.converters.mxnet.mx.metric import EvalMetric
from graphir.converters.mxnet.mx.module.base_module import BaseModule, Params, described
from graphir.converters.mxnet.mx.monitor import Monitor
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.refusals import refuse_training, refused_method

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.symbol import Symbol

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
KEPT = 8
"""How many other shapes of batches keep their sessions."""


class Module(BaseModule):
    """A symbol whose arguments are data, labels, and parameters.

    One device runs it: of a list with several contexts the first, as they only share the work.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: object = None,
        context: Any = None,
        work_load_list: object = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: object = None,
        compression_params: object = None,
    ) -> None:
        super().__init__(logger)
        self._symbol = symbol
        self._context = context_of(context)
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        arguments = symbol.list_arguments()
        for what, names in (("data_names", self._data_names), ("state_names", self._state_names)):
            check_names(symbol, what, names)
        given = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in arguments if name not in given]
        self._aux_names = symbol.list_auxiliary_states()
        self._arg_params: Params | None = None
        self._aux_params: Params | None = None
        self._executor: Executor | None = None
        self._others: dict[Shapes, Executor] = {}
        self._monitors: list[Monitor] = []
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return the module of a checkpoint, with its parameters. Raises FormatError."""
        if load_optimizer_states:
            refuse_training("Module.load(load_optimizer_states=True)")
        symbol, arguments, states = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params, module.params_initialized = arguments, states, True
        return module

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write `prefix-symbol.json` and `prefix-EPOCH.params`. Raises ExportFailure."""
        if save_optimizer_states:
            refuse_training("Module.save_checkpoint(save_optimizer_states=True)")
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast=remove_amp_cast)

    @property
    def symbol(self) -> Symbol:
        return self._symbol

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._symbol.list_outputs()

    @property
    def data_shapes(self) -> list[DataDesc]:
        """The inputs that the module is bound to."""
        self._check_bound()
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """The labels that the module is bound to."""
        self._check_bound()
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of an output's name and shape."""
        return [(name, array.shape) for name, array in self._bound().output_dict.items()]

    def bind(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Make arrays for inputs of these shapes: pairs of name and shape, or DataDesc.

        A module that is bound stays as it is unless `force_rebind`. `for_training` says what `forward` does when it is
        not told; parameters of `shared_module` are shared. Raises ValueError for other names than `data_names`,
        RuntimeError for shapes that contradict each other or leave others open, and ProviderError for a GPU that is not
        there.
        """
        if self.binded and not force_rebind:
            return
        data, labels = described(data_shapes), None if label_shapes is None else described(label_shapes)
        check_described("data", data, self._data_names)
        check_described("label", labels or [], self._label_names, may_lack=True)
        check_requests(self._symbol.list_arguments(), grad_req)
        shared = None if shared_module is None else shared_module._bound()
        self._executor = self._made(data, labels or [], shared)
        self._others.clear()
        self._monitors.clear()
        self._data_shapes, self._label_shapes = data, labels or None
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        if shared_module is not None and shared_module.params_initialized:
            self.params_initialized = True
            self._arg_params, self._aux_params = None, None
        elif self.params_initialized and self._arg_params is not None:
            self._write_all(self._arg_params, self._aux_params or {})
            self._arg_params = self._aux_params = None

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None = None) -> None:
        """Bind to other shapes of inputs, with the same parameters."""
        self._check_bound()
        data, labels = described(data_shapes), None if label_shapes is None else described(label_shapes)
        check_described("data", data, self._data_names)
        self._switch(data, labels)

    def _fill(self, *arguments: Any) -> None:
        initializer, arg_params, aux_params, allow_missing, _, allow_extra = arguments
        if not self.binded:
            raise AssertionError("call bind before initializing the parameters")
        executor, attributes = self._bound(), self._symbol.attr_dict()
        parameters, states = self._parameters(executor)
        given_names = [*(arg_params or ()), *(aux_params or ())]
        extra = [name for name in given_names if not (name in executor.arg_dict or name in executor.aux_dict)]
        if extra and allow_missing and not allow_extra:
            raise ValueError(f'Find name "{extra[0]}" that is not in the arguments or auxiliary states')
        for stored, given in ((parameters, arg_params), (states, aux_params)):
            for name, array in sorted(stored.items()):
                if given is not None and name in given:
                    copy_into(name, given[name], array)
                    continue
                if given is not None and not allow_missing:
                    raise RuntimeError(f"there is no array for the parameter {name}")
                if initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), array)

    def get_params(self) -> tuple[Params, Params]:
        """Arguments and auxiliary states by name; copies, to which writing changes nothing here."""
        if self._arg_params is not None:
            return dict(self._arg_params), dict(self._aux_params or {})
        self._check_ready()
        arguments, states = self._parameters(self._bound())
        return (
            {name: array.copy() for name, array in arguments.items()},
            {name: array.copy() for name, array in states.items()},
        )

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute a batch: anything with `data`, a list of arrays in the order of the names.

        Batches of other shapes are bound on the way. Without `is_train` it is what `bind` was told. Raises
        TrainingError where training computes something else, and MXNetError for shapes that the parameters do not fit.
        """
        self._check_ready()
        data = list(data_batch.data)
        labels = list(getattr(data_batch, "label", None) or [])
        described_data = getattr(data_batch, "provide_data", None)
        if described_data:
            order = {entry[0]: array for entry, array in zip(described_data, data, strict=False)}
            data = [order.get(name, array) for name, array in zip(self._data_names, data, strict=False)]
        if len(data) < len(self._data_names):
            raise ValueError(f"the batch has {len(data)} arrays, the module the inputs {', '.join(self._data_names)}")
        self._fit([tuple(entry.shape) for entry in data], [tuple(entry.shape) for entry in labels])
        executor = self._bound()
        for names, arrays in ((self._data_names, data), (self._label_names, labels)):
            for name, array in zip(names, arrays, strict=False):
                if name in executor.arg_dict:
                    copy_into(name, array, executor.arg_dict[name])
        executor.forward(is_train=self.for_training if is_train is None else is_train)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the last `forward`; the next one writes into the same arrays.

        Without `merge_multi_context` each is a list of one array, that of the one device.
        """
        self._check_ready()
        outputs = self._bound().outputs
        return list(outputs) if merge_multi_context else [[array] for array in outputs]

    def get_states(self, merge_multi_context: bool = True) -> list[NDArray]:
        """Return the arrays of `state_names`."""
        return [self._bound().arg_dict[name] for name in self._state_names]

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        """Write the arrays of `state_names`: these, or one number into all."""
        for place, state in enumerate(self.get_states()):
            state[:] = value if states is None else states[place]

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[NDArray], pre_sliced: bool = False) -> None:
        names = dict(zip(self._label_names, labels, strict=False))
        eval_metric.update_dict(names, dict(zip(self.output_names, self.get_outputs(), strict=True)))

    def install_monitor(self, mon: Monitor) -> None:
        """Let a monitor see what is computed, whatever the shape of a batch is."""
        mon.install(self._bound())
        self._monitors.append(mon)

    borrow_optimizer = refused_method("Module.borrow_optimizer")

    def _parameters(self, executor: Executor) -> tuple[Params, Params]:
        return {name: executor.arg_dict[name] for name in self._param_names}, dict(executor.aux_dict)

    def _write_all(self, arguments: Mapping[str, NDArray], states: Mapping[str, NDArray]) -> None:
        executor = self._bound()
        for stored, given in zip(self._parameters(executor), (arguments, states), strict=True):
            for name, array in stored.items():
                if name not in given:
                    raise RuntimeError(f"there is no array for the parameter {name}")
                copy_into(name, given[name], array)

    def _made(self, data: Sequence[DataDesc], labels: Sequence[DataDesc], shared: Executor | None) -> Executor:
        known = set(self._symbol.list_arguments())
        described_inputs = [entry for entry in (*data, *labels) if entry.name in known]
        dtypes = {entry.name: entry.dtype for entry in described_inputs}
        shapes: dict[str, Any] = {entry.name: entry.shape for entry in described_inputs}
        return simple_bind(self._symbol, self._context, "null", dtypes, shared_exec=shared, **shapes)

    def _fit(self, data: list[tuple[int, ...]], labels: list[tuple[int, ...]]) -> None:
        """Bind to the shapes of a batch, if they are others."""
        now = [row.shape for row in self._data_shapes]
        if data[: len(now)] == now:
            return
        bound = [
            DataDesc(row.name, shape, row.dtype, row.layout)
            for row, shape in zip(self._data_shapes, data, strict=False)
        ]
        kept = self._label_shapes or []
        if len(labels) < len(kept):
            labels = [(bound[0].shape[0], *row.shape[1:]) for row in kept]
        self._switch(
            bound,
            [DataDesc(row.name, shape, row.dtype, row.layout) for row, shape in zip(kept, labels, strict=False)],
        )

    def _switch(self, data: list[DataDesc], labels: list[DataDesc] | None) -> None:
        """Go to the executor of these shapes; those for the last few other shapes are kept."""
        executor = self._bound()
        self._others[_key(self._data_shapes, self._label_shapes)] = executor
        while len(self._others) > KEPT:
            del self._others[next(iter(self._others))]
        key = _key(data, labels)
        chosen = self._others.pop(key, None) or self._made(data, labels or [], executor)
        for stored, others in ((chosen.arg_dict, executor.arg_dict), (chosen.aux_dict, executor.aux_dict)):
            changed = [name for name in stored if name not in self._inputs() and stored[name] is not others[name]]
            if changed:
                raise MXNetError(
                    f"the batch has the shapes {[tuple(entry) for entry in data]}, for which {changed[0]} would be "
                    f"{stored[changed[0]].shape}; it is {others[changed[0]].shape}"
                )
        for monitor in self._monitors:
            monitor.exes.remove(executor)
            monitor.install(chosen)
        self._executor, self._data_shapes, self._label_shapes = chosen, data, labels or None

    def _inputs(self) -> set[str]:
        return {*self._data_names, *self._label_names, *self._state_names}

    def _check_bound(self) -> None:
        if not self.binded:
            raise AssertionError("the module is not bound: call bind first")

    def _bound(self) -> Executor:
        self._check_bound()
        assert self._executor is not None
        return self._executor


def _key(data: Sequence[DataDesc], labels: Sequence[DataDesc] | None) -> Shapes:
    return tuple((entry.name, entry.shape) for entry in (*data, *(labels or ())))


def check_names(symbol: Symbol, what: str, names: Sequence[str]) -> None:
    """Raise ValueError for a name that is none of the symbol's arguments, naming those that may be meant."""
    arguments = symbol.list_arguments()
    ends = ("_weight", "_bias", "_gamma", "_beta")
    for name in names:
        if name not in arguments:
            meant = "\n\t".join(argument for argument in arguments if not argument.endswith(ends))
            raise ValueError(
                f"{what} is {list(names)}, but the symbol has no argument {name!r}; it has\n\t{meant}"
            )


def check_described(what: str, entries: Sequence[DataDesc], names: Sequence[str], *, may_lack: bool = False) -> None:
    """Raise ValueError for descriptions of other names than the module's."""
    given = sorted(entry.name for entry in entries)
    if given != sorted(names) and not (may_lack and set(given) <= set(names)):
        raise ValueError(
            f"{what}_shapes describe {list(entries)}, {what}_names are {list(names)}"
        )


__all__ = ["Module", "check_described", "check_names"]
