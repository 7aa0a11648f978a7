"""`SymbolBlock`: a symbol with its parameters as a block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from graphir.converters.mxnet.mx import symbol
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock, flattened, regrouped
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict
from graphir.converters.mxnet.mx.ndarray import NDArray


class SymbolBlock(HybridBlock):
    """The block of `outputs`, a symbol or a list of them, whose variables are `inputs` and parameters.

    Parameters are taken from `params` where they are there. Raises ValueError for an input that is no variable.
    """

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
        made = SymbolBlock(symbol.load(os.fspath(symbol_file)), [symbol.var(name) for name in names])
        if param_file is not None:
            made.load_parameters(os.fspath(param_file), ctx, allow_missing, ignore_extra, True, "saved")
        return made

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix, self._name = "", ""
        self._params = ParameterDict("", params)
        flat, _ = flattened(inputs if isinstance(inputs, list | tuple) else [inputs])
        found, form = flattened(outputs)
        whole = found[0] if len(found) == 1 and len(found[0]) == 1 else symbol.Group(found)
        if len(found) == 1 and len(found[0]) > 1:
            form = [0] * len(found[0])
        names = []
        for held in flat:
            if len(held.get_internals().list_outputs()) != 1:
                raise ValueError(f"{held} is computed by operators; inputs of a SymbolBlock are variables")
            names.append(held.name)
        attributes = whole.attr_dict()
        for listed, options in ((whole.list_arguments(), {}), (whole.list_auxiliary_states(), {"grad_req": "null"})):
            for name in listed:
                if name not in names:
                    stated = attributes.get(name, {}).get("__dtype__")
                    extra = {} if stated is None else {"dtype": _dtype(stated)}
                    self.params.get(name, allow_deferred_init=True, **options, **extra)
        self._cached_graph = flat, whole, form
        begin = _common(list(self.params))
        self._reg_params.update({name[begin:]: held for name, held in self.params.items()})

    def forward(self, x: Any, *args: Any) -> Any:
        """Compute arrays, or put symbols in the place of the inputs."""
        if isinstance(x, NDArray):
            return self._call_graph((x, *args))
        assert self._cached_graph is not None
        inputs, whole, form = self._cached_graph
        given, _ = flattened([x, *args])
        composed = whole(**{held.name: value for held, value in zip(inputs, given, strict=True)})
        return regrouped(iter(composed), form)

    def __repr__(self) -> str:
        assert self._cached_graph is not None
        inputs, whole, _ = self._cached_graph
        return f"{type(self).__name__}(\n{whole!r} : {len(inputs)} -> {len(whole)}\n)"

    def cast(self, dtype: Any) -> None:
        self._network = None
        for held in self.params.values():
            held.cast(dtype)

    def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
        """Not called: `forward` does all."""
        raise NotImplementedError("a SymbolBlock computes by its graph")

    def _alias(self) -> str:
        return "symbolblock"

    def _forget(self) -> None:
        self._network = None


def _common(names: Sequence[str]) -> int:
    """Return how many characters all names begin with."""
    first, last = min(names, default=""), max(names, default="")
    return next((place for place, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))


def _dtype(flag: str) -> Any:
    from graphir.converters.mxnet.schema.values import TYPE_FLAGS

    return TYPE_FLAGS.get(int(flag), "float32")


__all__ = ["SymbolBlock"]
