"""What verify does not find, name or acquit yet, by network and kind, each with the reason. An entry that has become
wrong is an error (`GRAPHIR_ALL_FAULTS=1`), so that the list only shrinks."""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {}

__all__ = ["GAPS"]
