"""What loops give."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def stack_rows(rows: list[Tensor], empty: Tensor, dim: int = 0) -> Tensor:
    """Return tensors stacked along a new axis, or `empty` where there are none."""
    return torch.stack(rows, dim) if rows else empty
