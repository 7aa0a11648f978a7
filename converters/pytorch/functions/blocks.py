"""Blocks of rows and columns as channels, the offsets in a block before the depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


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
