"""Elementwise operators of two and more operands, scalars, casts, selections (mshadow_op.h, elemwise_*_op_basic.cc).

Operators of one operand are in elementwise_unary. `elemwise_*`, `_maximum`, `_power`, ... want equal shapes;
`broadcast_*` follow numpy's broadcasting. Comparisons answer 0 or 1 in the operands' own dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    as_c,
    is_bfloat16,
    named_dtype,
    require,
)
from graphir.converters.mxnet.reference.elementwise_unary import OPERATORS as UNARY

Binary = Callable[[Array, Array], Array]


def divide(left: Array, right: Array) -> Array:
    """left / right; integers truncate towards zero."""
    if left.dtype.kind == "f":
        return np.asarray(np.divide(left, right))
    result = np.floor_divide(left, right)
    inexact = (result * right != left) & ((left < 0) != (right < 0))
    return np.asarray(result + inexact)


def modulo(left: Array, right: Array) -> Array:
    """Return the remainder with the sign of the divisor; 0 where the divisor is 0. Integers go through float64."""
    if left.dtype.kind in "iu":
        return modulo(left.astype(np.float64), right.astype(np.float64)).astype(left.dtype)
    safe = np.where(right == 0, np.ones_like(right), right)
    rest = np.fmod(left, safe)
    rest = np.where((left < 0) != (safe < 0), rest + np.where(rest != 0, safe, 0), rest)  # -0 becomes 0 there
    return np.where(right == 0, np.zeros_like(left), rest)


def in_single(function: Binary, left: Array, right: Array) -> Array:
    """Apply a function that takes integers as float32 and drops the result's fraction."""
    if left.dtype.kind == "f":
        return function(left, right)
    return function(left.astype(np.float32), right.astype(np.float32)).astype(left.dtype)


def logical(function: Callable[[Array, Array], Array]) -> Binary:
    """Return the logical function of `operand != 0`."""
    return lambda left, right: function(left != 0, right != 0)


def power(left: Array, right: Array) -> Array:
    """left to the power of right; of integers that of their float32, rounded once, as C's powf gives it."""
    if left.dtype.kind == "f":
        return np.asarray(np.power(left, right))
    base, exponent = (side.astype(np.float32).astype(np.float64) for side in (left, right))
    return np.asarray(np.power(base, exponent).astype(np.float32).astype(left.dtype))


BINARY: Mapping[str, Binary] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": divide,
    "mod": modulo,
    "power": power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "hypot": partial(in_single, np.hypot),
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or),
    "logical_xor": logical(np.logical_xor),
}


def computed(function: Binary, left: Array, right: Array, dtype: np.dtype[Any]) -> Array:
    """Return the function of both operands in the accumulation dtype, cast to `dtype`."""
    wide = accumulator(dtype)
    with np.errstate(all="ignore"):
        result = function(left.astype(wide, copy=False), right.astype(wide, copy=False))
        return np.asarray(result).astype(dtype, copy=False)


def elementwise(function: Binary, attrs: Attributes, left: Array, right: Array) -> Array:
    """Apply an operator that wants equal shapes."""
    require(left.shape == right.shape, f"shapes {left.shape} and {right.shape} must be equal")
    return computed(function, left, right, left.dtype)


def broadcasting(function: Binary, attrs: Attributes, left: Array, right: Array) -> Array:
    """Apply an operator that broadcasts operands of equal rank."""
    return computed(function, left, right, left.dtype)


def scalar_dtype(attrs: Attributes, data: Array) -> np.dtype[Any]:
    """Return the dtype of a computation with a scalar: integers with is_int False are float64, bool data else int64."""
    if data.dtype.kind == "f":
        return data.dtype
    if not attrs.get("is_int", True):
        return np.dtype(np.float64)
    return np.dtype(np.int64) if data.dtype.kind == "b" else data.dtype


def with_scalar(function: Binary, attrs: Attributes, data: Array, *, swapped: bool=False) -> Array:
    """Apply an operator of an array and the attribute `scalar`; `swapped` puts the scalar first.

    The scalar is converted to the dtype of the computation, which is that of the result.
    """
    dtype = scalar_dtype(attrs, data)
    scalar = as_c(float(attrs.get("scalar", 1.0)), dtype)
    return computed(function, *((scalar, data) if swapped else (data, scalar)), dtype)


def add_n(attrs: Attributes, *inputs: Array) -> Array:
    """Return the sum of arrays of equal shape."""
    require(all(array.shape == inputs[0].shape for array in inputs), "all shapes must be equal")
    total = inputs[0].astype(accumulator(inputs[0].dtype))
    for array in inputs[1:]:
        total += array
    return total.astype(inputs[0].dtype, copy=False)


def clip(attrs: Attributes, data: Array) -> Array:
    """a_max where x > a_max, else a_min where x < a_min, else x: NaN, as a limit too, limits nothing."""
    low, high = (np.float32(attrs[key]) for key in ("a_min", "a_max"))
    wide = data if data.dtype == np.float64 else data.astype(np.float32)
    below, above = (as_c(float(limit), data.dtype) for limit in (low, high))
    return np.where(wide > high, above, np.where(wide < low, below, data))


def where(attrs: Attributes, condition: Array, x: Array, y: Array) -> Array:
    """x where the condition is not 0, else y; each element of a smaller condition decides on a stretch of x and y."""
    require(x.shape == y.shape, f"shapes {x.shape} and {y.shape} must be equal")
    if condition.shape != x.shape:
        leading = condition.shape == x.shape[: condition.ndim]
        require(leading or (condition.ndim != x.ndim and condition.size == x.size), f"{condition.shape} for {x.shape}")
        condition = np.repeat(condition.reshape(-1), x.size // condition.size).reshape(x.shape)
    return np.where(condition != 0, x, y)


def smooth_l1(attrs: Attributes, data: Array) -> Array:
    """(s x)^2 / 2 where |x| <= 1 / s^2, else |x| - 1 / (2 s^2); s is the attribute scalar in the data's dtype."""
    dtype = scalar_dtype(attrs, data)
    kind = np.dtype(np.float32) if dtype.kind in "iu" else accumulator(dtype)
    with np.errstate(all="ignore"):
        square = as_c(float(attrs.get("scalar", 1.0)), dtype).astype(kind) ** 2
        wide, bound = data.astype(kind), 1 / square
        far = np.abs(wide) > bound
        return np.where(far, np.abs(wide) - 0.5 * bound, 0.5 * wide * wide * square).astype(dtype)


def hard_sigmoid(attrs: Attributes, data: Array) -> Array:
    """alpha x + beta limited to 0 and 1."""
    wide = data.astype(accumulator(data.dtype))
    return np.asarray(np.clip(attrs.get("alpha", 0.2) * wide + attrs.get("beta", 0.5), 0.0, 1.0).astype(data.dtype))


def cast(attrs: Attributes, data: Array) -> Array:
    """Return the values in another dtype, as C converts them (floats to integers truncate)."""
    with np.errstate(all="ignore"):
        return data.astype(named_dtype(attrs["dtype"], data.dtype))


def _is_amp(data: Array) -> bool:
    return data.dtype in (np.float16, np.float32) or is_bfloat16(data.dtype)


def amp_multicast(attrs: Attributes, *inputs: Array) -> tuple[Array, ...]:
    """Return all inputs of 16 and 32 floating bits in float32 if one is, else in the first input's dtype, of any kind;
    with cast_narrow in the narrowest, of float16 and bfloat16 the last."""
    floats = [each.dtype for each in inputs if _is_amp(each)]
    if not floats:
        return inputs
    narrow = [dtype for dtype in floats if dtype.itemsize == 2]
    if attrs.get("cast_narrow"):
        dtype = narrow[-1] if narrow else floats[0]
    else:
        dtype = inputs[0].dtype if len(narrow) == len(floats) else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        return tuple(array.astype(dtype) if _is_amp(array) else array for array in inputs)


def identity(attrs: Attributes, data: Array, *others: Array) -> Array:
    """Return the first input; Dropout at inference, BlockGrad and _copy always."""
    return data


def divide_by_sqrt_of_last_axis(attrs: Attributes, data: Array) -> Array:
    """x / sqrt(size of the last axis); integers are divided by the root's whole number."""
    if data.dtype.kind in "iu":
        return divide(data, as_c(np.sqrt(data.shape[-1]), data.dtype)).astype(data.dtype)
    return np.asarray((data.astype(accumulator(data.dtype)) / np.sqrt(data.shape[-1])).astype(data.dtype))


def quadratic(attrs: Attributes, data: Array) -> Array:
    """a x^2 + b x + c, as (a x + b) x + c, of integers in float32, cut; float16 rounds each step."""
    a, b, c = (np.float32(attrs.get(key, 0.0)) for key in "abc")
    with np.errstate(all="ignore"):
        wide = data.astype(np.float32 if data.dtype.kind in "iu" else accumulator(data.dtype))
        if data.dtype == np.float16:
            slope = ((a * wide).astype(np.float16) + b).astype(np.float16)
            return np.asarray((slope.astype(np.float32) * wide).astype(np.float16) + c).astype(np.float16)
        return np.asarray((a * wide + b) * wide + c).astype(data.dtype)


def scalar_operators() -> dict[str, Reference]:
    """`_<name>_scalar` for every binary function, and the reversed ones."""
    names = {"add": "plus", "sub": "minus"}
    table: dict[str, Reference] = {
        f"_{names.get(name, name)}_scalar": partial(with_scalar, function) for name, function in BINARY.items()
    }
    quotient = partial(in_single, np.divide)
    reversed_ones: dict[str, Binary] = {"rminus": BINARY["sub"], "rdiv": quotient, "rpower": BINARY["power"]}
    for name, function in (reversed_ones | {"rmod": modulo}).items():
        table[f"_{name}_scalar"] = partial(with_scalar, function, swapped=True)
    return table


OPERATORS: Mapping[str, Reference] = {
    **UNARY,
    **scalar_operators(),
    **{f"elemwise_{name}": partial(elementwise, BINARY[name]) for name in ("add", "sub", "mul", "div")},
    **{
        f"_{name}": partial(elementwise, function)
        for name, function in BINARY.items()
        if name not in ("add", "sub", "mul", "div")
    },
    **{f"broadcast_{name}": partial(broadcasting, function) for name, function in BINARY.items()},
    "BlockGrad": identity,
    "Cast": cast,
    "Dropout": identity,
    "IdentityAttachKLSparseReg": identity,
    "_contrib_div_sqrt_dim": divide_by_sqrt_of_last_axis,
    "_contrib_gradientmultiplier": identity,
    "_contrib_quadratic": quadratic,
    "_copy": identity,
    "_grad_add": partial(elementwise, np.add),
    "_identity_with_attr_like_rhs": identity,
    "add_n": add_n,
    "amp_cast": lambda attrs, data: cast(attrs, data) if _is_amp(data) else data,
    "amp_multicast": amp_multicast,
    "clip": clip,
    "hard_sigmoid": hard_sigmoid,
    "ones_like": lambda attrs, data: np.ones_like(data),
    "smooth_l1": smooth_l1,
    "where": where,
    "zeros_like": lambda attrs, data: np.zeros_like(data),
}
