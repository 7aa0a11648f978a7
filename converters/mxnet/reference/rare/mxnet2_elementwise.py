"""Elementwise operators that MXNet has since 2.0, and its masked softmax, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.activation import log_sigmoid, mish, softmax_values
from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, accumulator, as_c, require
from graphir.converters.mxnet.reference.elementwise import Binary, with_scalar
from graphir.converters.mxnet.reference.numpy_elementwise import of_mixed


def of_same(function: Binary) -> Reference:
    """Apply a function of two arrays of one dtype, which is not bool."""
    inner = partial(of_mixed, function, None)

    def run(attrs: Attributes, left: Array, right: Array) -> Array:
        require(left.dtype == right.dtype, f"{left.dtype} and {right.dtype}")
        result = inner(attrs, left, right)
        assert not isinstance(result, tuple)
        return result

    return run


def floor_divide(left: Array, right: Array) -> Array:
    """Return the quotient rounded down; integers as float64."""
    if left.dtype.kind == "f":
        return np.asarray(np.floor(left / right))
    return np.asarray(np.floor(left.astype(np.float64) / right.astype(np.float64)).astype(left.dtype))


def fmod(left: Array, right: Array) -> Array:
    """C's remainder; 0 where the divisor is 0."""
    wide = (left.astype(np.float64), right.astype(np.float64)) if left.dtype.kind != "f" else (left, right)
    return np.where(right == 0, 0, np.fmod(*wide)).astype(left.dtype)


def log_add_exp(left: Array, right: Array) -> Array:
    """log(e^a + e^b); of integers, which only a scalar meets, the fraction is dropped."""
    wide = (left.astype(np.float64), right.astype(np.float64)) if left.dtype.kind != "f" else (left, right)
    return np.logaddexp(*wide).astype(left.dtype)


def log_add_exp_of_floats(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return the same of floats."""
    require(left.dtype.kind == right.dtype.kind == "f", f"{left.dtype} and {right.dtype}, expected floats")
    result = of_mixed(log_add_exp, None, attrs, left, right)
    assert not isinstance(result, tuple)
    return result


def shift_left(left: Array, right: Array) -> Array:
    """Return the bits moved up; 0 where they are moved by all or by a negative number."""
    bits = left.dtype.itemsize * 8
    distance = np.clip(right.astype(np.int64), 0, bits - 1).astype(left.dtype)
    return np.where((right >= 0) & (right.astype(np.int64) < bits), np.left_shift(left, distance), 0).astype(left.dtype)


def shift_right(left: Array, right: Array) -> Array:
    """Return the bits moved down, the sign kept; places outside of the width move all."""
    bits = left.dtype.itemsize * 8
    distance = np.where(right < 0, bits - 1, np.minimum(right.astype(np.int64), bits - 1)).astype(left.dtype)
    result = np.right_shift(left, distance)
    if left.dtype.kind == "u":
        result = np.where((right.astype(np.int64) >= bits) | (right < 0), 0, result).astype(left.dtype)
    return np.asarray(result)


def of_bits(function: Binary) -> Reference:
    """Apply a function of integers in their common dtype."""
    inner = partial(of_mixed, function, None)

    def run(attrs: Attributes, left: Array, right: Array) -> Array:
        require(left.dtype.kind in "iu" and right.dtype.kind in "iu", f"{left.dtype} and {right.dtype}")
        result = inner(attrs, left, right)
        assert not isinstance(result, tuple)
        return result

    return run


def logical(function: Binary) -> Reference:
    """A function of whether the elements are not 0."""
    return lambda attrs, left, right: np.asarray(function(left != 0, right != 0))


def logical_scalar(function: Binary) -> Reference:
    """Return the same of an array and the scalar."""
    return lambda attrs, data: np.asarray(function(data != 0, np.asarray(float(attrs.get("scalar", 1.0)) != 0)))


def of_one(function: Callable[[Array], Array]) -> Reference:
    """Return a function of one array, computed in float32 for float16."""
    return lambda attrs, data: function(data.astype(accumulator(data.dtype))).astype(data.dtype)


def masked_softmax(attrs: Attributes, data: Array, mask: Array) -> Array:
    """Return the softmax of what the mask shows; 0 elsewhere, and everywhere where it shows nothing."""
    wide = data.astype(accumulator(data.dtype)) / np.asarray(attrs.get("temperature") or 1.0, accumulator(data.dtype))
    hidden = np.where(mask != 0, wide, -np.inf).astype(wide.dtype)
    return np.where(mask != 0, softmax_values(hidden, attrs.get("axis", -1)), 0).astype(data.dtype)


def masked_log_softmax(attrs: Attributes, data: Array, mask: Array) -> Array:
    """Return its logarithm; minus infinity where the mask shows nothing."""
    axis = attrs.get("axis", -1)
    wide = data.astype(accumulator(data.dtype)) / np.asarray(attrs.get("temperature") or 1.0, accumulator(data.dtype))
    hidden = np.where(mask != 0, wide, -np.inf).astype(wide.dtype)
    with np.errstate(all="ignore"):
        shifted = hidden - hidden.max(axis=axis, keepdims=True)
        result = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.where(mask != 0, result, -np.inf).astype(data.dtype)


def gcd_scalar(attrs: Attributes, data: Array) -> Array:
    """Return the greatest common divisor with a number, which loses its fraction."""
    require(data.dtype.kind in "iu", f"{data.dtype}, expected integers")
    return np.asarray(np.gcd(data, as_c(float(attrs.get("scalar", 1.0)), data.dtype)))


def digamma(attrs: Attributes, data: Array) -> Array:
    """Return the derivative of log gamma: upward by recurrence to 20 and more, where Stirling's series ends early."""
    require(data.dtype.kind == "f", f"{data.dtype}, expected floats")
    x = data.astype(np.float64)
    with np.errstate(all="ignore"):
        y = np.where(x > 0, x, 1 - x)
        result = np.zeros_like(y)
        for _ in range(20):
            result -= 1 / y
            y = y + 1
        result += np.log(y) - 0.5 / y - 1 / (12 * y**2) + 1 / (120 * y**4) - 1 / (252 * y**6) + 1 / (240 * y**8)
        below = result - np.pi / np.tan(np.pi * (x - np.rint(x)))
        below = np.where(x == np.rint(x), np.inf, below)
        return np.where(x > 0, result, np.where(np.isnan(x), x, below)).astype(data.dtype)


OPERATORS: Mapping[str, Reference] = {
    "_npi_bitwise_left_shift": of_bits(shift_left),
    "_npi_bitwise_right_shift": of_bits(shift_right),
    "_npi_floor_divide": partial(of_mixed, floor_divide, None),
    "_npi_floor_divide_scalar": partial(with_scalar, floor_divide),
    "_npi_fmax": of_same(np.fmax),
    "_npi_fmax_scalar": partial(with_scalar, np.fmax),
    "_npi_fmin": of_same(np.fmin),
    "_npi_fmin_scalar": partial(with_scalar, np.fmin),
    "_npi_fmod": of_same(fmod),
    "_npi_fmod_scalar": partial(with_scalar, fmod),
    "_npi_gcd": of_bits(np.gcd),
    "_npi_gcd_scalar": gcd_scalar,
    "_npi_logaddexp": log_add_exp_of_floats,
    "_npi_logaddexp_scalar": partial(with_scalar, log_add_exp),
    "_npi_logical_and": logical(np.logical_and),
    "_npi_logical_and_scalar": logical_scalar(np.logical_and),
    "_npi_logical_or": logical(np.logical_or),
    "_npi_logical_or_scalar": logical_scalar(np.logical_or),
    "_npi_logical_xor": logical(np.logical_xor),
    "_npi_logical_xor_scalar": logical_scalar(np.logical_xor),
    "_npi_rfloor_divide_scalar": partial(with_scalar, floor_divide, swapped=True),
    "_npi_rfmod_scalar": partial(with_scalar, fmod, swapped=True),
    "log_sigmoid": of_one(log_sigmoid),
    "masked_log_softmax": masked_log_softmax,
    "masked_softmax": masked_softmax,
    "mish": of_one(mish),
    "digamma": digamma,
}
