"""The one place that turns SAME and VALID into numbers. Pure functions.

Padding of a spatial axis is a pair (before, after). `Same` is a policy that becomes numbers once the size is known:
the output has `ceil(size / stride)` elements, and the total padding that this needs is split in halves, the odd element
going behind (UPPER, TensorFlow's SAME and ONNX's SAME_UPPER) or before (LOWER). Source: TensorFlow's documentation of
`tf.nn.convolution`; ONNX's of `auto_pad`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Union

from graphir.structure.record import record

from .errors import ArgumentError, ShapeError
from .safety.arguments import expect, expect_items, found_kind
from .symbolic.dims import UNKNOWN, Dim, Unknown, ceildiv, dim_max, dim_min


class SameMode(enum.Enum):
    """Where the odd element of a SAME padding goes: behind (UPPER) or before (LOWER)."""

    UPPER = "upper"
    LOWER = "lower"


@record
class Explicit:
    """Numbers of padding elements: (before, after) for each spatial axis. Negative numbers crop."""

    pads: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        pads: tuple[object, ...] = expect_items(self.pads, object, "the pads of Explicit")
        object.__setattr__(self, "pads", tuple([_pair(axis, pair) for axis, pair in enumerate(pads)]))

    @property
    def is_zero(self) -> bool:
        """Whether nothing is padded."""
        return all(pair == (0, 0) for pair in self.pads)

    @property
    def is_symmetric(self) -> bool:
        """Whether every axis has as much before as after."""
        return all(before == after for before, after in self.pads)


@record
class Same:
    """The policy SAME: as much as the output size `ceil(size / stride)` needs."""

    mode: SameMode = SameMode.UPPER

    def __post_init__(self) -> None:
        expect(self.mode, SameMode, "the mode of Same", "a SameMode")


def _pair(axis: int, pair: object) -> tuple[int, int]:
    """One axis' padding as two plain integers. Raises ArgumentError."""
    if isinstance(pair, tuple | list) and len(pair) == 2:
        before, after = pair
        if type(before) is int and type(after) is int:
            return before, after
        with suppress(TypeError):
            return int(index(before)), int(index(after))
    raise ArgumentError(f"Explicit: pads[{axis}] is {found_kind(pair)}, expected (before, after), two integers")


Padding = Union[Explicit, Same]


def valid(rank: int) -> Explicit:
    """Return VALID: no padding on any of `rank` spatial axes."""
    return Explicit(((0, 0),) * rank)


def symmetric(pads: Sequence[int]) -> Explicit:
    """Return the same number before and after, for each axis."""
    return Explicit(tuple((pad, pad) for pad in pads))


def extent(kernel: int, dilation: int = 1) -> int:
    """Return how many input elements a dilated kernel spans.

    >>> extent(3), extent(3, dilation=2)
    (3, 5)
    """
    return (kernel - 1) * dilation + 1


def same_total(size: Dim, kernel: int, stride: int = 1, dilation: int = 1) -> Dim:
    """Return the total padding of one axis under SAME: `max((ceil(size/stride) - 1) * stride + extent - size, 0)`.

    With stride 1 the size does not matter; otherwise only `size mod stride` does.

    >>> same_total(224, 3, 2), same_total(225, 3, 2), same_total(224, 1, 2)
    (1, 2, 0)
    """
    if stride == 1:
        return extent(kernel, dilation) - 1
    if isinstance(size, int):
        return max((-(-size // stride) - 1) * stride + extent(kernel, dilation) - size, 0)
    return dim_max((ceildiv(size, stride) - 1) * stride + extent(kernel, dilation) - size, 0)


def split_same(total: int, mode: SameMode) -> tuple[int, int]:
    """Return the total as (before, after).

    >>> split_same(3, SameMode.UPPER), split_same(3, SameMode.LOWER)
    ((1, 2), (2, 1))
    """
    less = total // 2
    return (less, total - less) if mode is SameMode.UPPER else (total - less, less)


def resolve(
    padding: Padding,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Explicit | None:
    """Return the padding as numbers; None where SAME needs a size that is not known."""
    if isinstance(padding, Explicit):
        return padding if padding.pads else valid(len(kernel))
    pads = []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        total = same_total(size, width, stride, dilation)
        if not isinstance(total, int):
            return None
        pads.append(split_same(total, padding.mode))
    return Explicit(tuple(pads))


def resolve_transposed(
    padding: Padding,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    output_padding: Sequence[int],
    output_shape: Sequence[int] = (),
) -> tuple[Explicit, tuple[int, ...]] | None:
    """Return what a transposed convolution crops, and its output padding, as numbers; None where a size is missing.

    SAME without an output shape makes `size * stride` elements, for which no size is needed. What an output shape is
    short of the whole, `stride * (size - 1) + extent + output_padding`, is cropped: the odd element behind under UPPER,
    else before; what it is longer is padded behind with zeros, or the bias. Source: ONNX ConvTranspose.

    >>> resolve_transposed(Same(), [5], [3], [2], [1], [0])
    (Explicit(pads=((0, 1),)), (0,))
    >>> resolve_transposed(Same(), [5], [1], [2], [1], [0])
    (Explicit(pads=((0, 0),)), (1,))
    """
    if isinstance(padding, Explicit) and not output_shape:
        return (padding if padding.pads else valid(len(kernel))), tuple(output_padding)
    mode = padding.mode if isinstance(padding, Same) else SameMode.LOWER
    pads, extra = [], []
    for axis, size in enumerate(sizes):
        whole = extent(kernel[axis], dilations[axis]) + output_padding[axis] - strides[axis]
        if output_shape:
            if not isinstance(size, int):
                return None
            whole += strides[axis] * size - output_shape[axis]
        pads.append(split_same(max(whole, 0), mode))
        extra.append(output_padding[axis] + max(-whole, 0))
    return Explicit(tuple(pads)), tuple(extra)


def check_window(kernel: Dim, stride: int, dilation: int) -> None:
    """Raise ShapeError for a window without elements or one that does not move on."""
    if stride < 1 or dilation < 1:
        raise ShapeError(f"stride {stride} and dilation {dilation} must be 1 or more")
    if isinstance(kernel, int) and kernel < 1:
        raise ShapeError(f"the kernel {kernel} must be 1 or more")


def window_size(
    size: Dim,
    kernel: int,
    stride: int = 1,
    dilation: int = 1,
    pads: tuple[int, int] = (0, 0),
    *,
    ceil_mode: bool = False,
) -> Dim:
    """Return how many windows fit on an axis.

    Floor mode: `(size + before + after - extent) // stride + 1`. Ceil mode rounds up, but a last window that would
    start in the padding behind the data does not count (as ONNX and PyTorch have it).

    >>> window_size(7, 3, 2), window_size(8, 3, 2), window_size(8, 3, 2, ceil_mode=True)
    (3, 3, 4)
    """
    before, after = pads
    check_window(kernel, stride, dilation)
    if isinstance(size, Unknown):
        return UNKNOWN
    room = size + (before + after - extent(kernel, dilation))
    if not ceil_mode:
        return room // stride + 1
    count = ceildiv(room, stride) + 1
    if isinstance(count, int) and isinstance(size, int):
        return count - 1 if (count - 1) * stride >= size + before else count
    span = extent(kernel, dilation)
    if after + stride <= span:  # then the last window always begins in the data
        return count
    return dim_min(count, (size + before - 1) // stride + 1) if after < span else UNKNOWN


def data_sizes(
    windows: Sequence[Dim],
    kernel: Sequence[Dim],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Padding,
) -> tuple[Dim, ...]:
    """Return the sizes of the axes on which that many windows fit: with stride 1, else unknown as several sizes do.

    Empty strides and dilations are 1. The inverse of `window_size` in floor mode.

    >>> data_sizes([6, 3], [3, 3], [1, 2], [], Explicit(((1, 1), (1, 1))))
    (6, UNKNOWN)
    """
    sizes: list[Dim] = []
    for axis, count in enumerate(windows):
        stride = strides[axis] if axis < len(strides) else 1
        dilation = dilations[axis] if axis < len(dilations) else 1
        if stride != 1:
            sizes.append(UNKNOWN)
        elif isinstance(padding, Explicit):
            pads = padding.pads[axis] if axis < len(padding.pads) else (0, 0)
            sizes.append(count - 1 + (kernel[axis] - 1) * dilation + 1 - sum(pads))
        else:
            sizes.append(count)
    return tuple(sizes)


__all__ = [
    "Explicit",
    "Padding",
    "Same",
    "SameMode",
    "check_window",
    "data_sizes",
    "extent",
    "resolve",
    "resolve_transposed",
    "same_total",
    "split_same",
    "symmetric",
    "valid",
    "window_size",
]
