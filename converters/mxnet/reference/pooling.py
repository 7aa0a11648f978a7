"""Pooling, adaptive pooling and region pooling in numpy.

Sizes (src/operator/nn/pooling.cc): valid `1 + floor((size + 2 pad - kernel) / stride)`, full the same with ceil, same
`ceil((size + 2 pad) / stride)`. A window reaches at most to `size + pad`; what lies beyond belongs to no window.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    Array,
    Attributes,
    Reference,
    accumulator,
    channels_first,
    per_axis,
    require,
)


def output_size(size: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """Return the number of windows along one axis.

    >>> [output_size(7, 2, 2, 0, rule) for rule in ("valid", "full", "same")]
    [3, 4, 4]
    """
    if convention == "same":
        return -(-(size + 2 * pad) // stride)
    room = size + 2 * pad - kernel
    return 1 + (-(-room // stride) if convention == "full" else room // stride)


def pool_windows(
    data: Array, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int], sizes: Sequence[int], fill: float
) -> Array:
    """(N, C, *spatial) to (N, C, *kernel, *output); positions outside the data hold `fill`."""
    amounts = [
        (before, max(0, (count - 1) * step + length - size - before))
        for size, length, step, before, count in zip(data.shape[2:], kernel, stride, pad, sizes, strict=True)
    ]
    wide = np.pad(data, [(0, 0), (0, 0), *amounts], constant_values=fill)
    result = np.empty((*data.shape[:2], *kernel, *sizes), data.dtype)
    for position in itertools.product(*(range(length) for length in kernel)):
        window = tuple(
            slice(at, at + step * (count - 1) + 1, step)
            for at, step, count in zip(position, stride, sizes, strict=True)
        )
        result[(slice(None), slice(None), *position)] = wide[(slice(None), slice(None), *window)]
    return result


def window_counts(size: int, kernel: int, stride: int, pad: int, count: int, include_pad: bool) -> Array:
    """Return how many elements each window along one axis divides by; the padding counts when include_pad."""
    starts = np.arange(count) * stride - pad
    ends = np.minimum(starts + kernel, size + pad)
    if not include_pad:
        starts, ends = np.maximum(starts, 0), np.minimum(ends, size)
    return np.asarray(ends - starts)


def pooling(attrs: Attributes, data: Array) -> Array:
    """max, avg, sum or lp pooling over 1 to 3 spatial axes; global_pool ignores kernel, stride and pad."""
    first = channels_first(attrs.get("layout"))
    values = data if first else np.moveaxis(data, -1, 1)
    spatial = values.ndim - 2
    require(1 <= spatial <= 3, f"data of rank {data.ndim}, expected 3 to 5")
    kind, convention = attrs.get("pool_type", "max"), attrs.get("pooling_convention", "valid")
    size = values.shape[2:]
    kernel, stride, pad = size, (1,) * spatial, (0,) * spatial
    require(convention != "same" or (spatial == 1 and kind == "max"), "convention same is for 1-D max pooling only")
    if attrs.get("global_pool"):
        convention = "valid"
    else:
        require(bool(attrs.get("kernel")), "kernel is required unless global_pool")
        kernel = per_axis(attrs["kernel"], spatial, 1)
        stride = per_axis((attrs.get("stride") or ())[:spatial], spatial, 1)
        pad = per_axis((attrs.get("pad") or ())[:spatial], spatial, 0)
        require(all(p < k for p, k in zip(pad, kernel, strict=True)), f"pad {pad} must be smaller than kernel {kernel}")
        require(
            all(k <= n + 2 * p for k, n, p in zip(kernel, size, pad, strict=True)),
            f"kernel {kernel} exceeds the padded input {size}",
        )
    sizes = [output_size(*axis, convention) for axis in zip(size, kernel, stride, pad, strict=True)]
    over = tuple(range(2, 2 + spatial))
    dtype = accumulator(data.dtype)
    if kind == "max":
        lowest = -np.inf if data.dtype.kind == "f" else float(np.iinfo(data.dtype).min)
        result = pool_windows(values, kernel, stride, pad, sizes, lowest).max(axis=over)
        if data.dtype.kind == "f":
            result = np.maximum(result, np.finfo(data.dtype).min)
    else:
        result = pool_sum(attrs, pool_windows(values.astype(dtype), kernel, stride, pad, sizes, 0.0), over)
    if kind == "avg":
        include = attrs.get("count_include_pad") is not False
        counts = [window_counts(*axis, include) for axis in zip(size, kernel, stride, pad, sizes, strict=True)]
        divisors = outer_product(counts).astype(dtype)
        if spatial < 3:
            divisors = np.where(divisors == 0, 1, divisors)  # nothing over nothing is 0, but with three axes 0 / 0
        with np.errstate(divide="ignore", invalid="ignore"):
            result = result / divisors
    result = result.astype(data.dtype, copy=False)
    return result if first else np.moveaxis(result, 1, -1)


def outer_product(counts: Sequence[Array]) -> Array:
    """Return the outer product of one count vector an axis."""
    product = np.ones((), np.int64)
    for count in counts:
        product = np.multiply.outer(product, count)
    return np.asarray(product)


def pool_sum(attrs: Attributes, windows: Array, over: tuple[int, ...]) -> Array:
    """The sum of each window, or its Lp norm `sum(x^p)^(1/p)` for p of 1, 2 or 3 (no absolute value is taken)."""
    if attrs.get("pool_type") != "lp":
        return np.asarray(windows.sum(axis=over))
    power = attrs.get("p_value")
    require(power in (1, 2, 3), f"p_value {power}, expected 1, 2 or 3")
    total = np.asarray((windows ** int(power or 1)).sum(axis=over))
    if power == 1:
        return total
    return np.asarray(np.sqrt(total) if power == 2 else np.cbrt(total))


def pooling_v1(attrs: Attributes, data: Array) -> Array:
    """Pooling_v1 as Pooling, but its average divides by the whole kernel wherever the window lies, and its maximum
    takes the padding's zeros for data; that of nothing is -inf."""
    kind = attrs.get("pool_type", "max")
    if kind == "sum" or attrs.get("global_pool"):
        return pooling(attrs, data)
    if kind == "max":
        around = attrs.get("pad") or (0,) * (data.ndim - 2)
        wide = np.pad(data, [(0, 0), (0, 0), *((amount, amount) for amount in around)])
        result = pooling({**attrs, "pad": None}, wide)
        return np.where(result == np.finfo(data.dtype).min, -np.inf, result).astype(data.dtype)
    total = pooling({**attrs, "pool_type": "sum"}, data)
    return (total / math.prod(attrs["kernel"])).astype(data.dtype)


def adaptive_average_pooling(attrs: Attributes, data: Array) -> Array:
    """Cell i of n averages rows floor(i H / n) to ceil((i + 1) H / n); (N, C, H, W) to (N, C, *output_size)."""
    require(data.ndim == 4, f"data of rank {data.ndim}, expected 4")
    wanted = tuple(attrs.get("output_size") or (1,))
    require(len(wanted) in (1, 2), f"output_size {wanted}, expected one or two entries")
    rows, columns = (wanted[0], wanted[-1])
    height, width = data.shape[2:]
    result = np.empty((*data.shape[:2], rows, columns), data.dtype)
    for row, column in itertools.product(range(rows), range(columns)):
        cell = data[
            :,
            :,
            row * height // rows : -(-(row + 1) * height // rows),
            column * width // columns : -(-(column + 1) * width // columns),
        ]
        result[:, :, row, column] = cell.mean(axis=(2, 3), dtype=accumulator(data.dtype))
    return result


def rounded(value: float) -> int:
    """C's round(): halves away from zero."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


def roi_pooling(attrs: Attributes, data: Array, rois: Array) -> Array:
    """Maximum over each of pooled_size cells of each region (batch, x1, y1, x2, y2), ends included.

    Corners are scaled by spatial_scale and rounded; a cell covers floor to ceil of its fractional bounds; an empty cell
    and a region with a batch index below 0 (cut to an integer) are 0 (src/operator/roi_pooling.cc).
    """
    rows, columns = attrs["pooled_size"]
    scale = np.float32(attrs["spatial_scale"])
    row_numbers, column_numbers = (np.arange(count + 1, dtype=np.float32) for count in (rows, columns))
    height, width = data.shape[2:]
    result = np.zeros((rois.shape[0], data.shape[1], rows, columns), data.dtype)
    for index, (batch, *corners) in enumerate(rois):
        if int(batch) < 0:
            continue
        left, top, right, bottom = (rounded(float(corner * scale)) for corner in corners)
        cell_height = np.float32(max(bottom - top + 1, 1)) / np.float32(rows)
        cell_width = np.float32(max(right - left + 1, 1)) / np.float32(columns)
        for row, column in itertools.product(range(rows), range(columns)):
            y1, y2 = row_numbers[row] * cell_height, row_numbers[row + 1] * cell_height
            x1, x2 = column_numbers[column] * cell_width, column_numbers[column + 1] * cell_width
            y1, y2 = (min(max(bound + top, 0), height) for bound in (math.floor(y1), math.ceil(y2)))
            x1, x2 = (min(max(bound + left, 0), width) for bound in (math.floor(x1), math.ceil(x2)))
            cell = data[int(batch), :, y1:y2, x1:x2]
            if cell.size:
                result[index, :, row, column] = cell.max(axis=(1, 2))
    return result


OPERATORS: Mapping[str, Reference] = {
    "Pooling": pooling,
    "Pooling_v1": pooling_v1,
    "ROIPooling": roi_pooling,
    "_contrib_AdaptiveAvgPooling2D": adaptive_average_pooling,
}
