"""`mx.gluon.contrib`: the layers that MXNet took from others."""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.refusals import refused_module

_REFUSED = ("cnn", "data", "estimator", "rnn")


def __getattr__(name: str) -> Any:
    if name == "nn":
        return importlib.import_module(f"{__name__}.nn")
    if name in _REFUSED:
        return refused_module(f"gluon.contrib.{name}")
    raise AttributeError(f"mx.gluon.contrib.{name} is not here; there are nn, {', '.join(_REFUSED)}")


def __dir__() -> list[str]:
    return ["nn", *_REFUSED]
