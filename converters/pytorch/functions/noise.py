"""Layers of noise that torch has not: they act in training only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
else:
    nn = SimpleNamespace(Module=object)  # the file is imported without torch, and only its text is used


class GaussianNoise(nn.Module):
    """In training, add normal numbers around 0."""

    def __init__(self, std: float) -> None:
        super().__init__()
        self.std = std

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x) * self.std if self.training else x


class GaussianDropout(nn.Module):
    """In training, multiply by normal numbers around 1, as varied as Dropout's."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.std = (p / (1 - p)) ** 0.5

    def forward(self, x: Tensor) -> Tensor:
        return x * (1 + torch.randn_like(x) * self.std) if self.training else x
