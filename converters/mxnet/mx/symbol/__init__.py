"""`mx.sym`: symbols that are composed, looked into, inferred, written and run, over the records of `symbol.json`.

Every operator of MXNet 1.9.1 is a function here or in `contrib`, `linalg`, `random`, `image`, `sparse`, `op`,
`_internal`, `np` and `npx`, made from the schema of its registry when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.symbol.creation import (
    Variable,
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,  # noqa: A004
    power,
    split_v2,
    var,
    zeros,
)
from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol
from graphir.converters.mxnet.mx.symbol.symbol import Group, Symbol, load, load_json, symbol_of

Symbol.numpy_type = NumpySymbol
_PARTS = {
    **{name: name for name in ("_internal", "contrib", "image", "linalg", "op", "random", "sparse")},
    "np": "numpy_functions",
    "npx": "numpy_extension",
    "numpy": "numpy_functions",
    "numpy_extension": "numpy_extension",
}
_operator, _operators = lookup("op", Symbol, shown="mx.sym")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{_PARTS[name]}")
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *_operators()})


__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "eye",
    "full",
    "histogram",
    "hypot",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "pow",
    "power",
    "split_v2",
    "symbol_of",
    "var",
    "zeros",
]
