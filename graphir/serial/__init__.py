"""graphir's own files: the structure as JSON, the weights beside it as safetensors. FORMAT.md is the specification."""

from __future__ import annotations

from .equal import first_difference
from .notation import FORMAT, SUFFIX, VERSION, WEIGHTS_SUFFIX
from .reader import load_graph
from .schema import schema
from .writer import save_graph

__all__ = [
    "FORMAT",
    "SUFFIX",
    "VERSION",
    "WEIGHTS_SUFFIX",
    "first_difference",
    "load_graph",
    "save_graph",
    "schema",
]
