"""Reports of conversions and verifications: as text, as JSON, and as one HTML file."""

from __future__ import annotations

from .conversion import ConversionReport, WrittenFile

__all__ = ["ConversionReport", "WrittenFile"]
