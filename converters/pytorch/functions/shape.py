"""Shapes that only a run knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def reshape(x: Tensor, shape: list[int]) -> Tensor:
    """Reshape a tensor; a size of 0 is that of the same axis before."""
    return x.reshape(
        [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    )
