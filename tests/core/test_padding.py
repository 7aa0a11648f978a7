"""Padding as numbers, checked against the definition for every size."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.padding import (
    Explicit,
    Same,
    SameMode,
    extent,
    resolve,
    same_total,
    split_same,
    symmetric,
    valid,
    window_size,
)
from graphir.symbolic.dims import UNKNOWN, substitute, symbol
from graphir.types import Dim
from tests.typed import untyped

SIZES = range(1, 40)
KERNELS = range(1, 8)
STRIDES = range(1, 6)
DILATIONS = range(1, 4)
N = symbol("N")

windows = pytest.mark.parametrize("kernel", KERNELS)
strided = pytest.mark.parametrize("stride", STRIDES)
dilated = pytest.mark.parametrize("dilation", DILATIONS)


def fewest(size: int, kernel: int, stride: int, dilation: int) -> int:
    """The least padding with which ceil(size / stride) windows begin at multiples of the stride and fit."""
    starts = np.arange(-(-size // stride)) * stride
    last = starts[-1] + (kernel - 1) * dilation
    return max(int(last) - size + 1, 0)


def fitting(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int]) -> int:
    """How many windows that begin at multiples of the stride lie inside the padded axis."""
    padded = size + sum(pads)
    starts = np.arange(0, padded + 1, stride)
    return int(np.sum(starts + (kernel - 1) * dilation < padded))


def touching(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int]) -> int:
    """Ceil mode: the windows that fit, and one more if it would begin in the data or before them."""
    whole = fitting(size, kernel, stride, dilation, pads)
    reaches = (size + sum(pads) - extent(kernel, dilation)) % stride != 0
    return whole + int(reaches and whole * stride < size + pads[0])


@windows
@strided
@dilated
def test_same_is_the_fewest_that_suffice(kernel: int, stride: int, dilation: int) -> None:
    found = [same_total(size, kernel, stride, dilation) for size in SIZES]
    assert found == [fewest(size, kernel, stride, dilation) for size in SIZES]


@windows
@strided
@dilated
def test_same_gives_the_size_divided_by_the_stride(kernel: int, stride: int, dilation: int) -> None:
    pads = [split_same(untyped(same_total(size, kernel, stride, dilation)), SameMode.UPPER) for size in SIZES]
    found = [window_size(size, kernel, stride, dilation, pair) for size, pair in zip(SIZES, pads, strict=True)]
    assert found == [-(-size // stride) for size in SIZES]


@windows
@strided
@dilated
def test_same_of_a_symbolic_size(kernel: int, stride: int, dilation: int) -> None:
    symbolic = same_total(N, kernel, stride, dilation)
    found = [substitute(symbolic, {"N": size}) for size in SIZES]
    assert found == [same_total(size, kernel, stride, dilation) for size in SIZES]


@strided
def test_only_the_remainder_matters_to_same(stride: int) -> None:
    """A size that is a known multiple of the stride, plus a number, needs no more to be known."""
    found = [same_total(stride * N + rest, 7, stride, 2) for rest in range(stride)]
    assert found == [same_total(stride * 50 + rest, 7, stride, 2) for rest in range(stride)]


@pytest.mark.parametrize("total", range(20))
@pytest.mark.parametrize("mode", SameMode)
def test_halves(total: int, mode: SameMode) -> None:
    before, after = split_same(total, mode)
    assert before + after == total
    assert after - before == (total % 2 if mode is SameMode.UPPER else -(total % 2))


ROOMY = [(size, pads) for size in range(22, 40) for pads in ((0, 0), (1, 1), (0, 2), (3, 0), (-1, -2))]


@windows
@strided
@dilated
def test_windows(kernel: int, stride: int, dilation: int) -> None:
    found = [window_size(size, kernel, stride, dilation, pads) for size, pads in ROOMY]
    assert found == [fitting(size, kernel, stride, dilation, pads) for size, pads in ROOMY]


def room(kernel: int, dilation: int) -> list[tuple[int, tuple[int, int]]]:
    """Sizes and pads with at least one window, the pads smaller than the window, as pooling wants them."""
    span = extent(kernel, dilation)
    pads = [(before, after) for before in range(min(span, 3)) for after in range(min(span, 3))]
    return [(size, pair) for size in SIZES for pair in pads if size + sum(pair) >= span]


@windows
@strided
@dilated
def test_windows_rounded_up(kernel: int, stride: int, dilation: int) -> None:
    rows = room(kernel, dilation)
    found = [window_size(size, kernel, stride, dilation, pads, ceil_mode=True) for size, pads in rows]
    assert found == [touching(size, kernel, stride, dilation, pads) for size, pads in rows]


@windows
@strided
@dilated
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_windows_of_a_symbolic_size(kernel: int, stride: int, dilation: int, ceil_mode: bool) -> None:
    rows = room(kernel, dilation)
    symbolic = {pads: window_size(N, kernel, stride, dilation, pads, ceil_mode=ceil_mode) for _, pads in rows}
    found = [substitute(symbolic[pads], {"N": size}) for size, pads in rows]
    assert found == [window_size(size, kernel, stride, dilation, pads, ceil_mode=ceil_mode) for size, pads in rows]


@pytest.mark.parametrize(("size", "pads", "ceil_mode", "expected"), [
    (UNKNOWN, (1, 1), False, UNKNOWN), (UNKNOWN, (1, 1), True, UNKNOWN), (N, (0, 9), True, UNKNOWN),
    (N, (1, 1), False, (N + 1) // 2), (2 * N, (0, 1), False, N),
])  # fmt: skip
def test_windows_of_what_is_not_known(size: Dim, pads: tuple[int, int], ceil_mode: bool, expected: Dim) -> None:
    assert window_size(size, 3, 2, 1, pads, ceil_mode=ceil_mode) == expected


LOWER = Same(SameMode.LOWER)


@pytest.mark.parametrize(("padding", "sizes", "kernel", "strides", "expected"), [
    (Explicit(((1, 2), (0, -1))), (5, 5), (3, 3), (1, 1), ((1, 2), (0, -1))),
    (Explicit(), (UNKNOWN,), (3,), (1,), ((0, 0),)),
    (Same(), (224, 225), (3, 3), (2, 2), ((0, 1), (1, 1))),
    (LOWER, (224, 225), (3, 3), (2, 2), ((1, 0), (1, 1))),
    (Same(), (UNKNOWN,), (4,), (1,), ((1, 2),)),
    (Same(), (UNKNOWN,), (4,), (2,), None),
    (Same(), (N,), (3,), (2,), None),
    (Same(), (2 * N,), (3,), (2,), ((0, 1),)),
    (LOWER, (2 * N + 1,), (4,), (2,), ((2, 1),)),
    (Same(), (8, N), (3, 3), (2, 2), None),
    (Same(), (5,), (1,), (3,), ((0, 0),)),
])  # fmt: skip
def test_resolve(
    padding: Explicit | Same,
    sizes: tuple[Dim, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    expected: tuple[tuple[int, int], ...] | None,
) -> None:
    found = resolve(padding, sizes, kernel, strides, (1,) * len(kernel))
    assert found == (None if expected is None else Explicit(expected))


def test_resolve_wants_a_number_for_each_axis() -> None:
    with pytest.raises(ValueError, match="zip"):
        resolve(Same(), (5, 5), (3,), (1,), (1,))


@pytest.mark.parametrize(("padding", "zero", "even"), [
    (valid(2), True, True), (symmetric((1, 2)), False, True), (Explicit(((0, 1),)), False, False),
])  # fmt: skip
def test_kinds_of_explicit_padding(padding: Explicit, zero: bool, even: bool) -> None:
    assert (padding.is_zero, padding.is_symmetric) == (zero, even)
