"""Sets of inputs of a model with state: each is a step, which begins with the state that the one before it left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from graphir.arrays import Array
from graphir.errors import VerificationError
from graphir.structure.state import state_of
from graphir.types import DType

from .sets import FeedSet, Made, Plan

if TYPE_CHECKING:
    from graphir.converters.formats import Reference
    from graphir.graph import Graph

STEPS = 3
CARRIED = "the sets of inputs are steps: each begins with the state that the reference left in the one before"


@dataclass(frozen=True)
class StateInput:
    """The output whose value is an input's in the next run, and the input's in the first."""

    output: str
    initial: Array


def state_inputs(graph: Graph) -> dict[str, StateInput]:
    """The inputs of a graph that are state. They begin with zeros where their initial value is not written down."""
    found = {}
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
        found[name] = StateInput(state.output, initial)
    return found


def without_state(
    sets: Callable[[bool], Sequence[FeedSet]], state: Mapping[str, StateInput]
) -> Callable[[bool], Sequence[FeedSet]]:
    """Sets that do not feed the state."""

    def strip(make: Made) -> dict[str, Array]:
        return {name: array for name, array in make().items() if name not in state}

    return _each(sets, lambda place, make: partial(strip, make)) if state else sets


def with_state(plan: Plan, state: Mapping[str, StateInput]) -> Plan:
    """A plan whose sets begin with the initial state where they feed none."""
    if not state:
        return plan
    initial = {name: one.initial for name, one in state.items()}
    sets = _each(plan.sets, lambda place, make: lambda: initial | make())
    return replace(plan, sets=sets, bare=plan.sets, state=state)


def carried(plan: Plan, reference: Reference) -> Plan:
    """A plan in which the state that the reference leaves after a set is fed to the next, three sets at least."""
    if not plan.state:
        return plan
    steps = _Steps(plan.state, reference)

    def enough(light: bool) -> Sequence[FeedSet]:
        found = list(plan.bare(light))
        again = [replace(found[-1], name=f"{found[-1].name}, step {step}") for step in range(2, STEPS + 2 - len(found))]
        return [*found, *again]

    sets = _each(enough, lambda place, make: partial(steps.make, place, make))
    return replace(plan, sets=sets, notes=[*plan.notes, CARRIED])


@dataclass
class _Steps:
    """What was fed in each step so far, and the state at the beginning of each."""

    state: Mapping[str, StateInput]
    reference: Reference
    fed: dict[int, dict[str, Array]] = field(default_factory=dict)
    begun: list[dict[str, Array]] = field(default_factory=list)

    def make(self, place: int, make: Made) -> dict[str, Array]:
        """The inputs of a step."""
        feeds = self.at(place) | make()
        self.fed[place] = feeds
        return feeds

    def at(self, place: int) -> dict[str, Array]:
        """The state at the beginning of a step; a step that the reference does not take leaves it as it is."""
        if not self.begun:
            self.begun.append({name: one.initial for name, one in self.state.items()})
        while len(self.begun) <= place:
            after = self.begun[-1]
            feeds = self.fed.get(len(self.begun) - 1)
            outputs = {one.output: name for name, one in self.state.items()}
            try:
                found = {} if feeds is None else self.reference.run(feeds, list(outputs))
            except VerificationError:
                found = {}
            self.begun.append(after | {outputs[output]: array for output, array in found.items()})
        return self.begun[place]


def _each(
    sets: Callable[[bool], Sequence[FeedSet]], change: Callable[[int, Made], Made]
) -> Callable[[bool], Sequence[FeedSet]]:
    def changed(light: bool) -> list[FeedSet]:
        return [
            replace(one, attempts=tuple(change(place, make) for make in one.attempts))
            for place, one in enumerate(sets(light))
        ]

    return changed


__all__ = ["StateInput", "carried", "state_inputs", "with_state", "without_state"]
