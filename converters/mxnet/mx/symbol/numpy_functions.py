"""`mx.sym.np`: numpy's functions on symbols, as MXNet's registry has them (`_np_...` and `_npi_...`)."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.symbol.namespaces import namespace
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol, numpy_function, numpy_names

_Symbol = NumpySymbol
_PARTS = {
    "linalg": ("cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "norm", "pinv", "slogdet", "solve",
               "svd", "tensorinv", "tensorsolve"),
    "random": ("bernoulli", "choice", "exponential", "gamma", "gumbel", "logistic", "multinomial", "normal", "pareto",
               "power", "rayleigh", "uniform", "weibull"),
}  # fmt: skip
"""numpy's parts, which MXNet's registry does not tell apart by name."""



def __getattr__(name: str) -> Any:
    if name == "_internal":
        return importlib.import_module("graphir.converters.mxnet.mx.symbol.numpy_internal")
    if name in _PARTS:
        return SimpleNamespace(**_part(name))
    found = numpy_function(name)
    if found is None:
        raise AttributeError(f"mx.sym.np has no {name!r}: MXNet 1.9.1 registers no operator of that name there")
    return found


def _part(name: str) -> dict[str, Any]:
    """The functions of `numpy.linalg` or `numpy.random`."""
    held = namespace("numpy._internal", NumpySymbol)
    return {called: held.get(called) for called in _PARTS[name] if called in held}


def __dir__() -> list[str]:
    return sorted({*numpy_names(), "_Symbol", "_internal", *_PARTS})
