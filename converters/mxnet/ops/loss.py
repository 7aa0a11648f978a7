"""Heads of training symbols: what stays of them at inference."""

from __future__ import annotations

from ..context import ImportFunction

IMPORTS: dict[str, ImportFunction] = {}

__all__ = ["IMPORTS"]
