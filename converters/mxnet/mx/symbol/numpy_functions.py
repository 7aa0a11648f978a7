"""`mx.sym.np`: numpy's functions on symbols, as MXNet's registry has them (`_np_...` and `_npi_...`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.context import current_context
from graphir.converters.mxnet.mx.symbol.functions import GeneratedModule, namespace
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol, numpy_function, numpy_names

_Symbol = NumpySymbol


def _made(called: str, *, ctx: Any = None, dtype: Any = None, **attributes: Any) -> Any:
    """Return what begins a graph: on the device and of the dtype that numpy's functions state, cpu(0) and float32."""
    place = str(current_context() if ctx is None else ctx)
    function = namespace("numpy._internal", NumpySymbol).get(called)
    return function(ctx=place, dtype="float32" if dtype is None else dtype, **attributes)


def zeros(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> Any:
    """Zeros, float32 without a `dtype`."""
    return _made("zeros", shape=shape, dtype=dtype, ctx=ctx)


def ones(shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None) -> Any:
    """Ones, float32 without a `dtype`."""
    return _made("ones", shape=shape, dtype=dtype, ctx=ctx)


def full(shape: Any, fill_value: float, dtype: Any = None, order: str = "C", ctx: Any = None) -> Any:
    """Return an array of one value, float32 without a `dtype`."""
    return _made("full", shape=shape, value=fill_value, dtype=dtype, ctx=ctx)


def full_like(a: NumpySymbol, fill_value: float, dtype: Any = None) -> Any:
    """Return an array of one value in the shape of another."""
    attributes = {"ctx": str(current_context())} | ({} if dtype is None else {"dtype": dtype})
    return namespace("numpy._internal", NumpySymbol).get("full_like")(a, fill_value=fill_value, **attributes)


def zeros_like(a: NumpySymbol, dtype: Any = None) -> Any:
    """Zeros in the shape of another."""
    return full_like(a, 0, dtype)


def ones_like(a: NumpySymbol, dtype: Any = None) -> Any:
    """Ones in the shape of another."""
    return full_like(a, 1, dtype)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None, ctx: Any = None) -> Any:
    """Numbers from `start` to below `stop`; one number alone is `stop`."""
    begin, end = (0, start) if stop is None else (start, stop)
    return _made("arange", start=begin, stop=end, step=step, dtype=dtype, ctx=ctx)


def split(ary: NumpySymbol, indices_or_sections: int | tuple[int, ...], axis: int = 0) -> Any:
    """Parts along an axis as a list: so many equal ones, or one from each of the indices on."""
    count = indices_or_sections if isinstance(indices_or_sections, int) else 0
    indices = [] if count else [0, *indices_or_sections]  # type: ignore[misc]
    parts = namespace("numpy._internal", NumpySymbol).get("split")(ary, indices, axis, False, count)
    return parts if isinstance(parts, list) else [parts]


_PARTS = {
    "linalg": ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "norm", "pinv", "slogdet", "solve",
               "svd", "tensorinv", "tensorsolve"),
    "random": ("bernoulli", "choice", "exponential", "gamma", "gumbel", "logistic", "multinomial", "normal", "pareto",
               "power", "rayleigh", "uniform", "weibull"),
}  # fmt: skip
"""numpy's parts, which MXNet's registry does not tell apart by name."""


def __getattr__(name: str) -> Any:
    if name == "_internal":
        return GeneratedModule("numpy._internal", NumpySymbol, shown="mx.sym.np._internal")
    if name in _PARTS:
        return SimpleNamespace(**_part(name))
    function = numpy_function(name)
    if function is None:
        raise AttributeError(f"mx.sym.np has no {name!r}: MXNet 1.9.1 registers no operator of that name there")
    return function


def _part(name: str) -> dict[str, Any]:
    """Return the functions of `numpy.linalg` or `numpy.random`."""
    functions = namespace("numpy._internal", NumpySymbol)
    return {called: functions.get(called) for called in _PARTS[name] if called in functions}


def __dir__() -> list[str]:
    return sorted({*numpy_names(), *__all__, "_Symbol", "_internal", *_PARTS})


__all__ = ["arange", "full", "full_like", "ones", "ones_like", "split", "zeros", "zeros_like"]
