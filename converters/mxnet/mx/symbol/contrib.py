"""`mx.sym.contrib`: contributed operators, and control flow: `foreach`, `while_loop`, `cond`."""

from __future__ import annotations

from typing import Any

from graphir.converters.mxnet.mx.symbol.control_flow import cond, foreach, while_loop
from graphir.converters.mxnet.mx.symbol.namespaces import lookup
from graphir.converters.mxnet.mx.symbol.symbol import Symbol

_operator, _operators = lookup("contrib", Symbol)


def __getattr__(name: str) -> Any:
    return _operator(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_operators()})


__all__ = ["cond", "foreach", "while_loop"]
