"""Norms of vectors and matrices of MXNet's NumPy-style interface in numpy (src/operator/numpy/linalg/np_norm-inl.h)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, normalized_axes, require
from graphir.converters.mxnet.reference.reduction import euclidean


def norm(attrs: Attributes, data: Array) -> Array:
    """Return the 2-norm of all elements (flag -2), a vector's or a matrix's norm."""
    flag, order, axis = int(attrs.get("flag", -1)), float(attrs.get("ord", 2)), attrs.get("axis")
    keep = bool(attrs.get("keepdims"))
    require(flag == -2 or axis is not None or data.ndim > 0, "no axes")
    axes = tuple(range(data.ndim)) if axis is None else normalized_axes(axis, data.ndim)
    if flag == -2:
        all_axes = len(axes) == data.ndim or not all(data.shape[axis] for axis in axes)
        require(axis is None or all_axes, "axes that are not all with flag -2")
    else:
        axes = axes[-2:] if axis is None else axes
        require(len(axes) in (1, 2), f"axes {axes} of {data.shape}")
        require(len(axes) == 2 or (flag != 2 and not np.isinf(order)), f"flag {flag} and ord {order} of a vector")
    if len(axes) == 2 and flag not in (-2, 1) and order in (2, -2):
        return _of_singular_values(data, None if flag == 2 else order, axes, keep)
    whole = data.dtype.kind in "iu"
    with np.errstate(all="ignore"):
        if data.dtype.kind == "b":
            require(flag in (-2, 1) or len(axes) == 1, "a matrix of bool")
            return np.asarray(data.any(axis=axes, keepdims=keep))
        if flag == -2 or (flag == 1 and len(axes) == 2):
            size = np.abs(data) if whole else np.abs(data.astype(np.float64))
            result = euclidean(size, axes, keep) if whole else _root(size, axes, keep)
        elif len(axes) == 2:
            result = _matrix(np.abs(data) if whole else np.abs(data.astype(np.float64)), order, axes, keep)
        elif not all(data.shape[axis] for axis in axes):
            result = data.sum(axis=axes, keepdims=keep)
        elif whole:
            result = _vector_of_integers(data, order, axes, keep)
        else:
            result = _vector(np.abs(data.astype(np.float64)), order, axes, keep)
        return np.asarray(result).astype(data.dtype)


def _matrix(size: Array, order: float, axes: tuple[int, ...], keep: bool) -> Array:
    """Return the largest or smallest sum of a column (1, -1) or of a row; integers add up in their own dtype."""
    summed, chosen = axes if abs(order) == 1 else axes[::-1]
    if not size.shape[axes[0]] or not size.shape[axes[1]]:
        return np.asarray(size.sum(axis=axes, keepdims=keep))
    sums = size.sum(axis=summed, keepdims=True, dtype=size.dtype)
    result = sums.max(axis=chosen, keepdims=True) if order > 0 else sums.min(axis=chosen, keepdims=True)
    return np.asarray(result if keep else np.squeeze(result, axes))


def _of_singular_values(data: Array, order: float | None, axes: tuple[int, ...], keep: bool) -> Array:
    """Return the largest or smallest singular value, or the sum of all, of matrices that are not tall."""
    rows, columns = (data.shape[axis] for axis in axes)
    require(data.dtype.kind == "f" and data.dtype != np.float16, f"dtype {data.dtype}, expected float32 or float64")
    require(rows <= columns, f"{rows} rows and {columns} columns")
    if not rows or not columns:
        return np.asarray(data.sum(axis=axes, keepdims=keep))
    lengths = np.linalg.svd(np.moveaxis(data.astype(np.float64), axes, (-2, -1)), compute_uv=False)
    result = lengths.sum(-1) if order is None else lengths.max(-1) if order > 0 else lengths.min(-1)
    result = result.reshape([1 if axis in axes else size for axis, size in enumerate(data.shape)]) if keep else result
    return np.asarray(result).astype(data.dtype)


def _vector_of_integers(data: Array, order: float, axes: tuple[int, ...], keep: bool) -> Array:
    """MXNet divides each magnitude by the largest, in integers: 1 for the largest ones, 0 for all others. The powers
    count in the data's dtype, and so does their root."""
    size = np.abs(data.astype(np.float64)).astype(data.dtype)  # MXNet's magnitudes pass through float64
    largest = size.max(axis=axes, keepdims=True)
    count = (size == largest).sum(axis=axes, keepdims=keep).astype(data.dtype)
    scale = largest if keep else np.squeeze(largest, axes)
    if order == 0:
        return np.where(scale == 0, 0, count)
    root = np.where(count == 0, 0.0, count.astype(np.float64) ** (1 / order))
    root = np.where(np.isnan(root), 0, root).astype(np.int64 if data.dtype == np.int64 else np.int32)
    return np.asarray(scale.astype(np.int64) * root.astype(np.int64))


def _root(size: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Return the 2-norm; two infinities divide each other: not a number."""
    several = np.isinf(size).sum(axis=axes, keepdims=keep) > 1
    return np.where(several, np.nan, np.sqrt((size * size).sum(axis=axes, keepdims=keep)))


def _vector(size: Array, order: float, axes: tuple[int, ...], keep: bool) -> Array:
    """Return the root of the sum of powers of what is not 0; for 0 the number of such, or of the infinite ones."""
    if order == 2:
        return _root(size, axes, keep)
    infinite = np.isinf(size).sum(axis=axes, keepdims=keep)
    if order == 0:
        return np.where(infinite, infinite, (size != 0).sum(axis=axes, keepdims=keep))
    # Powers of ratios to the element that counts most, for they stay numbers where those of the elements would not.
    counted = np.isfinite(size) & (size != 0)
    first = np.where(counted, size, 0 if order > 0 else np.inf)
    first = first.max(axis=axes, keepdims=True) if order > 0 else first.min(axis=axes, keepdims=True)
    first = np.where((first == 0) | np.isinf(first), 1.0, first)
    powers = np.where(size == 0, 0.0, np.where(size == 0, 1.0, size / first) ** order).sum(axis=axes, keepdims=keep)
    scale = first if keep else np.squeeze(first, axes)
    result = np.where(powers == 0, 0.0, scale * powers ** (1 / order))
    spoiled = (infinite > 1) | np.isnan(size).any(axis=axes, keepdims=keep)
    return np.where(spoiled, np.nan, np.where(infinite == 1, np.inf, result))


OPERATORS: Mapping[str, Reference] = {"_npi_norm": norm}
