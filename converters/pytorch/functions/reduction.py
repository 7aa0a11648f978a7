"""Reductions over several axes that torch has over one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def prod(x: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    """Return the product over axes, over all of them where none are given."""
    for axis in sorted(i % x.ndim for i in axes or range(x.ndim))[::-1]:
        x = x.prod(axis, keepdim=keepdim)
    return x
