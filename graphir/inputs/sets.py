"""The sets of inputs that two models are run on: those that are drawn, each for what it brings to light, and those that
are given, by files or by the names of drawn ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from graphir.arrays import Array
from graphir.converters.onnx.exporting.context import opset_of_source
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.structure.state import state_of
from graphir.types import DType

from .draws import DRAWS, NORMAL, make_feeds
from .roles import order_sensitive, table_of
from .sizes import BATCHES, OpenSizes, Shapes, stated_sizes

if TYPE_CHECKING:
    from graphir.converters.formats import Reference

Made = Callable[[], dict[str, Array]]
ALL = "drawn"
NAMES = (ALL, *DRAWS)
# A state that is passed on wrongly shows in the second step, one that is passed on once only in the third.
STEPS = 3
# By how much inputs are enlarged, step by step, to reach what only large numbers show. Each step doubles them: a sample
# that grows with them meets what lies between a threshold and twice that. Values inside are some hundredths to some
# times the inputs: the last step leads them beyond what float16 can be, 2**16, and scores beyond 88, from which powers
# of e overflow.
ENLARGED = tuple(2.0**step for step in range(4, 19))
CARRIED = "the sets of inputs are steps: each begins with the state that the reference left in the one before"


@dataclass(frozen=True)
class FeedSet:
    """Inputs of one name. `attempts` make them; where both models refuse the first, the next one is tried, which asks
    for less. `stretched` says that numbers are larger than usual, so that an overflow says nothing, `wholly` that parts
    are to be compared too where outputs agree."""

    name: str
    attempts: tuple[Made, ...]
    stretched: bool = False
    wholly: bool = False

    def like(self, types: Mapping[str, str]) -> dict[str, Array]:
        """Return what the first attempt makes that has these types and shapes, as a report tells them; else the very
        first."""
        for make in self.attempts:
            feeds = make()
            if {name: f"{array.dtype}{list(array.shape)}" for name, array in feeds.items()} == types:
                return feeds
        return self.attempts[0]()


@dataclass(frozen=True)
class StateInput:
    """The output whose value is an input's in the next run, and the input's in the first."""

    output: str
    initial: Array


@dataclass(frozen=True)
class FeedPlan:
    """Which sets there are. `light` gives the same with less in each, for models that take long; `notes` are what is to
    be told about how they were made. `state` are the inputs that the next set takes from the last, `bare` the sets
    without them."""

    sets: Callable[[bool], Sequence[FeedSet]]
    notes: Sequence[str] = field(default_factory=tuple)
    bare: Callable[[bool], Sequence[FeedSet]] = lambda light: ()
    state: Mapping[str, StateInput] = field(default_factory=dict)

    def first(self) -> FeedSet:
        """Return the set on which everything is measured."""
        return self.sets(False)[0]


def one_set(name: str, feeds: Mapping[str, Array]) -> FeedPlan:
    """Return a plan of arrays that are there."""
    return FeedPlan(lambda light: [FeedSet(name, (lambda: dict(feeds),))])


def drawn_sets(
    graph: Graph,
    seed: int = 0,
    other: Mapping[str, Sequence[object]] | None = None,
    names: Sequence[str] = tuple(DRAWS),
    *,
    is_opaque: bool = False,
    candidate: Callable[[], Graph | None] = lambda: None,
) -> Callable[[bool], list[FeedSet]]:
    """Return the drawn sets of these names for a graph's inputs, the n-th from the n-th seed, in sizes that suit the
    inputs of the `other` model.

    The first has the sizes that `make_feeds` takes, `edges` others (see `other_shapes`). A `mask` of floats is full of
    equal numbers, among which two correct models may choose differently: a graph with operators that choose (TopK) gets
    none. Of one that is `is_opaque` only the inputs are known: integers are 0 or 1. `candidate` gives the other graph
    if there is one: whole numbers are also those that it compares with.
    """
    draws = {name: replace(draw, integers="mask") if is_opaque else draw for name, draw in DRAWS.items()}
    sizes = OpenSizes(graph, stated_sizes(graph, other or {}))

    def drawn_set(name: str, light: bool) -> FeedSet:
        draw = replace(draws[name], other=candidate())
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
        make = partial(make_feeds, graph, seed=seed + list(DRAWS).index(name), sizes=sizes)
        makers = [partial(make, shapes=chosen, draw=how) for how, chosen in attempts]
        return FeedSet(draw.name, tuple(makers), stretched=draw.floats == "wide")

    return lambda light: [drawn_set(name, light) for name in names]


def larger_sets(bases: Sequence[Made]) -> Iterator[FeedSet]:
    """Yield what sets make with their real numbers enlarged, step by step, of one set after the other in turn: numbers
    may lead somewhere only where a truth value is this one or that. Nothing where a set has no real numbers."""
    def enlarge(times: float, made: Made) -> dict[str, Array]:
        return {name: array * array.dtype.type(times) if array.dtype.kind == "f" else array
                for name, array in made().items()}  # fmt: skip

    for index, times in enumerate(ENLARGED if any(array.dtype.kind == "f" for array in bases[0]().values()) else ()):
        base = bases[index % len(bases)]
        yield FeedSet(f"{times:,.0f} times", (partial(enlarge, times, base),), stretched=True, wholly=True)


def about_settled(graph: Graph, other: Mapping[str, Sequence[object]]) -> list[str]:
    """Return a note where the other model insists on sizes that the graph leaves open: no others can be tried."""
    settled = stated_sizes(graph, other)
    if not settled:
        return []
    shown = ", ".join(f"{name} = {size}" for name, size in settled.items())
    return [f"the candidate takes {shown} only, which the reference leaves open: other sizes were not compared"]


def _has_whole_numbers(graph: Graph) -> bool:
    """Return whether an input may be an index or a number that stands for something else, which not every one can."""
    return any(
        (value.dtype is not None and value.dtype.is_integer) or table_of(value) is not None for value in graph.inputs
    )


def joined(parts: Sequence[FeedPlan]) -> FeedPlan:
    """Return the sets of several plans, one after the other; names that come again are numbered."""

    def sets(light: bool) -> Iterator[FeedSet]:
        counts: dict[str, int] = {}
        for part in parts:
            for each in part.sets(light):
                counts[each.name] = counts.get(each.name, 0) + 1
                yield each if counts[each.name] == 1 else replace(each, name=f"{each.name} ({counts[each.name]})")

    notes = [note for part in parts for note in part.notes]
    return FeedPlan(lambda light: list(sets(light)), notes)


def state_inputs(graph: Graph) -> dict[str, StateInput]:
    """Return the inputs of a graph that are state. They begin with zeros where no initial value is stated."""
    inputs = {}
    for name, state in state_of(graph).items():
        value = graph[name]
        dtype = (value.dtype or DType.FLOAT32).numpy()
        shape = state.shape
        if shape is None:
            shape = tuple(dim if isinstance(dim, int) else 1 for dim in value.shape or ())
        elements = np.asarray(0 if state.initial is None else state.initial).astype(dtype)
        if elements.ndim and elements.size != np.prod(shape):
            elements = np.zeros((), dtype)
        initial = elements.reshape(shape) if elements.ndim else np.full(shape, elements)
        inputs[name] = StateInput(state.output, initial)
    return inputs


def without_state(
    sets: Callable[[bool], Sequence[FeedSet]], state: Mapping[str, StateInput]
) -> Callable[[bool], Sequence[FeedSet]]:
    """Return sets that do not feed the state."""

    def strip(make: Made) -> dict[str, Array]:
        return {name: array for name, array in make().items() if name not in state}

    return _map_attempts(sets, lambda index, make: partial(strip, make)) if state else sets


def with_state(plan: FeedPlan, state: Mapping[str, StateInput]) -> FeedPlan:
    """Return a plan whose sets begin with the initial state where they feed none."""
    if not state:
        return plan
    initial = {name: each.initial for name, each in state.items()}
    sets = _map_attempts(plan.sets, lambda index, make: lambda: initial | make())
    return replace(plan, sets=sets, bare=plan.sets, state=state)


def carried(plan: FeedPlan, reference: Reference) -> FeedPlan:
    """Return a plan in which the state that the reference leaves after a set is fed to the next; three sets or more."""
    if not plan.state:
        return plan
    steps = _StateSteps(plan.state, reference)

    def enough(light: bool) -> Sequence[FeedSet]:
        planned = list(plan.bare(light))
        last, missing = planned[-1], STEPS - len(planned)
        return [*planned, *(replace(last, name=f"{last.name}, step {step}") for step in range(2, missing + 2))]

    sets = _map_attempts(enough, lambda index, make: partial(steps.make, index, make))
    return replace(plan, sets=sets, notes=[*plan.notes, CARRIED])


@dataclass
class _StateSteps:
    """What was fed in each step so far, and the state at the beginning of each."""

    state: Mapping[str, StateInput]
    reference: Reference
    fed: dict[int, dict[str, Array]] = field(default_factory=dict)
    begun: list[dict[str, Array]] = field(default_factory=list)

    def make(self, index: int, make: Made) -> dict[str, Array]:
        """Return the inputs of a step."""
        feeds = self.at(index) | make()
        self.fed[index] = feeds
        return feeds

    def at(self, index: int) -> dict[str, Array]:
        """Return the state at the beginning of a step; a step that the reference does not take leaves it as it is."""
        if not self.begun:
            self.begun.append({name: each.initial for name, each in self.state.items()})
        while len(self.begun) <= index:
            after = self.begun[-1]
            feeds = self.fed.get(len(self.begun) - 1)
            outputs = {each.output: name for name, each in self.state.items()}
            try:
                results = {} if feeds is None else self.reference.run(feeds, list(outputs))
            except VerificationError:
                results = {}
            self.begun.append(after | {outputs[output]: array for output, array in results.items()})
        return self.begun[index]


def _map_attempts(
    sets: Callable[[bool], Sequence[FeedSet]], change: Callable[[int, Made], Made]
) -> Callable[[bool], Sequence[FeedSet]]:
    def changed(light: bool) -> list[FeedSet]:
        return [
            replace(each, attempts=tuple(change(index, make) for make in each.attempts))
            for index, each in enumerate(sets(light))
        ]

    return changed
