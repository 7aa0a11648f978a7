"""Resizing: the three conventions of positions, sizes that grow and shrink, dtypes, sizes that are computed."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, case, data, ints
from tests.tensorflow.graphdef import node
from tests.tensorflow.networks import network
from tests.typed import untyped

CENTERS: dict[str, Any] = {"half_pixel_centers": True}
CORNERS: dict[str, Any] = {"align_corners": True}
CONVENTIONS: tuple[tuple[str, dict[str, bool]], ...] = (("legacy", {}), ("centers", CENTERS), ("corners", CORNERS))
SIZES = (("grow", (4, 5), (8, 15)), ("odd", (5, 7), (8, 10)), ("shrink", (9, 8), (4, 3)), ("one", (5, 4), (1, 1)),
         ("mixed", (3, 10), (7, 5)))  # fmt: skip


def resized(
    op: str, variant: str, old: tuple[int, int], new: tuple[int, int], dtype: str = "float32", **more: Any
) -> Case:
    """Images resized to constant sizes."""
    return case(op, variant, data(2, *old, 3, dtype=dtype), ints(*new), **more)


def conventions(op: str, **more: Any) -> tuple[Case, ...]:
    """Every change of size in every convention."""
    return tuple(
        resized(op, f"{name}_{change}", old, new, **untyped(attrs), **more)
        for name, attrs in CONVENTIONS
        for change, old, new in SIZES
    )


# Sizes twice those of the input, as Keras' UpSampling2D writes them.
DOUBLED = (
    node("Shape", "shape", ["x"], T="float32"),
    node("StridedSlice", "sizes", ["shape", "one", "three", "step"], T="int32", Index="int32"),
    node("Mul", "doubled", ["sizes", "two"], T="int32"),
)
DOUBLED_INPUTS = (data(2, 4, 5, 3, name="x"), ints(1, name="one"), ints(3, name="three"), ints(1, name="step"),
                  ints(2, 2, name="two"))  # fmt: skip


def doubled(op: str, **attrs: bool) -> Case:
    """A resize to twice the size."""
    return network(
        f"upsampling-{op}", *DOUBLED, node(op, "y", ["x", "doubled"], T="float32", **attrs), inputs=DOUBLED_INPUTS
    )


# TensorFlow rounds positions to 1/1024, which changes results where they are no multiples of that.
ROUNDED = 4e-3

CASES: tuple[Case, ...] = (
    *conventions("ResizeBilinear"),
    *conventions("ResizeNearestNeighbor"),
    *(resized("ResizeBilinear", f"from_{dtype}", (4, 5), (7, 8), dtype, **CENTERS)
      for dtype in ("uint8", "int8", "int32", "int64", "float16", "float64")),
    *(resized("ResizeNearestNeighbor", f"of_{dtype}", (4, 5), (7, 8), dtype, **CENTERS)
      for dtype in ("uint8", "int8", "int32", "int64", "float16", "float64")),
    # sizes at which positions in float32 reach other elements than exact ones, or than onnxruntime's
    resized("ResizeNearestNeighbor", "divided_legacy", (14, 20), (2, 20), open_axes="batch"),
    resized("ResizeNearestNeighbor", "divided_centers", (30, 36), (9, 10), **CENTERS, open_axes="batch"),
    resized("ResizeNearestNeighbor", "float32_legacy", (26, 14), (22, 46), open_axes="batch"),
    resized("ResizeNearestNeighbor", "float32_centers", (4, 2), (41, 47), **CENTERS, open_axes="batch"),
    resized("ResizeNearestNeighbor", "float32_corners", (16, 14), (59, 45), **CORNERS, open_axes="batch"),
    *(resized("ResizeBicubic", f"{name}_grow", (4, 5), (8, 20), **untyped(attrs)) for name, attrs in CONVENTIONS[:2]),
    resized("ResizeBicubic", "corners", (5, 9), (9, 17), **CORNERS),
    resized("ResizeBicubic", "odd", (5, 7), (8, 10), **CENTERS, tolerance=ROUNDED),
    resized("ResizeBicubic", "legacy_odd", (5, 7), (8, 10), tolerance=ROUNDED),
    resized("ResizeBicubic", "uint8", (4, 5), (8, 10), "uint8", **CENTERS),
    *(resized("ResizeBicubic", f"{name}_{change}", (9, 7), new, open_axes="batch", **untyped(attrs))
      for name, attrs in CONVENTIONS for change, new in (("shrink", (4, 3)), ("one", (1, 9)))),
    resized("ResizeArea", "whole", (8, 9), (4, 3), open_axes="batch"),
    resized("ResizeArea", "parts", (7, 10), (3, 4), open_axes="batch"),
    resized("ResizeArea", "grow", (3, 4), (7, 6), open_axes="batch"),
    *(resized("ResizeArea", f"from_one_{number}", (1, 5), (3, 4), align_corners=aligned, open_axes="batch")
      for number, aligned in enumerate((False, True))),
    resized("ResizeArea", "corners", (7, 5), (3, 9), **CORNERS, open_axes="batch"),
    resized("ResizeArea", "uint8", (6, 5), (3, 2), "uint8", open_axes="batch"),
    doubled("ResizeBilinear", **CENTERS),
    doubled("ResizeNearestNeighbor", **CENTERS),
    doubled("ResizeNearestNeighbor"),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    resized("ResizeBilinear", "both", (4, 5), (7, 8), **CENTERS, **CORNERS, reason="exclude each other"),
    case("ResizeArea", "computed", data(1, 4, 4, 2), data(2, dtype="int32"), reason="the new sizes"),
)
