"""Functions of two operands, each an array or a number: `mx.nd.add`, `mx.nd.maximum` and their kin."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.arithmetic import OPERATIONS
from graphir.converters.mxnet.mx.ndarray.array import NDArray

Function = Callable[[Any, Any], Any]


def _of_two(name: str, what: str) -> Function:
    def function(lhs: Any, rhs: Any) -> Any:
        if isinstance(lhs, NDArray):
            return lhs._operate(name, rhs)
        if isinstance(rhs, NDArray):
            return rhs._operate(name, lhs, turned=True)
        return OPERATIONS[name].numbers(lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, element by element; one operand may be a number, which is taken in the other's dtype."
    return function


add = _of_two("add", "The sum")
subtract = _of_two("subtract", "The difference")
multiply = _of_two("multiply", "The product")
divide = true_divide = _of_two("divide", "The quotient")
modulo = _of_two("modulo", "The remainder with the divisor's sign")
power = _of_two("power", "The first to the power of the second")
maximum = _of_two("maximum", "The larger one")
minimum = _of_two("minimum", "The smaller one")
hypot = _of_two("hypot", "The root of the sum of squares")
equal = _of_two("equal", "1 where both are equal, else 0")
not_equal = _of_two("not_equal", "0 where both are equal, else 1")
greater = _of_two("greater", "1 where the first is larger, else 0")
greater_equal = _of_two("greater_equal", "1 where the first is not smaller, else 0")
lesser = _of_two("lesser", "1 where the first is smaller, else 0")
lesser_equal = _of_two("lesser_equal", "1 where the first is not larger, else 0")
logical_and = _of_two("logical_and", "1 where neither is 0, else 0")
logical_or = _of_two("logical_or", "0 where both are 0, else 1")
logical_xor = _of_two("logical_xor", "1 where one of both is 0, else 0")


def histogram(a: NDArray, bins: Any = 10, range: tuple[float, float] | None = None) -> Any:
    """Return how many elements fall into each of `bins` parts of `range`, or between the edges in an array; and the
    edges.

    Without `range` they are numpy's counts and edges, from the least to the largest element. Raises ValueError for what
    is neither a number nor an array of edges.
    """
    if isinstance(bins, int) and range is None:
        counts, edges = np.histogram(a.asnumpy(), bins=bins)
        return NDArray(counts.astype(a.dtype)), NDArray(edges.astype(a.dtype))
    return eager("histogram")(a, bins, range)


def split_v2(
    ary: NDArray, indices_or_sections: int | tuple[int, ...], axis: int = 0, squeeze_axis: bool = False
) -> list[NDArray]:
    """Parts along an axis: so many, or one from each of the indices on. Raises ValueError for unequal parts."""
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError(f"{ary.shape[axis]} along the axis {axis} is not divided equally by {indices_or_sections}")
    return eager("split_v2")(ary, indices_or_sections, axis, squeeze_axis)  # type: ignore[no-any-return]


def eager(name: str) -> Callable[..., Any]:
    """Return the function of `mx.nd` for one of `mx.sym`."""
    # by its name: operators are composed of symbols, which have executors, which hold arrays
    package = "graphir.converters.mxnet.mx"
    operators = importlib.import_module(f"{package}.ndarray.operators")
    return operators.eager(getattr(importlib.import_module(f"{package}.symbol"), name))  # type: ignore[no-any-return]

__all__ = [
    "add", "divide", "equal", "greater", "greater_equal", "histogram", "hypot", "lesser", "lesser_equal",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "modulo", "multiply", "not_equal", "power",
    "split_v2", "subtract", "true_divide",
]  # fmt: skip
