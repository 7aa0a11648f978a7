"""Concatenation, stacking and slicing."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, ints


def strided(variant: str, shape: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...],
            strides: tuple[int, ...] = (), open_axes: str = "all", **masks: int) -> Case:  # fmt: skip
    """A StridedSlice; strides are 1 unless given."""
    return case(
        "StridedSlice", variant, data(*shape), ints(*begin), ints(*end), ints(*(strides or (1,) * len(begin))),
        open_axes=open_axes, **masks,
    )  # fmt: skip


CASES = (
    case("ConcatV2", "two", data(2, 3), data(2, 4), ints(1, shape=())),
    case("ConcatV2", "negative", data(2, 3, 1), data(2, 3, 2), data(2, 3, 1), ints(-1, shape=())),
    case("ConcatV2", "int32", data(2, dtype="int32"), data(3, dtype="int32"), ints(0, shape=())),
    case("Pack", "front", data(2, 3), data(2, 3)),
    case("Pack", "last", data(2, 3), data(2, 3), axis=-1),
    case("Pack", "scalars", data(), data(), data()),
    case("Slice", "default", data(3, 4, 5), ints(1, 0, 2), ints(2, -1, 3)),
    case("Slice", "whole", data(3, 4), ints(0, 0), ints(-1, -1)),
    strided("default", (5, 6), (1, 2), (4, 5)),
    strided("steps", (7, 6), (1, 5), (6, 0), (2, -2)),
    strided("negative", (5, 6), (-4, -3), (-1, -1)),
    strided("masks", (5, 6), (3, 4), (2, 1), begin_mask=3, end_mask=3),
    strided("reverse", (5,), (0,), (0,), (-1,), begin_mask=1, end_mask=1),
    strided("index", (5, 6), (2,), (3,), shrink_axis_mask=1),
    strided("last_index", (5, 6), (-1,), (0,), shrink_axis_mask=1),
    strided("column", (5, 6), (0, 2), (0, 3), begin_mask=1, end_mask=1, shrink_axis_mask=2),
    strided("two_indices", (5, 6, 2), (1, 2), (2, 3), shrink_axis_mask=3),
    strided("new_axis", (5, 6), (0, 1), (0, 4), new_axis_mask=1),
    strided("ellipsis", (2, 3, 4, 5), (0, 1), (0, 3), ellipsis_mask=1),
    strided("ellipsis_middle", (2, 3, 4, 5), (1, 0, 2), (2, 0, 3), ellipsis_mask=2, shrink_axis_mask=5),
    strided("everything", (4, 3, 5), (1, 0, 0, 2), (2, 0, 0, 5), ellipsis_mask=2, new_axis_mask=4, shrink_axis_mask=1),
    strided("beyond", (5, 6), (0, 3), (99, 100)),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("ConcatV2", "shapes", data(2, 3), data(3, 4), ints(1, shape=()), reason="2"),
)
