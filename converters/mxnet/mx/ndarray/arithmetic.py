"""What operators do with the elements of arrays: MXNet's dtypes and broadcasting over numpy's arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.mx.arithmetic import OPERATIONS
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.reference.elementwise import OPERATORS

NUMBERS = (bool, int, float, np.number, np.bool_)


def compute_with_number(name: str, elements: Array, number: Any, *, turned: bool = False) -> Array:
    """Return an operation on elements and a number, or, `turned`, on a number and elements.

    The number is taken in the elements' dtype, beside bool in int64.
    """
    _, right, left = OPERATIONS[name].operators
    return np.asarray(OPERATORS[left if turned else right]({"scalar": number}, elements))


def compute_with_array(name: str, left: Array, right: Array) -> Array:
    """Return an operation on the elements of two arrays, which broadcast.

    Raises MXNetError for two dtypes, for bool, and for shapes that do not broadcast.
    """
    if left.dtype != right.dtype:
        raise MXNetError(f"arrays of {left.dtype} and {right.dtype}: cast one with astype")
    if left.dtype.kind == "b":
        raise MXNetError(f"{name} does not take two arrays of bool: cast them with astype")
    try:
        return np.asarray(OPERATORS[OPERATIONS[name].operators[0]]({}, left, right))
    except ValueError as error:
        raise MXNetError(f"arrays of shapes {left.shape} and {right.shape} do not broadcast") from error


def compute_absolute(elements: Array) -> Array:
    """Return absolute values. Raises MXNetError for bool."""
    if elements.dtype.kind == "b":
        raise MXNetError("abs does not take an array of bool: cast it with astype")
    return np.asarray(OPERATORS["abs"]({}, elements))
