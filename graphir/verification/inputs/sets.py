"""The sets of inputs that two models are run on: those that are drawn, each for what it brings to light, and those that
are given, by files or by the names of drawn ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from graphir.arrays import Array
from graphir.converters.onnx.exporting.context import opset_of_source
from graphir.graph import Graph

from .draws import DRAWS, NORMAL, Draw
from .roles import order_sensitive, table_of
from .seeded import make_feeds
from .sizes import BATCHES, OpenSizes, Shapes, stated_sizes

if TYPE_CHECKING:
    from .state import StateInput

Made = Callable[[], dict[str, Array]]
ALL = "drawn"
NAMES = (ALL, *DRAWS)


@dataclass(frozen=True)
class FeedSet:
    """Inputs of one name. `attempts` make them; where both models refuse the first, the next one is tried, which asks
    for less. `stretched` says that numbers are larger than usual, so that an overflow says nothing."""

    name: str
    attempts: tuple[Made, ...]
    stretched: bool = False

    def like(self, types: Mapping[str, str]) -> dict[str, Array]:
        """What the first attempt makes that has these types and shapes, as a report tells them; else the very first."""
        for make in self.attempts:
            feeds = make()
            if {name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()} == types:
                return feeds
        return self.attempts[0]()


@dataclass(frozen=True)
class Plan:
    """Which sets there are. `light` gives the same with less in each, for models that take long; `notes` are what is to
    be told about how they were made. `state` are the inputs that the next set takes from the last, `bare` the sets
    without them."""

    sets: Callable[[bool], Sequence[FeedSet]]
    notes: Sequence[str] = field(default_factory=tuple)
    bare: Callable[[bool], Sequence[FeedSet]] = lambda light: ()
    state: Mapping[str, StateInput] = field(default_factory=dict)

    def first(self) -> FeedSet:
        """The set on which everything is measured."""
        return self.sets(False)[0]


def one_set(name: str, feeds: Mapping[str, Array]) -> Plan:
    """A plan of arrays that are there."""
    return Plan(lambda light: [FeedSet(name, (lambda: dict(feeds),))])


def drawn_sets(
    graph: Graph,
    seed: int = 0,
    other: Mapping[str, Sequence[object]] | None = None,
    names: Sequence[str] = tuple(DRAWS),
    *,
    is_opaque: bool = False,
) -> Callable[[bool], list[FeedSet]]:
    """The drawn sets of these names for a graph's inputs, the n-th from the n-th seed, in sizes that suit the inputs of
    the `other` model.

    The first has the sizes that `make_feeds` takes, `edges` others (see `other_shapes`). A `mask` of floats is full of
    equal numbers, among which two correct models may choose differently: a graph with operators that choose (TopK) gets
    none. Of one that is `is_opaque` only the inputs are known: integers are 0 or 1.
    """
    draws = {name: replace(draw, integers="mask") if is_opaque else draw for name, draw in DRAWS.items()}
    sizes = OpenSizes(graph, stated_sizes(graph, other or {}))

    def sets(light: bool) -> list[FeedSet]:
        return [_drawn(graph, seed + list(DRAWS).index(name), sizes, draws[name], light) for name in names]

    return sets


def about_settled(graph: Graph, other: Mapping[str, Sequence[object]]) -> list[str]:
    """What is to be told where the other model insists on sizes that the graph leaves open: no others can be tried."""
    settled = stated_sizes(graph, other)
    if not settled:
        return []
    shown = ", ".join(f"{name} = {size}" for name, size in settled.items())
    return [f"the candidate takes {shown} only, which the reference leaves open: other sizes were not compared"]


def _drawn(graph: Graph, seed: int, sizes: OpenSizes, draw: Draw, light: bool) -> FeedSet:
    shapes: list[Shapes | None] = [None]
    if draw.name == "edges" or (light and draw.name != NORMAL.name):
        shapes = [*sizes.others(light=light), None]
    elif draw.name in BATCHES:
        shapes = [*sizes.of_batch(BATCHES[draw.name]), None]
    if draw.floats == "mask" and order_sensitive(graph):
        draw = replace(draw, floats="normal")
    plain = replace(draw, integers="small", rows="any")
    attempts = [(draw, chosen) for chosen in (*shapes, *sizes.larger)]
    if draw.rows == "edges" and opset_of_source(graph) is not None and _has_whole_numbers(graph):
        attempts = [(replace(draw, rows="negative"), chosen) for chosen in shapes] + attempts
    if _has_whole_numbers(graph) and draw != plain:
        attempts += [(plain, chosen) for chosen in (None, *sizes.larger)]
    makers = [partial(make_feeds, graph, seed=seed, sizes=sizes, shapes=chosen, draw=how) for how, chosen in attempts]
    return FeedSet(draw.name, tuple(makers), stretched=draw.floats == "wide")


def _has_whole_numbers(graph: Graph) -> bool:
    """Whether an input may be an index or a number that stands for something else, which not every one can."""
    return any(
        (value.dtype is not None and value.dtype.is_integer) or table_of(value) is not None for value in graph.inputs
    )


def joined(parts: Sequence[Plan]) -> Plan:
    """The sets of several plans, one after the other; names that come again are numbered."""

    def sets(light: bool) -> Iterator[FeedSet]:
        counts: dict[str, int] = {}
        for part in parts:
            for one in part.sets(light):
                counts[one.name] = counts.get(one.name, 0) + 1
                yield one if counts[one.name] == 1 else replace(one, name=f"{one.name} ({counts[one.name]})")

    notes = [note for part in parts for note in part.notes]
    return Plan(lambda light: list(sets(light)), notes)


__all__ = ["ALL", "NAMES", "FeedSet", "Plan", "about_settled", "drawn_sets", "joined", "one_set"]
