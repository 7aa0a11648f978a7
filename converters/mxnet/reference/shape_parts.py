"""Slicing, splitting, joining and padding in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    normalized_axis,
    require,
)


def slice_bounds(begin: int | None, end: int | None, size: int) -> tuple[int, int]:
    """Bounds of a forward slice, negative ones counted from the end, None being the whole side."""
    first = 0 if begin is None else begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    require(0 <= first < size, f"begin {begin} is outside an axis of {size}")
    require(first < last, f"begin {begin} is not before end {end}")
    return first, last


def strided_slice(attrs: Attributes, data: Array) -> Array:
    """data[begin:end:step] over the leading axes; None entries and negative steps as in Python."""
    begin, end = attrs["begin"], attrs["end"]
    step = attrs.get("step") or (None,) * len(begin)
    require(len(begin) == len(end) == len(step), f"begin {begin}, end {end} and step {step} differ in length")
    require(len(begin) <= data.ndim, f"{len(begin)} axes are sliced, data has {data.ndim}")
    require(all(stride != 0 for stride in step), "step may not be 0")
    result = data[tuple(slice(*bounds) for bounds in zip(begin, end, step, strict=True))]
    return np.array(result)


def slice_axis(attrs: Attributes, data: Array) -> Array:
    """data[..., begin:end, ...] on one axis; end may be None."""
    axis = normalized_axis(attrs["axis"], data.ndim)
    first, last = slice_bounds(attrs["begin"], attrs["end"], data.shape[axis])
    require(last <= data.shape[axis], f"end {last} exceeds the axis of {data.shape[axis]}")
    return np.take(data, np.arange(first, last), axis=axis)


def slice_like(attrs: Attributes, data: Array, like: Array) -> Array:
    """Return the leading part of data with the sizes of like, on all axes or those named, negative ones by data's
    rank."""
    axes = attrs.get("axes")
    if not axes:
        require(data.ndim == like.ndim, f"ranks {data.ndim} and {like.ndim} must be equal")
    chosen = [normalized_axis(axis, data.ndim) for axis in axes] if axes else list(range(data.ndim))
    require(max(chosen, default=-1) < like.ndim, f"axes {chosen} exceed the rank of {like.shape}")
    wanted = list(data.shape)
    for axis in chosen:
        require(like.shape[axis] <= data.shape[axis], f"axis {axis}: {like.shape[axis]} exceeds {data.shape[axis]}")
        wanted[axis] = like.shape[axis]
    return np.array(data[tuple(slice(0, size) for size in wanted)])


def crop(attrs: Attributes, data: Array, *like: Array) -> Array:
    """Rows and columns of (N, C, H, W) from `offset` (y, x), or centred; the size is that of `like` or h_w."""
    height, width = like[0].shape[2:] if like else attrs.get("h_w", (0, 0))
    rows, columns = data.shape[2:]
    require(0 < height <= rows and 0 < width <= columns, f"{(height, width)} exceeds {(rows, columns)}")
    if not attrs.get("center_crop"):
        y, x = attrs.get("offset") or (0, 0)
    else:
        y, x = (rows - height) // 2, (columns - width) // 2
    require(y + height <= rows and x + width <= columns, f"offset {(y, x)} leaves no room for {(height, width)}")
    return np.array(data[:, :, y : y + height, x : x + width])


def concat(attrs: Attributes, *inputs: Array) -> Array:
    """Return the arrays joined along dim; all elements in a row where it is None."""
    if attrs.get("dim", 1) is None:
        return np.concatenate(inputs, axis=None)
    return np.concatenate(inputs, axis=normalized_axis(attrs.get("dim", 1), inputs[0].ndim))


def slice_channel(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """num_outputs equal parts along axis; squeeze_axis drops the axis when the parts have size 1 there."""
    axis = normalized_axis(attrs.get("axis", 1), data.ndim)
    count = int(attrs["num_outputs"])
    require(data.shape[axis] % count == 0, f"axis of {data.shape[axis]} does not divide into {count}")
    parts = np.split(data, count, axis=axis)
    if not attrs.get("squeeze_axis"):
        return tuple(np.array(part) for part in parts)
    require(data.shape[axis] == count, f"squeeze_axis wants parts of size 1, found {data.shape[axis] // count}")
    return tuple(np.squeeze(part, axis) for part in parts)


def split_v2(attrs: Attributes, data: Array) -> tuple[Array, ...]:
    """`sections` parts, the first ones larger by one where they are not equal, or one part from each of `indices` (the
    first being 0) to the next, along axis."""
    axis = normalized_axis(attrs.get("axis", 1), data.ndim)
    size, sections = data.shape[axis], int(attrs.get("sections") or 0)
    require(sections >= 0, f"sections {sections}, of which only the first part is computed")
    starts = list(attrs["indices"])
    if sections:
        starts = [part * (size // sections) + min(part, size % sections) for part in range(sections)]
    require(sorted(starts) == starts and starts[-1] <= size, f"indices {starts} do not fit an axis of {size}")
    require(starts[0] == 0, f"indices {starts} do not begin with 0")
    bounds = zip(starts, [*starts[1:], size], strict=True)
    parts = [np.take(data, np.arange(first, last), axis=axis) for first, last in bounds]
    if attrs.get("squeeze_axis"):
        require(all(part.shape[axis] == 1 for part in parts), "squeeze_axis wants parts of size 1")
        parts = [np.squeeze(part, axis) for part in parts]
    return tuple(parts)


def pad(attrs: Attributes, data: Array) -> Array:
    """pad_width is (before, after) an axis, flat; only rank 4 and 5, the first two axes unpadded."""
    width = tuple(attrs["pad_width"])
    require(data.ndim in (4, 5), f"data of rank {data.ndim}, expected 4 or 5")
    require(len(width) == 2 * data.ndim, f"pad_width has {len(width)} entries, expected {2 * data.ndim}")
    require(not any(width[:4]), "the first two axes cannot be padded")
    amounts = list(zip(width[::2], width[1::2], strict=True))
    mode = attrs["mode"]
    if mode == "constant":
        return np.pad(data, amounts, constant_values=attrs.get("constant_value", 0.0))
    if mode == "edge":
        return np.pad(data, amounts, mode="edge")
    require(mode == "reflect", f"mode {mode!r} is unknown")
    require(
        all(max(amount) < size for amount, size in zip(amounts, data.shape, strict=True) if any(amount)),
        f"reflect padding {amounts} must be smaller than {data.shape}",
    )
    return np.pad(data, amounts, mode="reflect")


OPERATORS: Mapping[str, Reference] = {
    "Concat": concat,
    "Crop": crop,
    "Pad": pad,
    "SliceChannel": slice_channel,
    "_rnn_param_concat": concat,
    "_split_v2": split_v2,
    "slice": strided_slice,
    "slice_axis": slice_axis,
    "slice_like": slice_like,
    "stack": lambda attrs, *inputs: np.stack(inputs, axis=normalized_axis(attrs.get("axis", 0), inputs[0].ndim + 1)),
}
