"""MXNet's own names without MXNet: symbols, arrays, checkpoints, and the ONNX functions, for old scripts.

    from graphir.converters.mxnet import mx
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="fc1")
    mx.onnx.export_model("model-symbol.json", "model-0000.params", [(1, 3, 224, 224)])

What is here behaves as in MXNet 1.9.1. Training is not here: what only it needs raises TrainingError. Each part is
imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.refusals import ALIASES, MODULES, refused_module

__version__ = "1.9.1"  # the MXNet whose behaviour this is, which scripts ask for

_MODULES = {
    "attribute": "attribute",
    "autograd": "autograd",
    "base": "base",
    "callback": "callback",
    "context": "context",
    "contrib": "contrib",
    "engine": "engine",
    "executor": "executor",
    "gluon": "gluon",
    "image": "image",
    "img": "image",
    "init": "initializer",
    "initializer": "initializer",
    "io": "io",
    "metric": "metric",
    "mod": "module",
    "libinfo": "libinfo",
    "log": "log",
    "memonger": "memonger",
    "model": "model",
    "module": "module",
    "mon": "monitor",
    "monitor": "monitor",
    "name": "name",
    "nd": "ndarray",
    "ndarray": "ndarray",
    "onnx": "onnx",
    "operator": "operator",
    "random": "random",
    "recordio": "recordio",
    "registry": "registry",
    "rnd": "random",
    "rnn": "rnn",
    "runtime": "runtime",
    "sym": "symbol",
    "symbol": "symbol",
    "test_utils": "test_utils",
    "util": "util",
    "visualization": "visualization",
    "viz": "visualization",
}
"""The parts by MXNet's names, and the modules that hold them."""

_NAMES = {
    "AttrScope": "attribute",
    "Executor": "execution",
    "Context": "context",
    "MXNetError": "base",
    "TrainingError": "refusals",
    "cpu": "context",
    "cpu_pinned": "context",
    "current_context": "context",
    "gpu": "context",
    "gpu_memory_info": "context",
    "is_np_array": "util",
    "is_np_shape": "util",
    "np_shape": "util",
    "num_gpus": "context",
    "set_np_shape": "util",
    "use_np": "util",
    "use_np_array": "util",
    "use_np_shape": "util",
}
"""What MXNet has at its top, and the modules that hold it."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    if ALIASES.get(name, name) in MODULES:
        return refused_module(ALIASES.get(name, name))
    raise AttributeError(f"mx.{name} is not here; there are {', '.join(sorted({*_MODULES, *_NAMES}))}")


def __dir__() -> list[str]:
    return sorted({"__version__", *_MODULES, *_NAMES})


__all__ = ["__version__", *sorted({*_MODULES, *_NAMES})]
