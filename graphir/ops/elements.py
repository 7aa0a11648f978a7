"""Arithmetic on elements of which inference knows: numbers, symbolic sizes, and the unknown.

An element is an int, a float (only in tensors of floating dtypes, and only where it is no whole number), a symbolic
size, or `UNKNOWN`. Results follow what runtimes compute, rounding included; what cannot be said exactly is unknown.
"""

from __future__ import annotations

import math
import operator as op
import struct
from collections.abc import Callable
from typing import Any

from graphir.symbolic.bounds import least
from graphir.types import UNKNOWN, DType, Sym, Unknown, dim_max, dim_min

from .base import Element

# Up to these powers of two a floating dtype holds every integer; sizes are taken to be below those of WIDE.
EXACT_BITS = {DType.FLOAT64: 53, DType.FLOAT32: 24, DType.FLOAT16: 11, DType.BFLOAT16: 8}
UNSIGNED = frozenset({DType.UINT64, DType.UINT32})
WIDE = UNSIGNED | {DType.INT64, DType.INT32, DType.FLOAT64, DType.FLOAT32, None}


def whole(number: float) -> Element:
    """Return a number as an element: an int if it is whole, unknown if it is infinite or none."""
    if not math.isfinite(number):
        return UNKNOWN
    return int(number) if number == int(number) else number


def as_stored(element: Element, dtype: DType | None) -> Element:
    """Return the element as a tensor of `dtype` holds it, unknown where that would wrap around, overflow or round an
    integer.

    >>> as_stored(300, DType.INT8), as_stored(0.1, DType.FLOAT32)
    (UNKNOWN, 0.10000000149011612)
    """
    if isinstance(element, Unknown):
        return element
    if isinstance(element, Sym):
        wraps = dtype in UNSIGNED and not is_natural(element)
        return element if dtype in WIDE and not wraps else UNKNOWN
    if dtype is None:
        return UNKNOWN if isinstance(element, float) else element
    if dtype.is_float:
        bits = EXACT_BITS.get(dtype, 0)
        if isinstance(element, int):
            return element if abs(element) <= 1 << bits and bits else UNKNOWN
        if dtype is DType.FLOAT32:
            try:
                return whole(struct.unpack("f", struct.pack("f", element))[0])
            except OverflowError:
                return UNKNOWN
        return element if dtype is DType.FLOAT64 else UNKNOWN
    if isinstance(element, float):
        return UNKNOWN
    if dtype is DType.BOOL:
        return element if element in (0, 1) else UNKNOWN
    if not dtype.is_integer:
        return UNKNOWN
    low, high = (0, 1 << dtype.bits) if dtype.value.startswith("u") else (-(1 << dtype.bits - 1), 1 << dtype.bits - 1)
    return element if low <= element < high else UNKNOWN


Function = Callable[..., Element]


def _of_known(function: Callable[..., Any]) -> Function:
    """Return the function for known elements only; fractions do not mix with symbolic sizes."""

    def run(*elements: Element) -> Element:
        fraction = size = False
        for element in elements:
            if isinstance(element, Unknown):
                return UNKNOWN
            fraction = fraction or isinstance(element, float)
            size = size or isinstance(element, Sym)
        if fraction and size:
            return UNKNOWN
        result = function(*elements)
        return whole(result) if isinstance(result, float) else result

    return run


def _of_numbers(function: Callable[..., Any]) -> Function:
    """Return the function for numbers only."""

    def run(*elements: Element) -> Element:
        if not all(isinstance(element, int | float) for element in elements):
            return UNKNOWN
        try:
            result = function(*elements)
        except (ArithmeticError, ValueError):
            return UNKNOWN
        return whole(result) if isinstance(result, float) else int(result)

    return run


def is_natural(element: Element, start: int = 0) -> bool:
    """Return whether an integer or a size is at least `start`, whatever the symbols stand for."""
    bound = None if isinstance(element, float) else least(element)
    return bound is not None and bound >= start


def _largest(left: Any, right: Any) -> Any:
    return max(left, right) if isinstance(left, float) or isinstance(right, float) else dim_max(left, right)


def _smallest(left: Any, right: Any) -> Any:
    return min(left, right) if isinstance(left, float) or isinstance(right, float) else dim_min(left, right)


def _without_fractions(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the function where both elements are whole: of fractions the order of many roundings would be open."""
    return lambda left, right: UNKNOWN if isinstance(left, float) or isinstance(right, float) else function(left, right)


add: Function = _of_known(op.add)
subtract: Function = _of_known(op.sub)
multiply: Function = _of_known(op.mul)
add_whole: Function = _of_known(_without_fractions(op.add))
multiply_whole: Function = _of_known(_without_fractions(op.mul))
largest: Function = _of_known(_largest)
smallest: Function = _of_known(_smallest)
negative: Function = _of_known(op.neg)
reciprocal: Function = _of_numbers(lambda number: 1 / number)
square_root: Function = _of_numbers(math.sqrt)


@_of_known
def absolute(element: Any) -> Any:
    """|element|."""
    if isinstance(element, int | float):
        return abs(element)
    return element if is_natural(element) else dim_max(element, -element)


@_of_known
def sign(element: Any) -> Any:
    """-1, 0 or 1."""
    if isinstance(element, int | float):
        return (element > 0) - (element < 0)
    return 1 if is_natural(element, 1) else -1 if is_natural(-element, 1) else UNKNOWN


def floor(element: Element) -> Element:
    """Rounded down; sizes are whole."""
    return math.floor(element) if isinstance(element, float) else element


def ceil(element: Element) -> Element:
    """Rounded up; sizes are whole."""
    return math.ceil(element) if isinstance(element, float) else element


def rounded(element: Element) -> Element:
    """Rounded to the nearest integer, halves to even; sizes are whole."""
    return round(element) if isinstance(element, float) else element


def truncated(element: Element) -> Element:
    """Rounded toward zero; sizes are whole."""
    return int(element) if isinstance(element, float) else element


@_of_known
def quotient(left: Any, right: Any) -> Any:
    """left / right of integers, toward zero; unknown where the sign is open or the divisor may be 0."""
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            return UNKNOWN
        result = abs(left) // abs(right)
        return result if (left < 0) == (right < 0) else -result
    if is_natural(right, 1):
        if is_natural(left):
            return left // right
        result = left // right
        return result if result * right == left else UNKNOWN
    return UNKNOWN


@_of_known
def ratio(left: Any, right: Any) -> Any:
    """left / right of floating dtypes; a size is divided only where that leaves nothing."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left / right if right else UNKNOWN
    if isinstance(right, int) and right == 0:
        return UNKNOWN
    result = left // right
    return result if result * right == left else UNKNOWN


@_of_known
def modulo(left: Any, right: Any) -> Any:
    """Return the remainder with the sign of `right`; of fractions it is unknown."""
    if isinstance(left, float) or isinstance(right, float) or right == 0 or not is_natural(right, 1):
        return UNKNOWN
    return left % right


@_of_known
def remainder(left: Any, right: Any) -> Any:
    """Return the remainder with the sign of `left`, as C has it; of fractions or sizes that may be negative it is
    unknown."""
    if isinstance(left, int) and isinstance(right, int) and right:
        return int(math.copysign(abs(left) % abs(right), left))
    return left % right if is_natural(left) and is_natural(right, 1) else UNKNOWN


@_of_known
def power(left: Any, right: Any) -> Any:
    """left to the power right, for small whole exponents and bases."""
    if not isinstance(right, int) or not 0 <= right <= 8 or isinstance(left, float):
        return UNKNOWN
    result: Any = 1
    for _ in range(right):
        result = result * left
    return result


def equal(left: Element, right: Element) -> Element:
    """1 if the elements are equal whatever the symbols stand for, 0 if they never are."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if left == right:
        return 1
    if isinstance(left, float) or isinstance(right, float) or (isinstance(left, int) and isinstance(right, int)):
        return 0
    return 0 if is_natural(left - right, 1) or is_natural(right - left, 1) else UNKNOWN


def greater(left: Element, right: Element) -> Element:
    """1 if left > right whatever the symbols stand for, 0 if that never holds."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if isinstance(left, int | float) and isinstance(right, int | float):
        return int(left > right)
    if isinstance(left, float) or isinstance(right, float):
        return UNKNOWN
    return 1 if is_natural(left - right, 1) else 0 if is_natural(right - left) else UNKNOWN


def greater_or_equal(left: Element, right: Element) -> Element:
    """1 if left >= right whatever the symbols stand for, 0 if that never holds."""
    return negate(greater(right, left))


def less(left: Element, right: Element) -> Element:
    """1 if left < right whatever the symbols stand for, 0 if that never holds."""
    return greater(right, left)


def less_or_equal(left: Element, right: Element) -> Element:
    """1 if left <= right whatever the symbols stand for, 0 if that never holds."""
    return negate(greater(left, right))


def unequal(left: Element, right: Element) -> Element:
    """0 if the elements are equal whatever the symbols stand for, 1 if they never are."""
    return negate(equal(left, right))


def itself(element: Element) -> Element:
    """Return the element."""
    return element


def negate(element: Element) -> Element:
    """Logical not."""
    return UNKNOWN if isinstance(element, Unknown) else int(not element)


def both(left: Element, right: Element) -> Element:
    """Logical and; one that is false decides."""
    if left == 0 or right == 0:
        return 0
    return UNKNOWN if isinstance(left, Unknown) or isinstance(right, Unknown) else 1


def either(left: Element, right: Element) -> Element:
    """Logical or; one that is true decides."""
    return negate(both(negate(left), negate(right)))


def truth(element: Element) -> Element:
    """Return whether the element is not 0."""
    if isinstance(element, int | float):
        return int(element != 0)
    return 1 if is_natural(element, 1) else UNKNOWN
