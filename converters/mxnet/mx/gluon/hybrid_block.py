"""`HybridBlock`: blocks that compute arrays and compose symbols by the same code; those of a table and of a symbol."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from graphir.converters.mxnet.files.params import write_params
from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.parameter import DeferredInitializationError
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.running import BoundSymbol


class HybridBlock(Block):
    """A block whose `hybrid_forward(F, x, ..., **params)` is given `mx.nd` and arrays, or `mx.sym` and symbols.

    Called with symbols it composes. Called with arrays it computes operator by operator; once it is hybridized, its
    whole graph at once, in one session of onnxruntime.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        self._cached_graph: tuple[list[Any], Any, Any] | None = None
        self._network: BoundSymbol | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._forget()

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a hybrid block one of this block's. Raises ValueError for any other."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"{block} is a {type(block).__name__}; within a HybridBlock all are HybridBlocks, and HybridSequential "
                "stands for Sequential"
            )
        super().register_child(block, name)
        self._forget()

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Compute the whole graph at once from here on, or no longer."""
        self._active = active
        self._forget()
        super().hybridize(active, **kwargs)

    def cast(self, dtype: Any) -> None:
        self._forget()
        super().cast(dtype)

    def infer_shape(self, *args: Any) -> None:
        """Give the parameters the shapes that follow from these arrays. Raises MXNetError for a contradiction."""
        self._infer("shape", args)

    def infer_type(self, *args: Any) -> None:
        """Give the parameters the dtypes that follow from these arrays."""
        self._infer("dtype", args)

    def forward(self, *args: Any) -> Any:
        """Compute arrays, or compose symbols. Raises ValueError for anything else."""
        first = args[0] if args else None
        if isinstance(first, NDArray):
            if self._active:
                return self._call_graph(args)
            params = {key: self._held(parameter, args) for key, parameter in self._reg_params.items()}
            return self.hybrid_forward(ndarray, *args, **params)
        if not isinstance(first, symbol.Symbol):
            raise ValueError(
                f"In HybridBlock, the first argument of a call is an NDArray or a Symbol, got {type(first).__name__}"
            )
        params = {key: parameter.var() for key, parameter in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(symbol, *args, **params)

    def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute or compose; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no hybrid_forward")

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write `path-symbol.json` and `path-EPOCH.params`, which MXNet and graphir load; gives both names.

        Raises RuntimeError for a block that was not hybridized and called, as its graph is not known then.
        """
        if self._cached_graph is None:
            raise MXNetError(
                "there is no graph to export yet: hybridize() the block and run it once"
            )
        whole = self._cached_graph[1]
        whole.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)
        states, params = set(whole.list_auxiliary_states()), self.collect_params()
        tensors = {
            f"{'aux' if name in states else 'arg'}:{name}": params[name].data().tensor
            for name in whole.list_inputs()
            if name in params
        }
        write_params(f"{path}-{epoch:04d}.params", tensors)
        return f"{path}-symbol.json", f"{path}-{epoch:04d}.params"

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> None:
        """Hybridize and compute once; onnxruntime optimizes by itself, and other backends are refused."""
        if backend is not None:
            raise ValueError(f"there is no backend {backend!r}: onnxruntime runs what is called here")
        self.hybridize()
        self(x, *args)

    def _clear_cached_op(self) -> None:
        """Compose anew at the next call: packages call this name when they change a block."""
        self._forget()

    def _forget(self) -> None:
        self._cached_graph = None
        self._network = None

    def _held(self, parameter: Any, args: Sequence[Any]) -> NDArray:
        try:
            array: NDArray = parameter.data()
        except DeferredInitializationError:
            self.infer_shape(*args)
            parameter._finish_deferred_init()
            array = parameter.data()
        return array

    def _graph(self, args: Sequence[Any]) -> tuple[list[Any], Any, Any]:
        """Return the variables of the inputs, the symbol, and the form in which its outputs are given."""
        if self._cached_graph is None:
            flat, form = flattened(list(args))
            count = len(flat)
            inputs = [symbol.var("data" if count == 1 else f"data{place}") for place in range(count)]
            grouped = regrouped(iter(inputs), form)
            params = {key: parameter.var() for key, parameter in self._reg_params.items()}
            with self.name_scope():
                outputs = self.hybrid_forward(symbol, *grouped, **params)
            results, shape = flattened(outputs)
            self._cached_graph = inputs, symbol.Group(results) if len(results) != 1 else results[0], shape
        return self._cached_graph

    def _infer(self, what: str, args: Sequence[Any]) -> None:
        inputs, whole, _ = self._graph(args)
        flat, _ = flattened(list(args))
        given = {variable.name: getattr(array, what) for variable, array in zip(inputs, flat, strict=True)}
        inferred = whole.infer_shape_partial(**given) if what == "shape" else whole.infer_type_partial(**given)
        known = dict(zip(whole.list_arguments(), inferred[0], strict=True))
        known |= dict(zip(whole.list_auxiliary_states(), inferred[2], strict=True))
        for name, variable in self.collect_params().items():
            if known.get(name):
                setattr(variable, what, known[name])

    def _call_graph(self, args: Sequence[Any]) -> Any:
        inputs, whole, form = self._graph(args)
        params = self.collect_params()
        if any(parameter._data is None for parameter in params.values()):
            self._finish(args, set(whole.list_inputs()))
        flat, _ = flattened(list(args))
        arrays = {parameter.name: array for parameter, array in zip(inputs, flat, strict=True)}
        read = set(whole.list_inputs())
        arrays |= {name: parameter.data() for name, parameter in params.items() if name in read}
        if self._network is None or not self._network.fits(arrays):
            self._network = BoundSymbol(whole.records(), arrays, flat[0].context)
        outputs = self._network.run_with(arrays)
        return regrouped((NDArray(output, flat[0].context) for output in outputs), form)

    def _finish(self, args: Sequence[Any], read: set[str]) -> None:
        """Make the arrays that wait for their shapes."""
        self._infer("shape", args)
        for name, parameter in self.collect_params().items():
            if name in read:
                parameter._finish_deferred_init()


def flattened(given: Any) -> tuple[list[Any], Any]:
    """Return what stands in lists of lists in one list, and the form to put it back: 0 for a value.

    For a symbol of several outputs the form is their number.
    """
    if not isinstance(given, list | tuple):
        several = isinstance(given, symbol.Symbol) and len(given) > 1
        return ([], None) if given is None else ([given], len(given) if several else 0)
    values: list[Any] = []
    form = []
    for part in given:
        inner, inner_form = flattened(part)
        values += inner
        form.append(inner_form)
    return values, form


def regrouped(flat: Any, form: Any) -> Any:
    """Return the values of an iterator in the form that `flattened` gave."""
    if form is None:
        return None
    if isinstance(form, int):
        return [next(flat) for _ in range(form)] if form else next(flat)
    return [regrouped(flat, inner) for inner in form]


REQUIRED = inspect.Parameter.empty


class ArgumentBlock(HybridBlock):
    """A block that `ARGUMENTS` describes: each argument's name with its default, or REQUIRED, in MXNet's order.

    Every layer takes `prefix` and `params` besides. Raises TypeError for arguments that the layer does not take.
    """

    ARGUMENTS: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # None hides the signature of a layer from a class of the user that has a constructor
        cls.__signature__ = None if "__init__" in vars(cls) else _signature(cls.ARGUMENTS)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            bound = _signature(self.ARGUMENTS).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from error
        bound.apply_defaults()
        prefix, params = (bound.arguments.pop(name) for name in ("prefix", "params"))
        arguments = SimpleNamespace(**bound.arguments)
        self._prepare(arguments)
        super().__init__(prefix=prefix, params=params)
        self._build(arguments)

    def _prepare(self, arguments: SimpleNamespace) -> None:
        """Check the arguments before the layer gets its name. Subclasses may define it."""

    def _build(self, arguments: SimpleNamespace) -> None:
        """Make the layer's attributes and parameters of its arguments. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define _build")

    def _add(self, arguments: SimpleNamespace, shapes: Mapping[str, Any], prefix: str = "", **options: Any) -> None:
        """Make parameters of these shapes, each by its own `_initializer` argument, and attributes of their names."""
        for name, shape in shapes.items():
            options |= {"shape": shape, "init": getattr(arguments, f"{name}_initializer"), "allow_deferred_init": True}
            setattr(self, prefix + name, self.params.get(prefix + name, **options))


def _signature(arguments: Mapping[str, Any]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rows = {**arguments, **{name: None for name in ("prefix", "params") if name not in arguments}}
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in rows.items()])


class SymbolBlock(HybridBlock):
    """The block of `outputs`, a symbol or a list of them, whose variables are `inputs` and parameters.

    Parameters are taken from `params` where they are there. Raises ValueError for an input that is no variable.
    """

    _ALIAS = "symbolblock"

    @staticmethod
    def imports(
        symbol_file: str | os.PathLike[str],
        input_names: str | Sequence[str],
        param_file: str | os.PathLike[str] | None = None,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Return the block of a symbol file, with the parameters of a file. Raises FormatError, and what
        `load_parameters` raises."""
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(symbol.load(os.fspath(symbol_file)), [symbol.var(name) for name in names])
        if param_file is not None:
            block.load_parameters(os.fspath(param_file), ctx, allow_missing, ignore_extra, True, "saved")
        return block

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix, self._name = "", ""
        self._params = ParameterDict("", params)
        flat, _ = flattened(inputs if isinstance(inputs, list | tuple) else [inputs])
        results, form = flattened(outputs)
        whole = results[0] if len(results) == 1 and len(results[0]) == 1 else symbol.Group(results)
        if len(results) == 1 and len(results[0]) > 1:
            form = [0] * len(results[0])
        names = []
        for variable in flat:
            if len(variable.get_internals().list_outputs()) != 1:
                raise ValueError(f"{variable} is computed by operators; inputs of a SymbolBlock are variables")
            names.append(variable.name)
        attributes = whole.attr_dict()
        for listed, options in ((whole.list_arguments(), {}), (whole.list_auxiliary_states(), {"grad_req": "null"})):
            for name in listed:
                if name not in names:
                    stated = attributes.get(name, {}).get("__dtype__")
                    extra = {} if stated is None else {"dtype": _dtype(stated)}
                    self.params.get(name, allow_deferred_init=True, **options, **extra)
        self._cached_graph = flat, whole, form
        begin = _common(list(self.params))
        self._reg_params.update({name[begin:]: variable for name, variable in self.params.items()})

    def forward(self, x: Any, *args: Any) -> Any:
        """Compute arrays, or put symbols in the place of the inputs."""
        if isinstance(x, NDArray):
            return self._call_graph((x, *args))
        assert self._cached_graph is not None
        inputs, whole, form = self._cached_graph
        given, _ = flattened([x, *args])
        composed = whole(**{variable.name: value for variable, value in zip(inputs, given, strict=True)})
        return regrouped(iter(composed), form)

    def __repr__(self) -> str:
        assert self._cached_graph is not None
        inputs, whole, _ = self._cached_graph
        return f"{type(self).__name__}(\n{whole!r} : {len(inputs)} -> {len(whole)}\n)"

    def cast(self, dtype: Any) -> None:
        self._network = None
        for parameter in self.params.values():
            parameter.cast(dtype)

    def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
        """Not called: `forward` does all."""
        raise NotImplementedError("a SymbolBlock computes by its graph")

    def _forget(self) -> None:
        self._network = None


def _common(names: Sequence[str]) -> int:
    """Return how many characters all names begin with."""
    first, last = min(names, default=""), max(names, default="")
    return next((place for place, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))


def _dtype(flag: str) -> Any:
    from graphir.converters.mxnet.schema.values import TYPE_FLAGS

    return TYPE_FLAGS.get(int(flag), "float32")
