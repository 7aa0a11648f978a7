"""Functions of two operands, each an array or a number: `mx.nd.add`, `mx.nd.maximum` and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.ndarray.arithmetic import divide as quotient
from graphir.converters.mxnet.mx.ndarray.arithmetic import modulo as remainder
from graphir.converters.mxnet.mx.ndarray.arithmetic import power as raised
from graphir.converters.mxnet.mx.ndarray.array import NDArray

Function = Callable[[Any, Any], Any]


def _of_two(name: str, compute: Callable[..., Any], what: str) -> Function:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray):
            return lhs._computed(compute, rhs)
        if isinstance(rhs, NDArray):
            return rhs._computed(compute, lhs, turned=True)
        return compute(np.asarray(lhs), np.asarray(rhs)).item()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, element by element; one operand may be a number, which is taken in the other's dtype."
    return function


add = _of_two("add", np.add, "The sum")
subtract = _of_two("subtract", np.subtract, "The difference")
multiply = _of_two("multiply", np.multiply, "The product")
divide = true_divide = _of_two("divide", quotient, "The quotient")
modulo = _of_two("modulo", remainder, "The remainder with the divisor's sign")
power = _of_two("power", raised, "The first to the power of the second")
maximum = _of_two("maximum", np.maximum, "The larger one")
minimum = _of_two("minimum", np.minimum, "The smaller one")
hypot = _of_two("hypot", np.hypot, "The root of the sum of squares")
equal = _of_two("equal", np.equal, "1 where both are equal, else 0")
not_equal = _of_two("not_equal", np.not_equal, "0 where both are equal, else 1")
greater = _of_two("greater", np.greater, "1 where the first is larger, else 0")
greater_equal = _of_two("greater_equal", np.greater_equal, "1 where the first is not smaller, else 0")
lesser = _of_two("lesser", np.less, "1 where the first is smaller, else 0")
lesser_equal = _of_two("lesser_equal", np.less_equal, "1 where the first is not larger, else 0")
logical_and = _of_two("logical_and", np.logical_and, "1 where neither is 0, else 0")
logical_or = _of_two("logical_or", np.logical_or, "0 where both are 0, else 1")
logical_xor = _of_two("logical_xor", np.logical_xor, "1 where one of both is 0, else 0")

__all__ = [
    "add",
    "divide",
    "equal",
    "greater",
    "greater_equal",
    "hypot",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "not_equal",
    "power",
    "subtract",
    "true_divide",
]
