"""Seeded inputs for a graph: numbers where it computes, valid indices where it looks up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import VerificationError
from ..graph import Graph, Value
from ..types import DType, Sym, substitute

PASSED_ON = ("Cast", "Clip", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Floor", "Max", "Min",
             "Split", "Slice")  # fmt: skip
LOOKUPS = ("Gather", "GatherElements", "GatherND", "OneHot")
SYMBOL_SIZES = {"N": 2}
OTHER_SYMBOL = 32


def index_limit(value: Value) -> int | None:
    """How many rows the tables have that the value looks up in; None if it is no index."""
    limits: list[int] = []
    pending, seen = [value], {value}
    while pending:
        for node, slot in pending.pop().uses:
            if node.op.name in LOOKUPS and slot == (0 if node.op.name == "OneHot" else 1):
                table = node.inputs[0]
                axis = getattr(node.op, "axis", 0)
                size = table.shape[axis] if node.op.name != "OneHot" and table is not None and table.shape else 2
                limits.append(size if isinstance(size, int) else 2)
            elif node.op.name in PASSED_ON and slot == 0:
                fresh = [result for result in node.outputs if result not in seen]
                seen.update(fresh)
                pending.extend(fresh)
    return min(limits, default=None)


def sizes_of(value: Value, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The input's shape as numbers: symbols take the given sizes, else 2 for `N` and 32 for all others."""
    if value.shape is None:
        raise VerificationError(f"the rank of input {value.name} is unknown; give feeds, or its shape (-i {value.name}:...)")
    found = []
    for dim in value.shape:
        if isinstance(dim, Sym):
            chosen = {name: sizes.get(name, SYMBOL_SIZES.get(name, OTHER_SYMBOL)) for name in dim.symbols()}
            dim = substitute(dim, chosen)
        if not isinstance(dim, int):
            raise VerificationError(f"input {value.name} is {value.type}; give feeds, or its shape (-i {value.name}:...)")
        found.append(dim)
    return tuple(found)


def make_feeds(
    graph: Graph, *, seed: int = 0, sizes: Mapping[str, int] | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> dict[str, NDArray[Any]]:
    """Values for every input from PCG64: standard normal floats, indices within their tables, small integers, booleans.

    The same seed gives the same values everywhere. `shapes` overrides the graph's. Raises VerificationError for an
    input whose shape cannot be known.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    feeds: dict[str, NDArray[Any]] = {}
    for value in graph.inputs:
        shape = shapes[value.name] if shapes and value.name in shapes else sizes_of(value, sizes or {})
        dtype = value.dtype or DType.FLOAT32
        limit = index_limit(value)
        drawn: NDArray[Any]
        if limit is not None:
            drawn = generator.integers(0, max(limit, 1), shape)
        elif dtype is DType.BOOL:
            drawn = generator.integers(0, 2, shape)
        elif dtype.is_float:
            drawn = generator.standard_normal(shape)
        else:
            drawn = generator.integers(0, 8, shape)
        feeds[value.name] = np.asarray(drawn).astype(dtype.numpy())
    return feeds


def perturbed(graph: Graph, feeds: Mapping[str, NDArray[Any]], seed: int = 0) -> dict[str, NDArray[Any]] | None:
    """The feeds with every real number moved by up to one unit in its last place; None if nothing can be moved.

    Indices stay: they are no measured quantities.
    """
    generator = np.random.Generator(np.random.PCG64(seed + 1))
    moved: dict[str, NDArray[Any]] = {}
    changed = False
    for name, array in feeds.items():
        if array.dtype.kind == "f" and array.size and (name not in graph or index_limit(graph[name]) is None):
            signs = generator.integers(-1, 2, array.shape).astype(array.dtype)
            moved[name] = array + signs * np.spacing(np.abs(array))
            changed = True
        else:
            moved[name] = array
    return moved if changed else None


__all__ = ["index_limit", "make_feeds", "perturbed", "sizes_of"]
