"""Detection of objects: overlapping boxes, and cells of regions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def corners_of(boxes: Tensor) -> Tensor:
    """Turn (x, y, width, height) about the centre to corners."""
    half = boxes[..., 2:] / 2
    return torch.cat((boxes[..., :2] - half, boxes[..., :2] + half), dim=-1)


def centers_of(boxes: Tensor) -> Tensor:
    """Turn corners to (x, y, width, height) about the centre."""
    center = (boxes[..., :2] + boxes[..., 2:]) / 2
    return torch.cat((center, boxes[..., 2:] - boxes[..., :2]), dim=-1)


def box_iou(box: Tensor, boxes: Tensor) -> Tensor:
    """Return the overlap of a box with others, 0 where both are empty."""
    low = torch.maximum(box[:2], boxes[:, :2])
    high = torch.minimum(box[2:], boxes[:, 2:])
    shared = (high - low).clamp(min=0).prod(1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    union = (box[2:] - box[:2]).prod() + areas - shared
    return torch.where(union > 0, shared / union, 0.0)


def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    limit: int,
    iou_threshold: float = 0.0,
    score_threshold: float = -float("inf"),
    center_point_box: bool = False,
) -> Tensor:
    """Return (image, class, box) of the boxes that overlap no better one of a class."""
    if center_point_box:
        boxes = corners_of(boxes)
    low = torch.minimum(boxes[..., :2], boxes[..., 2:])
    boxes = torch.cat((low, torch.maximum(boxes[..., :2], boxes[..., 2:])), dim=-1)
    kept = []
    for image in range(scores.shape[0]):
        for label in range(scores.shape[1]):
            score, order = scores[image, label].sort(descending=True, stable=True)
            order = order[score > score_threshold]
            count = 0
            while len(order) and count < limit:
                kept.append([image, label, int(order[0])])
                iou = box_iou(boxes[image, order[0]], boxes[image, order[1:]])
                order = order[1:][iou <= iou_threshold]
                count += 1
    return torch.tensor(kept, dtype=torch.int64, device=boxes.device).reshape(-1, 3)


def box_nms(
    x: Tensor,
    threshold: float,
    least_score: float,
    topk: int,
    box: int,
    score: int,
    label: int,
    background: int,
    any_label: bool,
    centers_in: bool,
    centers_out: bool,
) -> Tensor:
    """Return rows by descending score without those that overlap a better one."""
    if topk == 0:
        return x
    result = torch.full_like(x, -1)
    for image, rows in zip(result, x, strict=True):
        is_candidate = rows[:, score] > least_score
        if label >= 0:
            is_candidate = is_candidate & (rows[:, label] != background)
        rows = rows[is_candidate]
        rows = rows[rows[:, score].argsort(descending=True, stable=True)]
        rows = rows if topk < 0 else rows[:topk]
        boxes, classes = rows[:, box : box + 4], rows[:, label].trunc()
        boxes = corners_of(boxes) if centers_in else boxes
        order = torch.arange(len(rows), device=x.device)
        kept = []
        while len(order):
            first, order = order[0], order[1:]
            kept.append(int(first))
            is_far = box_iou(boxes[first], boxes[order]) <= threshold
            if label >= 0 and not any_label:
                is_far = is_far | (classes[order] != classes[first])
            order = order[is_far]
        image[: len(kept)] = rows[kept]
        if centers_in != centers_out:
            change = centers_of if centers_out else corners_of
            image[: len(kept), box : box + 4] = change(rows[kept, box : box + 4])
    return result


def multibox_detection(
    scores: Tensor,
    offsets: Tensor,
    anchors: Tensor,
    threshold: float,
    nms_threshold: float,
    topk: int,
    any_label: bool,
    clip: bool,
    variances: tuple[float, float, float, float],
) -> Tensor:
    """Return rows (class, score, corners) of anchors moved by offsets."""
    base = centers_of(anchors[0])
    moved = offsets.reshape(len(offsets), -1, 4) * scores.new_tensor(variances)
    center = moved[..., :2] * base[:, 2:] + base[:, :2]
    boxes = corners_of(torch.cat((center, moved[..., 2:].exp() * base[:, 2:]), dim=-1))
    boxes = boxes.clamp(0, 1) if clip else boxes
    best, label = scores[:, 1:].max(1)
    label = scores[:, 1:].argmax(1).to(scores.dtype)
    sorted_rows = torch.cat((label.unsqueeze(2), best.unsqueeze(2), boxes), dim=2)
    result = torch.full_like(sorted_rows, -1)
    for image, rows in zip(result, sorted_rows, strict=True):
        rows = rows[rows[:, 1] >= threshold]
        if 0 < nms_threshold <= 1:
            count = len(rows) if topk <= 0 else min(topk, len(rows))
            order = rows[:, 1].argsort(descending=True, stable=True)
            rows = torch.cat((rows[order[:count]], rows[count:]))
            rows[count:, 0] = -1
            for i in range(count):
                if rows[i, 0] < 0:
                    continue
                is_near = box_iou(rows[i, 2:], rows[i + 1 : count, 2:]) >= nms_threshold
                if not any_label:
                    is_near = is_near & (rows[i + 1 : count, 0] == rows[i, 0])
                rows[i + 1 : count, 0] = rows[i + 1 : count, 0].masked_fill(is_near, -1)
        image[: len(rows)] = rows
    return result


def sample_axis(
    start: float, step: float, count: int, size: int
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return the two neighbours of each point on an axis with their weights."""
    point = start + (torch.arange(count) + 0.5) * step
    is_inside = ((point >= -1) & (point <= size)).float()
    point = point.clamp(0, size - 1)
    low = point.long()
    high = (low + 1).clamp(max=size - 1)
    part = point - low
    return (low, (1 - part) * is_inside), (high, part * is_inside)


def roi_align(
    x: Tensor,
    rois: Tensor,
    images: Tensor,
    size: tuple[int, int],
    sampling: int = 0,
    scale: float = 1.0,
    aligned: bool = True,
    mode: str = "avg",
) -> Tensor:
    """Return the mean or maximum of samples in the cells of regions (x1, y1, x2, y2)."""
    result = x.new_zeros(len(rois), x.shape[1], *size)
    corners = (rois * scale - (0.5 if aligned else 0.0)).tolist()
    for i, (image, box) in enumerate(zip(images.tolist(), corners, strict=True)):
        samples, counts = [], []
        for axis in (0, 1):
            start, end = box[1 - axis], box[3 - axis]
            length = end - start if aligned else max(end - start, 1.0)
            cell = length / size[axis]
            count = sampling if sampling > 0 else max(int(-(-cell // 1)), 0)
            total = count * size[axis]
            step = cell / max(count, 1)
            samples.append(sample_axis(start, step, total, x.shape[2 + axis]))
            counts.append(count)
        if 0 in counts:
            continue
        parts = torch.stack(
            [
                x[image][:, row.to(x.device)][:, :, column.to(x.device)]
                * torch.outer(down, across).to(x.device, x.dtype)
                for row, down in samples[0]
                for column, across in samples[1]
            ]
        )
        shape = (-1, size[0], counts[0], size[1], counts[1])
        if mode == "max":
            result[i] = parts.amax(0).reshape(shape).amax((2, 4))
        else:
            result[i] = parts.sum(0).reshape(shape).mean((2, 4))
    return result
