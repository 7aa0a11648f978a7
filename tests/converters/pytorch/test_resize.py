"""Resize in all modes, sampling at grids, and the grids, against onnxruntime."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from graphir.ops.resize import (
    AffineGrid,
    AspectPolicy,
    Coordinates,
    GridSample,
    NearestMode,
    Resize,
    ResizeMode,
    SampleMode,
    SamplePadding,
)
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

X = uniform(2, 3, 5, 4)
LINEAR, CUBIC = Resize(ResizeMode.LINEAR), Resize(ResizeMode.CUBIC)
TWICE = (1.0, 1.0, 2.0, 2.0)
ODD = (1.0, 1.0, 1.5, 0.75)
ROI = Constant(np.array([0, 0, 0.4, 0.6, 1, 1, 0.8, 1.1], np.float32))
CROP = Coordinates.TF_CROP_AND_RESIZE
ALIGN, ASYMMETRIC = Coordinates.ALIGN_CORNERS, Coordinates.ASYMMETRIC
PLAIN = [coordinates for coordinates in Coordinates if coordinates is not CROP]


def sizes(*numbers: int) -> Constant:
    """A constant vector of sizes."""
    return Constant(np.array(numbers, np.int64))


CASES = [
    Case(Resize(factors=TWICE), X, text="F.interpolate(x, scale_factor=2)"),
    Case(Resize(coordinates=ASYMMETRIC, nearest_mode=NearestMode.FLOOR, factors=TWICE), X, batch=True,
         text="F.interpolate(x, scale_factor=2)"),
    Case(Resize(), X, None, None, sizes(2, 3, 10, 8), text="F.interpolate(x, size=(10, 8))"),
    Case(replace(LINEAR, factors=TWICE), X, batch=True, text='F.interpolate(x, scale_factor=2, mode="bilinear")'),
    Case(replace(LINEAR, factors=ODD), X, text='F.interpolate(x, scale_factor=(1.5, 0.75), mode="bilinear")'),
    Case(replace(LINEAR, coordinates=ALIGN), X, None, None, sizes(2, 3, 7, 3),
         text='F.interpolate(x, size=(7, 3), mode="bilinear", align_corners=True)'),
    Case(replace(LINEAR, factors=(1.0, 1.0, 2.5)), uniform(2, 3, 4), text='scale_factor=2.5, mode="linear"'),
    Case(replace(LINEAR, factors=(1.0, 1.0, 2.0, 1.5, 1.0)), uniform(1, 2, 3, 4, 2), text='mode="trilinear"'),
    Case(replace(CUBIC, factors=TWICE), X, text='F.interpolate(x, scale_factor=2, mode="bicubic")'),
    Case(replace(CUBIC, coordinates=ALIGN), X, None, None, sizes(2, 3, 7, 3)),
    Case(replace(LINEAR, coordinates=ASYMMETRIC, factors=TWICE), X, batch=True, text='coordinates="asymmetric"'),
    Case(replace(CUBIC, cubic_coeff_a=-0.5, factors=ODD), X),
    Case(replace(CUBIC, exclude_outside=True, factors=ODD), X),
    Case(replace(CUBIC, exclude_outside=True), X, None, None, np.array([2, 3, 9, 7])),
    Case(replace(LINEAR, antialias=True), X, None, None, sizes(2, 3, 3, 2)),
    Case(replace(CUBIC, antialias=True, exclude_outside=True), X, None, None, sizes(2, 3, 2, 3)),
    Case(replace(LINEAR, axes=(3,), factors=(2.0,)), X, text='scale_factor=(1, 2), mode="bilinear"'),
    Case(Resize(axes=(-2, -1)), X, None, None, np.array([7, 3])),
    Case(LINEAR, X, None, np.array([1, 1, 1.2, 2], np.float32)),
    Case(replace(LINEAR, coordinates=CROP, extrapolation_value=5.0), X, ROI, None, sizes(2, 3, 4, 3)),
    Case(Resize(coordinates=CROP), X, ROI, None, sizes(2, 3, 4, 3)),
    Case(Resize(axes=(2, 3), keep_aspect_ratio_policy=AspectPolicy.NOT_LARGER), X, None, None, sizes(9, 5)),
    Case(replace(LINEAR, axes=(2, 3), keep_aspect_ratio_policy=AspectPolicy.NOT_SMALLER), X, None, None, sizes(7, 5)),
    Case(replace(LINEAR, factors=TWICE), uniform(1, 2, 3, 4, dtype="float16"), batch=True),
    Case(Resize(factors=(2.0, 1.5)), uniform(3, 4, dtype="int32")),
    Case(replace(LINEAR, factors=TWICE), uniform(1, 2, 3, 4, low=0, high=200, dtype="uint8")),
]  # fmt: skip
GRID = uniform(2, 3, 4, 2, low=-1.3, high=1.3, seed=1)
SAMPLED = [
    Case(GridSample(mode, padding, align), X, GRID, batch=align)
    for mode, padding, align in itertools.product(SampleMode, SamplePadding, (False, True))
]
GRIDS = [
    Case(GridSample(), uniform(1, 2, 3, 4, 5), uniform(1, 2, 3, 2, 3, low=-1, high=1),
         text="F.grid_sample(in0, in1, align_corners=False)"),
    Case(AffineGrid(), uniform(2, 2, 3), sizes(2, 3, 4, 5), text="F.affine_grid(x, [2, 3, 4, 5], align_corners=False)"),
    Case(AffineGrid(True), uniform(2, 2, 3), np.array([2, 3, 4, 5])),
    Case(AffineGrid(), uniform(2, 3, 4), sizes(2, 1, 3, 4, 2), batch=True),
]  # fmt: skip
FACTORS = [(1.0, 1.0, 2.0, 3.0), (1.0, 1.0, 0.85, 1.3)]
NEAREST = [
    Case(Resize(ResizeMode.NEAREST, coordinates, rounding, factors), X)
    for coordinates, rounding, factors in itertools.product(PLAIN, NearestMode, FACTORS)
]
WEIGHTED = [
    Case(Resize(mode, coordinates, factors=factors), X, tolerance=1e-4)
    for mode, coordinates, factors in itertools.product((ResizeMode.LINEAR, ResizeMode.CUBIC), PLAIN, FACTORS)
]


@pytest.mark.parametrize("case", [*CASES, *SAMPLED, *GRIDS, *NEAREST, *WEIGHTED], ids=str)
def test_resize(case: Case, check: Check) -> None:
    check(case)
