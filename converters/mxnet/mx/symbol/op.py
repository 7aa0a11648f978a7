"""`mx.sym.op`: the operators without a prefix, which `mx.sym` has too. Generated from the schema."""

from __future__ import annotations

from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

__getattr__, _names = lookup("op", Symbol)


def __dir__() -> list[str]:
    return _names()
