"""Parts of both models around one value, each run alone on the same numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from graphir.analysis.channels import channel_order
from graphir.graph import Graph, Node, Value
from graphir.verification.grading.compare import Comparison, Floor
from graphir.verification.grading.limits import Limits
from graphir.verification.inputs.seeded import perturbed
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.layouts import order_inside

from .known import Known
from .walks import Test, Walks

Array = NDArray[Any]


@dataclass(frozen=True)
class Segment:
    """A pair of values, what both are computed from (pairs, source value to candidate value, and inputs of the models
    likewise), and which of these, and which nodes, are the first graph's part and the second's."""

    value: Value
    other: Value
    edges: Mapping[Value, Value]
    ends: tuple[Sequence[Value], Sequence[Value]]
    nodes: tuple[Sequence[Node], Sequence[Node]]

    def part(self, side: int) -> Graph:
        """A part as a graph of its own, of the reference (0) or of the candidate (1); its inputs have the names that
        they have in their model."""
        value = (self.value, self.other)[side]
        return value.graph.extract([value], [end for end in self.ends[side] if end.producer is not None])


class Segments:
    """Cuts both graphs of a comparison at values that are known to both. `inputs` are the models' inputs that are the
    same, `feeds` what the reference is fed."""

    def __init__(
        self,
        known: Known,
        walks: tuple[Walks, Walks],
        inputs: Mapping[Value, Value],
        feeds: Mapping[str, Array],
    ) -> None:
        self.known, self.walks = known, walks
        self._feeds = feeds
        self._inputs = inputs
        self._back = {other: value for value, other in [*known.pairs.items(), *inputs.items()]}

    def cut(self, value: Value, trusted: Test) -> Segment | None:
        """The parts behind the values that are `trusted`; None where one reads what the other model does not know."""
        other = self.known.pairs[value]

        def edge(held: Value) -> bool:
            return held in self.known.pairs and trusted(held)

        def far_edge(held: Value) -> bool:
            own = self._back.get(held)
            return own is not None and own in self.known.pairs and trusted(own)

        ours, left = self.walks[0].region(value, edge)
        theirs, right = self.walks[1].region(other, far_edge)
        pairs = {**self._inputs, **self.known.pairs}
        edges = {held: pairs[held] for held in ours if held in pairs}
        edges |= {self._back[held]: held for held in theirs if held in self._back}
        if not all(held in pairs for held in ours) or not all(held in self._back for held in theirs):
            return None
        return Segment(value, other, edges, (ours, theirs), (left, right))

    def arrays(self, segments: Sequence[Segment]) -> dict[Value, Array]:
        """What the reference has at the edges of segments and for their values, from one evaluation of it."""
        asked = {edge for segment in segments for edge in (*segment.edges, segment.value)}
        found = self.known.expected([value for value in asked if value.producer is not None])
        return found | {value: self._feeds[value.name] for value in asked if value.producer is None}


def run_part(part: Graph, arrays: Mapping[str, Array]) -> tuple[Array, Floor]:
    """The one output of a part that is fed by name, and the noise floor: what one unit in the last place of the
    inputs changes. Raises GraphirError where the part cannot be written or run."""
    with OnnxCandidate(part) as under_test:
        wanted = {name: arrays[name] for name in under_test.session.inputs}
        (found,) = under_test.run(wanted).values()
        moved = perturbed(part, wanted)
        again = found if moved is None else next(iter(under_test.run(moved).values()))
        return found, Floor().seen(found, again)


def alone(segment: Segment, arrays: Mapping[Value, Array], limits: Limits) -> Comparison:
    """The candidate's part fed with the reference's numbers, held against the reference's result. Raises GraphirError
    where the part does not run."""
    fed = {other.name: fitted(arrays[value], other) for value, other in segment.edges.items()}
    found, floor = run_part(segment.part(1), fed)
    return compared_inside(segment.value.name, arrays[segment.value], found, floor, limits)


def compared_inside(name: str, expected: Array, found: Array, floor: Floor, limits: Limits) -> Comparison:
    """A result inside a model held against another's, in the layout that suits."""
    order = order_inside(found, expected)
    laid = found.transpose(order) if order and len(order) == found.ndim else found
    return limits.compare(name, expected, laid, floor, limits.step_of(name))


def fitted(array: Array, like: Value) -> Array:
    """An array with its channels where a value of the other model has them, and in its dtype."""
    shape = like.shape
    order = channel_order(array.shape, shape) if shape is not None else ()
    placed = array.transpose(order) if order else array
    if shape is not None and len(shape) != placed.ndim and all(isinstance(dim, int) for dim in shape):
        placed = placed.reshape(shape) if math.prod(map(int, shape)) == placed.size else placed
    dtype = None if like.dtype is None else like.dtype.numpy()
    return placed if dtype is None or placed.dtype == dtype else placed.astype(dtype)


__all__ = ["Segment", "Segments", "alone", "compared_inside", "fitted", "run_part"]
