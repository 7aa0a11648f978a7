"""`SequentialModule`: modules behind each other, each of which reads what the one before it computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx.io import DataBatch, DataDesc
from graphir.converters.mxnet.mx.metric import EvalMetric
from graphir.converters.mxnet.mx.module.base_module import BaseModule, Params, described
from graphir.converters.mxnet.mx.monitor import Monitor
from graphir.converters.mxnet.mx.ndarray import NDArray


class SequentialModule(BaseModule):
    """Modules behind each other. `add(module, take_labels=True)` gives labels to one of them; with `auto_wiring` the
    outputs of the one before are named as its inputs, in their order."""

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: object = None) -> None:
        super().__init__(logger)
        self._modules: list[Any] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: list[DataDesc] | None = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Add a module behind the others. Raises AssertionError for an option that is not known."""
        for key in kwargs:
            if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING):
                raise AssertionError(f"there is no option {key} of a module")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = False
        return self

    @property
    def data_names(self) -> list[str]:
        """The names of the first module's inputs."""
        return list(self._modules[0].data_names) if self._modules else []

    @property
    def label_names(self) -> list[str]:
        """The names of the labels of the modules that take them."""
        return [name for module in self._takers() for name in module.label_names]

    @property
    def output_names(self) -> list[str]:
        """The names of the last module's outputs."""
        return list(self._modules[-1].output_names) if self._modules else []

    @property
    def data_shapes(self) -> list[DataDesc]:
        """The first module's inputs."""
        return list(self._modules[0].data_shapes)

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """The labels that the modules are bound to."""
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of an output's name and shape of the last module."""
        return list(self._modules[-1].output_shapes)

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
        """Bind the modules, each to the outputs of the one before it."""
        if self.binded and not force_rebind:
            return
        if not self._modules:
            raise AssertionError("the SequentialModule is empty: add modules before bind")
        shapes = described(data_shapes)
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_AUTO_WIRING):
                shapes = [DataDesc(name, entry[1]) for name, entry in zip(module.data_names, shapes, strict=True)]
            labels = label_shapes if meta.get(self.META_TAKE_LABELS) else None
            module.bind(shapes, labels, for_training, force_rebind=force_rebind)
            shapes = [DataDesc(*entry) for entry in module.output_shapes]
        self._label_shapes = described(label_shapes) or None
        self.binded, self.for_training = True, for_training

    def _fill(self, *arguments: Any) -> None:
        """Fill the parameters of each module. Raises AssertionError for a name that two of them have."""
        seen: set[str] = set()
        for module in self._modules:
            module.init_params(*arguments[:-1], True)
            names = {name for arrays in module.get_params() for name in arrays}
            if seen & names:
                raise AssertionError(f"two modules have parameters of these names: {', '.join(sorted(seen & names))}")
            seen |= names

    def get_params(self) -> tuple[Params, Params]:
        """Arguments and auxiliary states of all modules by name."""
        arguments: Params = {}
        states: Params = {}
        for module in self._modules:
            pair = module.get_params()
            arguments |= pair[0]
            states |= pair[1]
        return arguments, states

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute a batch with each module, the outputs of one being the data of the next."""
        self._check_ready()
        batch = data_batch
        for module in self._modules:
            module.forward(batch, is_train)
            batch = DataBatch(module.get_outputs(), getattr(data_batch, "label", None), data_batch.pad)

    def get_outputs(self, merge_multi_context: bool = True) -> list[NDArray]:
        """Return the last module's outputs."""
        return list(self._modules[-1].get_outputs())

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[NDArray], pre_sliced: bool = False) -> None:
        """Add the outputs and these labels to a metric, for the modules that take labels."""
        for module in self._takers():
            module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Let a monitor see what all modules compute."""
        for module in self._modules:
            module.install_monitor(mon)

    def _takers(self) -> list[Any]:
        return [
            module
            for module, meta in zip(self._modules, self._metas, strict=True)
            if meta.get(self.META_TAKE_LABELS)
        ]  # fmt: skip


__all__ = ["SequentialModule"]
