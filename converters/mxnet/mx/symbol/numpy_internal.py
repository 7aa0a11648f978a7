"""`mx.sym.np._internal`: the operators behind numpy's functions (`_npi_...`)."""

from __future__ import annotations

from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.numpy_symbol import NumpySymbol

__getattr__, _names = lookup("numpy._internal", NumpySymbol, shown="mx.sym.np._internal")


def __dir__() -> list[str]:
    return _names()
