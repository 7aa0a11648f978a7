"""`mx.sym._internal`: the operators that MXNet keeps for itself; `+` is `_Plus` here. From the schema."""

from __future__ import annotations

from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

__getattr__, _names = lookup("_internal", Symbol)


def __dir__() -> list[str]:
    return _names()
