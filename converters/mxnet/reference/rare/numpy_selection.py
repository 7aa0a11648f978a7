"""NumPy-style operators in numpy that choose, test, fill, difference and assign elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    as_c,
    named_dtype,
    normalized_axis,
    require,
)


def where(attrs: Attributes, condition: Array, x: Array, y: Array) -> Array:
    """x where the condition is not 0, else y."""
    require(x.dtype == y.dtype, f"{x.dtype} and {y.dtype}")
    return np.where(condition != 0, x, y)


def where_scalar(attrs: Attributes, condition: Array, data: Array, *, left: bool) -> Array:
    """Return the scalar where the condition is not 0 (`left`) or is 0, else the data."""
    scalar = as_c(float(attrs.get("scalar", 0.0)), data.dtype)
    chosen = np.where(condition != 0, *((scalar, data) if left else (data, scalar)))
    return np.asarray(chosen).astype(data.dtype)


def where_scalars(attrs: Attributes, condition: Array) -> Array:
    """Return one of two numbers, as float32."""
    x, y = (as_c(float(attrs.get(name, 0.0)), np.dtype(np.float32)) for name in ("x", "y"))
    return np.where(condition != 0, x, y)


def predicate(function: Callable[[Array], Array], attrs: Attributes, data: Array) -> Array:
    """Apply a test of floats; integers are finite numbers."""
    return np.asarray(function(data if data.dtype.kind == "f" else np.zeros(data.shape)))


def nan_to_num(attrs: Attributes, data: Array) -> Array:
    """Numbers in place of NaN and infinities; integers and bool as they are."""
    if data.dtype.kind != "f":
        return data
    largest = float(np.finfo(data.dtype).max)
    high, low = attrs.get("posinf"), attrs.get("neginf")
    result = np.where(np.isnan(data), as_c(float(attrs.get("nan", 0.0)), data.dtype), data)
    result = np.where(np.isposinf(result), as_c(float(largest if high is None else high), data.dtype), result)
    return np.where(np.isneginf(result), as_c(float(-largest if low is None else low), data.dtype), result)


def full_like(attrs: Attributes, data: Array) -> Array:
    """Return the number in the shape of the data."""
    dtype = named_dtype(attrs.get("dtype"), data.dtype)
    return np.full(data.shape, as_c(float(attrs["fill_value"]), dtype))


def constraint_check(attrs: Attributes, data: Array) -> Array:
    """True; data that are not all true are refused."""
    require(data.dtype.kind == "b", f"{data.dtype}, expected bool")
    require(bool(data.all()), "an element that is not true")
    return np.array(True)


def diff(attrs: Attributes, data: Array) -> Array:
    """Differences of neighbours, n times."""
    require(data.dtype.kind != "b", "bool, which MXNet refuses")
    count = int(attrs.get("n", 1))
    require(count >= 0, f"n {count}")
    axis = normalized_axis(int(attrs.get("axis", -1)), data.ndim)
    with np.errstate(all="ignore"):
        return np.diff(data, min(count, data.shape[axis]), axis=axis)


def ediff1d(attrs: Attributes, data: Array, *others: Array) -> Array:
    """Differences of neighbours of the flat data between stated elements."""
    require(data.dtype.kind != "b", "bool, which MXNet refuses")
    given = list(others)
    parts = []
    for name in ("to_begin", "to_end"):
        number = attrs.get(f"{name}_scalar")
        if attrs.get(f"{name}_arr_given"):
            require(number is None, f"{name} as an array and as a scalar, of which an element is left undefined")
            parts.append(given.pop(0).ravel())
        else:
            parts.append(np.zeros(0, data.dtype) if number is None else as_c(float(number), data.dtype).reshape(1))
    require(all(part.dtype == data.dtype for part in parts), "elements of another dtype")
    with np.errstate(all="ignore"):
        return np.concatenate([parts[0], np.diff(data.ravel()), parts[1]])


def polyval(attrs: Attributes, coefficients: Array, x: Array) -> Array:
    """Horner's rule."""
    require(coefficients.ndim == 1 and coefficients.dtype == x.dtype and x.dtype.kind != "b", str(coefficients.dtype))
    result = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for coefficient in coefficients:
            result = np.asarray(result * x + coefficient)
    return result


def allclose(attrs: Attributes, left: Array, right: Array) -> Array:
    """Return whether every |a - b| <= atol + rtol |b|."""
    require((left.dtype, left.shape) == (right.dtype, right.shape), "operands of several dtypes or shapes")
    wide = np.dtype(np.float32 if left.dtype in (np.float16, np.float32) else np.float64)
    a, b = left.astype(wide), right.astype(wide)
    rtol, atol = (np.array(attrs.get(*pair), np.float32).astype(wide) for pair in (("rtol", 1e-5), ("atol", 1e-8)))
    with np.errstate(all="ignore"):
        near = (a == b) | (np.abs(np.subtract(a, b)) <= atol + rtol * np.abs(b))
    if attrs.get("equal_nan", True):
        near |= np.isnan(a) & np.isnan(b)
    return np.array(near.all(), np.uint8)


def _chosen(attrs: Attributes, data: Array, mask: Array) -> tuple[slice | Array, ...]:
    start = int(attrs.get("start_axis") or 0)
    require(0 <= start <= data.ndim - mask.ndim, f"start_axis {start}")
    require(data.shape[start : start + mask.ndim] == mask.shape, f"a mask {mask.shape} for {data.shape}")
    return (*(slice(None),) * start, mask != 0)


def assign_scalar(attrs: Attributes, data: Array, mask: Array) -> Array:
    """Return the number, in the data's dtype, where the mask is not 0."""
    require(attrs.get("value") is not None, "no value")
    result = data.copy()
    result[_chosen(attrs, data, mask)] = as_c(float(attrs["value"]), data.dtype)
    return result


def assign_tensor(attrs: Attributes, data: Array, mask: Array, value: Array) -> Array:
    """Return the elements, in order, where the mask is not 0."""
    require(data.dtype == value.dtype, f"{data.dtype} and {value.dtype}")
    result = data.copy()
    result[_chosen(attrs, data, mask)] = value.reshape(()) if value.size == 1 else value
    return result


OPERATORS: Mapping[str, Reference] = {
    "_contrib_allclose": allclose,
    "_npi_diff": diff,
    "_npi_ediff1d": ediff1d,
    "_npi_full_like": full_like,
    "_npi_isfinite": partial(predicate, np.isfinite),
    "_npi_isinf": partial(predicate, np.isinf),
    "_npi_isnan": partial(predicate, np.isnan),
    "_npi_isneginf": partial(predicate, np.isneginf),
    "_npi_isposinf": partial(predicate, np.isposinf),
    "_npi_nan_to_num": nan_to_num,
    "_npi_polyval": polyval,
    "_npi_where": where,
    "_npi_where_lscalar": partial(where_scalar, left=True),
    "_npi_where_rscalar": partial(where_scalar, left=False),
    "_npi_where_scalar2": where_scalars,
    "_npx_constraint_check": constraint_check,
    "_npi_boolean_mask_assign_scalar": assign_scalar,
    "_npi_boolean_mask_assign_tensor": assign_tensor,
}
