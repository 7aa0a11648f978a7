"""Proposals of regions, in numpy: anchors moved by their offsets, the best of those that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require

SINGLE = np.float32


def base_anchors(attrs: Attributes) -> Array:
    """Corners (A, 4) of the anchors of the first pixel: every ratio with every scale."""
    stride = int(attrs.get("feature_stride", 16))
    middle = (stride - 1) / 2
    result = []
    for ratio in attrs.get("ratios", (0.5, 1.0, 2.0)):
        for scale in attrs.get("scales", (4.0, 8.0, 16.0, 32.0)):
            require(scale != 0, "a scale of 0, by which MXNet divides")
            side = SINGLE(math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5))
            width = side * SINGLE(scale)  # divided again, which may end just below what is rounded
            height = SINGLE(math.floor(width / SINGLE(scale) * SINGLE(ratio) + SINGLE(0.5))) * SINGLE(scale)
            right, below = (width - 1) / 2, (height - 1) / 2
            result.append([middle - right, middle - below, middle + right, middle + below])
    return np.array(result, SINGLE)


def moved(anchors: Array, offsets: Array, iou_loss: bool) -> Array:
    """Anchors (K, 4) moved by offsets (K, 4): of corners, or of centre and size."""
    if iou_loss:
        return anchors + offsets
    size = anchors[:, 2:] - anchors[:, :2] + SINGLE(1)
    center = anchors[:, :2] + SINGLE(0.5) * (size - SINGLE(1))
    center = offsets[:, :2] * size + center
    size = np.exp(offsets[:, 2:]) * size
    half = SINGLE(0.5) * (size - SINGLE(1))
    return np.concatenate([center - half, center + half], axis=1)


def propose(attrs: Attributes, scores: Array, offsets: Array, info: Array) -> tuple[Array, Array]:
    """Regions (post, 4) and scores (post, 1) of one image: scores (A, H, W), offsets (4 A, H, W), info (3)."""
    stride, base = int(attrs.get("feature_stride", 16)), base_anchors(attrs)
    count, height, width = scores.shape
    require(len(base) == count and offsets.shape == (4 * count, height, width), f"{len(base)} anchors, {scores.shape}")
    require(info[0] / stride < height + 1 and info[1] / stride < width + 1, f"{info} of {height} x {width} places")
    rows, columns = np.mgrid[:height, :width]
    shifts = np.stack([columns, rows, columns, rows], axis=-1)[:, :, None] * stride
    anchors = (base + shifts).astype(SINGLE).reshape(-1, 4)
    deltas = offsets.reshape(count, 4, height, width).transpose(2, 3, 0, 1).reshape(-1, 4)
    with np.errstate(all="ignore"):
        boxes = moved(anchors, deltas, bool(attrs.get("iou_loss")))
    limits = np.array([info[1], info[0], info[1], info[0]], SINGLE) - SINGLE(1)
    boxes = np.maximum(np.minimum(boxes, limits), SINGLE(0))
    score = scores.transpose(1, 2, 0).copy()
    score[int(info[0] / SINGLE(stride)) :] = -1
    score[:, int(info[1] / SINGLE(stride)) :] = -1
    score = score.reshape(-1)
    least = SINGLE(attrs.get("rpn_min_size", 16)) * info[2]
    small = (boxes[:, 2:] - boxes[:, :2] + SINGLE(1) < least).any(axis=1)
    half = least / SINGLE(2)
    boxes[small] += np.array([-half, -half, half, half], SINGLE)
    score[small] = -1
    best = int(attrs.get("rpn_pre_nms_top_n", 6000))
    best = min(best, len(score)) if best > 0 else len(score)
    order = np.argsort(-score, kind="stable")[:best]
    kept = apart(boxes[order], SINGLE(attrs.get("threshold", 0.7)), int(attrs.get("rpn_post_nms_top_n", 300)))
    chosen = order[np.resize(kept, int(attrs.get("rpn_post_nms_top_n", 300)))]
    return boxes[chosen], score[chosen, None]


def apart(boxes: Array, threshold: np.float32, most: int) -> Array:
    """Return the places of the first boxes of which none overlaps a better one by more than the threshold."""
    kept: list[int] = []
    sizes = boxes[:, 2:] - boxes[:, :2] + SINGLE(1)
    areas = sizes[:, 0] * sizes[:, 1]
    open_ = np.ones(len(boxes), bool)
    for index in range(len(boxes)):
        if not open_[index]:
            continue
        kept.append(index)
        if len(kept) == most:
            break
        low, high = np.maximum(boxes[:, :2], boxes[index, :2]), np.minimum(boxes[:, 2:], boxes[index, 2:])
        sides = np.maximum(high - low + SINGLE(1), SINGLE(0))
        shared = sides[:, 0] * sides[:, 1]
        open_ &= shared / (areas[index] + areas - shared) <= threshold
    return np.array(kept)


def proposals(attrs: Attributes, scores: Array, offsets: Array, info: Array) -> Array | tuple[Array, Array]:
    """Regions (N * post, 5) of image and corners, and their scores (N * post, 1) if they are wanted."""
    require(all(value.dtype == SINGLE for value in (scores, offsets, info)), "a dtype other than float32")
    require(scores.shape[1] % 2 == 0, f"{scores.shape[1]} scores a pixel, expected two for each anchor")
    count = scores.shape[1] // 2
    regions, outcome = [], []
    for image in range(scores.shape[0]):
        boxes, score = propose(attrs, scores[image, count:], offsets[image], info[image])
        regions.append(np.concatenate([np.full((len(boxes), 1), image, SINGLE), boxes], axis=1))
        outcome.append(score)
    result = np.concatenate(regions)
    return (result, np.concatenate(outcome)) if attrs.get("output_score") else result


def proposal(attrs: Attributes, scores: Array, offsets: Array, info: Array) -> Array | tuple[Array, Array]:
    """Return the same for one image only."""
    require(scores.shape[0] == 1, f"{scores.shape[0]} images, expected one")
    return proposals(attrs, scores, offsets, info)


OPERATORS: Mapping[str, Reference] = {"_contrib_MultiProposal": proposals, "_contrib_Proposal": proposal}
