"""Functions of numbers: of few bits, of neighbours, of 64 bits without a sign, and the gamma function."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import math

    import torch
    import torch.nn.functional as F
    from torch import Tensor


def dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return numbers as uint8, with the scale and zero point of their range."""
    low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = torch.where(high > low, (high - low) / 255, 1)
    zero = (-low / scale).round().clamp(0, 255)
    y = ((x / scale).round() + zero).clamp(0, 255)
    return y.to(torch.uint8), scale, zero.to(torch.uint8)


def local_response_norm(
    x: Tensor, size: int, alpha: float, beta: float, bias: float
) -> Tensor:
    """Divide by the squares of neighbouring channels, the odd one of them behind."""
    squares = x.square().movedim(1, -1)
    squares = F.pad(squares, ((size - 1) // 2, size // 2)).unfold(-1, size, 1)
    total = squares.sum(-1).movedim(-1, 1)
    return x / (bias + alpha / size * total) ** beta


def gamma(x: Tensor) -> Tensor:
    """Return the gamma function: NaN at negative integers, infinite at 0."""
    wide = x.double()
    floor = wide.floor()
    sign = torch.where((wide < 0) & (floor % 2 == 1), -1.0, 1.0)
    result = torch.lgamma(wide).exp() * sign
    result = torch.where((wide < 0) & (wide == floor), math.nan, result)
    return torch.where(wide == 0, 1 / wide, result).to(x.dtype)


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
