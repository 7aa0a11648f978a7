"""Tensors made of numbers that only a run knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def arange(
    start: float, limit: float, delta: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Return start, start + delta ... before limit, which may be none at all."""
    count = max(int(-((start - limit) // delta)), 0)
    steps = torch.arange(count, device=device, dtype=dtype)
    return start + steps * delta
