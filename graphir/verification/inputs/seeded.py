"""Seeded inputs for a graph: numbers where it computes, valid indices where it looks up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import OutOfMemory
from graphir.graph import Graph, Value
from graphir.tensor import why_unheld
from graphir.types import DType

from .draws import NORMAL, Draw, drawn
from .roles import length_limit, table_of
from .sizes import OpenSizes, unknown_rank


def make_feeds(
    graph: Graph,
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | OpenSizes | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    draw: Draw = NORMAL,
) -> dict[str, NDArray[Any]]:
    """Return values for every input from PCG64: standard normal floats, indices within their tables, small integers,
    booleans, or what `draw` says.

    The same seed gives the same values everywhere. `shapes` overrides the graph's, `sizes` the usual numbers of open
    ones. Raises VerificationError for inputs of unknown rank, and OutOfMemory for shapes that no array can have.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    chosen = dict(shapes or {})
    if any(value.name not in chosen for value in graph.inputs):
        open_sizes = sizes if isinstance(sizes, OpenSizes) else OpenSizes(graph, sizes)
        chosen = open_sizes.usual() | chosen
        if unknown := [name for name in open_sizes.unknown if name not in chosen]:
            raise unknown_rank(graph, unknown)
    feeds: dict[str, NDArray[Any]] = {}
    for index, value in enumerate(graph.inputs):
        shape = chosen[value.name]
        if reason := why_unheld(DType.FLOAT64, shape):
            raise OutOfMemory(f"the input {value.name} of the shape {list(shape)} {reason}")
        feeds[value.name] = drawn(generator, value, shape, draw, index, _longest(graph, value, chosen))
    return feeds


def _longest(graph: Graph, value: Value, shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """How long the sequences are, in these shapes, whose lengths the value gives; None if it gives none."""
    limit = length_limit(value)
    if limit is None:
        return None
    known: dict[object, int] = {}
    for other in graph.inputs:
        known |= zip(other.shape or (), shapes[other.name], strict=False)
    return limit if isinstance(limit, int) else known.get(limit, 1)


def perturbed(
    graph: Graph, feeds: Mapping[str, NDArray[Any]], seed: int = 0, step: float = 0.0
) -> dict[str, NDArray[Any]] | None:
    """The feeds with every real number moved by up to one unit in its last place; None if nothing can be moved.

    `step` is the relative step of a coarser type that the model computes in: numbers move by up to half of it, as
    rounding to that type moves them, since less may vanish in the rounding and say nothing of the noise behind it.
    Indices and lengths stay: they are no measured quantities.
    """
    generator = np.random.Generator(np.random.PCG64(seed + 1))
    moved: dict[str, NDArray[Any]] = {}
    changed = False
    for name, array in feeds.items():
        if array.size and is_measured(graph, name, array):
            signs = generator.integers(-1, 2, array.shape).astype(array.dtype)
            with np.errstate(all="ignore"):
                size = np.abs(array)
                unit = np.maximum(np.spacing(size), (size * (step / 2)).astype(array.dtype))
                stepped = (array + signs * unit).astype(array.dtype)
                moved[name] = np.where(np.isfinite(array) & np.isfinite(stepped), stepped, array)
            changed = True
        else:
            moved[name] = array
    return moved if changed else None


def is_measured(graph: Graph, name: str, array: NDArray[Any]) -> bool:
    """Whether what is fed is a measured quantity, which may be a little larger or smaller: real numbers, unless they
    are indices or lengths, as MXNet has them."""
    if not _is_real(array.dtype):
        return False
    return name not in graph or (table_of(graph[name]) is None and length_limit(graph[name]) is None)


def _is_real(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


__all__ = ["is_measured", "make_feeds", "perturbed"]
