"""Seeded inputs for a graph: numbers where it computes, valid indices where it looks up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import OutOfMemory, ShapeError, VerificationError
from graphir.graph import Graph, Value
from graphir.inference import infer_types
from graphir.tensor import why_unheld
from graphir.types import DType, Shape, Sym, Unknown, substitute, symbol

from .draws import NORMAL, Draw, drawn
from .roles import index_limit, length_limit

BATCH = 2
OPEN_BATCH, OPEN_SIZE = symbol("open_batch"), symbol("open_size")
SIZES_TRIED = (32, 64, 128, 224, 299, 512, 16, 8, 4)


def _named(value: Value) -> Shape | None:
    """The input's shape, sizes that are open and have no name named alike: those of first axes, and all others."""
    if value.shape is None:
        return None
    return tuple(
        (OPEN_SIZE if axis else OPEN_BATCH) if isinstance(dim, Unknown) else dim for axis, dim in enumerate(value.shape)
    )


def sample_sizes(graph: Graph) -> dict[str, int]:
    """Numbers for the graph's symbolic sizes: 2 for batches (the first axes), and one size for all others that the
    operators accept, the first of 32, 64, 128, ... for which inference finds no contradiction. Sizes without a name
    are treated like that too."""
    batches: set[str] = set()
    others: set[str] = set()
    for value in graph.inputs:
        for axis, dim in enumerate(_named(value) or ()):
            if isinstance(dim, Sym):
                (others if axis else batches).update(dim.symbols())
    sizes = dict.fromkeys(batches, BATCH)
    ways = [sizes | dict.fromkeys(others - batches, number) for number in SIZES_TRIED] if others else [sizes]
    # First axes that are no batches, but steps or places.
    ways += [dict.fromkeys(batches | others, number) for number in SIZES_TRIED] if batches else []
    for tried in ways:
        shapes = {
            value.name: tuple(substitute(dim, tried) for dim in shape)
            for value in graph.inputs
            if (shape := _named(value)) is not None
        }
        try:
            infer_types(graph, shapes)
        except ShapeError:
            continue
        return tried
    return sizes | dict.fromkeys(others - batches, SIZES_TRIED[0])


def sizes_stated(graph: Graph, given: Mapping[str, Sequence[object]]) -> dict[str, int]:
    """`sizes` for `make_feeds`: what another model's inputs, by name or else in their order, state of the graph's open
    sizes, so that both can be fed. Inputs whose known sizes differ say nothing, they may lie in another layout.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("one")
    >>> _ = graph.add_input("data", TensorType(DType.FLOAT32, parse_shape("N, 1, H, H")))
    >>> sizes_stated(graph, {"x": (1, 1, 8, "width")}), sizes_stated(graph, {"data": (1, 8, 8, 3)})
    ({'N': 1, 'H': 8}, {})
    """
    by_name = all(value.name in given for value in graph.inputs)
    others = [given[value.name] for value in graph.inputs] if by_name else list(given.values())
    if len(others) != len(graph.inputs):
        return {}
    found: dict[str, int] = {}
    for value, other in zip(graph.inputs, others, strict=True):
        named = _named(value) or ()
        pairs = list(zip(named, other, strict=False)) if len(named) == len(other) else []
        if any(isinstance(dim, int) and isinstance(size, int) and dim != size for dim, size in pairs):
            continue
        for dim, size in pairs:
            if isinstance(dim, Sym) and isinstance(size, int) and dim == symbol(str(dim)):
                found.setdefault(str(dim), size)
    return found


def batch_sizes(graph: Graph, batch: int) -> dict[str, int]:
    """`sizes` for `make_feeds` that make a batch: of the open sizes that stand first in the inputs' shapes, where none
    does of the only open one there is. Empty if that leaves none.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("two")
    >>> _ = graph.add_input("states", TensorType(DType.FLOAT32, parse_shape("2, N, 16")))
    >>> batch_sizes(graph, 8)
    {'N': 8}
    """
    shapes = [shape for value in graph.inputs if (shape := _named(value)) is not None]
    first = {name for shape in shapes for dim in shape[:1] if isinstance(dim, Sym) for name in dim.symbols()}
    if first:
        return dict.fromkeys(sorted(first), batch)
    every = {name for shape in shapes for dim in shape if isinstance(dim, Sym) for name in dim.symbols()}
    return dict.fromkeys(every, batch) if len(every) == 1 else {}


def _sizes_of(value: Value, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """The input's shape as numbers, its symbols taken from `sizes`; None if its rank is unknown."""
    named = _named(value)
    if named is None:
        return None
    shape = [substitute(dim, sizes) if isinstance(dim, Sym) else dim for dim in named]
    return tuple(dim for dim in shape if isinstance(dim, int))


def _ask_for(values: Sequence[Value]) -> VerificationError:
    """The error for inputs of unknown rank, with words that would state their shapes."""
    words = [f"-i {value.name}:1,3" for value in values]
    shown = ", ".join(f"{value.name} {value.type}" for value in values)
    return VerificationError(f"shapes of inputs are open: {shown}; give them, as in {' '.join(words)}")


def make_feeds(
    graph: Graph,
    *,
    seed: int = 0,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    draw: Draw = NORMAL,
) -> dict[str, NDArray[Any]]:
    """Values for every input from PCG64: standard normal floats, indices within their tables, small integers, booleans,
    or what `draw` says.

    The same seed gives the same values everywhere. `shapes` overrides the graph's. Raises VerificationError for inputs
    of unknown rank, and OutOfMemory for shapes that no array can have.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    chosen = {**sample_sizes(graph), **(sizes or {})}
    found = {
        value: shapes[value.name] if shapes and value.name in shapes else _sizes_of(value, chosen)
        for value in graph.inputs
    }
    if unknown := [value for value, shape in found.items() if shape is None]:
        raise _ask_for(unknown)
    feeds: dict[str, NDArray[Any]] = {}
    for place, (value, shape) in enumerate(found.items()):
        assert shape is not None
        if reason := why_unheld(DType.FLOAT64, shape):
            raise OutOfMemory(f"the input {value.name} of the shape {list(shape)} {reason}")
        feeds[value.name] = drawn(generator, value, shape, draw, place, _longest(value, found))
    return feeds


def _longest(value: Value, shapes: Mapping[Value, tuple[int, ...] | None]) -> int | None:
    """How long the sequences are that the value gives the lengths of, in these shapes; None if it gives none."""
    limit = length_limit(value)
    if limit is None:
        return None
    known: dict[object, int] = {}
    for other, shape in shapes.items():
        known |= zip(other.shape or (), shape or (), strict=False)
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
    return name not in graph or (index_limit(graph[name]) is None and length_limit(graph[name]) is None)


def _is_real(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


__all__ = ["batch_sizes", "index_limit", "is_measured", "make_feeds", "perturbed", "sample_sizes", "sizes_stated"]
