"""`mx.sym.npx`: what MXNet adds to numpy's functions (`_npx_...`): networks' operators on symbols of `mx.sym.np`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.symbol.namespaces import lookup, namespace
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol

_operator, _operators = lookup("numpy_extension", NumpySymbol, shown="mx.sym.npx")
_PARTS = ("image", "random")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        held = namespace(f"numpy_extension.{name}", NumpySymbol)
        return SimpleNamespace(**{called: held.get(called) for called in held.operators})
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*_operators(), *_PARTS})
