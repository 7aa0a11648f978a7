"""`mx.sym.sparse`: the operators on sparse arrays. Generated from the schema."""

from __future__ import annotations

from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

__getattr__, _names = lookup("sparse", Symbol)


def __dir__() -> list[str]:
    return _names()
