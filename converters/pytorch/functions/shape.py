"""Shapes, positions and counts that only a run knows, and blocks of an image as channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F
    from torch import Tensor


def reshape(x: Tensor, shape: list[int]) -> Tensor:
    """Reshape a tensor; a size of 0 is that of the same axis before."""
    return x.reshape(
        [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    )


def expand(x: Tensor, shape: list[int]) -> Tensor:
    """Broadcast a tensor together with a shape."""
    shape = [1] * (x.ndim - len(shape)) + shape
    new = len(shape) - x.ndim
    return x.expand(
        [-1 if size == 1 and i >= new else size for i, size in enumerate(shape)]
    )


def unsqueeze(x: Tensor, axes: list[int]) -> Tensor:
    """Add axes of size 1, which are counted in the result."""
    for axis in sorted(axis % (x.ndim + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


def slice_axes(
    x: Tensor,
    starts: list[int],
    ends: list[int],
    axes: list[int] | None = None,
    steps: list[int] | None = None,
) -> Tensor:
    """Cut x[start:end:step] along axes; a backward slice begins within the axis."""
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = i if axes is None else axes[i]
        step = 1 if steps is None else steps[i]
        size = x.shape[axis]
        last = size if step > 0 else size - 1
        start = min(max(start + size if start < 0 else start, 0), last)
        end = min(max(end + size if end < 0 else end, last - size), last)
        count = max(-((start - end) // step), 0)
        index = start + step * torch.arange(count, device=x.device)
        x = x.index_select(axis, index)
    return x


def pad_axes(
    x: Tensor,
    pads: list[int],
    axes: list[int] | None = None,
    mode: str = "constant",
    value: float = 0,
) -> Tensor:
    """Pad axes (all of them by default) with all begins, then all ends, which may crop."""
    axes = list(range(x.ndim)) if axes is None else axes
    for axis, before, after in zip(axes, pads, pads[len(axes) :], strict=False):
        size = x.shape[axis] + min(before, 0) + min(after, 0)
        x = x.narrow(axis, max(-before, 0), size)
        before, after = max(before, 0), max(after, 0)
        if mode == "constant":
            around = [0, 0] * (x.ndim - 1 - axis % x.ndim) + [before, after]
            x = F.pad(x, around, value=value)
            continue
        i = torch.arange(-before, size + after, device=x.device)
        if mode == "wrap":
            i = i % size
        elif mode == "edge":
            i = i.clamp(0, size - 1)
        else:
            i = i % max(2 * size - 2, 1)
            i = torch.minimum(i, 2 * size - 2 - i)
        x = x.index_select(axis, i)
    return x


def reverse_sequence(x: Tensor, lengths: Tensor, batch: int, time: int) -> Tensor:
    """Reverse the first elements along the axis `time`, as many as each sequence has."""
    x = x.movedim((batch, time), (0, 1))
    step = torch.arange(x.shape[1], device=x.device)
    length = lengths.unsqueeze(1)
    index = torch.where(step < length, length - 1 - step, step)
    x = x[torch.arange(len(x), device=x.device).unsqueeze(1), index]
    return x.movedim((0, 1), (batch, time))


def depth_to_space(x: Tensor, block: int) -> Tensor:
    """Move blocks of channels to rows and columns; channels are (row, column, depth)."""
    n, c, h, w = x.shape
    x = x.reshape(n, block, block, c // block**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // block**2, h * block, w * block)


def space_to_depth(x: Tensor, block: int) -> Tensor:
    """Move blocks of rows and columns to channels; channels are (row, column, depth)."""
    n, c, h, w = x.shape
    x = x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * block**2, h // block, w // block)


def stack_rows(rows: list[Tensor], empty: Tensor, dim: int = 0) -> Tensor:
    """Return tensors stacked along a new axis, or `empty` where there are none."""
    return torch.stack(rows, dim) if rows else empty


def arange(
    start: float, limit: float, delta: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Return start, start + delta ... before limit, which may be none at all."""
    count = max(int(-((start - limit) // delta)), 0)
    steps = torch.arange(count, device=device, dtype=dtype)
    return start + steps * delta


def prod(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    """Return the product over axes, over all of them where none are given."""
    for axis in sorted(i % x.ndim for i in axes or range(x.ndim))[::-1]:
        x = x.prod(axis, keepdim=keepdim)
    return x
