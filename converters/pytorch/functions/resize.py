"""Resizing with any coordinates and weights, one axis after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def source_positions(
    size: int,
    count: int,
    scale: float,
    coordinates: str = "half_pixel",
    roi: tuple[float, float] = (0.0, 1.0),
) -> Tensor:
    """Return where in an axis of `size` elements each of `count` is read."""
    i = torch.arange(count, dtype=torch.float32)
    if coordinates == "asymmetric":
        return i / scale
    if coordinates == "align_corners":
        return i * (size - 1) / max(count - 1, 1)
    if coordinates == "tf_crop_and_resize":
        start, end = roi
        if count == 1:
            return 0.5 * (start + end) * (size - 1) + i
        return start * (size - 1) + i * (end - start) * (size - 1) / (count - 1)
    if coordinates == "pytorch_half_pixel" and count == 1:
        return i
    position = (i + 0.5) / scale
    if coordinates == "half_pixel_symmetric":
        position = size / 2 * (1 - count / (torch.tensor(scale) * size)) + position
    return position - 0.5


def nearest_indices(position: Tensor, rounding: str) -> Tensor:
    """Round positions to indices."""
    if rounding == "round_prefer_floor":
        return (position - 0.5).ceil().long()
    if rounding == "round_prefer_ceil":
        return (position + 0.5).floor().long()
    return (position.floor() if rounding == "floor" else position.ceil()).long()


def interpolation_matrix(
    position: Tensor,
    size: int,
    scale: float,
    cubic: bool,
    a: float,
    exclude_outside: bool,
) -> Tensor:
    """Return the weights (positions, size) of linear or cubic interpolation."""
    reach = 2 if cubic else 1
    half = int(-(-reach // scale))
    tap = position.floor().unsqueeze(1) + torch.arange(1 - half, half + 1)
    d = ((tap - position.unsqueeze(1)) * scale).abs()
    if cubic:
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        weight = torch.where(d <= 1, near, torch.where(d < 2, far, 0.0))
    else:
        weight = (1 - d).clamp(min=0)
    if exclude_outside:
        weight = torch.where((tap < 0) | (tap >= size), 0.0, weight)
    if exclude_outside or scale != 1:
        weight = weight / weight.sum(1, keepdim=True)
    matrix = torch.zeros(len(position), size)
    return matrix.scatter_add(1, tap.long().clamp(0, size - 1), weight)


def resize(
    x: Tensor,
    sizes: list[int] | None = None,
    scales: list[float] | None = None,
    axes: list[int] | None = None,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    a: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
    roi: list[float] | None = None,
    outside: float = 0.0,
    policy: str = "stretch",
) -> Tensor:
    """Resample axes (all of them by default) to sizes, or by scales."""
    dtype = x.dtype
    axes = list(range(x.ndim)) if axes is None else axes
    if policy != "stretch" and sizes is not None:
        pick = min if policy == "not_larger" else max
        ratio = pick(sizes[i] / x.shape[axis] for i, axis in enumerate(axes))
        sizes = [int(x.shape[axis] * ratio + 0.5) for axis in axes]
        scales = [ratio] * len(axes)
    for i, axis in enumerate(axes):
        size = x.shape[axis]
        scale = scales[i] if scales is not None else 0.0
        count = int(torch.tensor(scale) * size) if sizes is None else sizes[i]
        scale = scale or count / size
        if count == size and scale == 1 and roi is None:
            continue
        crop = (0.0, 1.0) if roi is None else (roi[i], roi[i + len(axes)])
        position = source_positions(size, count, scale, coordinates, crop)
        if mode == "nearest":
            index = nearest_indices(position, rounding).clamp(0, size - 1)
            x = x.index_select(axis, index.to(x.device))
        else:
            shrink = min(scale, 1.0) if antialias else 1.0
            weights = interpolation_matrix(
                position, size, shrink, mode == "cubic", a, exclude_outside
            )
            wide = torch.float64 if x.dtype == torch.float64 else torch.float32
            moved = x.movedim(axis, -1).to(wide) @ weights.to(x.device, wide).T
            x = moved.movedim(-1, axis)
        if roi is not None:
            is_outside = (position < 0) | (position > size - 1)
            x = x.index_fill(axis, is_outside.nonzero().flatten().to(x.device), outside)
    return x.to(dtype)
