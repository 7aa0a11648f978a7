"""Rules of the operators that join tensors, take parts of them, or trade parts between axes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphir.ops.base import Known
from graphir.ops.shape_parts import (
    BEYOND,
    Concat,
    DepthOrder,
    DepthToSpace,
    ReverseSequence,
    Slice,
    SpaceToDepth,
    Split,
    Trilu,
    slice_size,
)
from graphir.ops.slicing import places_taken, python_slice
from graphir.types import UNKNOWN
from tests.ops.harness import backward, bad, followed, good
from tests.ops.rule import known

GOOD = (
    (Concat(1), ("float32[N, 3]", "float32[N, 4]"), ["float32[N, 7]"]),
    (Concat(-1), ("float32[?, 3]", "float32[2, W]"), ["float32[2, W+3]"]),
    (Concat(0), ("float32[N]", "float32[N]"), ["float32[2*N]"]),
    (Concat(1), ("float32[N, 3]", "float32[...]"), ["float32[N, ?]"]),
    (Concat(1), ("float32[...]", "?[...]"), ["float32[...]"]),
    (Split(2, 1), ("float32[N, 6]",), ["float32[N, 3]", "float32[N, 3]"]),
    (Split(2, 0), ("float32[5]",), ["float32[3]", "float32[2]"]),
    (Split(2, 1), ("float32[N, ?]",), ["float32[N, ?]", "float32[N, ?]"]),
    (Split(2, 0), ("float32[2*N]",), ["float32[N]", "float32[N]"]),
    (Split(2, 1), ("float32[N, 6]", known(2, 4)), ["float32[N, 2]", "float32[N, 4]"]),
    (Split(2, 1), ("float32[N, 6]", "int64[2]"), ["float32[N, ?]", "float32[N, ?]"]),
    (Split(2, 1), ("float32[...]",), ["float32[...]", "float32[...]"]),
    (Slice(), ("float32[4, N]", known(1), known(3)), ["float32[2, N]"]),
    (Slice(), ("float32[4, N]", known(1), known(BEYOND), known(1)), ["float32[4, N-1]"]),
    (Slice(), ("float32[4, 5]", known(-1, -1), known(-BEYOND, 0), known(0, 1), known(-1, -2)), ["float32[4, 2]"]),
    (Slice(), ("float32[N]", known(-1), known(-BEYOND), known(0), known(-1)), ["float32[N]"]),
    (Slice(), ("float32[N]", known(0), known(BEYOND), known(0), known(2)), ["float32[(N+1)//2]"]),
    (Slice(), ("float32[H+2]", known(0), known("H")), ["float32[H]"]),
    (Slice(), ("float32[4, 5]", known(1), "int64[1]"), ["float32[?, 5]"]),
    (Slice(), ("float32[4, 5]", known(1), known(2), "int64[1]"), ["float32[?, ?]"]),
    (Slice(), ("float32[...]", known(1), known(2)), ["float32[...]"]),
    (Slice(), ("float32[3]", known(5), known(9)), ["float32[0]"]),
    (Trilu(), ("float32[N, 3, 3]",), ["float32[N, 3, 3]"]),
    (ReverseSequence(), ("float32[T, N, 3]", "int64[N]"), ["float32[T, N, 3]"]),
    (DepthToSpace(2), ("float32[N, 12, H, 3]",), ["float32[N, 3, 2*H, 6]"]),
    (DepthToSpace(2), ("float32[...]",), ["float32[?, ?, ?, ?]"]),
    (SpaceToDepth(2), ("float32[N, 3, 4, 2*W]",), ["float32[N, 12, 2, W]"]),
    (SpaceToDepth(2, DepthOrder.CRD), ("float32[N, 3, 4, 2]",), ["float32[N, 12, 2, 1]"]),
    (SpaceToDepth(2), ("float32[?, ?, ?, ?]",), ["float32[?, ?, ?, ?]"]),
)

BAD = (
    (Concat(1), ("float32[2, 3]", "float32[3, 3]"), "differ on axis 0"),
    (Concat(1), ("float32[2, 3]", "float32[2, 3, 4]"), "differ in rank"),
    (Concat(2), ("float32[2, 3]",), "axis 2 does not exist"),
    (Concat(0), ("float32[2]", "int32[2]"), "dtypes float32 and int32 differ"),
    (Split(3, 0), ("float32[2]",), "does not give 3 parts"),
    (Split(2, 0), ("float32[6]", known(2, 3)), "do not add up to 6"),
    (Split(2, 0), ("float32[6]", known(2, 2, 2)), "3 sizes for 2 parts"),
    (Slice(), ("float32[6]", known(0), known(6), known(0), known(0)), "a step of 0"),
    (Slice(), ("float32[6]", known(0), known(6), known(1)), "axis 1 does not exist"),
    (Slice(), ("float32[6]", known(0, 0), known(6, 6)), "2 starts for a tensor of rank 1"),
    (Slice(), ("float32[6, 2]", known(0, 0), known(6)), "1 bounds or steps for 2 axes"),
    (Trilu(), ("float32[3]",), "two axes or more"),
    (ReverseSequence(), ("float32[3, 2]", "int32[2]"), "expected int64"),
    (ReverseSequence(), ("float32[3, 2]", "int64[3]"), "2 and 3 differ"),
    (DepthToSpace(2), ("float32[1, 6, 2, 2]",), "do not divide by blocksize"),
    (DepthToSpace(2), ("float32[1, 6]",), "expected 4 axes"),
    (SpaceToDepth(2), ("float32[1, 6, 3, 2]",), "does not divide by blocksize"),
)

BACKWARD = (
    (Concat(1), ("float32[N, 3]", "float32[?, ?]"), ("float32[N, 8]",), ["float32[N, 3]", "float32[N, 5]"]),
    (Concat(0), ("float32[?, 3]", "?[...]"), ("float32[?, 3]",), ["float32[?, 3]", "float32[?, 3]"]),
    (Split(2, 1), ("float32[...]",), ("float32[N, 3]", "float32[?, 3]"), ["float32[N, 6]"]),
    (Split(2, 1), ("float32[?, ?]",), ("float32[N, 3]", "float32[...]"), ["float32[N, ?]"]),
    (ReverseSequence(), ("float32[...]", "?[...]"), ("float32[T, 2]",), ["float32[T, 2]", "int64[2]"]),
    (Trilu(), ("?[...]",), ("float32[2, 2]",), ["float32[2, 2]"]),
)

VALUES = (
    (Concat(0), (known(1, "N"), known(3)), ["[1, N, 3]"]),
    (Concat(0), (known(1), "int64[1]"), ["[1, ?]"]),
    (Concat(0), (known(1), "int64[N]"), [None]),
    (Concat(1), (Known((1, 2), (1, 2)), Known((1, 1), (3,))), ["[1, 3] 1, 2, 3"]),
    (Split(2), (known(1, "N", 3, 4),), ["[1, N]", "[3, 4]"]),
    (Split(2), (known(1, "N", 3), known(1, 2)), ["[1]", "[N, 3]"]),
    (Slice(), (known(1, "N", 3), known(1), known(BEYOND)), ["[N, 3]"]),
    (Slice(), (known(1, 2, 3), known(-1), known(-BEYOND), known(0), known(-1)), ["[3, 2, 1]"]),
    (Slice(), (known(1, 2, 3), known("N"), known(BEYOND)), [None]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)
test_elements = followed(VALUES)


BOUNDS = st.one_of(st.integers(-12, 12), st.sampled_from([BEYOND, -BEYOND]))


@given(st.integers(0, 9), BOUNDS, BOUNDS, st.integers(-4, 4).filter(bool), st.booleans())
def test_python_slices_as_onnx_says_them(size: int, start: int, end: int, step: int, is_open: bool) -> None:
    cut = python_slice(start, end, step, UNKNOWN if is_open else size)
    axis = list(range(size))
    places = places_taken(size, cut.start, cut.end, cut.step)
    assert [(axis[::-1] if cut.turned else axis)[place] for place in places] == axis[start:end:step]


@given(st.integers(0, 9), st.integers(-12, 12), st.integers(-12, 12), st.integers(-4, 4).filter(bool))
def test_slice_size_is_pythons(size: int, start: int, end: int, step: int) -> None:
    """But for a backward slice from before the axis, which ONNX begins at the first place."""
    begin = start if step > 0 else max(start, -size)
    assert slice_size(size, start, end, step) == len(range(size)[begin:end:step])
