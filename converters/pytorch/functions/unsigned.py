"""Arithmetic of uint64, which torch does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def signed_order(x: Tensor) -> Tensor:
    """Return numbers of uint64 as numbers of int64 in the same order."""
    return x.to(torch.int64) ^ torch.iinfo(torch.int64).min


def unsigned_order(x: Tensor) -> Tensor:
    """Return what signed_order was given."""
    return (x ^ torch.iinfo(torch.int64).min).to(torch.uint64)


def divide_uint64(a: Tensor, b: Tensor) -> Tensor:
    """Return the quotient of numbers of uint64, rounded down."""
    a, b = a.to(torch.int64), b.to(torch.int64)
    half = (a >> 1) & torch.iinfo(torch.int64).max
    quotient = torch.where(b < 0, 0, half // b.clamp(min=1) * 2)
    rest = a - quotient * b
    return (quotient + (signed_order(rest) >= signed_order(b))).to(torch.uint64)


def modulo_uint64(a: Tensor, b: Tensor) -> Tensor:
    """Return what a division of numbers of uint64 leaves."""
    product = divide_uint64(a, b).to(torch.int64) * b.to(torch.int64)
    return (a.to(torch.int64) - product).to(torch.uint64)


def shift_right_uint64(x: Tensor, places: Tensor) -> Tensor:
    """Return numbers of uint64 with their bits moved to the right."""
    x, places = x.to(torch.int64), places.to(torch.int64)
    half = (x >> 1) & torch.iinfo(torch.int64).max
    return torch.where(places > 0, half >> (places - 1).clamp(0, 63), x).to(
        torch.uint64
    )
