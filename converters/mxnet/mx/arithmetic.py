"""Python's operators on symbols and arrays: each is one of MXNet's operations, by name."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import hypot
from typing import Any, NamedTuple, Self


class Operation(NamedTuple):
    """MXNet's operators for two operands, for one and a number, and for a number and one; the function of two numbers.

    `symbols` are the names under which MXNet composes the three: names of nodes begin with them.
    """

    operators: tuple[str, str, str]
    symbols: tuple[str, str, str]
    numbers: Callable[[Any, Any], Any]


def _arithmetic(name: str, composed: str, numbers: Callable[[Any, Any], Any], turns: bool = False) -> Operation:
    """Return an operation, which `turns` where a number on the left has an operator of its own."""
    turned = "r" if turns else ""
    return Operation(
        (f"broadcast_{SHORT.get(name, name)}", f"_{name}_scalar", f"_{turned}{name}_scalar"),
        (f"_{composed}", f"_{composed}Scalar", f"_{turned.upper()}{composed}Scalar"),
        numbers,
    )


def _comparison(name: str, mirrored: str, numbers: Callable[[Any, Any], Any]) -> Operation:
    scalars = (f"_{name}_scalar", f"_{mirrored}_scalar")
    symbols = (f"_{name}", *scalars)
    return Operation((f"broadcast_{name}", *scalars), symbols, lambda left, right: int(numbers(left, right)))


SHORT = {"plus": "add", "minus": "sub"}
OPERATIONS = {
    "add": _arithmetic("plus", "Plus", operator.add),
    "subtract": _arithmetic("minus", "Minus", operator.sub, turns=True),
    "multiply": _arithmetic("mul", "Mul", operator.mul),
    "divide": _arithmetic("div", "Div", operator.truediv, turns=True),
    "modulo": _arithmetic("mod", "Mod", operator.mod, turns=True),
    "power": _arithmetic("power", "Power", operator.pow, turns=True)._replace(
        symbols=("_Power", "_PowerScalar", "_rpower_scalar")
    ),
    "maximum": _arithmetic("maximum", "Maximum", max),
    "minimum": _arithmetic("minimum", "Minimum", min),
    "hypot": _arithmetic("hypot", "Hypot", hypot),
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
"""What an operand and another one give, by the name of the function in `mx.nd`."""


class Arithmetic:
    """The operators of Python. Subclasses define `_operate`, which raises TypeError for what is no operand."""

    __slots__ = ()
    __array_priority__ = 1000.0  # numpy's numbers leave the operators to symbols and arrays

    def _operate(self, name: str, other: object, *, turned: bool = False) -> Self:
        """Return an operation on this and another operand, or, `turned`, on a number and this."""
        raise NotImplementedError(f"{type(self).__name__} does not define {name}")

    def __add__(self, other: object) -> Self:
        return self._operate("add", other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Self:
        return self._operate("subtract", other)

    def __rsub__(self, other: object) -> Self:
        return self._operate("subtract", other, turned=True)

    def __mul__(self, other: object) -> Self:
        return self._operate("multiply", other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Self:
        return self._operate("divide", other)

    def __rtruediv__(self, other: object) -> Self:
        return self._operate("divide", other, turned=True)

    def __mod__(self, other: object) -> Self:
        return self._operate("modulo", other)

    def __rmod__(self, other: object) -> Self:
        return self._operate("modulo", other, turned=True)

    def __pow__(self, other: object) -> Self:
        return self._operate("power", other)

    def __rpow__(self, other: object) -> Self:
        return self._operate("power", other, turned=True)

    def __eq__(self, other: object) -> Any:
        return self._operate("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._operate("not_equal", other)

    def __gt__(self, other: object) -> Self:
        return self._operate("greater", other)

    def __ge__(self, other: object) -> Self:
        return self._operate("greater_equal", other)

    def __lt__(self, other: object) -> Self:
        return self._operate("lesser", other)

    def __le__(self, other: object) -> Self:
        return self._operate("lesser_equal", other)

    __hash__ = object.__hash__
