"""Convolution that torch has no call for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def deform_conv2d(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
    offset_groups: int = 1,
) -> Tensor:
    """Convolve with kernels that look at places moved by `offset`."""
    n, c, height, width = x.shape
    outputs, _, rows, columns = weight.shape
    high, wide = offset.shape[2:]
    count = rows * columns
    offset = offset.reshape(n * offset_groups, rows, columns, 2, high, wide)

    def steps(size: int, step: int, shape: tuple[int, ...]) -> Tensor:
        return (torch.arange(size, device=x.device) * step).reshape(shape)

    y = offset[:, :, :, 0] + steps(high, stride[0], (-1, 1)) - padding[0]
    y = y + steps(rows, dilation[0], (-1, 1, 1, 1))
    z = offset[:, :, :, 1] + steps(wide, stride[1], (-1,)) - padding[1]
    z = z + steps(columns, dilation[1], (-1, 1, 1))
    image = x.reshape(n * offset_groups, c // offset_groups, height * width)
    sampled = torch.zeros((), dtype=x.dtype, device=x.device)
    for row in (y.floor(), y.floor() + 1):
        for column in (z.floor(), z.floor() + 1):
            part = (1 - (y - row).abs()) * (1 - (z - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
            index = index.long().reshape(len(image), 1, -1)
            part = (part * inside).reshape(len(image), 1, -1)
            value = image.gather(2, index.expand(-1, image.shape[1], -1))
            sampled = sampled + value * part
    if mask is not None:
        sampled = sampled * mask.reshape(n * offset_groups, 1, -1)
    sampled = sampled.reshape(n, groups, c // groups * count, high * wide)
    weight = weight.reshape(groups, outputs // groups, c // groups * count)
    result = (weight @ sampled).reshape(n, outputs, high, wide)
    return result if bias is None else result + bias.reshape(-1, 1, 1)
