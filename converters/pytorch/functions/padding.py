"""Padding that depends on sizes which only a run knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
