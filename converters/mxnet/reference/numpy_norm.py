"""Norms of vectors and matrices of MXNet's NumPy-style interface in numpy (src/operator/numpy/linalg/np_norm-inl.h)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, normalized_axes, require


def norm(attrs: Attributes, data: Array) -> Array:
    """The 2-norm of all elements (flag -2), a vector's or a matrix's norm; none that needs singular values."""
    require(data.dtype.kind == "f", f"dtype {data.dtype}, expected floats")
    flag, order, axis = int(attrs.get("flag", -1)), float(attrs.get("ord", 2)), attrs.get("axis")
    keep = bool(attrs.get("keepdims"))
    wide = np.abs(data.astype(np.float64))
    with np.errstate(all="ignore"):
        if flag == -2:
            require(axis is None, "an axis with flag -2")
            return np.asarray(_root(wide, tuple(range(data.ndim)), keep)).astype(data.dtype)
        require(axis is not None or data.ndim > 0, "no axes")
        axes = tuple(range(data.ndim))[-2:] if axis is None else normalized_axes(axis, data.ndim)
        require(len(axes) in (1, 2) and all(data.shape[axis] for axis in axes), f"axes {axes} of {data.shape}")
        if len(axes) == 1:
            require(flag != 2, "the nuclear norm of a vector")
            return np.asarray(_vector(wide, order, axes, keep)).astype(data.dtype)
        if flag == 1:
            return np.asarray(_root(wide, axes, keep)).astype(data.dtype)
        require(flag != 2 and order in (1, -1, np.inf, -np.inf), f"flag {flag} and ord {order}")
        summed, chosen = axes if abs(order) == 1 else axes[::-1]
        sums = wide.sum(axis=summed, keepdims=True)
        found = sums.max(axis=chosen, keepdims=True) if order > 0 else sums.min(axis=chosen, keepdims=True)
        return np.asarray(found if keep else np.squeeze(found, axes)).astype(data.dtype)


def _root(size: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """The 2-norm; two infinities divide each other: not a number."""
    several = np.isinf(size).sum(axis=axes, keepdims=keep) > 1
    return np.where(several, np.nan, np.sqrt((size * size).sum(axis=axes, keepdims=keep)))


def _vector(size: Array, order: float, axes: tuple[int, ...], keep: bool) -> Array:
    """The root of the sum of powers of what is not 0; for 0 the number of such, or of the infinite ones."""
    if order == 2:
        return _root(size, axes, keep)
    require(not np.isinf(order), f"ord {order} of a vector")
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
    found = np.where(powers == 0, 0.0, scale * powers ** (1 / order))
    spoiled = (infinite > 1) | np.isnan(size).any(axis=axes, keepdims=keep)
    return np.where(spoiled, np.nan, np.where(infinite == 1, np.inf, found))


OPERATORS: Mapping[str, Reference] = {"_npi_norm": norm}

__all__ = ["OPERATORS"]
