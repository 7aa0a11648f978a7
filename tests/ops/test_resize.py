"""Rules of resizing and sampling."""

from __future__ import annotations

from graphir.ops.resize import AffineGrid, AspectPolicy, GridSample, Resize, factors_of_axes
from tests.ops.harness import backward, bad, good

DOUBLE = Resize(factors=(1.0, 1.0, 2.0, 1.5))
GOOD = (
    (DOUBLE, "f[1,3,4,5]", "f[1,3,8,7]"),
    (DOUBLE, "f[N,3,H,W]", "f[N,3,2*H,3*W//2]"),
    (DOUBLE, "f[N,?,?,5]", "f[N,?,?,7]"),
    (DOUBLE, "f[...]", "f[...]"),
    (Resize(factors=(0.1,), axes=(-1,)), "f[2,H]", "f[2,H//10]"),
    (Resize(factors=(3.14159274,), axes=(-1,)), "f[2,H]", "f[2,?]"),
    (Resize(axes=(2, 3)), "f[N,3,H,W] - - i:7,9", "f[N,3,7,9]"),
    (Resize(axes=(2, 3)), "f[N,3,H,W] - - i:A,B", "f[N,3,A,B]"),
    (Resize(), "f[1,3,4,5] - f[4]", "f[?,?,?,?]"),
    (Resize(axes=(2, 3)), "f[1,3,4,5] - f[2]", "f[1,3,?,?]"),
    (
        Resize(axes=(2, 3), keep_aspect_ratio_policy=AspectPolicy.NOT_LARGER),
        "f[1,3,4,5] - - i:7,9",
        "f[1,3,7,9]",
    ),
    (GridSample(), "f[N,3,H,W] f[N,5,6,2]", "f[N,3,5,6]"),
    (GridSample(), "f[?,3,H,W] f[2,5,6,?]", "f[2,3,5,6]"),
    (GridSample(), "f[N,3,4,5,6] f[...]", "f[N,3,?,?,?]"),
    (GridSample(), "f[...] f[...]", "f[...]"),
    (AffineGrid(), "f[N,2,3] i:N,3,7,8", "f[N,7,8,2]"),
    (AffineGrid(), "f[N,3,4] i:2,3,7,8,9", "f[2,7,8,9,3]"),
    (AffineGrid(), "f[N,2,3] i[4]", "f[N,?,?,2]"),
)
test_results = good(GOOD)


BAD = (
    (Resize(), "f[1,3,4,5]", "exactly one of factors, scales and sizes"),
    (DOUBLE, "f[1,3,4,5] - - i:1,3,7,9", "exactly one of factors, scales and sizes"),
    (DOUBLE, "f[3,4,5]", "4 sizes or factors for 3 axes"),
    (Resize(axes=(2, 3)), "f[1,3,4,5] - - i:7", "1 sizes or factors for 2 axes"),
    (Resize(axes=(4,)), "f[1,3,4,5] - - i:7", "axis 4 does not exist"),
    (GridSample(), "f[1,3,4,5] f[1,6,7,3]", "its last axis must have 2 elements"),
    (GridSample(), "f[1,3,4,5] f[2,6,7,2]", "batch 1 of X .* differs from 2"),
    (GridSample(), "f[1,3,4,5] f[2,6,2]", "grid has the shape .* expected 4 axes"),
    (AffineGrid(), "f[1,2,3] i:1,2,3", "has 3 entries, expected 4 or 5"),
    (AffineGrid(), "f[2,3] i:1,2,3,4", "theta has the shape .* expected 3 axes"),
)
test_refused = bad(BAD)


BACKWARD = (
    (DOUBLE, "f[...]", "f[N,3,8,7]", "f[N,3,?,?]"),
    (Resize(axes=(2, 3)), "[?,?,?,?] - - i:7,9", "f[N,3,7,9]", "f[N,3,?,?] - - i:7,9"),
    (GridSample(), "f[...] f[...]", "f[N,3,5,6]", "f[N,3,?,?] f[N,5,6,2]"),
)
test_operands = backward(BACKWARD)


def test_factors_of_some_axes_are_spelled_out() -> None:
    assert factors_of_axes((2.0, 3.0), (-1, 1), 4) == (1.0, 3.0, 1.0, 2.0)
