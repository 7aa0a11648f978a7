"""Differences held against what lies around them: a channel that is wrong beside one that is a million times larger.

The largest difference over the largest magnitude says nothing of a channel of small numbers, or of scores beside boxes
in pixels. So each channel is held against its own magnitude, and against what rounding does in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphir.arrays import Array

# What is allowed in a channel whatever rounding was seen to do there: a sum that nearly cancels loses that much.
LOCAL_LEAST = 2e-4
# Honest differences were seen at up to 11 times the floor of a whole value; in one channel it is the largest of fewer
# numbers, and so less sure.
LOCAL_FACTOR = 40.0
# Other kernels on another device: what onnxruntime's CPU kernels differ by is no measure of theirs.
LOCAL_FACTOR_ELSEWHERE = 100.0
# With fewer numbers a channel's own floor may be small by chance: that of the channels of about its magnitude counts.
FEW = 16
# So many on either side, so that the median is that of 17 floors: half of them may be small by chance.
NEIGHBOURS = 8
# An exact zero beside other numbers: some units in the last place of the largest of them.
BESIDE_ZERO = 5e-7
# A sigmoid is computed to some four units in the last place of 1, 2**-23 each.
BESIDE_ONE = 5e-7


@dataclass(frozen=True)
class Channel:
    """The channel that differs most for its own magnitude: `axis` and `index`, the largest magnitude in it, the largest
    difference, and the difference that was allowed."""

    axis: int
    index: int
    scale: float
    max_abs: float
    allowed: float

    def __str__(self) -> str:
        return f"[{', '.join([':'] * self.axis + [str(self.index)])}, ...]".replace("[, ", "[")

    @property
    def differs(self) -> bool:
        """Whether that is more than what is allowed."""
        return self.max_abs > self.allowed


def worst_channel(
    reference: Array,
    candidate: Array,
    deviation: Array | None,
    limit: float = 0.0,
    *,
    bounded: bool = False,
    elsewhere: bool = False,
) -> Channel | None:
    """Return the channel of two results whose difference is largest for what is allowed there; None where nothing
    differs or nothing is real.

    Channels are taken along the second and the last axis (of a vector its elements). `deviation` is by how much
    rounding alone moves each element, `limit` the relative difference that the whole may have. `bounded` says that the
    values come from a function such as a sigmoid, which is computed to some units in the last place of 1, not of its
    results; `elsewhere` that the two were computed on different devices. Infinities and NaN are taken to stand in the
    same places. Linear in the number of elements.
    """
    if not reference.ndim or not reference.size or reference.dtype.kind not in "fV":
        return None
    expected, found = _numbers(reference), _numbers(candidate)
    finite = np.isfinite(expected)
    if not finite.all():
        expected, found = np.where(finite, expected, 0), np.where(finite, found, 0)
    off = np.abs(found - expected)
    if not off.any():
        return None
    size = np.abs(expected)
    smallest = float(np.finfo(reference.dtype if reference.dtype.kind == "f" else np.float32).tiny)
    axes = dict.fromkeys((min(1, reference.ndim - 1), reference.ndim - 1))
    factor = LOCAL_FACTOR_ELSEWHERE if elsewhere else LOCAL_FACTOR
    moved = None if deviation is None else _numbers(deviation) * factor
    smallest = max(smallest, BESIDE_ONE * float(size.max()) if bounded else 0.0)
    channels = []
    for axis in axes:
        scale, difference = _largest(size, axis), _largest(off, axis)
        usual = np.zeros_like(scale) if moved is None else _largest(moved, axis)
        if size.size < FEW * scale.size:
            usual = np.maximum(usual, _of_neighbours(scale, usual))
        allowed = np.maximum(np.maximum(max(LOCAL_LEAST, limit) * scale, usual), smallest)
        least = min(BESIDE_ZERO, limit) * float(scale.max())
        allowed = np.where(scale == 0, np.maximum(allowed, least), allowed)
        index = int(np.argmax(difference / allowed))
        channels.append(Channel(axis, index, float(scale[index]), float(difference[index]), float(allowed[index])))
    return max(channels, key=lambda channel: channel.max_abs / channel.allowed)


def _largest(array: Array, axis: int) -> Array:
    """Return the largest element of each channel, in float64."""
    if axis == array.ndim - 1:
        found = array.reshape(-1, array.shape[-1]).max(axis=0)
    else:
        found = array.reshape(*array.shape[: axis + 1], -1).max(axis=-1)
        found = found.reshape(-1, array.shape[axis]).max(axis=0)
    return np.asarray(found, np.float64)


def _of_neighbours(scale: Array, floor: Array) -> Array:
    """For each channel the median floor of those whose magnitudes come next to its own."""
    order = np.argsort(scale, kind="stable")
    ranked = floor[order]
    width = min(2 * NEIGHBOURS + 1, len(ranked))
    windows = np.lib.stride_tricks.sliding_window_view(ranked, width)
    ordered = np.sort(windows, axis=1)
    medians = (ordered[:, (width - 1) // 2] + ordered[:, width // 2]) / 2
    places = np.clip(np.arange(len(ranked)) - width // 2, 0, len(medians) - 1)
    found = np.empty_like(floor)
    found[order] = medians[places]
    return found


def _numbers(array: Array) -> Array:
    """Return the array in a type that numpy computes with."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def local_limit(channel: Channel) -> tuple[float, float]:
    """Return the relative difference in a channel, and the relative difference that was allowed there."""
    if not channel.scale:
        return math.inf, 0.0
    return channel.max_abs / channel.scale, channel.allowed / channel.scale
