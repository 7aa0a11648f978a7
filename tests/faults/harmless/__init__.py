"""The rewrites that no verdict may blame, by name; the first of them changes nothing."""

from __future__ import annotations

from . import layers, operators, others, recurrent, structure
from .rewrite import Rewrite

REWRITES: dict[str, Rewrite] = {
    rewrite.name: rewrite
    for rewrite in (*structure.REWRITES, *layers.REWRITES, *recurrent.REWRITES, *operators.REWRITES, *others.REWRITES)
}

ITSELF = next(iter(REWRITES))

__all__ = ["ITSELF", "REWRITES", "Rewrite"]
