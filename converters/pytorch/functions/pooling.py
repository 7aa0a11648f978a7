"""Pooling that torch has no call for, with any padding, dilation and number of axes; padding of open sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F
    from torch import Tensor


def pad_same(
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    lower: bool = False,
    value: float = 0.0,
) -> Tensor:
    """Pad the last axes so that a window gives ceil(size / stride) elements."""
    pads: list[int] = []
    for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True):
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        small, large = total // 2, total - total // 2
        pads = [large, small, *pads] if lower else [small, large, *pads]
    return F.pad(x, pads, value=value)


def windows(
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> Tensor:
    """Return the elements of every window over the axes from 2 on, as a last axis."""
    for i, (k, s, d) in enumerate(zip(kernel, stride, dilation, strict=True)):
        x = x.unfold(i + 2, (k - 1) * d + 1, s)[..., ::d]
    return x.flatten(-len(kernel))


def pad_windows(
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
    value: float = 0.0,
) -> Tensor:
    """Pad the last axes so that their last window, if it begins in the data, is whole."""
    ends: list[int] = []
    sizes = zip(x.shape[2:], kernel, stride, dilation, pads, strict=True)
    for size, k, s, d, (before, after) in sizes:
        span = (k - 1) * d + 1
        last = -(-(size + before + after - span) // s)
        if last * s >= size + before:
            last -= 1
        ends = [before, last * s + span - size - before, *ends]
    return F.pad(x, ends, value=value)


def average_pool(
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Tensor:
    """Average each window over its elements, those that rounding up adds left out."""
    ends = [number for pair in reversed(pads) for number in pair]
    ones = torch.ones_like(x[:1, :1])
    ones = F.pad(ones, ends, value=float(count_include_pad))
    if ceil_mode:
        x = pad_windows(x, kernel, stride, dilation, pads)
        more = [x.shape[i] - ones.shape[i] for i in reversed(range(2, x.ndim))]
        ones = F.pad(ones, [number for end in more for number in (0, end)])
    else:
        x = F.pad(x, ends)
    total = windows(x, kernel, stride, dilation).sum(-1)
    return total / windows(ones, kernel, stride, dilation).sum(-1)


def max_pool_indices(
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
    ceil_mode: bool = False,
    column_major: bool = False,
    value: float = -float("inf"),
) -> tuple[Tensor, Tensor]:
    """Return the largest element of each window and its flat index in x."""
    spatial = range(2, x.ndim)
    index = torch.arange(x.numel(), device=x.device)
    if column_major:
        index = index.reshape(*x.shape[:2], *[x.shape[i] for i in reversed(spatial)])
        index = index.permute(0, 1, *reversed(spatial))
    else:
        index = index.reshape(x.shape)
    if ceil_mode:
        x = pad_windows(x, kernel, stride, dilation, pads, value)
        index = pad_windows(index, kernel, stride, dilation, pads)
    else:
        ends = [number for pair in reversed(pads) for number in pair]
        x, index = F.pad(x, ends, value=value), F.pad(index, ends)
    x = windows(x, kernel, stride, dilation)
    first = x.argmax(-1, keepdim=True)
    index = windows(index, kernel, stride, dilation)
    return x.gather(-1, first).squeeze(-1), index.gather(-1, first).squeeze(-1)


def max_unpool(x: Tensor, indices: Tensor, shape: list[int]) -> Tensor:
    """Put elements at flat indices of a tensor of zeros."""
    flat = x.new_zeros(shape).flatten()
    return flat.scatter(0, indices.flatten(), x.flatten()).reshape(shape)


def max_roi_pool(
    x: Tensor, rois: Tensor, size: tuple[int, int], scale: float = 1.0
) -> Tensor:
    """Return the maxima of the cells of regions (image, x1, y1, x2, y2)."""
    corners = rois[:, 1:] * scale
    rest = corners - corners.trunc()
    corners = (corners.trunc() + (rest.abs() >= 0.5) * rest.sign()).long()
    first = corners[:, :2]
    whole = (corners[:, 2:] - first + 1).clamp(min=1)
    result = x.new_zeros(len(rois), x.shape[1], *size)
    for i, image in enumerate(rois[:, 0].long().tolist()):
        bounds = []
        for axis, count in ((1, size[0]), (0, size[1])):
            cells = torch.arange(count + 1, device=x.device)
            width = whole[i, axis].float() / count
            edges = torch.stack((cells[:-1] * width, cells[1:] * width))
            edges[0], edges[1] = edges[0].floor(), edges[1].ceil()
            edges = (edges.long() + first[i, axis]).clamp(0, x.shape[3 - axis])
            bounds.append(edges.T.tolist())
        for row, (top, bottom) in enumerate(bounds[0]):
            for column, (left, right) in enumerate(bounds[1]):
                if top < bottom and left < right:
                    cell = x[image, :, top:bottom, left:right]
                    result[i, :, row, column] = cell.amax((1, 2))
    return result
