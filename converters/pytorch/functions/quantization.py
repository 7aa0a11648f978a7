"""Numbers stored in few bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return numbers as uint8, with the scale and zero point of their range."""
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = torch.where(high > low, (high - low) / 255, 1)
    zero = (-low / scale).round().clamp(0, 255)
    y = ((x / scale).round() + zero).clamp(0, 255)
    return y.to(torch.uint8), scale, zero.to(torch.uint8)
