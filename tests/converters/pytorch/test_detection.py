"""Boxes and regions, images, and deformed convolutions, against onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphir.ops.convolution import Conv, ConvTranspose, DeformConv
from graphir.ops.detection import (
    BoxFormat,
    BoxNMS,
    MultiBoxDetection,
    NonMaxSuppression,
    RoiAlign,
    RoiCoordinates,
    RoiMode,
)
from graphir.ops.image import CenterCropPad, Col2Im, Correlation
from graphir.padding import Explicit, Same
from tests.converters.pytorch.cases import Case, Check, Constant, uniform


def boxes(batch: int, count: int, seed: int = 0) -> Any:
    """Corner boxes that overlap here and there."""
    low = uniform(batch, count, 2, low=0, high=0.7, seed=seed)
    return np.concatenate([low, low + uniform(batch, count, 2, low=0.1, high=0.5, seed=seed + 1)], -1)


def ints(*numbers: int) -> Constant:
    """A constant int64 vector."""
    return Constant(np.array(numbers, np.int64))


BOXES = boxes(2, 12)
SCORES = uniform(2, 3, 12, low=0, high=1).round(1)
LIMIT, IOU, LEAST = np.int64(4), np.float32(0.4), np.float32(0.25)
ROWS = np.concatenate([uniform(2, 12, 1, low=0, high=2).round(), uniform(2, 12, 1, low=0, high=1), BOXES], -1)
X = uniform(2, 3, 9, 8)
ROIS = np.array([[0, 0, 7, 8], [1.5, 2.2, 4, 6.7], [3, 3, 3, 3], [-2, -3, 12, 14]], np.float32)
IMAGES = np.array([0, 1, 1, 0], np.int64)
OFFSETS, ANCHORS = uniform(2, 48, low=-1, high=1), boxes(1, 12, seed=5)

DETECTION = [
    Case(NonMaxSuppression(), BOXES, SCORES, Constant(LIMIT), Constant(IOU), Constant(LEAST), batch=True,
         text="non_max_suppression(in0, in1, 4, iou_threshold=0.4, score_threshold=0.25)"),
    Case(NonMaxSuppression(), BOXES[..., [2, 3, 0, 1]], SCORES, LIMIT, IOU),
    Case(NonMaxSuppression(True), BOXES, SCORES, Constant(np.int64(2)), None, LEAST),
    Case(NonMaxSuppression(), BOXES, SCORES),
    Case(RoiAlign(2, 3), X, ROIS, IMAGES, text="roi_align(in0, in1, in2, (2, 3))"),
    Case(RoiAlign(2, 3), X, ROIS, IMAGES, batch=True, closed=(1, 2)),
    Case(RoiAlign(3, 2, 2, 0.5, coordinates=RoiCoordinates.OUTPUT_HALF_PIXEL), X, ROIS, IMAGES),
    Case(RoiAlign(2, 2, 3, 1.5, RoiMode.MAX), X, ROIS, IMAGES),
    Case(BoxNMS(), ROWS, batch=True),
    Case(BoxNMS(0.3, 0.2, 8, id_index=0, background_id=1), ROWS),
    Case(BoxNMS(0.0, 0.2, id_index=0), ROWS * np.array([0.3, 1, 1, 1, 1, 1], np.float32)),
    Case(BoxNMS(0.4, id_index=0, force_suppress=True, in_format=BoxFormat.CENTER), ROWS),
    Case(BoxNMS(0.6, out_format=BoxFormat.CENTER), ROWS),
    Case(MultiBoxDetection(), SCORES + uniform(2, 3, 12, low=0, high=0.01), OFFSETS, ANCHORS),
    Case(MultiBoxDetection(False, 0.5, 0.3, True, nms_topk=6), SCORES + uniform(2, 3, 12, high=0.01), OFFSETS, ANCHORS),
    Case(MultiBoxDetection(nms_threshold=-1), SCORES, OFFSETS, ANCHORS, batch=True, closed=(2,)),
]  # fmt: skip
PADDED = Explicit(((1, 1), (1, 1)))
PICTURES = [
    Case(CenterCropPad(), X, ints(3, 3, 6, 11), text="F.pad(x, (1, 2, -1, -2, 0, 0, 0, 1))"),
    Case(CenterCropPad((2, 3)), X, np.array([12, 3])),
    Case(CenterCropPad((-1,)), X, ints(5), batch=True),
    Case(Col2Im(), uniform(2, 12, 12), ints(4, 5), ints(2, 2), text="F.fold(x, (4, 5), 2)"),
    Case(Col2Im((2, 1), (1, 2), PADDED), uniform(1, 8, 15), ints(5, 5), ints(2, 2)),
    Case(Col2Im(padding=Explicit(((1, 0), (0, 2)))), uniform(2, 4, 24), ints(4, 5), ints(2, 2), batch=True),
    Case(Col2Im(), uniform(2, 6, 4), ints(6), ints(3)),
    Case(Correlation(), uniform(2, 3, 5, 6), uniform(2, 3, 5, 6, seed=1)),
    Case(Correlation(3, 2, 2, 2, 3), uniform(1, 2, 7, 8), uniform(1, 2, 7, 8, seed=1)),
    Case(Correlation(1, 2, 1, 1, 2, multiply=False), uniform(1, 2, 5, 6), uniform(1, 2, 5, 6, seed=1), batch=True),
]
WEIGHT = uniform(4, 3, 3, 2, low=-1, high=1)
DEFORMED = DeformConv((3, 2), padding=PADDED)
CONVOLUTIONS = [
    Case(DEFORMED, X, Constant(WEIGHT), uniform(2, 12, 9, 9), tolerance=1e-4,
         text="deform_conv2d(in0, self.c, in2, padding=(1, 1))"),
    Case(replace(DEFORMED, strides=(2, 1), padding=Explicit(((1, 0), (0, 1)))), X, WEIGHT, uniform(2, 12, 4, 8),
         uniform(4), tolerance=1e-4),
    Case(DeformConv((2, 2), (1, 2), (2, 1), group=2, offset_group=2), uniform(2, 4, 5, 6),
         Constant(uniform(2, 2, 2, 2)), uniform(2, 16, 3, 3), None, uniform(2, 8, 3, 3), batch=True),
    Case(Conv((3, 2), (2, 1), padding=Same(), group=3), X, Constant(uniform(6, 1, 3, 2)), batch=True),
    Case(Conv((3, 2), dilations=(2, 1), padding=Explicit(((2, 0), (0, 1)))), X, uniform(4, 3, 3, 2), uniform(4)),
    Case(ConvTranspose((3, 2), (2, 3), group=3, output_padding=(1, 2)), X, uniform(3, 2, 3, 2), batch=True),
]  # fmt: skip


@pytest.mark.parametrize("case", [*DETECTION, *PICTURES, *CONVOLUTIONS], ids=str)
def test_detection(case: Case, check: Check) -> None:
    check(case)
