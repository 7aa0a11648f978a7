"""`mx.contrib`: the ONNX functions under the name that they had before MXNet 1.9, and parts of other modules."""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.refusals import MODULES, refused_module

_PLACES = {"autograd": "autograd", "nd": "ndarray", "ndarray": "ndarray", "sym": "symbol", "symbol": "symbol"}


def __getattr__(name: str) -> Any:
    if name == "onnx":
        return importlib.import_module(f"{__name__}.onnx")
    if name == "io":
        return importlib.import_module(f"{__name__}.io")
    path = f"contrib.{'quantization' if name == 'quant' else name}"
    if path in MODULES:
        return refused_module(path)
    if name not in _PLACES:
        raise AttributeError(f"mx.contrib.{name} is not here; there are {', '.join(__dir__())}")
    module = importlib.import_module(f"{__name__.rpartition('.')[0]}.{_PLACES[name]}")
    return module if name == "autograd" else module.contrib


def __dir__() -> list[str]:
    refused = [path.removeprefix("contrib.") for path in MODULES if path.startswith("contrib.")]
    return sorted({"io", "onnx", "quant", *refused, *_PLACES})


__all__ = ["onnx"]
