"""Parts of both models around one value, each run alone on the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.analysis.channels import Order, channel_moves, channel_order
from graphir.graph import Graph, Node, Value
from graphir.ops.activation import Sigmoid
from graphir.types import DType, TensorType
from graphir.verification.grading.compare import Comparison, Floor, difference
from graphir.verification.grading.limits import Limits
from graphir.verification.grading.local import BESIDE_ONE
from graphir.verification.inputs.seeded import perturbed
from graphir.verification.pairs.sides import Sides
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.layouts import order_inside
from graphir.verification.running.slices import return_memory_of

from .known import Bench, Known
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

    def part(self, side: int, arrays: Mapping[Value, Array] | None = None) -> Graph:
        """Return a part as a graph of its own, of the reference (0) or of the candidate (1).

        Its inputs have the names that they have in their model. `arrays` are the reference's numbers at the edges and
        of the value: they give types that the graph does not know, as behind operators of other domains.
        """
        value = (self.value, self.other)[side]
        part = value.graph.extract([value], [end for end in self.ends[side] if end.producer is not None])
        pairs = [*self.edges.items(), (self.value, self.other)]
        known = {pair[side].name: arrays[pair[0]] for pair in pairs if arrays and pair[0] in arrays}
        return with_types(part, known)


def as_in_graph(array: Array, value: Value) -> Array:
    """Return a reference's number for a value with its axes in the order of the value's own graph: a framework may have
    its channels last where the imported graph has them second."""
    order: Order = () if value.shape is None else channel_order(array.shape, value.shape)
    return array.transpose(order) if order else array


def with_types(part: Graph, arrays: Mapping[str, Array]) -> Graph:
    """Give inputs and outputs of a part the types of their numbers where the graph does not know them; return it."""
    for value in (*part.inputs, *part.outputs):
        array = arrays.get(value.name)
        if array is not None and (value.dtype is None or value.rank is None):
            shape = array.shape if value.rank is None else None
            part.refine(value, TensorType(DType.of(array.dtype) if value.dtype is None else value.dtype, shape))
    return part


class Segments:
    """Cuts both graphs of a comparison at values that are known to both.

    Of every edge whose numbers were asked for, `orders` has the order of axes in which the candidate has them (() as
    they are), and `symmetric` those whose sizes and numbers suit several.
    """

    def __init__(self, known: Known, walks: tuple[Walks, Walks], bench: Bench, sides: Sides) -> None:
        self.known, self.walks = known, walks
        self.orders: dict[Value, Order] = {}
        self.symmetric: set[Value] = set()
        self._bench = bench
        self._inputs = _inputs(bench, sides)
        self._back = {other: value for value, other in [*known.pairs.items(), *self._inputs.items()]}

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
        arrays = found | {value: self._bench.feeds[value.name] for value in asked if value.producer is None}
        self._find_orders({edge: other for segment in segments for edge, other in segment.edges.items()}, arrays)
        return arrays

    def fed(self, segment: Segment, arrays: Mapping[Value, Array]) -> dict[str, Array]:
        """What the candidate's part takes for the reference's numbers at its edges, of which `arrays` was asked."""
        return {
            other.name: typed(arrays[edge].transpose(self.orders[edge] or range(arrays[edge].ndim)), other)
            for edge, other in segment.edges.items()
        }

    def _find_orders(self, edges: Mapping[Value, Value], arrays: Mapping[Value, Array]) -> None:
        """The orders of axes: of inputs as the candidate is fed, of others as their sizes tell, and where these do not
        as the candidate's own numbers suit the reference's."""
        fitting = self._bench.candidate.fitting
        lacking = {edge: other for edge, other in edges.items() if edge not in self.orders}
        open_ones = [edge for edge, other in lacking.items() if not _tells(arrays[edge], other)]
        theirs = self.known.found(edge for edge in open_ones if edge in self.known.names)
        for edge, other in lacking.items():
            if edge.producer is None:
                self.orders[edge] = fitting[other.name][1] if other.name in fitting else ()
            elif edge in theirs:
                self.orders[edge] = order_inside(arrays[edge], theirs[edge])
                if _is_symmetric(arrays[edge]):
                    self.symmetric.add(edge)
            else:
                self.orders[edge] = () if other.shape is None else channel_order(arrays[edge].shape, other.shape)
        return_memory_of(theirs.values())


def run_part(part: Graph, arrays: Mapping[str, Array]) -> tuple[Array, Floor]:
    """The one output of a part that is fed by name, and the noise floor: what one unit in the last place of the
    inputs changes. Raises GraphirError where the part cannot be written or run."""
    with OnnxCandidate(with_types(part, arrays)) as under_test:
        wanted = {name: arrays[name] for name in under_test.session.inputs}
        (found,) = under_test.run(wanted).values()
        moved = perturbed(part, wanted)
        again = found if moved is None else next(iter(under_test.run(moved).values()))
        return found, unmoved(part.outputs[0]).seen(found, again)


def unmoved(*values: Value) -> Floor:
    """The floor of a value, in one model or both, before anything was moved: a sigmoid's unit if it is one's result."""
    sigmoid = any(value.producer is not None and isinstance(value.producer.op, Sigmoid) for value in values)
    return Floor(unit=BESIDE_ONE if sigmoid else 0.0)


def alone(
    segment: Segment, arrays: Mapping[Value, Array], fed: Mapping[str, Array], limits: Limits
) -> Comparison:
    """The candidate's part `fed` with the reference's numbers, held against the reference's result in `arrays`. Raises
    GraphirError where the part does not run."""
    found, floor = run_part(segment.part(1, arrays), fed)
    return compared_inside(segment.value.name, arrays[segment.value], found, floor, limits)


def compared_inside(name: str, expected: Array, found: Array, floor: Floor, limits: Limits) -> Comparison:
    """A result inside a model held against another's, in the layout that suits."""
    order = order_inside(found, expected)
    if order and len(order) == found.ndim:
        found = found.transpose(order)
        moved = None if floor.deviation is None else floor.deviation.transpose(order)
        floor = replace(floor, deviation=moved)
    return limits.compare(name, expected, found, floor, limits.step_of(name))


def laid_as(found: Array, expected: Array, like: Value) -> Array:
    """The numbers that one model has for a value as the other has them: in the order of axes, or of elements where the
    ranks differ, in which they differ least from `expected`, and in the type of the other's value."""
    order = order_inside(found, expected)
    if order:
        found = found.transpose(order)
    if found.ndim != expected.ndim and found.size == expected.size:
        orders: tuple[Order, ...] = ((), *(channel_moves(found.ndim) if found.ndim > 2 else ()))
        laid = [found.transpose(order or range(found.ndim)).reshape(expected.shape) for order in orders]
        found = min(laid, key=lambda one: difference(expected, one)[1])
    return typed(found, like)


def typed(array: Array, like: Value) -> Array:
    """An array in the type of another model's value: whole numbers that rounding moved are rounded back."""
    dtype = None if like.dtype is None else like.dtype.numpy()
    if dtype is None or array.dtype == dtype:
        return array
    return (np.rint(array) if dtype.kind in "iu" and array.dtype.kind == "f" else array).astype(dtype)


def _inputs(bench: Bench, sides: Sides) -> dict[Value, Value]:
    """The inputs of the second graph by those of the first, as the candidate is fed: that may have been stated, where
    neither names nor what reads them tell it."""
    assert sides.graphs is not None
    found = {value: other for value, other in sides.counterparts.values.items() if value.producer is None}
    ours, theirs = ({value.name: value for value in graph.inputs} for graph in sides.graphs)
    fed = {
        ours[source]: theirs[name]
        for name, (source, _) in bench.candidate.fitting.items()
        if source in ours and name in theirs
    }
    taken = set(fed.values())
    return {value: other for value, other in found.items() if other not in taken} | fed


def _tells(array: Array, other: Value) -> bool:
    """Whether the sizes of the candidate's value tell where it has the channels of the reference's numbers."""
    if array.ndim < 3:
        return True
    shape = other.shape
    if shape is None or not all(isinstance(size, int) for size in shape[1:]):
        return False
    return len(set(shape[1:])) > 1


def _is_symmetric(array: Array) -> bool:
    """Whether moving the channels changes nothing, so that no numbers tell where they are."""
    moved = [array.transpose(order) for order in channel_moves(array.ndim)]
    return any(array.shape == one.shape and bool(np.array_equal(array, one)) for one in moved)


__all__ = [
    "Segment", "Segments", "alone", "as_in_graph", "compared_inside", "laid_as", "run_part", "typed", "unmoved",
    "with_types",
]
