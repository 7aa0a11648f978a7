"""Normalizations that torch has no call for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch.nn.functional as F
    from torch import Tensor


def local_response_norm(
    x: Tensor, size: int, alpha: float, beta: float, bias: float
) -> Tensor:
    """Divide by the squares of neighbouring channels, the odd one of them behind."""
    squares = x.square().movedim(1, -1)
    squares = F.pad(squares, ((size - 1) // 2, size // 2)).unfold(-1, size, 1)
    total = squares.sum(-1).movedim(-1, 1)
    return x / (bias + alpha / size * total) ** beta
