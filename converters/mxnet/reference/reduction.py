"""Reductions, arg-reductions and sorting in numpy (src/operator/tensor/broadcast_reduce_op.h, ordering_op-inl.h).

A full reduction has shape (1,), also under np_shape semantics. topk and argsort give indices as float32 unless the
attribute dtype says otherwise, argmax and argmin in the data's dtype.
"""

from __future__ import annotations

import math
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
    named_dtype,
    normalized_axes,
    normalized_axis,
    require,
)
from graphir.converters.mxnet.reference.elementwise import divide

LARGEST_HALF = 65504.0


def reduced_axes(attrs: Attributes, rank: int) -> tuple[int, ...]:
    """Return the axes to reduce: all for None or (), with exclude too; else with it the others."""
    axis = attrs.get("axis")
    if axis is None or axis == ():
        return tuple(range(rank))
    axes = normalized_axes((axis,) if isinstance(axis, int) else axis, rank)
    return tuple(index for index in range(rank) if index not in axes) if attrs.get("exclude") else axes


def shaped(result: Array) -> Array:
    """Return a scalar as (1,), also under np_shape semantics."""
    return result.reshape(1) if result.ndim == 0 else result


def reduction(
    function: Callable[..., Any], attrs: Attributes, data: Array, *, of_bool: Callable[..., Any] | None=None
) -> Array:
    """Apply an operator that reduces with a numpy function and keeps the dtype; bool, as 0 and 1, may have its own."""
    axes = reduced_axes(attrs, data.ndim)
    wide = data.astype(np.int32 if data.dtype.kind == "b" else accumulator(data.dtype))
    with np.errstate(all="ignore"):
        chosen = of_bool if of_bool is not None and data.dtype.kind == "b" else function
        result = np.asarray(chosen(wide, axis=axes, keepdims=bool(attrs.get("keepdims"))))
    return shaped(result.astype(data.dtype))


def in_own_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sum or product in the dtype of the elements, which of integers wraps around."""
    return lambda data, axis, keepdims: function(data, axis=axis, keepdims=keepdims, dtype=data.dtype)


def mean(data: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return the mean; of integers the sum, which wraps around, divided toward 0."""
    if data.dtype.kind == "f" and data.size:
        return np.asarray(np.mean(data, axis=axis, keepdims=keepdims))
    if data.dtype.kind == "f":
        return np.asarray(np.sum(data, axis=axis, keepdims=keepdims) / data.dtype.type(0))
    total = np.sum(data, axis=axis, keepdims=keepdims, dtype=data.dtype)
    count = as_c(data.size // total.size, data.dtype)
    require(bool(count), f"{data.size // total.size} elements, a number that is 0 in {data.dtype}")
    return divide(np.asarray(total), count)


def spoiled(data: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return whether a number follows an infinity: MXNet's sums with compensation are not a number then."""
    indices = np.arange(math.prod(data.shape[axis] for axis in sorted(axes)))
    indices = indices.reshape([size if axis in axes else 1 for axis, size in enumerate(data.shape)])
    last = np.where(np.isnan(data), -1, indices).max(axis=axes, keepdims=True, initial=-1)
    return np.asarray((np.isinf(data) & (indices < last)).any(axis=axes, keepdims=keepdims))


def compensated(function: Callable[..., Any], data: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return a sum with compensation for what rounding loses."""
    result = np.asarray(in_own_dtype(function)(data, axis, keepdims))
    return np.where(spoiled(data, axis, keepdims), np.nan, result) if data.dtype.kind == "f" else result


def in_half_precision(data: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return the compensated sum of float16 that are added in float16, one after the other, without those that are NaN.

    An overflow on the way is infinite only if no other number follows: the compensation is not a number from there on.
    """
    kept = tuple(axis for axis in range(data.ndim) if axis not in axes)
    rows = data.transpose(*kept, *axes).reshape(*(data.shape[axis] for axis in kept), -1)
    total = np.zeros(rows.shape[:-1], np.float16)
    lost = np.zeros_like(total)
    for column in np.moveaxis(rows, -1, 0):
        step = column - lost
        result = total + step
        missing = np.isnan(column)
        lost = np.where(missing, lost, (result - total) - step)
        total = np.where(missing, total, result)
    return np.expand_dims(total, axes) if keepdims else total


def may_overflow(data: Array) -> bool:
    """Return whether some sum of finite elements may be beyond float16, in which MXNet adds those of float16."""
    finite = np.abs(data[np.isfinite(data)].astype(np.float64))
    return data.dtype == np.float16 and float(finite.sum()) >= LARGEST_HALF


def nansum(attrs: Attributes, data: Array) -> Array:
    """Return the sum of what is a number."""
    if not may_overflow(data):
        plain = reduction(partial(compensated, np.nansum), attrs, data)
        assert isinstance(plain, np.ndarray)
        return plain
    with np.errstate(all="ignore"):
        return shaped(in_half_precision(data, reduced_axes(attrs, data.ndim), bool(attrs.get("keepdims"))))


def absolute_sum(data: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return the sum of magnitudes."""
    sizes = np.abs(data)
    if not may_overflow(data):
        return np.asarray(compensated(np.sum, sizes.astype(accumulator(data.dtype)), axes, keepdims))
    missing = np.isnan(sizes).any(axis=axes, keepdims=keepdims)
    return np.where(missing, np.float16(np.nan), in_half_precision(sizes, axes, keepdims))


def euclidean(data: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return the L2 norm, which MXNet scales by the largest element: of integers, whose quotients are 0, that alone
    counts.

    Two infinities divide each other: not a number.
    """
    if data.dtype.kind != "f":
        size = np.abs(data).astype(np.float64)
        largest = size.max(axis=axes, keepdims=True, initial=0)
        count = (size == largest).sum(axis=axes, keepdims=keepdims).astype(data.dtype)  # which wraps around
        root = np.sqrt(count.astype(np.float64))
        return np.asarray(size.max(axis=axes, keepdims=keepdims, initial=0) * np.where(np.isnan(root), 0.0, root))
    wide = data.astype(np.float64)
    result = np.sqrt((wide * wide).sum(axis=axes, keepdims=keepdims))
    return np.where(np.isinf(data).sum(axis=axes, keepdims=keepdims) > 1, np.nan, result)


def norm(attrs: Attributes, data: Array) -> Array:
    """The L1 or L2 norm of the elements along axis (two axes are flattened, not a matrix norm)."""
    axes, keep = reduced_axes(attrs, data.ndim), bool(attrs.get("keepdims"))
    require(attrs.get("ord", 2) in (1, 2), f"ord {attrs.get('ord')}, expected 1 or 2")
    wide = data.astype(np.int32 if data.dtype.kind == "b" else accumulator(data.dtype))
    with np.errstate(all="ignore"):
        if attrs.get("ord", 2) == 1:
            result = absolute_sum(data if data.dtype == np.float16 else wide, axes, keep)
        else:
            result = euclidean(wide, axes, keep)
        return shaped(np.asarray(result).astype(named_dtype(attrs.get("out_dtype"), data.dtype)))


def moments(attrs: Attributes, data: Array) -> tuple[Array, Array]:
    """Mean and population variance over `axes`; integers wrap around and divide toward 0 on the way."""
    axes = attrs.get("axes")
    chosen = tuple(range(data.ndim)) if axes is None else normalized_axes(axes, data.ndim)
    keep = bool(attrs.get("keepdims"))
    wide = data.astype(accumulator(data.dtype))
    with np.errstate(all="ignore"):
        center = mean(wide, chosen, True)
        if data.dtype.kind == "f":
            center = np.where(spoiled(wide, chosen, True), np.nan, center).astype(wide.dtype)
        variance = mean((wide - center) * (wide - center), chosen, keep)
    first = center if keep else np.squeeze(center, chosen)
    return shaped(first.astype(data.dtype)), shaped(variance.astype(data.dtype))


def arg_reduction(function: Callable[..., Any], attrs: Attributes, data: Array) -> Array:
    """Return the first position of the extreme along axis (of the flattened array for None), in the data's dtype."""
    axis, keep = attrs.get("axis"), bool(attrs.get("keepdims"))
    if axis is not None:
        axis = normalized_axis(int(axis), data.ndim)
    result = np.asarray(function(data, axis=axis))
    if keep:
        result = result.reshape((1,) * data.ndim) if axis is None else np.expand_dims(result, axis)
    return shaped(result.astype(data.dtype))


def order(attrs: Attributes, data: Array, ascending_by_default: bool) -> tuple[Array, Array, int]:
    """(values, their order, axis): ascending or descending along axis, of the flattened array for None."""
    axis = attrs.get("axis", -1)
    values = data.reshape(-1) if axis is None else data
    axis = 0 if axis is None else normalized_axis(int(axis), data.ndim)
    ascending = attrs.get("is_ascend", ascending_by_default)
    result = np.argsort(values, axis=axis, kind="stable")
    if not ascending:
        count = values.shape[axis]
        result = count - 1 - np.flip(np.argsort(np.flip(values, axis), axis=axis, kind="stable"), axis)
    return values, result, axis


def topk(attrs: Attributes, data: Array) -> Array | tuple[Array, ...]:
    """Return the k largest (is_ascend: smallest) along axis: their indices, values, both, or a 0/1 mask over the
    input."""
    values, result, axis = order(attrs, data, False)
    k = int(attrs.get("k", 1))
    require(k <= values.shape[axis], f"k {k} exceeds the axis of {values.shape[axis]}")
    chosen = result if k < 1 else np.take(result, np.arange(k), axis=axis)
    kind = attrs.get("ret_typ", "indices")
    if kind == "mask":
        mask = np.zeros_like(values)
        np.put_along_axis(mask, chosen, np.ones((), data.dtype), axis=axis)
        return mask.reshape(data.shape)
    indices = chosen.astype(named_dtype(attrs.get("dtype"), np.dtype(np.float32)))
    if kind == "indices":
        return indices
    largest = np.take_along_axis(values, chosen, axis=axis)
    return largest if kind == "value" else (largest, indices)


def sort(attrs: Attributes, data: Array) -> Array:
    """Return the values in order along axis, ascending by default."""
    values, result, axis = order(attrs, data, True)
    return np.take_along_axis(values, result, axis=axis)


def argsort(attrs: Attributes, data: Array) -> Array:
    """Return the indices that sort along axis, ascending by default."""
    _, result, _ = order(attrs, data, True)
    return result.astype(named_dtype(attrs.get("dtype"), np.dtype(np.float32)))


def cumulative_sum(attrs: Attributes, data: Array) -> Array:
    """Return the running sum along axis, of the flattened array for None."""
    dtype = named_dtype(attrs.get("dtype"), np.dtype(np.int64) if data.dtype.kind == "b" else data.dtype)
    return np.asarray(np.cumsum(data.astype(dtype), axis=attrs.get("axis"), dtype=accumulator(dtype)).astype(dtype))


OPERATORS: Mapping[str, Reference] = {
    "_np_cumsum": cumulative_sum,
    "argmax": partial(arg_reduction, np.argmax),
    "argmax_channel": lambda attrs, data: shaped(np.asarray(np.argmax(data, axis=1)).astype(data.dtype)),
    "argmin": partial(arg_reduction, np.argmin),
    "argsort": argsort,
    "max": partial(reduction, np.max),
    "mean": partial(reduction, mean, of_bool=np.max),
    "min": partial(reduction, np.min),
    "moments": moments,
    "nanprod": partial(reduction, in_own_dtype(np.nanprod)),
    "nansum": nansum,
    "norm": norm,
    "prod": partial(reduction, in_own_dtype(np.prod)),
    "sort": sort,
    "sum": partial(reduction, in_own_dtype(np.sum)),
    "topk": topk,
}
