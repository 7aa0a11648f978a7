"""Operators of object detectors in numpy (src/operator/contrib/multibox_*.cc, bounding_box-inl.h, roi_align.cc)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, accumulator, require


def multibox_prior(attrs: Attributes, data: Array) -> Array:
    """Anchors (1, H W (sizes + ratios - 1), 4) as corners in [0, 1] of the image, for each pixel of (N, C, H, W).

    First every size with the first ratio, then the first size with every further ratio; steps that are not both
    positive are 1 / size.
    """
    sizes, ratios = attrs.get("sizes") or (1.0,), attrs.get("ratios") or (1.0,)
    height, width = data.shape[2:]
    steps, offsets = attrs.get("steps") or (-1.0, -1.0), attrs.get("offsets") or (0.5, 0.5)
    require(steps[0] * steps[1] >= 0, f"steps {steps}: one is stated and the other is not")
    step_y, step_x = steps if min(steps) > 0 else (1.0 / height, 1.0 / width)
    root = math.sqrt(ratios[0])
    halves = [(size * height / width * root / 2, size / root / 2) for size in sizes]
    for ratio in ratios[1:]:
        halves.append((sizes[0] * height / width * math.sqrt(ratio) / 2, sizes[0] / math.sqrt(ratio) / 2))
    anchors = [
        ((column + offsets[1]) * step_x - half_width, (row + offsets[0]) * step_y - half_height,
         (column + offsets[1]) * step_x + half_width, (row + offsets[0]) * step_y + half_height)
        for row in range(height) for column in range(width) for half_width, half_height in halves
    ]  # fmt: skip
    result = np.array(anchors, np.float32)[None]
    return (np.clip(result, 0, 1) if attrs.get("clip") else result).astype(data.dtype)


def corners(boxes: Array) -> Array:
    """(x, y, width, height) about the centre to (x1, y1, x2, y2)."""
    half = boxes[..., 2:] / 2
    return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)


def centers(boxes: Array) -> Array:
    """(x1, y1, x2, y2) to (x, y, width, height) about the centre."""
    return np.concatenate([(boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]], axis=-1)


def overlap(left: Array, right: Array) -> Array:
    """Intersection over union of corner boxes, broadcast; 0 where the union is empty."""
    low = np.maximum(left[..., :2], right[..., :2])
    high = np.minimum(left[..., 2:], right[..., 2:])
    sides = np.maximum(high - low, 0), left[..., 2:] - left[..., :2], right[..., 2:] - right[..., :2]
    shared, first, second = (side[..., 0] * side[..., 1] for side in sides)
    union = first + second - shared
    return np.asarray(np.where(union > 0, shared / np.where(union > 0, union, 1), 0))


def box_iou(attrs: Attributes, left: Array, right: Array) -> Array:
    """Overlap of every box of left (..., 4) with every box of right (..., 4)."""
    require(left.ndim >= 2 and right.ndim >= 2, f"boxes of rank {left.ndim} and {right.ndim}, expected at least 2")
    change = corners if attrs.get("format", "corner") == "center" else np.asarray
    first, second = change(left).reshape(-1, 1, 4), change(right).reshape(1, -1, 4)
    return overlap(first, second).reshape(*left.shape[:-1], *right.shape[:-1]).astype(left.dtype)


def box_decode(attrs: Attributes, data: Array, anchors: Array) -> Array:
    """Offsets (N, K, 4) times std applied to anchors (1, K, 4) of the given format: corner boxes.

    Width and height are `exp(d std) * size`, d std limited to `clip` when that is positive.
    """
    deviations = np.array([attrs.get(f"std{index}", 1.0) for index in range(4)], data.dtype)
    base = centers(anchors) if attrs.get("format", "center") == "corner" else anchors
    moved = data * deviations
    size = moved[..., 2:]
    if attrs.get("clip", -1.0) > 0:
        size = np.minimum(size, attrs["clip"])
    center = moved[..., :2] * base[..., 2:] + base[..., :2]
    half = np.exp(size) * base[..., 2:] / 2
    return np.asarray(np.concatenate([center - half, center + half], axis=-1).astype(data.dtype))


def box_nms(attrs: Attributes, data: Array) -> Array:
    """Boxes (..., K, width) in descending order of score without those that overlap a better one; -1 fills the rest.

    Only scores above valid_thresh take part, and of these the topk best. Boxes of different id do not suppress each
    other unless force_suppress; ids are cut to integers. With a topk of 0 the data stays as it is.
    """
    score_slot, id_slot, start = (int(attrs.get(key, default)) for key, default in SLOTS)
    background, topk = int(attrs.get("background_id", -1)), int(attrs.get("topk", -1))
    if topk == 0:
        return data
    batches = data.reshape(-1, *data.shape[-2:])
    result = np.full_like(batches, -1)
    change = None
    if attrs.get("in_format", "corner") != attrs.get("out_format", "corner"):
        change = centers if attrs.get("out_format") == "center" else corners
    for batch, boxes in enumerate(batches):
        valid = boxes[:, score_slot] > attrs.get("valid_thresh", 0.0)
        if id_slot >= 0:
            valid &= boxes[:, id_slot] != background
        candidates = np.flatnonzero(valid)
        candidates = candidates[np.argsort(-boxes[candidates, score_slot], kind="stable")]
        candidates = candidates if topk < 0 else candidates[:topk]
        indices = boxes[:, start : start + 4]
        indices = corners(indices) if attrs.get("in_format", "corner") == "center" else indices
        are_rivals = id_slot < 0 or bool(attrs.get("force_suppress"))
        classes = np.zeros(len(candidates)) if are_rivals else np.trunc(boxes[candidates, id_slot])
        kept = candidates[unsuppressed(indices[candidates], classes, attrs.get("overlap_thresh", 0.5), np.greater)]
        result[batch, : len(kept)] = boxes[kept]
        if change is not None:
            result[batch, : len(kept), start : start + 4] = change(boxes[kept, start : start + 4])
    return result.reshape(data.shape)


# Overlaps of so many boxes with all that are worse are computed together: of ten thousand they take some megabytes.
BOXES_AT_ONCE = 64
SLOTS = (("score_index", 1), ("id_index", -1), ("coord_start", 2))


def multibox_detection(attrs: Attributes, scores: Array, offsets: Array, anchors: Array) -> Array:
    """Class scores (N, classes, K), offsets (N, 4 K) and anchors (1, K, 4) to rows (id, score, x1, y1, x2, y2).

    Each anchor takes its best class but the first (MXNet never reads background_id), counted without it; anchors below
    the threshold are left out, suppressed rows have id -1. The nms_topk best come first, by descending score; behind
    them stands whatever stood there in the order of the anchors, with id -1 (MXNet copies only the sorted part back),
    then rows of -1. With nms_threshold outside (0, 1] nothing is sorted, and all keep their id.
    """
    variances = attrs.get("variances") or (0.1, 0.1, 0.2, 0.2)
    batch, _, count = scores.shape
    require(offsets.shape == (batch, 4 * count), f"loc_pred {offsets.shape}, expected {(batch, 4 * count)}")
    base = centers(anchors[0])
    result = np.full((batch, count, 6), -1, scores.dtype)
    for sample in range(batch):
        best = scores[sample, 1:].argmax(axis=0)
        score = scores[sample, 1:].max(axis=0)
        moved = offsets[sample].reshape(-1, 4) * np.array(variances, scores.dtype)
        center = moved[:, :2] * base[:, 2:] + base[:, :2]
        half = np.exp(moved[:, 2:]) * base[:, 2:] / 2
        boxes = np.concatenate([center - half, center + half], axis=1)
        boxes = np.clip(boxes, 0, 1) if attrs.get("clip", True) else boxes
        chosen = np.flatnonzero(score >= attrs.get("threshold", 0.01))
        rows = np.concatenate([best[:, None], score[:, None], boxes], axis=1).astype(scores.dtype)[chosen]
        if not 0 < attrs.get("nms_threshold", 0.5) <= 1:
            result[sample, : len(rows)] = rows
            continue
        topk = int(attrs.get("nms_topk", -1))
        keep = len(rows) if topk <= 0 else min(topk, len(rows))
        rows[:keep] = rows[np.argsort(-rows[:, 1], kind="stable")][:keep]
        rows[keep:, 0] = -1
        classes = np.zeros(keep) if attrs.get("force_suppress") else rows[:keep, 0]
        rows[:keep][~unsuppressed(rows[:keep, 2:], classes, attrs.get("nms_threshold", 0.5)), 0] = -1
        result[sample, : len(rows)] = rows
    return result


def unsuppressed(
    boxes: Array, classes: Array, threshold: float, beyond: Callable[[Array, float], Array] = np.greater_equal
) -> Array:
    """Return which boxes, the best one first, do not overlap a better one of their class that is kept."""
    kept = np.ones(len(boxes), bool)
    for start in range(0, len(boxes), BOXES_AT_ONCE):
        open_ones = start + np.flatnonzero(kept[start:])
        block = open_ones[open_ones < start + BOXES_AT_ONCE]
        rivals = beyond(overlap(boxes[block][:, None], boxes[open_ones]), threshold)
        rivals &= classes[block][:, None] == classes[open_ones]
        for place, index in enumerate(block):
            if kept[index]:
                kept[open_ones[place + 1 :][rivals[place, place + 1 :]]] = False
    return kept


def roi_align(attrs: Attributes, data: Array, rois: Array) -> Array:
    """Return the mean of bilinear samples in each cell of each region (batch, x1, y1, x2, y2).

    Corners are scaled, and shifted by half a pixel if aligned; else a region is at least 1 wide. A cell takes
    sample_ratio points an axis, or ceil(cell size). A batch index below 0
    (-1 or less: it is cut to an integer) gives zeros.
    """
    pooled, aligned = tuple(attrs["pooled_size"]), bool(attrs.get("aligned"))
    ratio, groups = int(attrs.get("sample_ratio", -1)), pooled if attrs.get("position_sensitive") else (1, 1)
    channels = data.shape[1] // math.prod(groups)
    height, width = data.shape[2:]
    images = data[:, : channels * math.prod(groups)].reshape(-1, channels, *groups, height, width)
    images = images.transpose(0, 4, 5, 2, 3, 1).astype(accumulator(data.dtype), order="C")
    result = np.zeros((rois.shape[0], channels, *pooled), data.dtype)
    for index, roi in enumerate(rois):
        if int(roi[0]) < 0:
            continue
        left, top, right, bottom = roi[1:] * attrs["spatial_scale"] - (0.5 if aligned else 0.0)
        counts, places = [], []
        for cells, start, end in ((pooled[0], top, bottom), (pooled[1], left, right)):
            cell = (end - start if aligned else max(end - start, rois.dtype.type(1))) / rois.dtype.type(cells)
            counts.append(ratio if ratio > 0 else max(math.ceil(cell), 0))
            places.append(sample_places(start, cell, cells, counts[-1]))
        parts = [np.arange(cells).repeat(count) * (number > 1)
                 for cells, count, number in zip(pooled, counts, groups, strict=True)]  # fmt: skip
        points = bilinear_points(images[int(roi[0])], places, parts)
        cells = points.reshape(pooled[0], counts[0], pooled[1], counts[1], channels).sum(axis=(1, 3))
        result[index] = np.moveaxis(cells / max(math.prod(counts), 1), -1, 0)
    return result


def sample_places(start: Array, cell: Array, cells: int, count: int) -> Array:
    """Return the places (cells * count,) of so many points in each cell of an axis."""
    single = np.result_type(start, np.float32).type
    first = single(start) + np.arange(cells, dtype=single)[:, None] * single(cell)
    inside = (np.arange(count, dtype=single) + single(0.5)) * single(cell) / single(max(count, 1))
    return np.asarray((first + inside).reshape(-1))


def bilinear_points(image: Array, places: Sequence[Array], parts: Sequence[Array]) -> Array:
    """Read an image (H, W, groups, groups, C) at places (Y,) and (X,), each in one of the groups: (Y, X, C). Points up
    to one pixel outside count as on the border, others are 0."""
    _, width, rows, columns, channels = image.shape
    steps = (width * rows * columns, columns), (rows * columns, 1)
    sides, inside = [], []
    for place, size, (step, part_step), part in zip(places, image.shape, steps, parts, strict=False):
        inside.append((place >= -1) & (place <= size))
        place = np.where(inside[-1], np.clip(place, 0, size - 1), 0).astype(image.dtype)
        low = place.astype(np.int64)
        share = (place - low).astype(image.dtype)
        ends = (low, 1 - share), (np.minimum(low + 1, size - 1), share)
        sides.append([(end * step + part * part_step, weight) for end, weight in ends])
    elements = image.reshape(-1, channels)
    points = np.zeros((len(places[0]), len(places[1]), channels), image.dtype)
    for (row, above), (column, before) in itertools.product(*sides):
        read = elements.take(row[:, None] + column, axis=0)
        read *= (above[:, None] * before)[..., None]
        points += read
    is_inside = inside[0][:, None] & inside[1]
    if not is_inside.all():
        points[~is_inside] = 0
    return points


OPERATORS: Mapping[str, Reference] = {
    "_contrib_MultiBoxDetection": multibox_detection,
    "_contrib_MultiBoxPrior": multibox_prior,
    "_contrib_ROIAlign": roi_align,
    "_contrib_box_decode": box_decode,
    "_contrib_box_iou": box_iou,
    "_contrib_box_nms": box_nms,
}
