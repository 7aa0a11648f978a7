"""Caches of keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def write_to_cache(
    cache: Tensor,
    update: Tensor,
    starts: Tensor | None = None,
    axis: int = -2,
    circular: bool = False,
) -> Tensor:
    """Return the cache with `update` from each row's start on."""
    places = torch.arange(update.shape[axis], device=cache.device)
    places = places.expand(cache.shape[0], -1)
    if starts is not None:
        places = places + starts.unsqueeze(1)
    if circular:
        places = places % cache.shape[axis]
    shape = [1] * cache.ndim
    shape[0], shape[axis] = places.shape
    return cache.scatter(axis, places.reshape(shape).expand_as(update), update)
