"""`mx.base`: the exceptions of MXNet's API, and the marker of an argument that was not given."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphir.errors import GraphirError


class MXNetError(GraphirError, RuntimeError):
    """What MXNet's own library refuses: a wrong parameter, a name that is no argument, shapes that contradict."""


class NotImplementedForSymbol(MXNetError):
    """Something that only arrays can do was asked of a symbol, which holds no elements."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what} is not there for symbols, which hold no elements; {instead}")


class NotASymbol(GraphirError, TypeError, AssertionError):
    """Something else was given where a symbol is needed."""


class _NullType:
    """The default of parameters that an operator has a default of its own for."""

    def __repr__(self) -> str:
        return "_Null"

    def __bool__(self) -> bool:
        return False


_Null: Any = _NullType()

mx_real_t = np.float32  # the dtype of arrays for which none is stated

__all__ = ["MXNetError", "NotASymbol", "NotImplementedForSymbol", "_Null", "mx_real_t"]
