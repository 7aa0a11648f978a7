"""Operators of Python on symbols, and the functions that symbols have as methods too."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from graphir.converters.mxnet.mx.arithmetic import OPERATIONS, Arithmetic
from graphir.converters.mxnet.mx.base import NotImplementedForSymbol
from graphir.converters.mxnet.mx.symbol.functions import namespace
from graphir.converters.mxnet.mx.symbol.node import Outputs

# Functions of `mx.sym` that take a symbol first and that a symbol has as a method of the same name.
METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel", "argmin",
    "argsort", "broadcast_axes", "broadcast_like", "broadcast_to", "cbrt", "ceil", "clip", "cos", "cosh", "degrees",
    "depth_to_space", "exp", "expm1", "fix", "flip", "floor", "log", "log10", "log1p", "log2", "log_softmax", "max",
    "mean", "min", "nanprod", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt",
    "reciprocal", "relu", "repeat", "reshape", "reshape_like", "rint", "round", "rsqrt", "shape_array", "sigmoid",
    "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like", "softmax", "softmin", "sort",
    "space_to_depth", "split", "sqrt", "square", "sum", "swapaxes", "take", "tan", "tanh", "tile", "topk",
    "transpose", "trunc", "zeros_like",
)  # fmt: skip
# Methods of arrays, which symbols have only to say so.
OF_ARRAYS = {
    **dict.fromkeys(("asnumpy", "asscalar", "wait_to_read"), "eval(...) or bind(...) computes the elements"),
    **dict.fromkeys(("as_in_context", "detach"), "bind(ctx, ...) chooses the device"),
    "backward": "graphir does not train",
    "copy": "copy.copy(symbol) copies a symbol",
}


class SymbolArithmetic(Arithmetic, Outputs):
    """What `+ - * / ** %`, comparisons, `-` and `abs` compose: MXNet's operators on two symbols or one and a number."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __neg__(self) -> Any:
        return self * -1.0

    def __abs__(self) -> Any:
        return self._called("op", "abs")

    __hash__ = None  # type: ignore[assignment]  # `==` composes

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("the truth of a symbol", "compare with `is None`, or eval(...) it")

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """`mx.sym.cast` of it."""
        return self._called("op", "cast", *args, **kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Any:
        """`mx.sym.flatten` of it."""
        return self._called("op", "flatten", **kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Any:
        """`mx.sym.expand_dims` of it."""
        return self._called("op", "expand_dims", axis=axis, **kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Any:
        """`mx.sym.squeeze` of it."""
        return self._called("op", "squeeze", axis=axis, **kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Any:
        """`mx.sym.diag` of it."""
        return self._called("op", "diag", k, **kwargs)

    def split_v2(
        self, indices_or_sections: int | tuple[int, ...], axis: int = 0, squeeze_axis: bool = False
    ) -> Any:
        """Parts along an axis: so many equal ones, or one from each of the indices on."""
        if isinstance(indices_or_sections, int):
            indices, sections = [], indices_or_sections
        elif isinstance(indices_or_sections, tuple):
            indices, sections = [0, *indices_or_sections], 0
        else:
            raise ValueError(f"expected a number of parts or a tuple of indices, got {indices_or_sections!r}")
        return self._called("_internal", "_split_v2", indices, axis, squeeze_axis, sections)

    def _operate(self, name: str, other: object, *, turned: bool = False) -> Any:
        both, right, left = OPERATIONS[name].symbols
        if isinstance(other, SymbolArithmetic) and not turned:
            return self._called("_internal", both, other)
        if isinstance(other, Number | np.generic):
            return self._called("_internal", left if turned else right, scalar=other)
        raise TypeError(f"type {type(other)} not supported: expected a symbol or a number")

    def _called(self, module: str, called: str, *args: Any, **kwargs: Any) -> Any:
        return namespace(module, type(self)).get(called)(self, *args, **kwargs)


def _method(called: str) -> Callable[..., Any]:
    def method(self: SymbolArithmetic, *args: Any, **kwargs: Any) -> Any:
        return self._called("op", called, *args, **kwargs)

    method.__name__ = called
    method.__qualname__ = f"Symbol.{called}"
    method.__doc__ = f"`mx.sym.{called}` of it."
    return method


def _refusal(called: str, instead: str) -> Callable[..., Any]:
    def method(self: SymbolArithmetic, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedForSymbol(called, instead)

    method.__name__ = called
    method.__qualname__ = f"Symbol.{called}"
    method.__doc__ = f"Not there for symbols: {instead}."
    return method


for _called in METHODS:
    setattr(SymbolArithmetic, _called, _method(_called))
for _called, _instead in OF_ARRAYS.items():
    setattr(SymbolArithmetic, _called, _refusal(_called, _instead))
