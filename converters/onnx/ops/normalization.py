"""Normalizations."""

from __future__ import annotations

from ..context import ExportTable

EXPORTS: ExportTable = {}

__all__ = ["EXPORTS"]
