"""What regions are made of: values that both models know, ways through a graph, a cut model, pairs of parts."""

from __future__ import annotations

from collections import deque
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
from graphir.ops.activation import LogSoftmax, Sigmoid, Softmax
from graphir.ops.elementwise import Cast
from graphir.ops.shape import Shape
from graphir.ops.traits import Rounding
from graphir.structure.extract import uses_of
from graphir.verification.numbers.compare import NOISE_FACTOR, Comparison, Floor
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.numbers.local import BESIDE_ONE
from graphir.verification.running.bench import PLACE
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
        return spread(value, lambda held: [read for read in self._reads.get(held.producer, ()) if read.producer])

    def behind(self, value: Value) -> set[Value]:
        """Return the values that depend on this one, with itself."""
        return spread(value, lambda held: [result for node in self.readers(held) for result in node.outputs])

    def region(self, value: Value, edge: Test) -> tuple[list[Value], list[Node]]:
        """Return what a value is computed from between it and the `edge`: the edge's values (graph inputs among them),
        and the nodes."""
        nodes: dict[Node, None] = {}
        edges: dict[Value, None] = {}
        pending, seen = deque([value]), {value}
        while pending:
            held = pending.popleft()
            node = held.producer
            if node is None or (held is not value and edge(held)):
                edges[held] = None
                continue
            nodes[node] = None
            for read in self._reads[node]:
                if read not in seen and not (read.producer is None and read.tensor is not None):
                    seen.add(read)
                    pending.append(read)
        return list(edges), list(nodes)

    def ordered(self, values: Iterable[Value]) -> list[Value]:
        """Computed values in the graph's order."""
        return sorted((value for value in values if value in self.place), key=self.place.__getitem__)


def spread(start: Value, step: Callable[[Value], Iterable[Value]]) -> set[Value]:
    """Return all that steps lead to from a value, with itself."""
    seen, pending = {start}, [start]
    while pending:
        for value in step(pending.pop()):
            if value not in seen:
                seen.add(value)
                pending.append(value)
    return seen


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


MOVING = (Rounding.VIEWS, Rounding.MOVES)
# Half a unit in the last place of float32: what one addition loses at most.
LOST_BY_ADDING = 2.0**-24


@dataclass(frozen=True)
class Segment:
    """A pair of values, what both are computed from (pairs, source value to candidate value, and inputs of the models
    likewise), and which of these, and which nodes, are the first graph's part and the second's."""

    value: Value
    other: Value
    edges: Mapping[Value, Value]
    ends: tuple[Sequence[Value], Sequence[Value]]
    nodes: tuple[Sequence[Node], Sequence[Node]]

    @property
    def inner(self) -> list[Value]:
        """Return the edges that are computed."""
        return [edge for edge in self.edges if edge.producer is not None]

    @property
    def size(self) -> int:
        """Return how many nodes there are on both sides."""
        return sum(map(len, self.nodes))


def as_in_graph(array: Array, value: Value) -> Array:
    """Return a reference's number for a value with its axes in the order of the value's own graph: a framework may have
    its channels last where the imported graph has them second."""
    order: Order = () if value.shape is None else channel_order(array.shape, value.shape)
    return array.transpose(order) if order else array


def unmoved(array: Array, *values: Value) -> Floor:
    """Return the floor of a value, in one model or both, before anything was moved: what its own operator rounds that
    no moved input shows.

    A sigmoid has units in the last place of 1. A softmax adds up its terms; one after the other, each loses half a unit
    in the last place of the sum, always in the same direction where they are about alike. A resize reads at places,
    which are rounded as the farthest one is. What only moves elements, as a Reshape behind it, gives them with what
    they lost.
    """
    is_sigmoid, lost = False, 0.0
    for value in values:
        source = value
        while source.producer is not None and source.producer.op.rounding in MOVING and source.producer.inputs[0]:
            source = source.producer.inputs[0]
        node = source.producer
        operator = None if node is None else node.op
        is_sigmoid = is_sigmoid or isinstance(operator, Sigmoid)
        shape = array.shape if source is value else source.shape or ()
        if isinstance(operator, Softmax | LogSoftmax) and -len(shape) <= operator.axis < len(shape):
            size = shape[operator.axis]
            lost = max(lost, size * LOST_BY_ADDING if isinstance(size, int) else 0.0)
        elif node is not None and node.op.rounding is Rounding.PLACES:
            read = node.inputs[0].shape if node.inputs[0] is not None else None
            sizes = [size for size in (*shape[2:], *(read or ())[2:]) if isinstance(size, int)]
            lost = max(lost, max(sizes, default=0) * PLACE)
    return Floor(lost / NOISE_FACTOR, unit=BESIDE_ONE if is_sigmoid else 0.0)


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


def compared_inside(
    name: str, expected: Array, found: Array, floor: Floor, limits: GradingLimits, *, roundings: int = 0
) -> Comparison:
    """Return a result inside a model held against another's, in the layout that suits.

    `roundings` is how many kernels round on the way where one runtime computes both on one device, else 0.
    """
    order = order_inside(found, expected)
    if order and len(order) == found.ndim:
        found = found.transpose(order)
        moved = None if floor.deviation is None else floor.deviation.transpose(order)
        floor = replace(floor, deviation=moved)
    result = limits.compare(name, expected, found, floor, limits.step_of(name))
    return limits.within_roundings(result, expected, found, floor, roundings) if roundings else result


def count_roundings(*parts: Sequence[Node]) -> int:
    """Return how many kernels of a part round one after the other at most, in either model.

    A Cast rounds each number to the nearest one, which is the same whatever does it.
    """
    return max(
        1, *(sum(not (node.op.is_exact or node.op.rounding is Rounding.HOLDS) for node in nodes) for nodes in parts)
    )


def of_same_kernels(first: Sequence[Node], second: Sequence[Node]) -> bool:
    """Return whether the nodes of both models are of the same operators."""
    return sorted(node.op.name for node in first) == sorted(node.op.name for node in second)


def typed(array: Array, like: Value) -> Array:
    """Return an array in the type of another model's value: whole numbers that rounding moved are rounded back."""
    dtype = None if like.dtype is None else like.dtype.numpy()
    if dtype is None or array.dtype == dtype:
        return array
    return (np.rint(array) if dtype.kind in "iu" and array.dtype.kind == "f" else array).astype(dtype)


def has_computed_indices(node: Node) -> bool:
    """Return whether a node takes elements from where another computed operand says."""
    operands = [value for value in node.inputs[1:] if value is not None and value.tensor is None]
    data = node.inputs[0] if node.inputs else None
    is_moved = data is not None and data.tensor is None and node.op.rounding is Rounding.MOVES
    return is_moved and any(value.dtype is not None and value.dtype.is_integer for value in operands)


def without_overflows(expected: Array, found: Array) -> Array:
    """Return a part's results for huge numbers, with the reference's where one of the two is not finite: another order
    of the same products overflows sooner."""
    if expected.shape != found.shape or found.dtype.kind != "f":
        return found
    return np.where(np.isfinite(expected) & np.isfinite(found), found, expected)


def is_size(value: Value) -> bool:
    """Return whether a value holds the sizes of another."""
    return value.producer is not None and isinstance(value.producer.op, Shape)
