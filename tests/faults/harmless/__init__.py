"""The rewrites that no verdict may blame, by name; the first of them changes nothing."""

from __future__ import annotations

from . import layers, operators, others, ports, recurrent, structure
from .rewrite import Rewrite

REWRITES: dict[str, Rewrite] = {
    rewrite.name: rewrite
    for family in (structure, layers, recurrent, operators, others, ports)
    for rewrite in family.REWRITES
}

ITSELF = next(iter(REWRITES))

__all__ = ["ITSELF", "REWRITES", "Rewrite"]
