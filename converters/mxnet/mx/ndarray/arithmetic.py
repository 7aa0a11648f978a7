"""What operators do with arrays: MXNet's dtypes and broadcasting over numpy's arithmetic."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.reference.elementwise import OPERATORS

if TYPE_CHECKING:
    from graphir.converters.mxnet.mx.ndarray.array import NDArray

Array = NumpyArray[Any]
NUMBERS = (bool, int, float, np.number, np.bool_)


class Operation(NamedTuple):
    """MXNet's operators for two arrays, for an array and a number, and for a number and an array; and the function for
    two numbers."""

    arrays: str
    number: str
    turned: str
    numbers: Callable[[Any, Any], Any]


def _comparison(name: str, mirrored: str, numbers: Callable[[Any, Any], Any]) -> Operation:
    scalar, turned = f"_{name}_scalar", f"_{mirrored}_scalar"
    return Operation(f"broadcast_{name}", scalar, turned, lambda left, right: int(numbers(left, right)))


OPERATIONS = {
    "add": Operation("broadcast_add", "_plus_scalar", "_plus_scalar", operator.add),
    "subtract": Operation("broadcast_sub", "_minus_scalar", "_rminus_scalar", operator.sub),
    "multiply": Operation("broadcast_mul", "_mul_scalar", "_mul_scalar", operator.mul),
    "divide": Operation("broadcast_div", "_div_scalar", "_rdiv_scalar", operator.truediv),
    "modulo": Operation("broadcast_mod", "_mod_scalar", "_rmod_scalar", operator.mod),
    "power": Operation("broadcast_power", "_power_scalar", "_rpower_scalar", operator.pow),
    "maximum": Operation("broadcast_maximum", "_maximum_scalar", "_maximum_scalar", max),
    "minimum": Operation("broadcast_minimum", "_minimum_scalar", "_minimum_scalar", min),
    "hypot": Operation("broadcast_hypot", "_hypot_scalar", "_hypot_scalar", hypot),
    "equal": _comparison("equal", "equal", operator.eq),
    "not_equal": _comparison("not_equal", "not_equal", operator.ne),
    "greater": _comparison("greater", "lesser", operator.gt),
    "greater_equal": _comparison("greater_equal", "lesser_equal", operator.ge),
    "lesser": _comparison("lesser", "greater", operator.lt),
    "lesser_equal": _comparison("lesser_equal", "greater_equal", operator.le),
    "logical_and": _comparison("logical_and", "logical_and", lambda left, right: bool(left) and bool(right)),
    "logical_or": _comparison("logical_or", "logical_or", lambda left, right: bool(left) or bool(right)),
    "logical_xor": _comparison("logical_xor", "logical_xor", lambda left, right: bool(left) != bool(right)),
}
"""What an array and another operand compute, by the name of the function in `mx.nd`."""


class Arithmetic(ABC):
    """The operators of an NDArray. Numbers are taken in the array's dtype, beside bool in int64; arrays have the same
    one and broadcast.

    They raise TypeError for what is neither, and MXNetError for arrays of bool, of other dtypes, or of shapes that do
    not broadcast.
    """

    __slots__ = ()

    @abstractmethod
    def _elements(self) -> Array: ...

    @abstractmethod
    def _made(self, elements: Array) -> NDArray: ...

    @abstractmethod
    def _written(self, elements: Array) -> NDArray: ...

    def _computed(self, name: str, other: object, *, turned: bool = False) -> Array:
        """Return the elements of an operation on this array and another operand, or, `turned`, on a number and this."""
        operation = OPERATIONS[name]
        mine = self._elements()
        if isinstance(other, NUMBERS):
            function = OPERATORS[operation.turned if turned else operation.number]
            return np.asarray(function({"scalar": other}, mine))
        if not isinstance(other, Arithmetic):
            raise TypeError(f"type {type(other)} not supported")
        theirs = other._elements()
        if theirs.dtype != mine.dtype:
            raise MXNetError(f"arrays of {mine.dtype} and {theirs.dtype}: cast one with astype")
        if mine.dtype.kind == "b":
            raise MXNetError(f"{name} does not take two arrays of bool: cast them with astype")
        try:
            return np.asarray(OPERATORS[operation.arrays]({}, mine, theirs))
        except ValueError as error:
            raise MXNetError(f"arrays of shapes {mine.shape} and {theirs.shape} do not broadcast") from error

    def __add__(self, other: object) -> NDArray:
        return self._made(self._computed("add", other))

    __radd__ = __add__

    def __sub__(self, other: object) -> NDArray:
        return self._made(self._computed("subtract", other))

    def __rsub__(self, other: object) -> NDArray:
        return self._made(self._computed("subtract", other, turned=True))

    def __mul__(self, other: object) -> NDArray:
        return self._made(self._computed("multiply", other))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> NDArray:
        return self._made(self._computed("divide", other))

    def __rtruediv__(self, other: object) -> NDArray:
        return self._made(self._computed("divide", other, turned=True))

    def __mod__(self, other: object) -> NDArray:
        return self._made(self._computed("modulo", other))

    def __rmod__(self, other: object) -> NDArray:
        return self._made(self._computed("modulo", other, turned=True))

    def __pow__(self, other: object) -> NDArray:
        return self._made(self._computed("power", other))

    def __rpow__(self, other: object) -> NDArray:
        return self._made(self._computed("power", other, turned=True))

    def __iadd__(self, other: object) -> NDArray:
        return self._written(self._computed("add", other))

    def __isub__(self, other: object) -> NDArray:
        return self._written(self._computed("subtract", other))

    def __imul__(self, other: object) -> NDArray:
        return self._written(self._computed("multiply", other))

    def __itruediv__(self, other: object) -> NDArray:
        return self._written(self._computed("divide", other))

    def __imod__(self, other: object) -> NDArray:
        return self._written(self._computed("modulo", other))

    def __eq__(self, other: object) -> Any:
        return self._made(self._computed("equal", other))

    def __ne__(self, other: object) -> Any:
        return self._made(self._computed("not_equal", other))

    def __gt__(self, other: object) -> NDArray:
        return self._made(self._computed("greater", other))

    def __ge__(self, other: object) -> NDArray:
        return self._made(self._computed("greater_equal", other))

    def __lt__(self, other: object) -> NDArray:
        return self._made(self._computed("lesser", other))

    def __le__(self, other: object) -> NDArray:
        return self._made(self._computed("lesser_equal", other))

    def __neg__(self) -> NDArray:
        return self * -1

    def __abs__(self) -> NDArray:
        if self._elements().dtype.kind == "b":
            raise MXNetError("abs does not take an array of bool: cast it with astype")
        return self._made(np.asarray(OPERATORS["abs"]({}, self._elements())))

    __hash__ = object.__hash__


__all__ = ["OPERATIONS", "Arithmetic", "Operation"]
