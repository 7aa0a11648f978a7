"""`Block`: layers within layers, each with its prefix and its parameters."""

from __future__ import annotations

import importlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, NamedTuple

from graphir.converters.mxnet.files.params import write_params
from graphir.converters.mxnet.mx import initializer
from graphir.converters.mxnet.mx import name as names
from graphir.converters.mxnet.mx.gluon.parameter import Parameter
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict, brief
from graphir.converters.mxnet.mx.gluon.utils import HookHandle
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.ndarray import load as load_arrays

WIDTH = 80


class _SummaryRow(NamedTuple):
    """A call of a layer: its output's shapes and its elements; `trainable` and `shared` are parts of `elements`."""

    layer: str
    shape: str
    elements: int
    trainable: int
    shared: int


def summary_text(block: Block, inputs: Sequence[Any]) -> str:
    """Return the layers in the order in which they end when `inputs` are computed, and totals of their parameters.

    Raises AssertionError for a block that is hybridized, which has no layers when it computes.
    """
    rows = [_SummaryRow("Input", _shapes(tuple(inputs)), 0, 0, 0)]
    seen: set[int] = set()

    def note(called: Block, _: Any, outputs: Any) -> None:
        parameters = [(parameter, parameter.data().size) for parameter in called.params.values()]
        shared = sum(size for parameter, size in parameters if id(parameter) in seen)
        seen.update(id(parameter) for parameter, _ in parameters)
        trainable = sum(size for parameter, size in parameters if parameter.grad_req != "null")
        layer = f"{type(called).__name__}-{len(rows)}"
        rows.append(_SummaryRow(layer, _shapes(outputs), sum(size for _, size in parameters), trainable, shared))

    layers: list[Block] = []
    block.apply(layers.append)
    for layer in layers:
        if getattr(layer, "_active", False):
            raise AssertionError(f"{layer.name} is hybridized: its layers are not called one by one")
    noted = [layer for layer in layers if layer.is_layer]
    with ExitStack() as hooks:
        for layer in noted:
            hooks.enter_context(layer.register_forward_hook(note))
        block(*inputs)
    return _table(rows)


def _table(rows: Sequence[_SummaryRow]) -> str:
    total = sum(row.elements for row in rows)
    trainable = sum(row.trainable for row in rows)
    shared = sum(row.shared for row in rows)
    lines = ["-" * WIDTH, _line("Layer (type)", "Output Shape", "Param #"), "=" * WIDTH]
    lines += [_line(row.layer, row.shape, row.elements) for row in rows]
    lines += [
        "=" * WIDTH,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {total}",
        f"   Trainable params: {trainable}",
        f"   Non-trainable params: {total - trainable}",
        f"Shared params in forward computation graph: {shared}",
        f"Unique parameters in model: {total - shared}",
        "-" * WIDTH,
    ]
    return "\n".join(lines)


def _line(layer: str, shape: str, elements: object) -> str:
    return f"{layer:>20}  {shape:>42} {elements!s:>15}"


def _shapes(given: Any) -> str:
    """Shapes of arrays in lists and tuples of any depth, all of which are shown as lists."""
    shape = _shape(given)
    return str(shape)[1:-1] if isinstance(shape, list) else str(shape)


def _shape(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_shape(part) for part in given]
    return given.shape if isinstance(given, NDArray) else given


_open = threading.local()


class BlockScope:
    """Names within a block: `with block.name_scope():` gives the blocks made there its prefix and numbers of their
    own."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counter: dict[str, int] = {}
        self._before: list[Any] = []
        self._manager: list[names.Prefix] = []

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """Return the whole prefix of a new block, and its parameters."""
        current: BlockScope | None = getattr(_open, "scope", None)
        if current is None:
            chosen = names.current().get(None, hint) + "_" if prefix is None else prefix
            return chosen, ParameterDict(chosen) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            number = current._counter.get(hint, 0)
            current._counter[hint] = number + 1
            prefix = f"{hint}{number}_"
        parent = current._block.params
        parameters = (
            ParameterDict(parent.prefix + prefix, parent._shared)
            if params is None
            else ParameterDict(params.prefix, params)
        )
        return current._block.prefix + prefix, parameters

    def __enter__(self) -> BlockScope:
        if not self._block.has_empty_prefix:
            self._before.append(getattr(_open, "scope", None))
            _open.scope = self
            self._manager.append(names.Prefix(self._block.prefix))
            self._manager[-1].__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._block.has_empty_prefix:
            self._manager.pop().__exit__(*exception)
            _open.scope = self._before.pop()


class Block:
    """A layer, or a network of them: blocks and parameters that are its attributes belong to it.

    `forward` computes; a block is called with arrays. `prefix` begins the names of its parameters, by default its
    class's name and a number; `params` are those of another block, to be shared.
    """

    is_layer: ClassVar[bool] = True
    """Whether `summary` has a row for it; what only holds layers in order has none."""

    _ALIAS: ClassVar[str] = ""
    """What the names of such blocks begin with; the class's name by default."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._children: OrderedDict[str, Block]
        self._reg_params: dict[str, Parameter]
        object.__setattr__(self, "_children", OrderedDict())
        object.__setattr__(self, "_reg_params", {})
        self.has_empty_prefix = prefix == ""
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self)
        self._forward_hooks: dict[int, Callable[..., Any]] = {}
        self._forward_pre_hooks: dict[int, Callable[..., Any]] = {}

    def _alias(self) -> str:
        return self._ALIAS or type(self).__name__.lower()

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  ({key}): {_indented(repr(block), 2)}"
            for key, block in self.__dict__.items()
            if isinstance(block, Block)
        )
        return f"{type(self).__name__}(\n{rows}\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            before = getattr(self, name)
            if isinstance(before, Parameter | Block) and not isinstance(value, type(before)):
                raise TypeError(
                    f"Changing attribute type for {self.name} from {type(before)} to {type(value)} is not allowed."
                )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise AssertionError(f"{name} is a Parameter of this block already; one cannot take its place")
            self._reg_params[name] = value
        super().__setattr__(name, value)

    @property
    def prefix(self) -> str:
        """What the names of the block's parameters begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """The block's own parameters, without those of the blocks in it."""
        return self._params

    def name_scope(self) -> BlockScope:
        """Return what gives the blocks that are made in it this block's prefix."""
        return self._scope

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Return the parameters of the block and of the blocks in it; with `select` those whose names match it."""
        parameters = ParameterDict(self._params.prefix)
        if select is None:
            parameters.update(self.params)
        else:
            pattern = re.compile(select)
            parameters._params.update({name: value for name, value in self.params.items() if pattern.match(name)})
        for block in self._children.values():
            parameters.update(block.collect_params(select))
        return parameters

    def collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Return the parameters by the places where they stand (`features.0.weight`)."""
        begin = f"{prefix}." if prefix else ""
        parameters = {begin + key: parameter for key, parameter in self._reg_params.items()}
        for name, block in self._children.items():
            parameters |= block.collect_params_with_prefix(begin + name)
        return parameters

    _collect_params_with_prefix = collect_params_with_prefix

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Write the arrays by the places where they stand. Raises ExportFailure.

        With `deduplicate` an array that stands in several places is written once.
        """
        seen: set[int] = set()
        tensors = {}
        for place, parameter in self.collect_params_with_prefix().items():
            if deduplicate and id(parameter) in seen:
                continue
            seen.add(id(parameter))
            tensors[place] = parameter.data().tensor
        write_params(filename, tensors)

    def load_parameters(
        self,
        filename: str,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take the arrays of a file: by the places where they stand, or by name, as `export` writes them.

        Raises FormatError, AssertionError for a parameter that is not in the file, unless `allow_missing`, or that has
        another shape, and ValueError for an array without parameter, unless `ignore_extra`.
        """
        loaded: Any = load_arrays(filename)
        if isinstance(loaded, list):
            raise AssertionError(f"{filename} holds arrays without names")
        params = self.collect_params_with_prefix()
        if not loaded and not params:
            return
        if not any("." in name for name in loaded):
            parameters = self.collect_params()
            restored = "" if any(name.startswith(("arg:", "aux:")) for name in loaded) else self.prefix
            parameters.take(loaded, filename, ctx, allow_missing, ignore_extra, restored, cast_dtype, dtype_source)
            return
        if not allow_missing:
            held_here = {id(params[name]) for name in loaded if name in params}
            for name, parameter in params.items():
                if name not in loaded and id(parameter) not in held_here:
                    raise AssertionError(
                        f"{filename!r} has no Parameter {name!r}; it has {brief(loaded)}. allow_missing=True leaves "
                        "such parameters as they are"
                    )
        for name, array in loaded.items():
            if name in params:
                params[name]._load_init(array, ctx, cast_dtype, dtype_source)
            elif not ignore_extra:
                raise ValueError(
                    f"{filename!r} has {name!r}, which this block has not; it has {brief(params)}. ignore_extra=True "
                    "passes over such parameters"
                )

    save_params, load_params = save_parameters, load_parameters

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block one of this block's."""
        self._children[str(len(self._children)) if name is None else name] = block

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(block, inputs, outputs)` after each forward, until the handle is detached."""
        return HookHandle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(block, inputs)` before each forward, until the handle is detached."""
        return HookHandle(self._forward_pre_hooks, hook)

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call a function with every block in this one, and with it."""
        for block in self._children.values():
            block.apply(fn)
        fn(self)
        return self

    def initialize(
        self, init: Any = None, ctx: Any = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Fill the parameters, by their own initializers or by `init` (without one Uniform(0.07))."""
        self.collect_params().initialize(initializer.Uniform() if init is None else init, ctx, verbose, force_reinit)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize the blocks in this one."""
        for block in self._children.values():
            block.hybridize(active, **kwargs)

    def summary(self, *inputs: Any) -> None:
        """Print the layers with their outputs' shapes and their parameters, as MXNet does, for these arrays.

        Raises AssertionError for a block that is hybridized.
        """
        print(summary_text(self, inputs))

    def cast(self, dtype: Any) -> None:
        """Change the dtype of all parameters."""
        for block in self._children.values():
            block.cast(dtype)
        for parameter in self.params.values():
            parameter.cast(dtype)

    def __call__(self, *args: Any) -> Any:
        for hook in list(self._forward_pre_hooks.values()):
            hook(self, args)
        result = self.forward(*args)
        for hook in list(self._forward_hooks.values()):
            hook(self, args, result)
        return result

    def forward(self, *args: Any) -> Any:
        """Compute; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")


def _indented(text: str, count: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * count + line for line in rest)])


def __getattr__(name: str) -> Any:
    """Return what MXNet has in this module and what lies in others here, such as HybridBlock."""
    if name not in ("HybridBlock", "SymbolBlock", "DeferredInitializationError", "MXNetError", "NDArray", "Symbol"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package = __name__.rpartition(".gluon.")[0]
    places = {"MXNetError": "base", "NDArray": "ndarray", "Symbol": "symbol"}
    return getattr(importlib.import_module(f"{package}.{places.get(name, 'gluon')}"), name)

__all__ = ["Block", "BlockScope"]
