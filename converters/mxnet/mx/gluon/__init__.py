"""`mx.gluon`: networks made of blocks, which are called with arrays, composed as symbols, loaded and exported."""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.refusals import refused_name

_PLACES = {
    "Block": "block",
    "Constant": "parameter",
    "DeferredInitializationError": "parameter",
    "HybridBlock": "hybrid_block",
    "Parameter": "parameter",
    "ParameterDict": "parameter_dict",
    "SymbolBlock": "hybrid_block",
}
_MODULES = ("block", "contrib", "data", "loss", "model_zoo", "nn", "parameter", "rnn", "utils")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    if name == "Trainer":
        return refused_name("mx.gluon.Trainer", "blocks are loaded (load_parameters, SymbolBlock.imports) and called")
    raise AttributeError(f"mx.gluon.{name} is not here; there are {', '.join(sorted({*_PLACES, *_MODULES}))}")


def __dir__() -> list[str]:
    return sorted({*_PLACES, *_MODULES})


__all__ = sorted({*_PLACES, *_MODULES})
