"""Numbers for the sizes that a graph's inputs leave open: the usual ones, and others.

What was written as a number where a size belongs shows in a second one, what mistakes an axis for another where the two
differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from graphir.errors import ShapeError, VerificationError
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.ops.recurrent import GRU, LSTM, RNN
from graphir.types import Dim, Sym, Unknown, substitute, symbol

Shapes = dict[str, tuple[int, ...]]
# The usual batch, that of the second set (above 8, which many kernels take at once), and those of the sets after it.
BATCH, OTHER_BATCH, STILL_OTHER = 2, 9, 4
BATCHES = {"wide": 5, "mask": 1}
# The usual other sizes: the first that inference finds possible.
SIZES_TRIED = (32, 64, 128, 224, 299, 512, 16, 8, 4)
# Between open sizes that stand first in several inputs: they may be one batch under two names, or steps and a batch.
BETWEEN_FIRSTS = 2
# Added to the first open size, and more for each further one. Odd sizes show how windows end; where networks divide and
# join again they do not fit, and multiples of the divisor do.
ODD, EVEN = ((5, 8), (1, 2)), ((32, 32), (8, 8), (1, 1), (-1, -1))
# Sizes for a model that does not take the usual ones: windows and reflected paddings may need more.
LARGER = (64, 128, 256, 512, 1024)
RECURRENT = (GRU, LSTM, RNN)


class OpenSizes:
    """The open sizes of a graph's inputs by name, and shapes of the inputs with numbers for them.

    Sizes without a name get one for each axis, so that inputs which share an axis agree. `settled` are numbers that
    another model insists on. Shapes that inference finds contradictory are left out.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("one")
    >>> _ = graph.add_input("data", TensorType(DType.FLOAT32, parse_shape("N, 3, H, W")))
    >>> OpenSizes(graph).others()
    [{'data': (9, 3, 37, 45)}, {'data': (9, 3, 64, 96)}, {'data': (9, 3, 32, 32)}]
    >>> OpenSizes(graph, {"N": 1, "W": 64}).others()
    [{'data': (1, 3, 37, 64)}, {'data': (1, 3, 64, 64)}]
    >>> OpenSizes(graph).of_batch(5), OpenSizes(graph, {"N": 1}).of_batch(5)
    ([{'data': (5, 3, 32, 32)}], [])
    """

    def __init__(self, graph: Graph, settled: Mapping[str, int] | None = None) -> None:
        self._graph = graph
        self._shapes = {value.name: _named(value.shape) for value in graph.inputs if value.shape is not None}
        self._names = _symbols(self._shapes.values())
        self._settled = dict(settled or {})
        self._possible: dict[tuple[tuple[str, tuple[int, ...]], ...], bool] = {}

    @property
    def unknown(self) -> list[str]:
        """The inputs of unknown rank."""
        return [value.name for value in self._graph.inputs if value.shape is None]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The usual number of each size: 2 for batches, and one number for all others that the operators accept."""
        others = [name for name in self._names if name not in self._batches]
        batches = dict.fromkeys(self._batches, BATCH)
        choices = [batches | dict.fromkeys(others, number) for number in SIZES_TRIED]
        # First axes that are no batches, but steps or places.
        choices += [dict.fromkeys(self._names, number) for number in SIZES_TRIED] if batches else []
        possible = (sizes for sizes in choices if self._is_possible(self._with(sizes)))
        return (next(possible, choices[0]) if self._names else {}) | self._settled

    def usual(self) -> Shapes:
        """Return the shapes with the usual numbers; without inputs of unknown rank."""
        return self._with(self.numbers)

    @cached_property
    def _batches(self) -> list[str]:
        """Sizes that stand first, and those of the batch in what recurrent layers read, where it stands second."""
        firsts = [shape[:1] for shape in self._shapes.values()]
        read = [node.inputs[0] for node in self._graph.nodes if isinstance(node.op, RECURRENT)]
        seconds = [value.shape[1:2] for value in read if value is not None and value.shape is not None]
        named = _symbols([*firsts, *seconds])
        return [name for name in self._names if name in named]

    def others(self, *, light: bool = False) -> list[Shapes]:
        """Return shapes that differ from the usual ones, those that show most first: another batch (with `light` of one
        sample) and odd sizes that differ from each other, then even ones, then the batch alone."""
        if self.unknown:
            return []
        free = [name for name in self._names if name not in self._settled]
        firsts = [name for name in free if name in self._batches]
        others = [name for name in free if name not in self._batches]
        batch = 1 if light else OTHER_BATCH
        second = {name: batch if self.numbers[name] != batch else STILL_OTHER for name in firsts}
        distinct = {name: second[name] + BETWEEN_FIRSTS * index for index, name in enumerate(firsts)}
        alike = [second] if distinct == second else [distinct, second]
        apart = [self._apart(first, others, steps) for first in alike for steps in ((ODD, EVEN) if others else ())]
        return self._new_ones(self._with(self.numbers | sizes) for sizes in (*apart, *alike))

    def of_batch(self, batch: int) -> list[Shapes]:
        """Return the usual shapes with another batch; none where that is not open."""
        free = [name for name in self._batches if name not in self._settled]
        return [] if self.unknown else self._new_ones([self._with(self.numbers | dict.fromkeys(free, batch))])

    @cached_property
    def larger(self) -> list[Shapes]:
        """Shapes for a model that does not take the usual ones: other open sizes, the second axis of states (whose
        first is a number, that of layers or directions) taken for the batch, and first axes for steps or places; each
        with a batch of 1 too, which is all that a detector may take.

        >>> from graphir.types import DType, TensorType, parse_shape
        >>> graph = Graph("one")
        >>> _ = graph.add_input("sound", TensorType(DType.FLOAT32, parse_shape("?, ?")))
        >>> _ = graph.add_input("state", TensorType(DType.FLOAT32, parse_shape("2, ?, 128")))
        >>> OpenSizes(graph).larger[0], OpenSizes(graph).larger[-1]
        ({'sound': (1, 32), 'state': (2, 32, 128)}, {'sound': (128, 128), 'state': (2, 128, 128)})
        """
        if self.unknown:
            return []
        firsts = [shape[0] for shape in self._shapes.values() if shape and not _is_state(shape)]
        free = [name for name in self._names if name not in self._settled]
        others = [name for name in free if name not in _symbols([firsts])]
        single = {name: 1 for name in self._batches if name in free}
        as_states = {
            name: (shape[0], firsts[0], *shape[2:]) if firsts and _is_state(shape) else shape
            for name, shape in self._shapes.items()
        }
        return self._new_ones(
            _filled(shapes, self.numbers | batch | sizes)
            for shapes, names, numbers in (
                (self._shapes, others, LARGER), (as_states, others, LARGER), (self._shapes, free, LARGER[:2])
            )
            for sizes in ({}, *(dict.fromkeys(names, number) for number in numbers))
            for batch in ({}, single)
        )  # fmt: skip

    def _apart(
        self, batches: Mapping[str, int], others: Sequence[str], steps: Sequence[tuple[int, int]]
    ) -> dict[str, int]:
        """Return the batches with other sizes that differ by the first of these steps that is possible; alone without
        one."""
        for first, step in steps:
            apart = {name: self.numbers[name] + first + step * index for index, name in enumerate(others)}
            if min(apart.values()) > 0 and self._is_possible(self._with(self.numbers | dict(batches) | apart)):
                return {**batches, **apart}
        return dict(batches)

    def _new_ones(self, shapes: Iterable[Shapes]) -> list[Shapes]:
        """Return those of the shapes that are possible and not the usual ones, each once."""
        usual = self.usual()
        results: list[Shapes] = []
        for each in shapes:
            if each != usual and each not in results and self._is_possible(each):
                results.append(each)
        return results

    def _with(self, sizes: Mapping[str, int]) -> Shapes:
        return _filled(self._shapes, sizes)

    def _is_possible(self, shapes: Shapes) -> bool:
        key = tuple(shapes.items())
        if key not in self._possible:
            try:
                infer_types(self._graph, shapes)
                self._possible[key] = True
            except ShapeError:
                self._possible[key] = False
        return self._possible[key]


def stated_sizes(graph: Graph, given: Mapping[str, Sequence[object]]) -> dict[str, int]:
    """Return what another model's inputs, by name or else in their order, state of the graph's open sizes, so that both
    can be fed. Inputs whose known sizes differ state nothing, they may lie in another layout.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("one")
    >>> _ = graph.add_input("data", TensorType(DType.FLOAT32, parse_shape("N, 1, H, H")))
    >>> stated_sizes(graph, {"x": (1, 1, 8, "width")}), stated_sizes(graph, {"data": (1, 8, 8, 3)})
    ({'N': 1, 'H': 8}, {})
    """
    by_name = all(value.name in given for value in graph.inputs)
    others = [given[value.name] for value in graph.inputs] if by_name else list(given.values())
    if len(others) != len(graph.inputs):
        return {}
    stated: dict[str, int] = {}
    for value, other in zip(graph.inputs, others, strict=True):
        named = _named(value.shape or ())
        pairs = list(zip(named, other, strict=False)) if len(named) == len(other) else []
        if any(isinstance(dim, int) and isinstance(size, int) and dim != size for dim, size in pairs):
            continue
        for dim, size in pairs:
            if isinstance(dim, Sym) and isinstance(size, int) and dim == symbol(str(dim)):
                stated.setdefault(str(dim), size)
    return stated


def batch_sizes(graph: Graph, batch: int) -> dict[str, int]:
    """Return `sizes` for `make_feeds` that make a batch: of the open sizes that stand first in the inputs' shapes, or
    of the only open size if none stands first. Empty if that leaves none.

    >>> from graphir.types import DType, TensorType, parse_shape
    >>> graph = Graph("two")
    >>> _ = graph.add_input("states", TensorType(DType.FLOAT32, parse_shape("2, N, 16")))
    >>> batch_sizes(graph, 8)
    {'N': 8}
    """
    shapes = [_named(value.shape) for value in graph.inputs if value.shape is not None]
    first, every = _symbols(shape[:1] for shape in shapes), _symbols(shapes)
    return dict.fromkeys(sorted(first) or (every if len(every) == 1 else ()), batch)


def unknown_rank(graph: Graph, names: Sequence[str]) -> VerificationError:
    """Return the error for inputs of unknown rank, with words that would state their shapes."""
    words = [f"-i {name}:1,3" for name in names]
    shown = ", ".join(f"{name} {graph[name].type}" for name in names)
    return VerificationError(f"shapes of inputs are open: {shown}; give them, as in {' '.join(words)}")


def _is_state(shape: Sequence[Dim]) -> bool:
    """Return whether a number of layers or directions may stand before an open batch."""
    return len(shape) == 3 and isinstance(shape[0], int) and isinstance(shape[1], Sym)


def _named(shape: Sequence[Dim]) -> tuple[Dim, ...]:
    names = (symbol(f"open_size_{axis}" if axis else "open_batch") for axis in range(len(shape)))
    return tuple(name if isinstance(dim, Unknown) else dim for dim, name in zip(shape, names, strict=True))


def _symbols(shapes: Iterable[Sequence[Dim]]) -> list[str]:
    def each() -> Iterator[str]:
        for shape in shapes:
            for dim in shape:
                if isinstance(dim, Sym):
                    yield from sorted(dim.symbols())

    return list(dict.fromkeys(each()))


def _filled(shapes: Mapping[str, Sequence[Dim]], sizes: Mapping[str, int]) -> Shapes:
    filled: Shapes = {}
    for name, shape in shapes.items():
        dims = [substitute(dim, sizes) if isinstance(dim, Sym) else dim for dim in shape]
        filled[name] = tuple(dim for dim in dims if isinstance(dim, int))
    return filled
