"""The elements of arrays: the memory that an array and its views share, and MXNet's arithmetic on numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.arrays import Array
from graphir.converters.mxnet.mx.arithmetic import OPERATIONS
from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.reference.elementwise import OPERATORS
from graphir.tensor import Tensor
from graphir.types import DType

HELD = (
    DType.FLOAT32,
    DType.FLOAT64,
    DType.FLOAT16,
    DType.BFLOAT16,
    DType.UINT8,
    DType.INT8,
    DType.INT32,
    DType.INT64,
    DType.BOOL,
)
"""MXNet's dtypes."""

OWN_TYPES = frozenset(dtype.numpy().type for dtype in HELD if dtype is not DType.BFLOAT16)


class Home:
    """The elements that an array and its views share, and how often they were written.

    They are a Tensor, which may lie in a file and is never written to, until the first write or view copies them; or an
    array that nothing else holds.
    """

    __slots__ = ("array", "tensor", "version")

    def __init__(self, elements: object) -> None:
        is_own = type(elements) is np.ndarray and elements.dtype.type in OWN_TYPES and elements.dtype.isnative
        self.array: NumpyArray[Any] | None = elements if is_own else None  # type: ignore[assignment]
        self.tensor: Tensor | None = None if is_own else Tensor.of(elements)
        self.version = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.array.shape if self.tensor is None else self.tensor.shape  # type: ignore[union-attr]

    @property
    def dtype(self) -> type:
        """The class that numpy has for the elements."""
        return self.array.dtype.type if self.tensor is None else self.tensor.dtype.numpy().type  # type: ignore[union-attr]

    def elements(self) -> NumpyArray[Any]:
        """Return the elements, not to be written to."""
        return self.tensor.numpy() if self.array is None else self.array  # type: ignore[union-attr]

    def own(self) -> NumpyArray[Any]:
        """Return the elements, to be written to."""
        if self.array is None:
            self.array = np.array(self.elements(), order="C")  # so that other shapes are views
        return self.array


def has_own_memory(elements: object) -> bool:
    """Return whether elements lie in order in memory that no other array has."""
    return isinstance(elements, np.ndarray) and bool(
        elements.flags.owndata and elements.flags.c_contiguous and elements.flags.writeable
    )


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
