"""What regions are made of: values that both models know, ways through a graph, a cut model, pairs of parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from graphir.analysis.channels import Order, channel_order
from graphir.arrays import Array
from graphir.graph import Graph, Node, Value
from graphir.inputs.draws import perturbed
from graphir.ops.elementwise import Cast
from graphir.ops.shape import Shape
from graphir.ops.traits import DecisionTrait, Rounding
from graphir.structure.extract import uses_of
from graphir.structure.reaching import reachable
from graphir.verification.numbers.compare import Comparison, Floor, static_floor, widest
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.running.layouts import fitted_feeds, order_inside

if TYPE_CHECKING:
    from graphir.converters.onnx.files.cut import CutModel
    from graphir.converters.onnx.probes import Probes
    from graphir.runtime.session import OnnxSession
    from graphir.verification.running.candidate import OnnxCandidate

Test = Callable[[Value], bool]


@dataclass(frozen=True)
class NotRun:
    """Parts that could not be run by themselves, and why: neither agreement nor a difference."""

    reason: str

    @classmethod
    def after(cls, error: Exception) -> NotRun:
        """Return the result of a run that raised: its reason is the first line of the error."""
        return cls((str(error) or type(error).__name__).splitlines()[0])


class Walks:
    """Which values each value of a main graph is made of and goes into. Linear in the graph's size to make."""

    def __init__(self, graph: Graph) -> None:
        self._reads: dict[Node | None, list[Value]] = {}
        self._readers: dict[Value, list[Node]] = {}
        self.place: dict[Value, int] = {}
        for node in graph.nodes:
            self._reads[node] = list(dict.fromkeys(uses_of(node)))
            for value in self._reads[node]:
                self._readers.setdefault(value, []).append(node)
            for value in node.outputs:
                self.place[value] = len(self.place)

    def readers(self, value: Value) -> list[Node]:
        """Return the nodes that read this value."""
        return self._readers.get(value, [])

    def before(self, value: Value) -> set[Value]:
        """Return the computed values that this one depends on, with itself."""
        reads = self._reads
        return set(reachable([value], lambda held: [read for read in reads.get(held.producer, ()) if read.producer]))

    def behind(self, value: Value) -> set[Value]:
        """Return the values that depend on this one, with itself."""
        return set(reachable([value], lambda held: [end for node in self.readers(held) for end in node.outputs]))

    def region(self, value: Value, edge: Test) -> tuple[list[Value], list[Node]]:
        """Return what a value is computed from between it and the `edge`: the edge's values (graph inputs among them),
        and the nodes."""
        edges: list[Value] = []
        nodes: dict[Node, None] = {}

        def reads(held: Value) -> list[Value]:
            node = held.producer
            if node is None or (held is not value and edge(held)):
                edges.append(held)
                return []
            nodes[node] = None
            return [read for read in self._reads[node] if read.producer is not None or read.tensor is None]

        for _ in reachable([value], reads):
            pass
        return edges, list(nodes)

    def ordered(self, values: Iterable[Value]) -> list[Value]:
        """Computed values in the graph's order."""
        return sorted((value for value in values if value in self.place), key=self.place.__getitem__)


Results = dict[str, Array]


class CutCandidate:
    """Runs parts of a model between values that are fed and values that are wanted, without optimisations unless these
    are asked for.

    Of the nodes whose first results are `watched`, `reached` are the sides of decisions that the last run led to.
    """

    def __init__(
        self, candidate: OnnxCandidate, graph: Graph, feeds: Mapping[str, Array], *, optimize: bool = False
    ) -> None:
        self._candidate, self._graph, self._feeds, self._optimize = candidate, graph, feeds, optimize
        self._last: tuple[bytes, OnnxSession] | None = None
        self.watched: AbstractSet[str] = frozenset()
        self.reached: set[tuple[str, str]] = set()

    @cached_property
    def model(self) -> CutModel:
        """The model, which parts are cut from."""
        from graphir.converters.onnx.files.cut import CutModel

        return CutModel(self._candidate.message)

    def release(self) -> None:
        """Let the last session go."""
        self._last = None

    def run(
        self, fed: Mapping[str, Array], wanted: Collection[str], feeds: Mapping[str, Array] | None = None
    ) -> Results:
        """Return the wanted values, for other `feeds` of the model's inputs if these are given. Raises GraphirError
        where a part does not run."""
        session, inputs, probes = self._part(fed, wanted, feeds)
        results = session.run(inputs)
        self.reached = {(sight.result, sight.way) for sight in probes.sights if sight.reached(results)}
        return results

    def run_moved(
        self,
        fed: Mapping[str, Array],
        wanted: Collection[str],
        step: float = 0.0,
        feeds: Mapping[str, Array] | None = None,
    ) -> Results:
        """Return the wanted values for numbers that rounding moved, by a unit in the last place or half the `step` of a
        coarser type; none where nothing can be moved."""
        session, inputs, _ = self._part(fed, wanted, feeds)
        moved = perturbed(self._graph, inputs, step=step)
        return {} if moved is None else session.run(moved)

    def _part(
        self, fed: Mapping[str, Array], wanted: Collection[str], feeds: Mapping[str, Array] | None
    ) -> tuple[OnnxSession, Results, Probes]:
        from graphir.converters.onnx.probes import Probes

        model, names = self.model.part(fed, wanted)
        probes = Probes(model.graph, guarded=True, results=self.watched)
        message = model.SerializeToString() + probes.addition()
        if self._last is None or self._last[0] != message:
            self._last = message, self._candidate.started_part(message, optimize=self._optimize)
        session = self._last[1]
        given = fitted_feeds(self._candidate.fitting, self._feeds if feeds is None else feeds)
        inputs = {name: given[name] for name in session.inputs if name in given}
        return session, inputs | {name: fed[value] for value, name in names.items()}, probes


@dataclass(frozen=True)
class Part:
    """A pair of values, and the nodes of the first graph and of the second that compute them."""

    value: Value
    other: Value
    nodes: tuple[Sequence[Node], Sequence[Node]]

    @property
    def size(self) -> int:
        """Return how many nodes there are on both sides."""
        return sum(map(len, self.nodes))

    @property
    def is_exact(self) -> bool:
        """Return whether no node rounds: equal numbers that go in give equal results."""
        return all(node.op.is_exact for nodes in self.nodes for node in nodes)

    @property
    def has_same_kernels(self) -> bool:
        """Return whether the nodes of both graphs are of the same operators."""
        first, second = (sorted(node.op.name for node in nodes) for nodes in self.nodes)
        return first == second

    @property
    def roundings(self) -> int:
        """Return how many kernels round one after the other at most, in either model.

        A Cast rounds each number to the nearest one, which is the same whatever does it.
        """
        return max(1, *(
            sum(not (node.op.is_exact or node.op.rounding is Rounding.HOLDS) for node in nodes) for nodes in self.nodes
        ))  # fmt: skip

    def compared(
        self, title: str, results: tuple[Array, Array], limits: GradingLimits, moved: Array | None = None,
        *, by_kernels: bool = True,
    ) -> Comparison:  # fmt: skip
        """Return the reference's and the candidate's results held against each other, in the layout that suits.

        `moved` is the candidate's for numbers that rounding moved. `by_kernels` says that one runtime computes both on
        one device, so that what differs is no more than its kernels round.
        """
        expected, computed = results
        order = order_inside(computed, expected)
        if order and len(order) == computed.ndim:
            computed, moved = computed.transpose(order), None if moved is None else moved.transpose(order)
        floor = unmoved(expected, self.value, self.other)
        floor = floor if moved is None else floor.seen(computed, moved)
        limits = replace(limits, same_kernels=by_kernels and self.has_same_kernels)
        result = limits.compare(title, expected, computed, floor, limits.step_of(title))
        return limits.within_roundings(result, expected, computed, floor, self.roundings) if by_kernels else result


@dataclass(frozen=True)
class Segment(Part):
    """A part with what both values are computed from (pairs, source value to candidate value, and inputs of the models
    likewise), and which of these are the first graph's and the second's."""

    edges: Mapping[Value, Value]
    ends: tuple[Sequence[Value], Sequence[Value]]

    @property
    def inner(self) -> list[Value]:
        """Return the edges that are computed."""
        return [edge for edge in self.edges if edge.producer is not None]


def as_in_graph(array: Array, value: Value) -> Array:
    """Return a reference's number for a value with its axes in the order of the value's own graph: a framework may have
    its channels last where the imported graph has them second."""
    order: Order = () if value.shape is None else channel_order(array.shape, value.shape)
    return array.transpose(order) if order else array


def unmoved(array: Array, *values: Value) -> Floor:
    """Return the floor of a value, in one model or both, before anything was moved.

    What moves or averages elements, as a Reshape behind an operator, gives them with what they lost.
    """
    floors = []
    for source in reachable(values, _handed_on):
        node = source.producer
        if node is not None:
            shape, axis = array.shape if source in values else source.shape or (), getattr(node.op, "axis", None)
            terms = shape[axis] if isinstance(axis, int) and -len(shape) <= axis < len(shape) else 0
            read = next((held.shape for held in node.inputs if held is not None), None) or ()
            floors.append(static_floor(type(node.op), shape, read, terms))
    return widest(floors)


def _handed_on(value: Value) -> list[Value]:
    node = value.producer
    reads = node.inputs[:1] if node is not None and node.op.nonexpansive else ()
    return [read for read in reads if read is not None]


TIES = "other indices of equal numbers: an operator that orders has several right results"


def ordering_node(indices: Value) -> Node | None:
    """Return the node that ordered numbers where a value holds the indices that it gives, in whichever type."""
    while indices.producer is not None and isinstance(indices.producer.op, Cast) and indices.producer.inputs[0]:
        indices = indices.producer.inputs[0]
    node = indices.producer
    return node if node is not None and node.outputs.index(indices) in node.op.orderings else None


def name_equals(keys: Array, axis: int, *indices: Array) -> bool:
    """Return whether indices along an axis lead to equal keys, each index to one of its own.

    >>> keys = np.array([0.5, 2, 0.5])
    >>> name_equals(keys, 0, np.array([1, 0]), np.array([1, 2])), name_equals(keys, 0, np.array([0]), np.array([1]))
    (True, False)
    """
    first, second = (array.astype(np.int64) for array in indices)
    if first.shape != second.shape or min(first.min(initial=0), second.min(initial=0)) < 0:
        return False
    if max(first.max(initial=0), second.max(initial=0)) >= keys.shape[axis]:
        return False
    is_repeated = any((np.diff(np.sort(array, axis), axis=axis) == 0).any() for array in (first, second))
    chosen = (np.take_along_axis(keys, array, axis) for array in (first, second))
    return not is_repeated and bool(np.array_equal(next(chosen), next(chosen), equal_nan=keys.dtype.kind == "f"))


def typed(array: Array, like: Value) -> Array:
    """Return an array in the type of another model's value: whole numbers that rounding moved are rounded back."""
    dtype = None if like.dtype is None else like.dtype.numpy()
    if dtype is None or array.dtype == dtype:
        return array
    return (np.rint(array) if dtype.kind in "iu" and array.dtype.kind == "f" else array).astype(dtype)


def chooses(node: Node, least: DecisionTrait) -> bool:
    """Return whether a node decides so much by its numbers, or reads its first operand where a computed one says."""
    computed = [value.dtype for value in node.inputs[1:] if value is not None and value.tensor is None]
    has_indices = any(dtype is not None and dtype.is_integer for dtype in computed)
    return node.op.decides >= least or (has_indices and node.op.rounding not in (Rounding.VIEWS, Rounding.SIZES))


def without_overflows(expected: Array, found: Array) -> Array:
    """Return a part's results for huge numbers, with the reference's where one of the two is not finite: another order
    of the same products overflows sooner."""
    if expected.shape != found.shape or found.dtype.kind != "f":
        return found
    return np.where(np.isfinite(expected) & np.isfinite(found), found, expected)


def is_size(value: Value) -> bool:
    """Return whether a value holds the sizes of another."""
    return value.producer is not None and isinstance(value.producer.op, Shape)
