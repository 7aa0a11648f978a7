"""Other numbers for the sizes that a graph leaves open: what was written as a number where a size belongs shows in a
second one, and what mistakes one axis for another where the two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.errors import ShapeError
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.types import Dim, Sym, Unknown, substitute, symbol

from .seeded import BATCH, OPEN_BATCH, OPEN_SIZE, sample_sizes

Shapes = dict[str, tuple[int, ...]]
# The batch of the second set: one above 8, which many kernels take at once, with numbers of the usual size, since large
# ones saturate what tells samples apart.
OTHER_BATCH, STILL_OTHER = 9, 4
# The batches of the sets after it: another size, and a single sample.
BATCHES = {"wide": 5, "mask": 1}
# Between open sizes that stand first in several inputs: they may be one batch under two names, or steps and a batch.
BETWEEN_FIRSTS = 2
# Added to the first open size, and more for each further one. Odd sizes show how windows end; where networks divide and
# join again they do not fit, and multiples of what is divided by do.
ODD, EVEN = ((5, 8), (1, 2)), ((32, 32), (8, 8), (1, 1), (-1, -1))
# What is tried where a model does not take the usual size: windows and reflected paddings may need more.
LARGER = (64, 128, 256, 512, 1024)


def other_shapes(graph: Graph, settled: Mapping[str, int], *, light: bool = False) -> list[Shapes]:
    """Shapes of the inputs that differ from those that `make_feeds` takes, those that say most first: another batch
    (with `light` of one sample) and odd sizes that differ from each other, then such that are no odd ones, then the
    batch alone. Empty if nothing is open.

    `settled` are the sizes that the model compared with insists on (`sizes_stated`). What inference finds contradictory
    is left out.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("one")
    >>> _ = graph.add_input("data", TensorType(DType.FLOAT32, parse_shape("N, 3, H, W")))
    >>> other_shapes(graph, {})
    [{'data': (9, 3, 37, 45)}, {'data': (9, 3, 64, 96)}, {'data': (9, 3, 32, 32)}]
    >>> other_shapes(graph, {"N": 1, "W": 64})
    [{'data': (1, 3, 37, 64)}, {'data': (1, 3, 64, 64)}]
    """
    if any(value.shape is None for value in graph.inputs):
        return []
    named = {value.name: _named(value.shape or (), settled) for value in graph.inputs}
    chosen = {**sample_sizes(graph), **settled}
    base = {name: chosen.get(name, chosen.get(_group(name), 0)) for name in _symbols(named)}
    free = [name for name in base if name not in settled]
    batches = {name for shape in named.values() for dim in shape[:1] for name in _symbols({"": (dim,)})}
    batch = 1 if light else OTHER_BATCH
    firsts = [name for name in free if name in batches]
    second = {name: batch if base[name] != batch else STILL_OTHER for name in firsts}
    distinct = {name: second[name] + BETWEEN_FIRSTS * place for place, name in enumerate(firsts)}
    others = [name for name in free if name not in batches]
    alike = [second] if distinct == second else [distinct, second]
    ways = (ODD, EVEN) if others else ()
    tried = [_apart(graph, named, base | first, others, steps) for first in alike for steps in ways]
    found: list[Shapes] = []
    usual = _numbers(named, base)
    for sizes in (*tried, *(base | first for first in alike)):
        shapes = _numbers(named, sizes)
        if shapes != usual and shapes not in found and _agrees(graph, shapes):
            found.append(shapes)
    return found


def batch_shapes(graph: Graph, settled: Mapping[str, int], batch: int) -> list[Shapes]:
    """Return shapes of the inputs with another batch, none where that is not open; the arguments are `other_shapes`'.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("one")
    >>> _ = graph.add_input("data", TensorType(DType.FLOAT32, parse_shape("N, 3, H, W")))
    >>> batch_shapes(graph, {}, 9), batch_shapes(graph, {"N": 1}, 9)
    ([{'data': (9, 3, 32, 32)}], [])
    """
    if any(value.shape is None for value in graph.inputs):
        return []
    named = {value.name: _named(value.shape or (), settled) for value in graph.inputs}
    chosen = {**sample_sizes(graph), **settled}
    base = {name: chosen.get(name, chosen.get(_group(name), 0)) for name in _symbols(named)}
    firsts = {name for shape in named.values() for dim in shape[:1] for name in _symbols({"": (dim,)})}
    shapes = _numbers(named, base | {name: batch for name in firsts if name not in settled})
    return [shapes] if shapes != _numbers(named, base) and _agrees(graph, shapes) else []


def larger_shapes(graph: Graph, settled: Mapping[str, int]) -> list[Shapes]:
    """Shapes of the inputs for a model that does not take those of `make_feeds`: other open sizes, the second axis of
    states (whose first is a number, that of layers or directions) taken for the batch, and the first axes taken for
    steps or places.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("one")
    >>> _ = graph.add_input("sound", TensorType(DType.FLOAT32, parse_shape("?, ?")))
    >>> _ = graph.add_input("state", TensorType(DType.FLOAT32, parse_shape("2, ?, 128")))
    >>> larger_shapes(graph, {})[0], larger_shapes(graph, {})[-1]
    ({'sound': (2, 64), 'state': (2, 64, 128)}, {'sound': (128, 128), 'state': (2, 128, 128)})
    """
    if any(value.shape is None for value in graph.inputs):
        return []
    named = {value.name: _named(value.shape or (), settled) for value in graph.inputs}
    chosen = {**sample_sizes(graph), **settled}
    base = {name: chosen.get(name, chosen.get(_group(name), BATCH)) for name in _symbols(named)}
    firsts = [shape[0] for shape in named.values() if shape and not _is_state(shape)]
    batches = {name for dim in firsts if isinstance(dim, Sym) for name in dim.symbols()}
    others = [name for name in base if name not in settled and name not in batches]
    as_states = {
        name: (shape[0], firsts[0], *shape[2:]) if firsts and _is_state(shape) else shape
        for name, shape in named.items()
    }
    usual = _numbers(named, base)
    found: list[Shapes] = []
    every = [name for name in base if name not in settled]
    for table, larger, numbers in ((named, others, LARGER), (as_states, others, LARGER), (named, every, LARGER[:2])):
        for sizes in (base, *(base | dict.fromkeys(larger, number) for number in numbers)):
            shapes = _numbers(table, sizes)
            if shapes not in (usual, *found) and _agrees(graph, shapes):
                found.append(shapes)
    return found


def _is_state(shape: Sequence[Dim]) -> bool:
    """Whether a number of layers or directions may stand before an open batch."""
    return len(shape) == 3 and isinstance(shape[0], int) and isinstance(shape[1], Sym)


def _apart(
    graph: Graph,
    named: Mapping[str, Sequence[Dim]],
    base: Mapping[str, int],
    others: Sequence[str],
    steps: Sequence[tuple[int, int]],
) -> dict[str, int]:
    """The sizes with the first of these steps that inference finds possible; as they are where there is none."""
    for first, step in steps:
        apart = {name: base[name] + first + step * place for place, name in enumerate(others)}
        if min(apart.values()) > 0 and _agrees(graph, _numbers(named, {**base, **apart})):
            return {**base, **apart}
    return dict(base)


def _named(shape: Sequence[Dim], settled: Mapping[str, int]) -> tuple[Dim, ...]:
    """The shape with a name for each size that has none: one for those of an axis, so that inputs which share it still
    agree, unless the other model has settled all of them."""
    named: list[Dim] = []
    for axis, dim in enumerate(shape):
        group = OPEN_SIZE if axis else OPEN_BATCH
        own = group if str(group) in settled or not axis else symbol(f"{group}_{axis}")
        named.append(own if isinstance(dim, Unknown) else dim)
    return tuple(named)


def _group(name: str) -> str:
    return str(OPEN_SIZE) if name.startswith(str(OPEN_SIZE)) else name


def _symbols(named: Mapping[str, Sequence[Dim]]) -> list[str]:
    found: dict[str, None] = {}
    for shape in named.values():
        for dim in shape:
            if isinstance(dim, Sym):
                found.update(dict.fromkeys(sorted(dim.symbols())))
    return list(found)


def _numbers(named: Mapping[str, Sequence[Dim]], sizes: Mapping[str, int]) -> Shapes:
    shapes: Shapes = {}
    for name, shape in named.items():
        known = [substitute(dim, sizes) if isinstance(dim, Sym) else dim for dim in shape]
        shapes[name] = tuple(dim for dim in known if isinstance(dim, int))
    return shapes


def _agrees(graph: Graph, shapes: Shapes) -> bool:
    try:
        infer_types(graph, shapes)
    except ShapeError:
        return False
    return True


__all__ = ["BATCHES", "OTHER_BATCH", "Shapes", "batch_shapes", "larger_shapes", "other_shapes"]
