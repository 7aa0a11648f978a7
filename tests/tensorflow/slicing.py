"""Slices: masks of bits, bounds beyond the axes, bounds that are computed."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, case, data, ints, values
from tests.tensorflow.graphdef import node
from tests.tensorflow.networks import network


def strided(variant: str, shape: tuple[int, ...], begin: tuple[int, ...], end: tuple[int, ...],
            strides: tuple[int, ...] = (), open_axes: str = "all", **masks: Any) -> Case:  # fmt: skip
    """A StridedSlice; strides are 1 unless given."""
    return case(
        "StridedSlice", variant, data(*shape), ints(*begin), ints(*end), ints(*(strides or (1,) * len(begin))),
        open_axes=open_axes, **masks,
    )  # fmt: skip


def sizes_of(name: str) -> dict[str, Any]:
    """The sizes of x."""
    return node("Shape", name, ["x"], T="float32")


CASES: tuple[Case, ...] = (
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
    strided("backwards_from_the_back", (5, 6), (-2, 9), (-9, 1), (-1, -2)),
    strided("backwards_from_before", (5, 6), (-9, 0), (-20, 6), (-1, 1)),
    strided("backwards_to_the_back", (5, 6), (2, 0), (2**31 - 1, 6), (-1, 1)),
    strided("everything_computed", (4, 3), (0, 0), (4, 3), begin_mask=3, end_mask=3),
    network("StridedSlice-computed_end", sizes_of("s"), node("StridedSlice", "n", ["s", "zero", "one", "one"],
            T="int32", Index="int32", shrink_axis_mask=1), node("Pack", "end", ["n", "two"], T="int32", N=2),
            node("StridedSlice", "y", ["v", "begin", "end", "ones"], T="float32", Index="int32", begin_mask=1),
            inputs=(data(2, 3, name="x"), data(5, 4, name="v"), ints(0, name="zero"), ints(1, name="one"),
                    ints(2, name="two", shape=()), ints(0, 1, name="begin"), ints(1, 1, name="ones"))),
    network("StridedSlice-computed_index", node("Pack", "begin", ["i", "zero"], T="int32", N=2),
            node("AddV2", "next", ["i", "one"], T="int32"), node("Pack", "end", ["next", "zero"], T="int32", N=2),
            node("StridedSlice", "y", ["v", "begin", "end", "ones"], T="float32", Index="int32", shrink_axis_mask=1,
                 begin_mask=2, end_mask=2),
            inputs=(data(5, 4, name="v"), data(dtype="int32", kind="indices:5", name="i"),
                    ints(0, name="zero", shape=()), ints(1, name="one", shape=()), ints(1, 1, name="ones"))),
    network("StridedSlice-two_computed_indices", node("Pack", "begin", ["i", "zero", "i"], T="int32", N=3),
            node("AddV2", "end", ["begin", "one"], T="int32"),
            node("StridedSlice", "y", ["v", "begin", "end", "ones"], T="float32", Index="int32", shrink_axis_mask=7),
            inputs=(data(5, 4, 6, 2, name="v"), data(dtype="int32", kind="indices:5", name="i"),
                    ints(0, name="zero", shape=()), ints(1, name="one", shape=()), ints(1, 1, 1, name="ones"))),
    network("Slice-computed_size", sizes_of("s"), node("Slice", "y", ["v", "begin", "s"], T="float32", Index="int32"),
            inputs=(data(2, 3, name="x"), data(5, 4, name="v"), ints(1, 0, name="begin"))),
    network("Slice-computed_begin", sizes_of("s"), node("Slice", "y", ["v", "s", "size"], T="float32", Index="int32"),
            inputs=(data(2, 1, name="x"), data(5, 4, name="v"), ints(2, -1, name="size"))),
    network("Slice-fed_size", node("Slice", "c", ["v", "begin", "size"], T="float32", Index="int64"),
            node("Reshape", "y", ["c", "wanted"], T="float32"),
            inputs=(data(5, 4, name="v"), ints(1, 1, name="begin", dtype="int64"),
                    values(-1, 2, name="size", dtype="int64"), ints(4, 2, name="wanted"))),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("StridedSlice", "computed_strides", data(5), ints(0), ints(5), data(1, dtype="int32"), reason="strides"),
)
