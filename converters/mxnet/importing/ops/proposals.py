"""Proposals of regions, as the first stage of Faster R-CNN makes them.

Anchors are moved by their offsets and cut at the picture; the best ones that do not overlap stay. MXNet counts pixels,
of which a box has one more than its corners are apart: NonMaxSuppression gets boxes with that one added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.graph import Value
from graphir.ops.creation import Range
from graphir.ops.detection import NonMaxSuppression
from graphir.ops.elementwise import Add, Div, Equal, Exp, GreaterOrEqual, Less, Max, Min, Mod, Mul, Or, Sub, Where
from graphir.ops.indexing import Gather, GatherND
from graphir.ops.reduction import ReduceSum, TopK
from graphir.ops.selection import CumSum
from graphir.ops.shape import Expand, Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import UNKNOWN, Dim, DType

SINGLE = DType.FLOAT32


class Side(NamedTuple):
    """One axis of the anchors: their sizes and the first pixel's centres (A), the shift of each pixel, the picture's
    length (N, 1, 1, 1) and where the axis is among rows and columns."""

    size: Array
    low: Array
    shift: Value
    length: Value


def import_proposal(node: ImportNode) -> Value | tuple[Value, Value]:
    """_contrib_Proposal: the regions of one image."""
    node.shaped(0, (1, UNKNOWN, UNKNOWN, UNKNOWN))
    return import_proposals(node)


def import_proposals(node: ImportNode) -> Value | tuple[Value, Value]:
    """_contrib_MultiProposal: cls_prob (N, 2 A, H, W), bbox_pred (N, 4 A, H, W), im_info (N, 3): height, width, scale.

    Gives `rpn_post_nms_top_n` regions an image, repeated from the first one on where there are fewer.
    """
    attrs = node.attrs
    post = attrs["rpn_post_nms_top_n"]
    anchors = _anchors(node)
    count = len(anchors)
    batch, height, width = _sizes(node)
    scores = node.shaped(0, (batch, 2 * count, height, width))
    offsets = node.shaped(1, (batch, 4 * count, height, width))
    info = node.shaped(2, (batch, 3))
    if post < 1 or any(value.dtype not in (None, SINGLE) for value in (scores, offsets, info)):
        node.refuse(f"rpn_post_nms_top_n {post} of {scores.type}, expected 1 or more of float32")
    sides = [_side(node, anchors, axis, info) for axis in (0, 1)]
    stride = node.scalar_like(info, float(attrs["feature_stride"]))
    beyond = [
        node.step(GreaterOrEqual(), side.shift,
                  node.step(Mul(), _whole(node, node.step(Div(), side.length, stride)), stride), suffix="beyond")
        for side in sides
    ]  # fmt: skip
    padding = node.step(Or(), *beyond, suffix="padding")
    corners = [_corners(node, offsets, side, axis) for axis, side in enumerate(sides)]
    boxes, small = _enlarged(node, corners, info)
    lost = node.constant(-1.0, SINGLE)
    bounds = node.vector([count]), node.vector([2 * count]), node.vector([1])
    result = node.step(Slice(), scores, *bounds, suffix="foreground")
    result = node.step(Transpose((0, 2, 3, 1)), result, suffix="scores")
    result = node.step(Where(), node.step(Or(), padding, small, suffix="lost"), lost, result, suffix="scores")
    result = node.step(Reshape(), result, node.vector([0, -1]), suffix="scores")
    regions = node.step(Reshape(), boxes, node.vector([0, -1, 4]), suffix="boxes")
    return _best(node, regions, result, _most(node, result, (height, width), count))


def _sizes(node: ImportNode) -> tuple[Dim, Dim, Dim]:
    batch, _, height, width = node.shape(0) if node.rank(0) == 4 else (UNKNOWN,) * 4
    return batch, height, width


def _anchors(node: ImportNode) -> Array:
    """Corners (A, 4) of the anchors of the first pixel: every ratio with every scale, rounded as MXNet rounds them."""
    attrs = node.attrs
    stride, ratios, scales = attrs["feature_stride"], attrs["ratios"] or (), attrs["scales"] or ()
    if stride < 1 or not ratios or not scales or min(ratios) <= 0 or 0 in map(to_single, scales):
        node.refuse(f"feature_stride {stride}, ratios {ratios}, scales {scales}: expected positive numbers")
    node.charge(len(ratios) * len(scales) * 4, "its anchors")
    center, rows = (stride - 1) / 2, []
    for ratio in map(to_single, ratios):
        across = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        for scale in map(to_single, scales):
            # MXNet divides the scaled width again, in float32: it may end just below what is rounded.
            with np.errstate(all="ignore"):
                single = np.float32(across) * np.float32(scale) / np.float32(scale)
                height = single * np.float32(ratio) + np.float32(0.5)
            if not math.isfinite(height):
                node.refuse(f"a ratio of {ratio:g} and a scale of {scale:g}: anchors beyond float32")
            down = math.floor(height)
            half_width, half_height = (across * scale - 1) / 2, (down * scale - 1) / 2
            rows.append([center - half_width, center - half_height, center + half_width, center + half_height])
    return np.array(rows)


def _side(node: ImportNode, anchors: Array, axis: int, info: Value) -> Side:
    """Columns (axis 0) or rows (axis 1)."""
    low, high = (anchors[:, index].astype(np.float32) for index in (axis, axis + 2))
    index = 3 - axis
    stride = node.attrs["feature_stride"]
    size = node.sizes_if_known(0, (index,))
    if size is not None:
        node.charge(size[0], "its places")
        numbers = node.constant(np.arange(size[0], dtype=np.float32) * stride)
    else:
        end = node.step(Squeeze(), node.step(Shape(start=index, end=index + 1), node.input(0)), node.vector([0]))
        whole = node.step(Range(), node.constant(0, DType.INT64), end, node.constant(1, DType.INT64), suffix="places")
        numbers = node.step(Mul(), node.cast(whole, SINGLE), node.constant(float(stride), SINGLE), suffix="shift")
    shift = node.step(Reshape(), numbers, node.vector([1, -1, 1] if axis == 0 else [-1, 1, 1]), suffix="shifts")
    return Side(high - low + np.float32(1), low, shift, _of_info(node, info, 1 - axis))


def _of_info(node: ImportNode, info: Value, column: int) -> Value:
    """Return one number of every image, (N, 1, 1, 1)."""
    bounds = node.vector([column]), node.vector([column + 1]), node.vector([1])
    return node.step(Reshape(), node.step(Slice(), info, *bounds), node.vector([-1, 1, 1, 1]), suffix="info")


def _whole(node: ImportNode, value: Value) -> Value:
    return node.cast(node.cast(value, DType.INT32, suffix="cut"), SINGLE, suffix="whole")


def _corners(node: ImportNode, offsets: Value, side: Side, axis: int) -> tuple[Value, Value]:
    """Both corners of all boxes (N, H, W, A) on one axis, cut at the picture."""
    turned = node.step(Transpose((0, 2, 3, 1)), offsets, suffix="offsets")
    moves = node.step(Reshape(), turned, node.vector([0, 0, 0, len(side.low), 4]), suffix="moves")
    first, second = (
        node.step(Gather(4), moves, node.constant(index, DType.INT64), suffix="move") for index in (axis, axis + 2)
    )
    low = node.step(Add(), node.constant(side.low), side.shift, suffix="low")
    one, half = node.constant(1.0, SINGLE), node.constant(0.5, SINGLE)
    if node.attrs["iou_loss"]:
        high = node.step(Add(), low, node.constant(side.size - np.float32(1)), suffix="high")
        ends = node.step(Add(), low, first, suffix="low"), node.step(Add(), high, second, suffix="high")
    else:
        width = node.constant(side.size)
        middle = node.step(Add(), low, node.constant(np.float32(0.5) * (side.size - np.float32(1))), suffix="middle")
        middle = node.step(Add(), node.step(Mul(), first, width, suffix="moved"), middle, suffix="center")
        size = node.step(Mul(), node.step(Exp(), second), width, suffix="size")
        reach = node.step(Mul(), node.step(Sub(), size, one, suffix="apart"), half, suffix="reach")
        ends = node.step(Sub(), middle, reach, suffix="low"), node.step(Add(), middle, reach, suffix="high")
    last = node.step(Sub(), side.length, one, suffix="last")
    zero = node.constant(0.0, SINGLE)
    low, high = (node.step(Max(), node.step(Min(), end, last), zero, suffix="corner") for end in ends)
    return low, high


def _enlarged(node: ImportNode, corners: list[tuple[Value, Value]], info: Value) -> tuple[Value, Value]:
    """Boxes (N, H, W, A, 4), and which of them (N, H, W, A) are too small; those are enlarged, as MXNet does it."""
    one, half = node.constant(1.0, SINGLE), node.constant(0.5, SINGLE)
    least = node.constant(float(node.attrs["rpn_min_size"]), SINGLE)
    least = node.step(Mul(), least, _of_info(node, info, 2), suffix="least")
    narrow = [
        node.step(Less(), node.step(Add(), node.step(Sub(), high, low), one, suffix="side"), least, suffix="narrow")
        for low, high in corners
    ]
    small = node.step(Or(), *narrow, suffix="small")
    more = node.step(Where(), small, node.step(Mul(), least, half), node.constant(0.0, SINGLE), suffix="more")
    lows = [node.step(Sub(), low, more, suffix="low") for low, _ in corners]
    highs = [node.step(Add(), high, more, suffix="high") for _, high in corners]
    last = node.vector([4])
    boxes = [node.step(Unsqueeze(), value, last, suffix="coordinate") for value in (*lows, *highs)]
    return node.step(Concat(4), *boxes, suffix="boxes"), small


def _best(node: ImportNode, boxes: Value, scores: Value, most: Value) -> Value | tuple[Value, Value]:
    """Return the results from boxes (N, K, 4) and scores (N, K), of which the `most` best count."""
    attrs = node.attrs
    post = attrs["rpn_post_nms_top_n"]
    scores, indices = node.steps(TopK(axis=1), scores, most, suffix="best")
    indices = node.step(Unsqueeze(), indices, node.vector([2]), suffix="places")
    boxes = node.step(GatherND(1), boxes, indices, suffix="best_boxes")
    closed = node.step(Add(), boxes, node.constant(np.array([0, 0, 1, 1], np.float32)), suffix="closed")
    if attrs["iou_loss"]:
        # Offsets of corners can turn a box inside out. Such a one overlaps nothing, as one of no size does.
        first, last = (
            node.step(Slice(), value, node.vector([start]), node.vector([start + 2]), node.vector([2]), suffix="corner")
            for value, start in ((boxes, 0), (closed, 2))
        )
        closed = node.step(Concat(2), first, node.step(Max(), first, last, suffix="last"), suffix="closed")
    threshold = attrs["threshold"]
    chosen_count = post if threshold >= 0 else 1  # every overlap is above a limit below 0; none is above 1
    kept = node.step(
        NonMaxSuppression(), closed, node.step(Unsqueeze(), scores, node.vector([1])),
        node.constant(chosen_count, DType.INT64), node.constant(to_single(min(max(threshold, 0.0), 1.0)), SINGLE),
        suffix="kept",
    )  # fmt: skip
    chosen = node.step(Unsqueeze(), _repeated(node, kept, scores, post), node.vector([2]), suffix="chosen")
    boxes = node.step(GatherND(1), boxes, chosen, suffix="regions")
    images = node.step(Shape(start=0, end=1), scores, suffix="images")
    numbers = node.cast(_up_to(node, images), SINGLE, suffix="image")
    numbers = node.step(Reshape(), numbers, node.vector([-1, 1, 1]), suffix="image")
    shape = node.step(Concat(0), images, node.vector([post, 1]), suffix="shape")
    column = node.step(Expand(), numbers, shape, suffix="image_of_each")
    rows = node.step(Concat(2), column, boxes, suffix="rows")
    rois = node.emit(Reshape(), rows, node.vector([-1, 5]))
    if not attrs["output_score"]:
        return rois
    result = node.step(GatherND(1), scores, chosen, suffix="kept_scores")
    return rois, node.step(Reshape(), result, node.vector([-1, 1]), suffix="scores")


def _most(node: ImportNode, scores: Value, sizes: tuple[Dim, Dim], anchors: int) -> Value:
    """Return how many of the best boxes take part."""
    pre = node.attrs["rpn_pre_nms_top_n"]
    height, width = sizes
    if isinstance(height, int) and isinstance(width, int):
        count = height * width * anchors
        return node.vector([min(pre, count) if pre > 0 else count])
    every = node.step(Shape(start=1, end=2), scores, suffix="all")
    return node.step(Min(), every, node.vector([pre]), suffix="most") if pre > 0 else every


def _up_to(node: ImportNode, count: Value) -> Value:
    """Return the whole numbers from 0 on, as many as a vector of one element says."""
    end = node.step(Squeeze(), count, node.vector([0]), suffix="end")
    return node.step(Range(), node.constant(0, DType.INT64), end, node.constant(1, DType.INT64), suffix="numbers")


def _repeated(node: ImportNode, kept: Value, scores: Value, post: int) -> Value:
    """Places (N, post) of the boxes that stay, by image, again from the first one on where there are fewer.

    `kept` (M, 3) are image, class and place, the images one after the other.
    """
    image = node.step(Gather(1), kept, node.constant(0, DType.INT64), suffix="image_of_kept")
    images = _up_to(node, node.step(Shape(start=0, end=1), scores, suffix="images"))
    own = node.step(Equal(), node.step(Unsqueeze(), images, node.vector([1])), image, suffix="own")
    counts = node.step(ReduceSum(keepdims=True), node.cast(own, DType.INT64), node.vector([1]), suffix="counts")
    starts = node.step(CumSum(exclusive=True), counts, node.constant(0, DType.INT64), suffix="starts")
    turn = node.step(Mod(), node.vector(range(post)), counts, suffix="turn")
    indices = node.step(Gather(1), kept, node.constant(2, DType.INT64), suffix="place_of_kept")
    return node.step(Gather(0), indices, node.step(Add(), starts, turn, suffix="rows_of_kept"), suffix="places_of_kept")


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_MultiProposal": import_proposals,
    "_contrib_Proposal": import_proposal,
}
