"""Resizing of spatial axes."""

from __future__ import annotations

from ..context import ExportTable

EXPORTS: ExportTable = {}

__all__ = ["EXPORTS"]
