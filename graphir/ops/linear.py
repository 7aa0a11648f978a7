"""Matrix products."""

from __future__ import annotations

from .base import Operator

OPERATORS: tuple[type[Operator], ...] = ()

__all__ = ["OPERATORS"]
