"""`mx.sym`: symbols that are composed, looked into, inferred, written and run, over the records of `symbol.json`.

Every operator of MXNet 1.9.1 is a function here or in `contrib`, `linalg`, `random`, `image`, `sparse`, `op`,
`_internal`, `np` and `npx`, made from the schema of its registry when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.symbol import creation
from graphir.converters.mxnet.mx.symbol.creation import *
from graphir.converters.mxnet.mx.symbol.functions import GeneratedModule, lookup
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol
from graphir.converters.mxnet.mx.symbol.symbol import Group, Symbol, load, load_json, symbol_of

Symbol.numpy_type = NumpySymbol
_MODULES = {"contrib": "contrib", "np": "numpy_functions", "numpy": "numpy_functions", "random": "random"}
_GENERATED = ("_internal", "image", "linalg", "op", "sparse")
_EXTENSION = ("npx", "numpy_extension")
_operator, _operators = lookup("op", Symbol, shown="mx.sym")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    if name in _GENERATED:
        globals()[name] = GeneratedModule(name, Symbol)
    elif name in _EXTENSION:
        parts = ("image", "random")
        globals()[name] = GeneratedModule("numpy_extension", NumpySymbol, shown="mx.sym.npx", parts=parts)
    return globals()[name] if name in globals() else _operator(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_GENERATED, *_EXTENSION, *_operators()})


__all__ = ["Group", "Symbol", "load", "load_json", "symbol_of", *creation.__all__]
