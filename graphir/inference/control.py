"""Inference through subgraphs: the branches of If, the bodies of Loop, Scan and SequenceMap.

A body is inferred anew from the types of its node's operands each time one of them, or a value that it captures,
becomes more precise. What changes from one iteration to the next is found by a fixpoint: a carried value starts as its
initial value and keeps what all iterations have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from graphir.errors import ShapeError
from graphir.ops.base import Known, Values, normalize_axis
from graphir.ops.control import If, Loop, Scan, common_type
from graphir.ops.counts import data_dependent_sizes, data_dependent_sizes_in
from graphir.ops.sequence import SequenceMap
from graphir.types import (
    ANYTHING,
    UNKNOWN,
    Dim,
    DType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    dim_max,
    unify,
    unify_dim,
)

from .rules import UNFIT, infer_outputs

if TYPE_CHECKING:
    from graphir.graph import Graph
    from graphir.node import Node

    from .fixpoint import Inference

ROUNDS = 8
UNROLLED_ITERATIONS = 64
UNROLLED_NODES = 4096

Operands = tuple[Type | None, ...]
Found = tuple[Type, Known | None]
Inferred = tuple[tuple[Type, ...], tuple[Known | None, ...] | None]


def infer_subgraphs(run: Inference, node: Node, operands: Operands, values: Values) -> Inferred:
    """Return the types and known elements of the results of a node with subgraphs. Raises ShapeError naming the inner
    node."""
    try:
        types, known = _infer_subgraphs(run, node, operands, values)
    except UNFIT as error:
        counts = ", ".join(f"{len(graph.inputs)} and {len(graph.outputs)}" for graph in node.subgraphs)
        text = f"{node.op.name} does not fit its subgraphs, whose inputs and outputs number {counts}: {error}"
        raise ShapeError(text) from error
    if len(types) != node.op.output_count:
        raise ShapeError(f"{node.op.name} has {node.op.output_count} results, but its subgraphs give {len(types)}")
    return types, known


def _infer_subgraphs(run: Inference, node: Node, operands: Operands, values: Values) -> Inferred:
    declared = infer_outputs(node.op, operands, values)
    if isinstance(node.op, If):
        results = _infer_if(run, node, values)
    elif isinstance(node.op, Loop):
        results = _Loop(run, node, operands, values).infer()
    elif isinstance(node.op, Scan):
        results = _Scan(run, node, operands, values).infer()
    elif isinstance(node.op, SequenceMap):
        results = _infer_map(run, node, operands)
    else:
        for graph in node.subgraphs:
            _run_body(run, node, graph, (), ())
        return declared, None
    known = tuple(elements for _, elements in results)
    return tuple(type_ for type_, _ in results), known if any(known) else None


def _run_body(
    run: Inference, node: Node, graph: Graph, types: Sequence[Type], known: Sequence[Known | None]
) -> list[Found]:
    """Return the types and elements of a subgraph's outputs, given those of its inputs."""
    body = run.body(graph, node)
    try:
        body.restart(types, known)
        body.run()
    except ShapeError as error:
        raise ShapeError(f"in its subgraph {graph.name}: {error}") from error
    return [(run.types[value], run.known[value]) for value in graph.outputs]


def _common(left: Found, right: Found) -> Found:
    return common_type(left[0], right[0]), left[1] if left[1] == right[1] else None


def _infer_if(run: Inference, node: Node, values: Values) -> list[Found]:
    """Return what both branches give, or the live one where the condition is known; a dead one need not fit the
    shapes."""
    condition = None if values[0] is None else values[0].integers()
    live = None if condition is None or len(condition) != 1 else (0 if condition[0] else 1)
    results: list[list[Found]] = []
    for index, branch in enumerate(node.subgraphs):
        try:
            results.append(_run_body(run, node, branch, (), ()))
        except ShapeError:
            if live in (None, index):
                raise
            run.body(branch, node).restart()
            results.append([])
    if live is not None:
        return results[live]
    first, *rest = results
    for other in rest:
        if len(other) != len(first):
            raise ShapeError(f"one branch gives {len(first)} values and another {len(other)}")
        first = [_common(left, right) for left, right in zip(first, other, strict=True)]
    return first


def _infer_map(run: Inference, node: Node, operands: Operands) -> list[Found]:
    elements = [type_.element if isinstance(type_, SequenceType) else type_ or ANYTHING for type_ in operands]
    around = frozenset().union(*map(data_dependent_sizes_in, elements))
    results = _run_body(run, node, node.subgraphs[0], elements, (None,) * len(elements))
    return [(SequenceType(_without_fresh_sizes(type_, None, around)[0]), None) for type_, _ in results]


class _Iteration(ABC):
    """What Loop and Scan share: a body that is run again and again over carried values.

    `trips` is the number of iterations, `at_least_once` whether the body runs at all for certain.
    """

    def __init__(self, run: Inference, node: Node) -> None:
        self.run = run
        self.node = node
        self.body = node.subgraphs[0]
        self.trips: Dim = UNKNOWN
        self.at_least_once = False

    @abstractmethod
    def inputs(self, states: Sequence[Found], iteration: int | None) -> list[Found]:
        """Return the body's inputs, given the carried values and the number of the iteration."""

    @abstractmethod
    def split(self, outputs: list[Found]) -> tuple[list[Found], list[Found]]:
        """Return the body's outputs as the next carried values and the rest."""

    def step(self, states: Sequence[Found], iteration: int | None = None) -> tuple[list[Found], list[Found]]:
        """Return one run of the body: the next carried values and the slices of the other results."""
        inputs = self.inputs(states, iteration)
        if len(inputs) != len(self.body.inputs):
            raise ShapeError(f"its subgraph takes {len(self.body.inputs)} values, but is given {len(inputs)}")
        around = frozenset().union(*(data_dependent_sizes_in(type_) for type_, _ in inputs))
        declared = [value.declared for value in self.body.inputs]
        types = [_as_declared(stated, type_) for stated, (type_, _) in zip(declared, inputs, strict=True)]
        results = _run_body(self.run, self.node, self.body, types, [known for _, known in inputs])
        return self.split([_without_fresh_sizes(type_, known, around) for type_, known in results])

    def count_trips(self, states: list[Found]) -> bool:
        """Find the number of iterations, once the body has run over what all of them find. True if it ran again."""
        return False

    def fixpoint(self, states: list[Found]) -> tuple[list[Found], list[Found], list[Found]]:
        """Return the carried values as every iteration finds them, as each leaves them, and the slices."""
        for _ in range(ROUNDS + len(states)):
            after, slices = self.step(states)
            joined = [_common(before, state) for before, state in zip(states, after, strict=True)]
            if joined == states:
                return states, after, slices
            states = joined
        states = [(_without_shape(type_), None) for type_, _ in states]
        return states, *self.step(states)

    def results(self, states: list[Found], axes: Sequence[int]) -> list[Found]:
        """Return the last carried values and the stacked slices."""
        before, after, slices = self.fixpoint(states)
        if self.count_trips(states):
            self.step(before)
        if self.trips == 0:
            return [*states, *_stack_slices(slices, axes, 0)]
        if before != states and isinstance(self.trips, int) and self._is_short(self.trips):
            last, slices = self._unroll_iterations(states, self.trips)
            self.step(before)
            return [*last, *_stack_slices(slices, axes, self.trips)]
        if not self.at_least_once:
            after = [_common(start, state) for start, state in zip(states, after, strict=True)]
        return [*after, *_stack_slices(slices, axes, self.trips)]

    def _is_short(self, trips: int) -> bool:
        return trips <= UNROLLED_ITERATIONS and trips * _weight(self.body) <= UNROLLED_NODES

    def _unroll_iterations(self, states: list[Found], trips: int) -> tuple[list[Found], list[Found]]:
        """Return the carried values behind the last iteration, and what the slices of all iterations have in common."""
        slices: list[Found] = []
        for iteration in range(trips):
            states, rows = self.step(states, iteration)
            slices = list(map(_common, slices, rows)) if iteration else rows
        return states, slices


def _weight(graph: Graph) -> int:
    """Return how many nodes one run over a body may visit, where each loop in it may run its own as often as loops do
    here."""
    inner = sum(_weight(body) for node in graph.nodes for body in node.subgraphs)
    return len(graph) + UNROLLED_ITERATIONS * inner


def _without_fresh_sizes(type_: Type, known: Known | None, around: frozenset[str]) -> Found:
    """Return what a body gives, without the sizes that each of its runs finds anew: they differ from run to run."""
    if isinstance(type_, TensorType) and type_.shape is not None:
        dims = [UNKNOWN if data_dependent_sizes(dim) - around else dim for dim in type_.shape]
        type_ = TensorType(type_.dtype, tuple(dims))
    elif data_dependent_sizes_in(type_) - around:
        type_ = ANYTHING
    if known is not None and any(data_dependent_sizes(element) - around for element in known.elements):
        known = None
    return type_, known


def _as_declared(declared: Type, given: Type) -> Type:
    """Return the type given, as the optional that the body takes it for: a value that is there may be carried as
    such."""
    is_value = given != ANYTHING and not isinstance(given, OptionalType)
    return OptionalType(given) if isinstance(declared, OptionalType) and is_value else given


def _without_shape(type_: Type) -> Type:
    return TensorType(type_.dtype) if isinstance(type_, TensorType) else type_


def _stack_slices(slices: list[Found], axes: Sequence[int], length: Dim) -> list[Found]:
    """Return the slices of all iterations, stacked along an axis of the results."""
    results: list[Found] = []
    for (type_, _), axis in zip_longest(slices, axes[: len(slices)], fillvalue=0):  # type: ignore[misc]
        if not isinstance(type_, TensorType):
            results.append((ANYTHING, None))
        elif type_.shape is None:
            results.append((type_, None))
        else:
            index = normalize_axis(axis, len(type_.shape) + 1)
            results.append((TensorType(type_.dtype, (*type_.shape[:index], length, *type_.shape[index:])), None))
    return results


class _Loop(_Iteration):
    """Loop: iteration number and condition, then the carried values."""

    def __init__(self, run: Inference, node: Node, operands: Operands, values: Values) -> None:
        super().__init__(run, node)
        missing = (None,) * (2 - len(operands))
        self.operands = operands + missing
        self.values = values + missing

    def infer(self) -> list[Found]:
        """Return the results."""
        states = [
            (type_ or ANYTHING, known) for type_, known in zip(self.operands[2:], self.values[2:], strict=True)
        ]
        if len(self.body.outputs) < len(states) + 1:
            raise ShapeError(f"its subgraph gives {len(self.body.outputs)} values for {len(states)} carried ones")
        return self.results(states, ())

    def inputs(self, states: Sequence[Found], iteration: int | None) -> list[Found]:
        number, condition = self.body.inputs[:2]
        counted = None if iteration is None else _fill_shape(number.declared, iteration)
        running = _fill_shape(condition.declared, 1)
        return [(TensorType(DType.INT64), counted), (TensorType(DType.BOOL), running), *states]

    def split(self, outputs: list[Found]) -> tuple[list[Found], list[Found]]:
        count = len(self.operands) - 2
        return outputs[1 : count + 1], outputs[count + 1 :]

    def count_trips(self, states: list[Found]) -> bool:
        limit = None if self.operands[0] is None else _number(self.values[0])
        start = 1 if self.operands[1] is None else _number(self.values[1])
        if start == 0:
            self.trips = 0
            return False
        self.at_least_once = start == 1 and (
            self.operands[0] is None or (limit is not None and dim_max(limit, 1) == limit)
        )
        if start == 1 and limit is not None and self._last_condition() == 1:
            self.trips = dim_max(limit, 0)
            return False
        if self.at_least_once:
            self.trips = self._trips_by_running(states, limit)
        return self.at_least_once

    def _last_condition(self) -> Dim | None:
        """Return the condition that the body gives, as it was run last."""
        return _number(self.run.known[self.body.outputs[0]])

    def _trips_by_running(self, states: list[Found], limit: Dim | None) -> Dim:
        """Return the number of iterations, found by running them while it is certain that there is another."""
        for count in range(1, UNROLLED_ITERATIONS + 1):
            if count > 1 and not self._is_short(count):
                break
            try:
                states, _ = self.step(states, count - 1)
            except ShapeError:
                if count == 1:
                    raise
                break  # sizes that grow beyond all bounds: so many iterations are not certain after all
            goes_on = self._last_condition()
            if goes_on == 0 or limit == count:
                return count
            if goes_on != 1 or (limit is not None and dim_max(limit, count + 1) != limit):
                break
        return UNKNOWN


def _number(known: Known | None) -> Dim | None:
    """Return the only element, if it is known to be a size or a boolean."""
    if known is None or len(known.elements) != 1:
        return None
    (element,) = known.elements
    return None if isinstance(element, float) else element


def _fill_shape(declared: Type, element: int) -> Known | None:
    """Return one known element in the shape that is declared, a scalar where nothing is."""
    shape = declared.shape if isinstance(declared, TensorType) else None
    return Known.vector((element,)) if shape is not None and len(shape) == 1 else Known.scalar(element)


class _Scan(_Iteration):
    """Scan: carried values, then the slices of the scanned operands."""

    def __init__(self, run: Inference, node: Node, operands: Operands, values: Values) -> None:
        super().__init__(run, node)
        assert isinstance(node.op, Scan)
        self.op = node.op
        self.count = len(operands) - self.op.num_scan_inputs
        if self.count < 0 or len(self.body.outputs) < self.count:
            raise ShapeError(f"num_scan_inputs is {self.op.num_scan_inputs}, which does not fit the operands")
        self.states = [(type_ or ANYTHING, known) for type_, known in zip(operands, values, strict=True)][: self.count]
        self.scanned = [
            self._slice(slot, type_, axis)
            for slot, (type_, axis) in enumerate(
                zip_longest(operands[self.count :], self.op.scan_input_axes, fillvalue=None), self.count
            )
        ]

    def infer(self) -> list[Found]:
        """Return the results."""
        self.at_least_once = dim_max(self.trips, 1) == self.trips and self.trips is not UNKNOWN
        return self.results(self.states, self.op.scan_output_axes)

    def _slice(self, slot: int, type_: Type | None, axis: int | None) -> Found:
        """Return what the body gets of a scanned operand; its length is the number of iterations."""
        if not isinstance(type_, TensorType) or type_.shape is None:
            return TensorType(type_.dtype) if isinstance(type_, TensorType) else ANYTHING, None
        index = normalize_axis(axis or 0, len(type_.shape))
        try:
            self.trips = unify_dim(self.trips, type_.shape[index])
        except ShapeError:
            value = self.node.inputs[slot]
            assert value is not None
            raise ShapeError(
                f"{value.name} {type_} has {type_.shape[index]} slices along axis {index}, the operands before it "
                f"{self.trips}"
            ) from None
        return TensorType(type_.dtype, (*type_.shape[:index], *type_.shape[index + 1 :])), None

    def inputs(self, states: Sequence[Found], iteration: int | None) -> list[Found]:
        return [*states, *self.scanned]

    def split(self, outputs: list[Found]) -> tuple[list[Found], list[Found]]:
        return outputs[: self.count], outputs[self.count :]

    def step(self, states: Sequence[Found], iteration: int | None = None) -> tuple[list[Found], list[Found]]:
        """As for all iterations, but that Scan has carried values keep their types."""
        after, slices = super().step(states, iteration)
        kept = [(unify(before, type_), known) for (before, _), (type_, known) in zip(states, after, strict=True)]
        return kept, slices

    def fixpoint(self, states: list[Found]) -> tuple[list[Found], list[Found], list[Found]]:
        """Return the carried values with all that the body says of them, and the slices."""
        states = [(type_, None) for type_, _ in states]
        for _ in range(ROUNDS):
            after, slices = self.step(states)
            after = [(type_, None) for type_, _ in after]
            if after == states:
                break
            states = after
        return states, states, slices
