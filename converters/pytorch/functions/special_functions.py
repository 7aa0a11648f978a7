"""Functions of one number that torch does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import math

    import torch
    from torch import Tensor


def gamma(x: Tensor) -> Tensor:
    """Return the gamma function: NaN at negative integers, infinite at 0."""
    wide = x.double()
    floor = wide.floor()
    sign = torch.where((wide < 0) & (floor % 2 == 1), -1.0, 1.0)
    result = torch.lgamma(wide).exp() * sign
    result = torch.where((wide < 0) & (wide == floor), math.nan, result)
    return torch.where(wide == 0, 1 / wide, result).to(x.dtype)
