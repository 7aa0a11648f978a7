"""Activation functions."""

from __future__ import annotations

from ..context import ImportFunction

IMPORTS: dict[str, ImportFunction] = {}

__all__ = ["IMPORTS"]
