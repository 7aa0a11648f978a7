"""What operators do with arrays: MXNet's dtypes and broadcasting over numpy's arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx.base import MXNetError

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.ndarray.array import NDArray

Array = NumpyArray[Any]
NUMBERS = (bool, int, float, np.number, np.bool_)


def divide(left: Array, right: Array) -> Array:
    """A quotient in the operands' dtype; of integers it is rounded towards zero."""
    quotient = np.true_divide(left, right)
    return np.asarray(quotient if left.dtype.kind in "fV" else np.trunc(quotient).astype(left.dtype))


def modulo(left: Array, right: Array) -> Array:
    """The remainder with the divisor's sign, 0 for a divisor of 0."""
    with np.errstate(divide="ignore"):
        safe = np.where(right == 0, np.ones((), right.dtype), right)
        return np.asarray(np.where(right == 0, np.zeros((), left.dtype), np.mod(left, safe)))


def power(left: Array, right: Array) -> Array:
    """A power in the operands' dtype; of integers it is rounded towards zero."""
    if left.dtype.kind in "iu":
        return np.asarray(np.trunc(np.power(left.astype(np.float64), right.astype(np.float64))).astype(left.dtype))
    return np.asarray(np.power(left, right))


class Arithmetic(ABC):
    """The operators of an NDArray. Numbers are taken in the array's dtype; arrays have the same one and broadcast.

    They raise TypeError for what is neither, and MXNetError for arrays of other dtypes or of shapes that do not
    broadcast.
    """

    __slots__ = ()

    @abstractmethod
    def _elements(self) -> Array: ...

    @abstractmethod
    def _computed(self, compute: Callable[..., Any], other: object, *, turned: bool = False) -> NDArray: ...

    @abstractmethod
    def _written(self, compute: Callable[..., Any], other: object) -> NDArray: ...

    @abstractmethod
    def _made(self, elements: Array) -> NDArray: ...

    def _result(self, compute: Callable[..., Any], other: object, turned: bool) -> Array:
        mine = self._elements()
        with np.errstate(all="ignore"):
            if isinstance(other, Arithmetic):
                theirs = other._elements()
                if theirs.dtype != mine.dtype:
                    raise MXNetError(f"arrays of {mine.dtype} and {theirs.dtype}: cast one with astype")
            elif isinstance(other, NUMBERS):
                theirs = np.asarray(other).astype(mine.dtype)
            else:
                raise TypeError(f"type {type(other)} not supported")
            try:
                found = compute(theirs, mine) if turned else compute(mine, theirs)
            except ValueError as error:
                raise MXNetError(f"arrays of shapes {mine.shape} and {theirs.shape} do not broadcast") from error
        return np.asarray(found).astype(mine.dtype, copy=False)

    def __add__(self, other: object) -> NDArray:
        return self._computed(np.add, other)

    __radd__ = __add__

    def __sub__(self, other: object) -> NDArray:
        return self._computed(np.subtract, other)

    def __rsub__(self, other: object) -> NDArray:
        return self._computed(np.subtract, other, turned=True)

    def __mul__(self, other: object) -> NDArray:
        return self._computed(np.multiply, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> NDArray:
        return self._computed(divide, other)

    def __rtruediv__(self, other: object) -> NDArray:
        return self._computed(divide, other, turned=True)

    def __mod__(self, other: object) -> NDArray:
        return self._computed(modulo, other)

    def __rmod__(self, other: object) -> NDArray:
        return self._computed(modulo, other, turned=True)

    def __pow__(self, other: object) -> NDArray:
        return self._computed(power, other)

    def __rpow__(self, other: object) -> NDArray:
        return self._computed(power, other, turned=True)

    def __iadd__(self, other: object) -> NDArray:
        return self._written(np.add, other)

    def __isub__(self, other: object) -> NDArray:
        return self._written(np.subtract, other)

    def __imul__(self, other: object) -> NDArray:
        return self._written(np.multiply, other)

    def __itruediv__(self, other: object) -> NDArray:
        return self._written(divide, other)

    def __imod__(self, other: object) -> NDArray:
        return self._written(modulo, other)

    def __eq__(self, other: object) -> Any:
        return self._computed(np.equal, other)

    def __ne__(self, other: object) -> Any:
        return self._computed(np.not_equal, other)

    def __gt__(self, other: object) -> NDArray:
        return self._computed(np.greater, other)

    def __ge__(self, other: object) -> NDArray:
        return self._computed(np.greater_equal, other)

    def __lt__(self, other: object) -> NDArray:
        return self._computed(np.less, other)

    def __le__(self, other: object) -> NDArray:
        return self._computed(np.less_equal, other)

    def __neg__(self) -> NDArray:
        return self._made(np.negative(self._elements()))

    def __abs__(self) -> NDArray:
        return self._made(np.abs(self._elements()))

    __hash__ = object.__hash__


__all__ = ["Arithmetic", "divide", "modulo", "power"]
