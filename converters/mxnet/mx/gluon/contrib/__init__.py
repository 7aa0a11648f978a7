"""`mx.gluon.contrib`: the layers that MXNet took from others."""

from __future__ import annotations

import importlib
from typing import Any

from graphir.converters.mxnet.mx.refusals import refused_module

_HERE = ("cnn", "nn", "rnn")
_REFUSED = ("data", "estimator")


def __getattr__(name: str) -> Any:
    if name in _HERE:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _REFUSED:
        return refused_module(f"gluon.contrib.{name}")
    raise AttributeError(f"mx.gluon.contrib.{name} is not here; there are {', '.join((*_HERE, *_REFUSED))}")


def __dir__() -> list[str]:
    return [*_HERE, *_REFUSED]
