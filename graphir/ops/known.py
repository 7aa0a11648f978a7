"""Small tensors of which elements are known, rearranged and combined as numpy does it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from graphir.types import UNKNOWN, Dim, DType, Unknown

from .base import Element, Known, Operand, Values
from .elements import Function, as_stored, itself, truncated, truth

LIMIT = 256
"""Tensors of more elements are not followed."""


def array_of(known: Known) -> Any:
    """Return the elements as a numpy array of objects, for numpy's indexing."""
    import numpy as np

    array = np.empty(len(known.elements), dtype=object)
    array[:] = known.elements
    return array.reshape(known.shape)


def known_array(array: Any) -> Known | None:
    """Return what `array_of` made an array of, None if it is too large to be followed."""
    return Known(tuple(array.shape), tuple(array.reshape(-1).tolist())) if array.size <= LIMIT else None


def is_small(shape: Sequence[Dim] | None) -> bool:
    """Return whether a tensor of this shape may be followed: its sizes are numbers, and not many elements."""
    sizes = [dim for dim in shape or () if isinstance(dim, int)]
    return shape is not None and len(sizes) == len(shape) and math.prod(sizes) <= LIMIT


def filled(operands: Sequence[Operand], values: Values) -> list[Known] | None:
    """Return the elements of all operands, those of which nothing is known as unknown ones.

    None if an operand is too large, of unknown shape or absent, or nothing is known of any.
    """
    if not any(values):
        return None
    elements = []
    for operand, value in zip(operands, values, strict=True):
        if value is None:
            if operand is None or not is_small(operand.shape):
                return None
            value = unknown(operand.shape)  # type: ignore[arg-type]
        elements.append(value)
    return elements


def unknown(shape: tuple[int, ...]) -> Known:
    """Return a tensor of which no element is known."""
    return Known(shape, (UNKNOWN,) * math.prod(shape))


def each(function: Function, operands: Sequence[Operand], values: Values) -> tuple[Known | None, ...]:
    """Return the function of the elements at each place, operands broadcasting; folded from the left where there are
    more."""
    tensors = filled(operands, values)
    if tensors is None:
        return (None,)
    result = tensors[0]
    if len(tensors) == 1:
        return (Known(result.shape, tuple(map(function, result.elements))),)
    for other in tensors[1:]:
        if result.shape == other.shape:
            result = Known(result.shape, tuple(map(function, result.elements, other.elements)))
            continue
        import numpy as np

        try:
            left, right = np.broadcast_arrays(array_of(result), array_of(other))
        except ValueError:
            return (None,)
        if left.size > LIMIT:
            return (None,)
        result = Known(left.shape, tuple(map(function, left.reshape(-1).tolist(), right.reshape(-1).tolist())))
    return (result,)


def stored(known: Known | None, dtype: DType | None) -> Known | None:
    """Return the tensor as one of `dtype` holds it; None if nothing is known of it or it is too large to be
    followed."""
    if known is None or len(known.elements) > LIMIT:
        return None
    if not all(type(element) is int and 0 <= element <= 1 for element in known.elements):
        known = Known(known.shape, tuple([as_stored(element, dtype) for element in known.elements]))
    return None if known.elements and all(isinstance(element, Unknown) for element in known.elements) else known


def combined(function: Function, left: Any, right: Any) -> Any:
    """Return the function of the elements of arrays (or of one and an element), which broadcast."""
    import numpy as np

    return np.frompyfunc(function, 2, 1)(left, right)


def choose(condition: Known, yes: Known, no: Known) -> Known | None:
    """Return the elements of `yes` where the condition holds, else those of `no`; all three broadcast."""
    import numpy as np

    try:
        arrays = np.broadcast_arrays(*map(array_of, (condition, yes, no)))
    except ValueError:
        return None
    if arrays[0].size > LIMIT:
        return None
    elements: list[Element] = []
    for holds, left, right in zip(*(array.reshape(-1).tolist() for array in arrays), strict=True):
        if isinstance(holds, Unknown):
            elements.append(left if left == right else UNKNOWN)
        else:
            elements.append(left if holds else right)
    return Known(arrays[0].shape, tuple(elements))


def folded(
    function: Function, known: Known, dtype: DType | None, axes: Iterable[int], keepdims: bool, empty: Element | None
) -> Known | None:
    """Return the function folded over axes (counted from the front); over no elements the result is `empty`, or
    unknown.

    What `dtype` does not hold on the way is unknown, as the order of the steps would matter.
    """
    import numpy as np

    array = array_of(known)
    if not array.size and empty is None:
        return None
    for axis in sorted(axes, reverse=True):
        rest = array.shape[:axis] + ((1,) if keepdims else ()) + array.shape[axis + 1 :]
        lanes = np.moveaxis(array, axis, -1).reshape(math.prod(rest), array.shape[axis])
        result = np.empty(len(lanes), dtype=object)
        for index in range(len(result)):
            lane = lanes[index].tolist()
            total: Element = lane[0] if lane else empty  # type: ignore[assignment]
            for element in lane[1:]:
                total = as_stored(function(total, element), dtype)
            result[index] = total
        array = result.reshape(rest)
    return known_array(array)


def converted(operands: tuple[Operand, ...], values: Values, to: DType | None) -> tuple[Known | None, ...]:
    """Return the first operand's elements as a conversion to `to` leaves them, but for what that dtype cannot hold."""
    if to is None or to is DType.STRING:
        return (None,)
    to_whole = truth if to is DType.BOOL else truncated
    return each(itself if to.is_float else to_whole, operands[:1], values[:1])
