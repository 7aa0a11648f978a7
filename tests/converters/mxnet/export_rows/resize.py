"""Resize in every mode, and sampling at computed places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Array, Row, integers, normal

IMAGE = normal(1, 2, 5, 6)


def resize(variant: str, mode: str, factors: list[float], data: Array = IMAGE, **options: Any) -> Row:
    """A Resize by factors; options of Row are computes, tolerance and evaluator, all others are attributes."""
    known = {"computes", "tolerance", "evaluator", "opset"}
    attrs = {key: value for key, value in options.items() if key not in known}
    rest = {"opset": 19} | {key: value for key, value in options.items() if key in known}
    held = {"s": np.array(factors, np.float32)}
    return Row(f"Resize-{variant}", "Resize", {"mode": mode, **attrs}, {"x": data}, held, ("x", "", "s"), **rest)


def sized(variant: str, mode: str, sizes: list[int], data: Array = IMAGE, **options: Any) -> Row:
    """A Resize to sizes, as `resize`."""
    row = resize(variant, mode, [], data, **options)
    held = {"n": np.array(sizes, np.int64)}
    return Row(row.name, "Resize", row.attrs, row.data, held, ("x", "", "", "n"), opset=19, computes=row.computes)


def cropped(variant: str, mode: str, region: list[float], sizes: list[int], **attrs: Any) -> Row:
    """A Resize of a region to sizes."""
    attrs |= {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize"}
    held: dict[str, Array] = {"r": np.array(region, np.float32), "n": np.array(sizes, np.int64)}
    return Row(f"Resize-{variant}", "Resize", attrs, {"x": IMAGE}, held, ("x", "r", "", "n"), opset=19)


WIDE = [-0.4, 0.0, 0.0, 0.3, 1.2, 1.0]
MODES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


def sample(variant: str, sizes: tuple[int, ...], places: tuple[int, ...], **options: Any) -> Row:
    """A GridSample of places inside and outside."""
    computes = options.pop("computes", ())
    data = {"x": normal(2, 3, *sizes), "g": normal(2, *places, len(sizes), scale=0.8)}
    return Row(f"GridSample-{variant}", "GridSample", options, data, opset=20, tolerance=1e-4, computes=computes)


def affine(variant: str, *size: int, **options: Any) -> Row:
    """An AffineGrid for images of a size."""
    axes = len(size) - 2
    rest = {name: options.pop(name) for name in ("computes", "evaluator") if name in options}
    return Row(f"AffineGrid-{variant}", "AffineGrid", options, {"t": normal(size[0], axes, axes + 1)},
               {"n": np.array(size, np.int64)}, opset=20, **rest)  # fmt: skip


BATCHES = {"Resize": ("x",), "GridSample": ("x", "g")}

ROWS = (
    resize("repeat", "nearest", [1, 1, 2, 2], coordinate_transformation_mode="asymmetric", nearest_mode="floor",
           computes=("UpSampling",)),
    resize("repeat_uneven", "nearest", [1, 1, 2, 3], computes=("repeat",)),
    resize("bytes", "nearest", [1, 1, 2, 2], integers(0, 255, 1, 2, 3, 4, dtype="uint8")),
    *(
        resize(f"nearest_{mode}_{rule}_{factor}", "nearest", [1, 1, factor, 1.5], coordinate_transformation_mode=mode,
               nearest_mode=rule)
        for mode in MODES for rule in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        for factor in (0.7, 2.0)
    ),
    *(
        resize(f"linear_{mode}_{factor}", "linear", [1, 1, factor, 1.5], coordinate_transformation_mode=mode)
        for mode in MODES for factor in (0.7, 2.0)
    ),
    *(
        resize(f"cubic_{mode}_{factor}", "cubic", [1, 1, factor, 1.5], coordinate_transformation_mode=mode,
               cubic_coeff_a=-0.5, exclude_outside=int(factor > 1), tolerance=1e-4)
        for mode in MODES for factor in (0.7, 2.0)
    ),
    *(
        resize(f"antialias_{mode}", mode, [1, 1, 0.6, 0.5], antialias=1, tolerance=1e-4) for mode in ("linear", "cubic")
    ),
    # the fraction is cut: scales whose results floats hold exactly, or rounding just below a whole number shows as one
    resize("bytes_linear", "linear", [1, 1, 2, 0.5], integers(0, 255, 1, 2, 5, 6, dtype="uint8"), tolerance=1e-6),
    resize("signed_linear", "linear", [1, 1, 2, 0.5], integers(-128, 127, 1, 2, 5, 6, dtype="int8")),
    resize("half_linear", "linear", [1, 1, 1.7, 0.6], normal(1, 2, 5, 6, dtype="float16")),
    resize("half_nearest", "nearest", [1, 1, 1.7, 0.6], normal(1, 2, 5, 6, dtype="float16")),
    resize("double_cubic", "cubic", [1, 1, 1.7, 0.6], normal(1, 2, 5, 6, dtype="float64"), tolerance=1e-6),
    sized("bilinear", "linear", [1, 2, 9, 4], computes=("_contrib_BilinearResize2D",)),
    sized("bilinear_aligned", "linear", [1, 2, 3, 11], coordinate_transformation_mode="align_corners",
          computes=("_contrib_BilinearResize2D",)),
    sized("to_one", "linear", [1, 2, 1, 1], coordinate_transformation_mode="align_corners"),
    resize("symmetric_thirds", "nearest", [1, 1, 1 / 3, 1 / 3], normal(1, 2, 9, 6), nearest_mode="floor",
           coordinate_transformation_mode="half_pixel_symmetric"),
    sized("to_one_half_pixel", "linear", [1, 2, 1, 7]),
    sized("to_one_pytorch", "linear", [1, 2, 1, 7], coordinate_transformation_mode="pytorch_half_pixel"),
    sized("line", "linear", [2, 3, 12], normal(2, 3, 7)),
    sized("volume", "linear", [1, 2, 5, 3, 7], normal(1, 2, 3, 4, 5)),
    sized("nearest_sizes", "nearest", [1, 2, 7, 8]),
    sized("axes", "nearest", [7, 8], axes=[3, 2]),
    sized("not_larger", "linear", [8, 15], axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
    sized("not_smaller", "nearest", [8, 15], axes=[2, 3], keep_aspect_ratio_policy="not_smaller"),
    sized("kept", "linear", [1, 2, 5, 6]),
    cropped("cropped", "linear", [0, 0, 0.2, 0.1, 1, 1, 0.7, 0.9], [1, 2, 4, 5]),
    cropped("cropped_nearest", "nearest", [0, 0, 0.2, 0.1, 1, 1, 0.7, 0.9], [1, 2, 4, 5]),
    cropped("beyond", "linear", [0, 0, -0.4, 0, 1, 1, 1.2, 1], [1, 2, 6, 5], extrapolation_value=10.0),
    cropped("beyond_nearest", "nearest", [0, 0, -0.4, 0, 1, 1, 1.2, 1], [1, 2, 6, 5], extrapolation_value=10.0),
    sample("aligned", (5, 6), (3, 4), align_corners=1, computes=("BilinearSampler",)),
    *(
        sample(f"{mode}_{padding}_{aligned}", (5, 6), (3, 4), mode=mode, padding_mode=padding, align_corners=aligned)
        for mode in ("linear", "nearest", "cubic") for padding in ("zeros", "border", "reflection")
        for aligned in (0, 1)
    ),
    *(
        sample(f"volume_{mode}_{padding}", (3, 4, 5), (2, 3, 2), mode=mode, padding_mode=padding, align_corners=aligned)
        for mode in ("linear", "nearest") for padding, aligned in (("zeros", 0), ("border", 1), ("reflection", 0))
    ),
    sample("one_row", (1, 6), (3, 4)),
    sample("one_row_border", (1, 6), (3, 4), padding_mode="border", align_corners=1),
    affine("image", 2, 3, 4, 5),
    affine("image_aligned", 2, 3, 4, 5, align_corners=1, computes=("GridGenerator",)),
    affine("one_row", 2, 3, 1, 5, align_corners=1, evaluator=True),
    affine("volume", 2, 3, 4, 5, 6),
    affine("volume_aligned", 1, 3, 4, 5, 2, align_corners=1),
)  # fmt: skip
REFUSED = (
    (Row("Resize-computed_region", "Resize", {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
         {"x": IMAGE, "r": np.array([0, 0, 0, 0, 1, 1, 1, 1], np.float32)}, {"n": np.array([1, 2, 4, 5], np.int64)},
         ("x", "r", "", "n"), opset=19), "crops by numbers"),
    (sample("cubic_volume", (3, 4, 5), (2, 3, 2), mode="cubic"), "cubic sampling over 3 axes"),
)  # fmt: skip
KEPT_CLOSED = tuple(row.name for row in ROWS if "n" in row.held and len(row.held["n"]) == row.data.get("x", IMAGE).ndim)
