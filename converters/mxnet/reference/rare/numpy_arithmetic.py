"""NumPy-style functions of two operands in numpy: arctan2, copysign, ldexp, lcm, with tensors and with a scalar."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, as_c, require
from graphir.converters.mxnet.reference.elementwise import Binary, scalar_dtype


def of_tensors(function: Binary, kinds: str, attrs: Attributes, left: Array, right: Array) -> Array:
    """Apply a function of two arrays of one dtype, of the kinds that MXNet takes."""
    require(left.dtype == right.dtype and left.dtype.kind in kinds, f"{left.dtype} and {right.dtype}")
    with np.errstate(all="ignore"):
        return function(left, right)


def of_scalar(function: Binary, attrs: Attributes, data: Array, *, swapped: bool = False) -> Array:
    """Apply a function of an array and the scalar, both in the dtype of the computation."""
    dtype = scalar_dtype(attrs, data)
    pair = (data.astype(dtype), as_c(float(attrs.get("scalar", 1.0)), dtype))
    with np.errstate(all="ignore"):
        return function(*(pair[::-1] if swapped else pair))


def in_double(function: Binary, left: Array, right: Array) -> Array:
    """Apply a function that takes integers and float16 as float64 and drops the fraction of integers."""
    wide = left.dtype if left.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return np.asarray(function(left.astype(wide), right.astype(wide))).astype(left.dtype)


def copysign(left: Array, right: Array) -> Array:
    """left if both operands are 0 and above or both below 0, else -left: so where one is not a number."""
    alike = ((left >= 0) & (right >= 0)) | ((left < 0) & (right < 0))
    return np.where(alike, left, np.negative(left))


def ldexp(left: Array, right: Array) -> Array:
    """left, an integer as float32, times 2^right, either of which may be infinite."""
    factor = left.astype(np.float32) if left.dtype.kind in "iu" else left
    wide = left.dtype if left.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return np.asarray(factor.astype(wide) * np.power(wide.type(2), right.astype(wide))).astype(left.dtype)


def lcm(left: Array, right: Array) -> Array:
    """Return the least common multiple, of which the low bits are kept."""
    if left.dtype.kind == "b":
        return left & right
    return np.asarray(np.lcm(left.astype(np.int64), right.astype(np.int64))).astype(left.dtype)


def lcm_scalar(attrs: Attributes, data: Array) -> Array:
    """Return the least common multiple with an integer."""
    require(data.dtype.kind in "iu" and bool(attrs.get("is_int", True)), f"{data.dtype}, expected integers")
    return lcm(data, as_c(float(attrs.get("scalar", 1.0)), data.dtype))


OPERATORS: Mapping[str, Reference] = {
    "_npi_arctan2": partial(of_tensors, partial(in_double, np.arctan2), "f"),
    "_npi_arctan2_scalar": partial(of_scalar, partial(in_double, np.arctan2)),
    "_npi_copysign": partial(of_tensors, copysign, "fiu"),
    "_npi_copysign_scalar": partial(of_scalar, copysign),
    "_npi_lcm": partial(of_tensors, lcm, "iub"),
    "_npi_lcm_scalar": lcm_scalar,
    "_npi_ldexp": partial(of_tensors, ldexp, "fiu"),
    "_npi_ldexp_scalar": partial(of_scalar, ldexp),
    "_npi_rarctan2_scalar": partial(of_scalar, partial(in_double, np.arctan2), swapped=True),
    "_npi_rcopysign_scalar": partial(of_scalar, copysign, swapped=True),
    "_npi_rldexp_scalar": partial(of_scalar, ldexp, swapped=True),
}
