"""Images: cropping to a size, blocks, patches of two images."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F
    from torch import Tensor

    from graphir.converters.pytorch.functions.pooling import windows


def center_crop_pad(
    x: Tensor, shape: list[int], axes: list[int] | None = None
) -> Tensor:
    """Crop or pad axes on both sides, the odd element behind."""
    axes = list(range(x.ndim)) if axes is None else axes
    ends = [0, 0] * x.ndim
    for axis, size in zip(axes, shape, strict=True):
        more = size - x.shape[axis]
        before = more // 2 if more > 0 else -(-more // 2)
        place = 2 * (x.ndim - 1 - axis % x.ndim)
        ends[place : place + 2] = [before, more - before]
    return F.pad(x, ends)


def col2im(
    x: Tensor,
    image: list[int],
    block: list[int],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    pads: tuple[tuple[int, int], ...],
) -> Tensor:
    """Add up blocks (N, C * block, blocks) to an image."""
    sizes = [size + sum(pair) for size, pair in zip(image, pads, strict=True)]
    index = torch.arange(torch.Size(sizes).numel(), device=x.device)
    index = windows(index.reshape(1, 1, *sizes), tuple(block), stride, dilation)
    index = index.flatten(0, -2).T
    x = x.reshape(len(x), -1, index.numel())
    flat = x.new_zeros(*x.shape[:2], torch.Size(sizes).numel())
    flat = flat.index_add(2, index.flatten(), x)
    ends = [-number for pair in reversed(pads) for number in pair]
    return F.pad(flat.reshape(*x.shape[:2], *sizes), ends)


def correlation(
    a: Tensor,
    b: Tensor,
    kernel: int,
    reach: int,
    stride: int,
    shift_stride: int,
    pad: int,
    multiply: bool,
) -> Tensor:
    """Compare patches of two images, the second one shifted up to `reach`."""
    a, b = F.pad(a, [pad] * 4), F.pad(b, [pad] * 4)
    high, wide = (size - 2 * reach for size in a.shape[2:])
    first = a[:, :, reach : reach + high, reach : reach + wide]
    most = reach // shift_stride
    channels = []
    for down in range(-most, most + 1):
        top = reach + down * shift_stride
        for across in range(-most, most + 1):
            left = reach + across * shift_stride
            second = b[:, :, top : top + high, left : left + wide]
            both = first * second if multiply else (first - second).abs()
            channels.append(F.avg_pool2d(both.mean(1, keepdim=True), kernel, stride))
    return torch.cat(channels, dim=1)
