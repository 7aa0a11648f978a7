"""Lookups, constants and sequence operators in numpy (src/operator/tensor/indexing_op.h, init_op.h, sequence_*.h)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
from graphir.safety.limits import current


def embedding(attrs: Attributes, data: Array, weight: Array) -> Array:
    """Rows of weight (input_dim, output_dim); indices truncate and are limited to the table."""
    expected = (attrs["input_dim"], attrs["output_dim"])
    require(weight.shape == tuple(expected), f"weight {weight.shape}, expected {expected}")
    return weight[np.clip(data.astype(np.int64), 0, weight.shape[0] - 1)]


def limited(indices: Array, size: int, mode: str) -> Array:
    """Indices as int64 in [0, size): clipped, wrapped around, refused outside, or those below 0 counted `back`."""
    result = indices.astype(np.int64)
    if mode == "clip":
        return np.clip(result, 0, size - 1)
    if mode in ("raise", "back"):
        first = -size if mode == "back" else 0
        require(bool(np.all((result >= first) & (result < size))), f"an index is outside [{first}, {size})")
    return np.mod(result, size)


def take(attrs: Attributes, data: Array, indices: Array) -> Array:
    """Slices of data along axis, one an index."""
    axis = normalized_axis(attrs.get("axis", 0), data.ndim)
    return np.take(data, limited(indices, data.shape[axis], attrs.get("mode", "clip")), axis=axis)


def batch_take(attrs: Attributes, data: Array, indices: Array) -> Array:
    """data[i, indices[i]] of a matrix."""
    columns = limited(indices.reshape(-1), data.shape[1], "clip")
    return np.asarray(data[np.arange(data.shape[0]), columns].reshape(indices.shape))


def pick(attrs: Attributes, data: Array, indices: Array) -> Array:
    """Return one element of each slice along axis; axis None picks from the flattened array."""
    axis = attrs.get("axis", -1)
    if axis is None:
        return data.reshape(-1)[limited(indices, data.size, attrs.get("mode", "clip"))]
    axis = normalized_axis(axis, data.ndim)
    kept = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    chosen = limited(indices, data.shape[axis], attrs.get("mode", "clip")).reshape(kept)
    result = np.take_along_axis(data, chosen, axis=axis)
    if attrs.get("keepdims") or data.ndim == 1:
        return result
    return np.squeeze(result, axis)


def gather_nd(attrs: Attributes, data: Array, indices: Array) -> Array:
    """data[indices[0], ..., indices[m - 1]]; negative indices count from the end, others outside are refused."""
    require(indices.shape[0] <= data.ndim, f"{indices.shape[0]} indices for data of rank {data.ndim}")
    return data[tuple(limited(row, size, "back") for row, size in zip(indices, data.shape, strict=False))]


def scatter_nd(attrs: Attributes, data: Array, indices: Array) -> Array:
    """Zeros of `shape` with data written at indices; repeated indices are undefined."""
    result = np.zeros(attrs["shape"], data.dtype)
    result[tuple(indices.astype(np.int64))] = data
    return result


def one_hot(attrs: Attributes, indices: Array) -> Array:
    """Return a new last axis of `depth`: on_value at the index, off_value elsewhere, everywhere off outside the
    range."""
    hit = indices.astype(np.int64)[..., None] == np.arange(attrs["depth"])
    on, off = attrs.get("on_value", 1.0), attrs.get("off_value", 0.0)
    return np.where(hit, on, off).astype(named_dtype(attrs.get("dtype"), np.dtype(np.float32)))


def require_room(count: float, what: str) -> None:
    """Raise ValueError for more elements made of numbers than the limits allow, before any of them is."""
    most = current().elements
    require(count <= most, f"{what} of {count:.0f} elements, allowed are {most}: raise the limit `elements`")


def arange(attrs: Attributes) -> Array:
    """start, start + step, ... before stop, each repeated; without stop from 0 to start."""
    start, stop = attrs.get("start", 0.0), attrs.get("stop")
    first, last = (0.0, start) if stop is None else (start, stop)
    step, repeats = attrs.get("step", 1.0), int(attrs.get("repeat", 1))
    require(step != 0 and repeats > 0, f"step {step}, repeat {repeats}")
    count = math.ceil((last - first) / step)
    require(count > 0, f"nothing from {first} to {last} in steps of {step}")
    require_room(count * repeats, "a range")
    indices = np.repeat(np.arange(count), repeats)
    return in_steps(first, step, indices, named_dtype(attrs.get("dtype"), np.dtype(np.float32)))


def in_steps(start: float, step: float, places: Array, dtype: np.dtype[Any]) -> Array:
    """start + place * step, each rounded to float32 if that is the dtype; integers, and float16, drop the fractions of
    start and step first."""
    if dtype.kind in "iu" or dtype == np.float16:
        start, step = math.trunc(start), math.trunc(step)
    with np.errstate(all="ignore"):
        if dtype == np.float32:
            return np.asarray((places.astype(dtype) * dtype.type(step)) + dtype.type(start))
        return np.asarray(start + places * step).astype(dtype)


def arange_like(attrs: Attributes, data: Array) -> Array:
    """start, start + step, ...: one an element of data, or one an element of its axis."""
    axis, repeats = attrs.get("axis"), int(attrs.get("repeat", 1))
    count = data.size if axis is None else data.shape[normalized_axis(axis, data.ndim)]
    require(repeats != 0, "repeat 0, by which MXNet divides")
    indices = np.trunc(np.arange(count) / repeats).astype(np.int64)
    values = in_steps(attrs.get("start", 0.0), attrs.get("step", 1.0), indices, data.dtype)
    return values.reshape(data.shape) if axis is None else values


def filled(attrs: Attributes, value: float) -> Array:
    """Return an array of `shape` and `dtype` holding one value."""
    shape = attrs.get("shape") or ()
    return np.full(shape, as_c(value, named_dtype(attrs.get("dtype"), np.dtype(np.float32))))


def zeros(attrs: Attributes) -> Array:
    """Zeros of `shape`."""
    return filled(attrs, 0.0)


def eye(attrs: Attributes) -> Array:
    """N by M (N if that is not positive) with ones on diagonal k."""
    rows, columns = int(attrs["N"]), int(attrs.get("M") or 0)
    require(rows > 0, f"N {rows}, expected 1 or more")
    require_room(rows * (columns if columns > 0 else rows), "a matrix")
    dtype = named_dtype(attrs.get("dtype"), np.dtype(np.float32))
    return np.eye(rows, columns if columns > 0 else rows, int(attrs.get("k") or 0), dtype)


def linspace(attrs: Attributes) -> Array:
    """num values from start to stop, stop included by default."""
    num = int(attrs["num"])
    require_room(num, "a range")
    intervals = num - bool(attrs.get("endpoint", True))
    step = (attrs["stop"] - attrs["start"]) / intervals if intervals > 0 else 0.0
    values: Array = attrs["start"] + step * np.arange(num)
    return values.astype(named_dtype(attrs.get("dtype"), np.dtype(np.float32)))


def sequence_axis(attrs: Attributes, data: Array, length: tuple[Array, ...]) -> tuple[int, int, Array]:
    """(sequence axis, batch axis, length of each sequence), the full length without use_sequence_length."""
    axis = int(attrs.get("axis", 0))
    require(axis in (0, 1), f"axis {axis}, expected 0 or 1")
    require(data.ndim >= 2, f"data of rank {data.ndim}, expected 2 or more")
    if not attrs.get("use_sequence_length"):
        return axis, 1 - axis, np.full(data.shape[1 - axis], data.shape[axis])
    require(len(length) == 1, "use_sequence_length wants the input sequence_length")
    require(length[0].shape == (data.shape[1 - axis],), f"sequence_length {length[0].shape} for data {data.shape}")
    return axis, 1 - axis, length[0].astype(np.int64)


def sequence_mask(attrs: Attributes, data: Array, *length: Array) -> Array:
    """`value` wherever the position is not before the sequence's length."""
    axis, _, lengths = sequence_axis(attrs, data, length)
    position = np.arange(data.shape[axis])
    inside = position[:, None] < lengths[None, :]
    inside = (inside if axis == 0 else inside.T).reshape(*data.shape[:2], *(1,) * (data.ndim - 2))
    return np.where(inside, data, np.asarray(attrs.get("value", 0.0), data.dtype))


def sequence_last(attrs: Attributes, data: Array, *length: Array) -> Array:
    """Return the last element of each sequence; the sequence axis is gone."""
    axis, _, lengths = sequence_axis(attrs, data, length)
    ordered = np.moveaxis(data, axis, 0)
    return np.asarray(ordered[lengths - 1, np.arange(ordered.shape[1])])


def sequence_reverse(attrs: Attributes, data: Array, *length: Array) -> Array:
    """Return each sequence of (T, N, ...) reversed up to its length; what follows stays."""
    _, _, lengths = sequence_axis({**attrs, "axis": 0}, data, length)
    result = np.array(data)
    for index, count in enumerate(lengths):
        result[:count, index] = data[:count, index][::-1]
    return result


OPERATORS: Mapping[str, Reference] = {
    "Embedding": embedding,
    "SequenceLast": sequence_last,
    "SequenceMask": sequence_mask,
    "SequenceReverse": sequence_reverse,
    "_arange": arange,
    "_contrib_arange_like": arange_like,
    "_eye": eye,
    "_full": lambda attrs: filled(attrs, attrs["value"]),
    "_linspace": linspace,
    "_ones": lambda attrs: filled(attrs, 1.0),
    "_zeros": zeros,
    "_zeros_without_dtype": zeros,
    "batch_take": batch_take,
    "gather_nd": gather_nd,
    "one_hot": one_hot,
    "pick": pick,
    "scatter_nd": scatter_nd,
    "take": take,
}
