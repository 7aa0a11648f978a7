"""`mx.base`: the exceptions of MXNet's API, and the marker of an argument that was not given."""

from __future__ import annotations

import os
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

string_types, basestring = (str,), str
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)


def py_str(x: bytes) -> str:
    """Return the text of bytes."""
    return x.decode("utf-8")


def c_str(string: str) -> bytes:
    """Return the bytes of a text."""
    return string.encode("utf-8")


def data_dir() -> str:
    """Return the folder of MXNet's files: MXNET_HOME, or `.mxnet` in the home folder."""
    return os.environ.get("MXNET_HOME", os.path.join(os.path.expanduser("~"), ".mxnet"))


mx_real_t = np.float32  # the dtype of arrays for which none is stated

__all__ = [
    "IndexOutOfRange",
    "MXNetError",
    "NotASymbol",
    "NotImplementedForSymbol",
    "WrongValue",
    "_Null",
    "basestring",
    "c_str",
    "data_dir",
    "integer_types",
    "mx_real_t",
    "mxnet_errors",
    "numeric_types",
    "py_str",
    "string_types",
]
