"""What torch has no call for among signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import math

    import torch
    from torch import Tensor


def mel_weights(
    bins: int,
    length: int,
    rate: int,
    lower: float,
    upper: float,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """Return the weights that turn a spectrum into one on the mel scale."""
    low, high = (2595 * math.log10(1 + edge / 700) for edge in (lower, upper))
    mels = [low + (high - low) / (bins + 2) * step for step in range(bins + 2)]
    hertz = [700 * (10 ** (mel / 2595) - 1) for mel in mels]
    places = [int((length + 1) * frequency // rate) for frequency in hertz]
    weights = torch.zeros(length // 2 + 1, bins, dtype=torch.float64)
    for column in range(bins):
        left, centre, right = places[column : column + 3]
        for row in range(left, centre):
            weights[row, column] = (row - left) / (centre - left)
        weights[centre, column] = 1
        for row in range(centre, right):
            weights[row, column] = (right - row) / (right - centre)
    return weights.to(device, dtype)
