"""`mx.base`: the exceptions of MXNet's API, and the marker of an argument that was not given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphir.errors import GraphirError

INDEX_REFUSAL = re.compile(r"running GatherND node.*invalid index found|\(gather_nd\).*an index is outside")
"""What is reported where MXNet raises IndexError. Other operators clip indices, or raise MXNetError."""


class MXNetError(GraphirError, RuntimeError):
    """What MXNet's own library refuses: a wrong parameter, a name that is no argument, shapes that contradict."""


class IndexOutOfRange(MXNetError, IndexError):
    """An index that is outside an axis, which MXNet reports as an IndexError."""


class WrongValue(MXNetError, ValueError):
    """A value that MXNet reports as a ValueError in some cases and as an MXNetError in others."""


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


@contextmanager
def mxnet_errors() -> Iterator[None]:
    """Raise what graphir refuses as MXNet's own kind of error."""
    try:
        yield
    except MXNetError:
        raise
    except GraphirError as error:
        kind = IndexOutOfRange if INDEX_REFUSAL.search(str(error)) else MXNetError
        raise kind(str(error)) from error


_Null: Any = _NullType()

mx_real_t = np.float32  # the dtype of arrays for which none is stated

__all__ = [
    "IndexOutOfRange",
    "MXNetError",
    "NotASymbol",
    "NotImplementedForSymbol",
    "WrongValue",
    "_Null",
    "mx_real_t",
    "mxnet_errors",
]
