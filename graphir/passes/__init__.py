"""Passes: each takes a valid graph to a valid graph and says in its `Outcome` what it changed and why.

`pipelines` holds the orders in which they are applied.
"""

from __future__ import annotations

from .dead_code import remove_dead_code
from .outcome import Change, Outcome
from .simplify import simplify

__all__ = ["Change", "Outcome", "remove_dead_code", "simplify"]
