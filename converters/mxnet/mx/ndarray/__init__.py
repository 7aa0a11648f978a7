"""`mx.nd`: arrays in main memory under MXNet's names, and every operator of `mx.sym` on them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from graphir.converters.mxnet.mx.ndarray import control, creation, flips, functions, sparse_arrays
from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.converters.mxnet.mx.ndarray.creation import *
from graphir.converters.mxnet.mx.ndarray.functions import *
from graphir.converters.mxnet.mx.ndarray.sparse_arrays import cast_storage

_DRAWN = {"normal": "normal", "random_normal": "normal", "random_randint": "randint", "random_uniform": "uniform",
          "shuffle": "shuffle", "uniform": "uniform"}  # fmt: skip
_OWN = {"mx.nd.contrib": control, "mx.nd.image": flips, "mx.nd.sparse": sparse_arrays}
"""The parts with functions that are no operators."""
_PARTS = frozenset(("_internal", "contrib", "image", "linalg", "op", "sparse"))


class _ArrayFunctions(ModuleType):
    """The functions of a part of `mx.sym` for arrays."""

    def __init__(self, name: str) -> None:
        super().__init__(f"mx.nd.{name}")
        self._symbols = getattr(_symbols(), name)

    def __getattr__(self, name: str) -> Any:
        part = _OWN.get(self.__name__)
        is_own = part is not None and name in part.__all__
        function = getattr(part, name) if is_own else _eager(getattr(self._symbols, name))
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._symbols), *getattr(_OWN.get(self.__name__), "__all__", ())})


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "random" or name in _DRAWN:
        drawn = importlib.import_module("graphir.converters.mxnet.mx.random")
        return drawn if name == "random" else getattr(drawn, _DRAWN[name])
    if name in ("Custom", "imdecode"):
        module = importlib.import_module(f"graphir.converters.mxnet.mx.{'operator' if name == 'Custom' else 'image'}")
        return getattr(module, name)
    value: Any = _ArrayFunctions(name) if name in _PARTS else _eager(getattr(_symbols(), name))
    globals()[name] = value
    return value


def _eager(function: Any) -> Any:
    # by its name: operators are composed of symbols, which have executors, which hold arrays
    return importlib.import_module(f"{__name__}.operators").eager(function)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, "random", *dir(_symbols())})


def _symbols() -> ModuleType:
    return importlib.import_module("graphir.converters.mxnet.mx.symbol")


__all__ = ["NDArray", "cast_storage", *creation.__all__, *functions.__all__]
