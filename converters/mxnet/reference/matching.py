"""Boxes matched with boxes, as for the training of detectors, in numpy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphir.converters.mxnet.reference.contract import Array, Attributes, Reference, require


def centers(boxes: Array) -> tuple[Array, Array]:
    """Centres and sizes (..., 2) of corner boxes (..., 4)."""
    size = boxes[..., 2:] - boxes[..., :2]
    return boxes[..., :2] + size * boxes.dtype.type(0.5), size


def box_encode(
    attrs: Attributes, samples: Array, matches: Array, anchors: Array, refs: Array, means: Array, stds: Array
) -> tuple[Array, Array]:
    """Targets and masks (B, N, 4) of anchors (B, N, 4) that are matched with boxes (B, M, 4); 0 unless positive."""
    require(samples.ndim == 2 and anchors.ndim == refs.ndim == 3, f"{samples.shape}, {anchors.shape}, {refs.shape}")
    chosen = np.where(samples > 0.5, matches, 0).astype(np.int64)
    boxes = np.take_along_axis(refs, chosen[:, :, None], axis=1)
    (place, size), (own_place, own_size) = centers(boxes), centers(anchors)
    with np.errstate(all="ignore"):
        found = np.concatenate([(place - own_place) / own_size, np.log(size / own_size)], axis=2)
        found = (found - means) / stds
    mask = np.broadcast_to(samples[:, :, None] > 0.5, found.shape)
    return np.where(mask, found, 0).astype(samples.dtype), mask.astype(samples.dtype)


def pairs(scores: Array, threshold: float, most: int) -> tuple[Array, Array]:
    """Of scores (N, M) the column of each row and the row of each column, the highest first; -1 for none."""
    rows, columns = (np.full(count, -1.0) for count in scores.shape)
    for place in np.argsort(-scores, axis=None, kind="stable"):
        row, column = divmod(int(place), scores.shape[1])
        if not scores[row, column] > threshold or most == 0:
            break
        if rows[row] < 0 and columns[column] < 0:
            rows[row], columns[column] = column, row
            most -= 1
    return rows, columns


def bipartite_matching(attrs: Attributes, data: Array) -> tuple[Array, Array]:
    """The column of each row (..., N) and the row of each column (..., M). A `topk` above 0 allows one match more."""
    require(data.ndim >= 2, f"{data.ndim} axes, expected at least 2")
    sign, topk = (-1 if attrs.get("is_ascend") else 1), int(attrs.get("topk", -1))
    flat = data.reshape(-1, *data.shape[-2:])
    limit = sign * float(np.asarray(attrs["threshold"], np.float32).astype(data.dtype))
    found = [pairs(sign * scores, limit, topk + 1 if topk > 0 else -1) for scores in flat]
    rows, columns = (np.stack(each).astype(data.dtype) for each in zip(*found, strict=True))
    return rows.reshape(data.shape[:-1]), columns.reshape(*data.shape[:-2], data.shape[-1])


def overlaps(anchors: Array, boxes: Array) -> Array:
    """The intersection over union (A, G)."""
    low = np.maximum(anchors[:, None, :2], boxes[None, :, :2])
    high = np.minimum(anchors[:, None, 2:], boxes[None, :, 2:])
    shared = np.maximum(high - low, 0).prod(axis=2)
    areas = [(each[:, 2] - each[:, 0]) * (each[:, 3] - each[:, 1]) for each in (anchors, boxes)]
    union = areas[0][:, None] + areas[1] - shared
    return np.where(union <= 0, 0, shared / np.where(union <= 0, 1, union)).astype(anchors.dtype)


def multibox_target(attrs: Attributes, anchor: Array, label: Array, cls_pred: Array) -> tuple[Array, Array, Array]:
    """Targets of offsets (N, 4 A), their masks and targets of classes (N, A) for anchors (1, A, 4), labels (N, G, 5)
    and scores (N, C, A)."""
    require(anchor.ndim == label.ndim == cls_pred.ndim == 3 and label.shape[2] >= 5, f"{anchor.shape}, {label.shape}")
    anchors, count = anchor[0], anchor.shape[1]
    target = np.zeros((len(label), count, 4), anchor.dtype)
    mask = np.zeros_like(target)
    classes = np.full((len(label), count), attrs.get("ignore_label", -1.0), anchor.dtype)
    variances = np.array(attrs.get("variances", (0.1, 0.1, 0.2, 0.2)), np.float32).astype(anchor.dtype)
    for image, rows in enumerate(label):
        ends = np.flatnonzero(rows[:, 0] == -1)
        valid = rows[: ends[0]] if len(ends) else rows
        if not len(valid):
            continue
        overlap = overlaps(anchors, valid[:, 1:5])
        owner, _ = pairs(overlap, 1e-6, -1)
        best, which = overlap.max(axis=1), overlap.argmax(axis=1)
        limit = np.float32(attrs.get("overlap_threshold", 0.5))
        more = (owner < 0) & (best > limit) if limit > 0 else np.zeros(count, bool)
        owner = np.where(more, which, owner).astype(np.int64)
        positive = owner >= 0
        negative = ~positive & _negatives(attrs, cls_pred[image], positive, best)
        classes[image] = np.where(positive, valid[owner, 0] + 1, np.where(negative, 0, classes[image]))
        (place, size), (own_place, own_size) = centers(valid[owner, 1:5]), centers(anchors)
        with np.errstate(all="ignore"):
            found = np.concatenate([(place - own_place) / own_size, np.log(size / own_size)], axis=1) / variances
        target[image] = np.where(positive[:, None], found, 0)
        mask[image] = positive[:, None]
    return target.reshape(len(label), -1), mask.reshape(len(label), -1), classes


def _negatives(attrs: Attributes, scores: Array, positive: Array, best: Array) -> Array:
    """Which anchors may be background: all, or those that least look like it, so many for each positive one."""
    ratio = np.float32(attrs.get("negative_mining_ratio", -1.0))
    if ratio <= 0:
        return np.ones(len(positive), bool)
    wanted = min(int(positive.sum() * ratio), int((~positive).sum()))
    share = np.exp(scores - scores.max(axis=0))
    share = share[0] / share.sum(axis=0)
    candidate = ~positive & (best < np.float32(attrs.get("negative_mining_thresh", 0.5)))
    order = np.argsort(np.where(candidate, share, np.inf), kind="stable")
    require(wanted <= candidate.sum(), f"{wanted} negative samples are wanted of {candidate.sum()}")
    found = np.zeros(len(positive), bool)
    found[order[:wanted]] = True
    return found


OPERATORS: Mapping[str, Reference] = {
    "_contrib_MultiBoxTarget": multibox_target,
    "_contrib_bipartite_matching": bipartite_matching,
    "_contrib_box_encode": box_encode,
}

__all__ = ["OPERATORS"]
