"""Operators that look up or make elements by index."""

from __future__ import annotations

from ..context import ExportTable

EXPORTS: ExportTable = {}

__all__ = ["EXPORTS"]
