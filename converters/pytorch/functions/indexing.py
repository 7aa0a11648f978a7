"""Elements by index vectors, and tensors with elements at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def gather_nd(x: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    """Return the slices of x at index vectors; the first axes of both go together."""
    rank = indices.ndim - 1
    batches = [
        torch.arange(x.shape[i], device=x.device).reshape(-1, *[1] * (rank - 1 - i))
        for i in range(batch_dims)
    ]
    return x[(*batches, *indices.unbind(-1))]


def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, reduce: str) -> Tensor:
    """Return x with its slices at index vectors combined with updates."""
    count = indices.shape[-1]
    rows = torch.zeros_like(indices[..., 0])
    for i, size in enumerate(x.shape[:count]):
        rows = rows * size + indices[..., i] % size
    flat = x.reshape(x.shape[:count].numel(), -1)
    updates = updates.reshape(rows.numel(), flat.shape[1])
    rows = rows.reshape(-1, 1).expand_as(updates)
    return flat.scatter_reduce(0, rows, updates, reduce).reshape(x.shape)


def one_hot(indices: Tensor, depth: int, axis: int = -1) -> Tensor:
    """Return whether each number below depth is the index, along a new axis."""
    indices = torch.where(indices < 0, indices + depth, indices)
    numbers = torch.arange(depth, device=indices.device)
    return (indices.unsqueeze(-1) == numbers).movedim(-1, axis)


def unique(
    x: Tensor, dim: int | None = None, is_sorted: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the different slices, where each is first, which each is, and counts."""
    values, inverse, counts = torch.unique(
        x, return_inverse=True, return_counts=True, dim=dim
    )
    inverse = inverse.flatten()
    places = torch.arange(inverse.numel(), device=x.device)
    first = torch.full_like(counts, inverse.numel())
    first = first.scatter_reduce(0, inverse, places, "amin")
    if not is_sorted:
        order = first.argsort()
        values, first = values.index_select(dim or 0, order), first[order]
        inverse, counts = order.argsort()[inverse], counts[order]
    return values, first, inverse, counts


def shifted(x: Tensor, dim: int, value: int) -> Tensor:
    """Return x moved by one element along an axis, which begins with a number."""
    x = x.movedim(dim, 0)
    return torch.cat([torch.full_like(x[:1], value), x[:-1]]).movedim(0, dim)
