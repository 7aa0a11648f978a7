"""`mx.sym.linalg`: the operators of linear algebra. Generated from the schema."""

from __future__ import annotations

from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

__getattr__, _names = lookup("linalg", Symbol)


def __dir__() -> list[str]:
    return _names()
