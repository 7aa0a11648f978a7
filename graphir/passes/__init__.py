"""Passes: each takes a valid graph to a valid graph and says whether it changed anything."""

from __future__ import annotations

from .dead_code import remove_dead_code
from .simplify import simplify

__all__ = ["remove_dead_code", "simplify"]
