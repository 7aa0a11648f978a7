"""Loops whose length is known become their iterations, one behind the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphir.decisions import DecisionKind
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.inference import infer_graph
from graphir.ops.base import Operator, normalize_axis
from graphir.ops.control import Loop, Scan
from graphir.ops.elementwise import And, Where
from graphir.ops.shape import Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Split
from graphir.safety.limits import charge_nodes
from graphir.types import DType, TensorType

from .branches import as_scalar, have_same_shape
from .evaluator import Evaluator
from .fold_constants import evaluated
from .inline import GraphNames, InlinedGraph, take_place
from .outcome import Outcome, Stays

LIMIT = 20_000


class _Limit(NamedTuple):
    """How many nodes loops may become: all of them together, and what others left of that."""

    whole: int
    left: int


def unroll_loops(
    graph: Graph,
    *,
    evaluator: Evaluator | None,
    limit: int = LIMIT,
    masked: bool = False,
    names: GraphNames | None = None,
) -> Outcome:
    """Put the iterations in place of each Loop and Scan whose length is known, those inside others too.

    The length of a Loop is known where trip count and condition are constants, or are computed from such; the
    evaluator then computes the condition, and is needed for nothing else. With `masked`, a Loop of known trip count
    whose condition is computed at run time becomes all its iterations; behind the one that ends it Where keeps the
    carried values, which is a decision. A Loop in a body is unrolled once the body's own loop is. Loops that would
    become more than `limit` nodes, all of them together, stay. `names` are those of the graph, if the caller has them.
    Linear in the nodes that come out.
    """
    outcome = Outcome()
    pending = [node for node in graph.nodes if isinstance(node.op, Loop | Scan)][::-1]
    if not pending:
        return outcome
    names, left = names or GraphNames(graph), limit
    while pending:
        node = pending.pop()
        if node.graph is not graph:
            continue
        turns = _Turns(graph, node, names, evaluator, _Limit(limit, left), masked)
        nodes = turns.body.new_nodes
        try:
            take_place(graph, node, turns.of_loop() if isinstance(node.op, Loop) else turns.of_scan(), nodes)
        except GraphirError as error:
            turns.body.take_back()
            outcome.reasons[node] = str(error)
            continue
        left -= len(nodes)
        outcome.note(node.name, "how often it runs is known")
        for decision in turns.decisions:
            graph.decide(*decision)
        pending.extend(new for new in reversed(nodes) if isinstance(new.op, Loop | Scan))
    if outcome:
        infer_graph(graph)
    return outcome


class _Turns:
    """The unrolling of one node: its iterations stand before it."""

    def __init__(
        self, graph: Graph, node: Node, names: GraphNames, evaluator: Evaluator | None, limit: _Limit, masked: bool
    ) -> None:
        self.graph = graph
        self.masked = masked
        self.alive: Value | None = None
        self.node = node
        self.evaluator = evaluator
        self.limit = limit
        self.weight = max(1, _weight(node))
        self.body = InlinedGraph(node.subgraphs[0], graph, names, node.name)
        self.decisions: list[tuple[DecisionKind, str, str]] = []

    def of_loop(self) -> list[Value]:
        """Return what stands for the results of a Loop. Raises Stays."""
        body = self.node.subgraphs[0]
        trips = self._trips()
        goes_on = self._has_iteration(self.node.operand(1), trips, 0)
        state = [value for value in self.node.inputs[2:] if value is not None]
        scanned: list[list[Value]] = [[] for _ in body.outputs[len(state) + 1 :]]
        turn = 0
        while goes_on and (trips is None or turn < trips):
            if trips is None:
                self._check_size(turn + 1)
            charge_nodes(self.weight, f"the iterations of {self.node.name}")
            first = [self._number(turn, body.inputs[0]), self._truth(body.inputs[1])]
            values = self.body.copy(dict(zip(body.inputs, [*first, *state], strict=True)), self.node, turn=turn)
            turn += 1
            state = self._keep_or_update(values[1 : len(state) + 1], state)
            for rows, value in zip(scanned, values[len(state) + 1 :], strict=True):
                rows.append(value)
            if turn != trips:
                condition, *state = self._compute_state(values[0], state)
                goes_on = self._has_iteration(condition, trips, turn)
        results = [*state]
        for slot, rows in enumerate(scanned):
            result = self.node.outputs[len(state) + slot]
            results.append(self._stack_values(rows, 0, result) if result.is_needed else rows[0] if rows else result)
        return results

    def _has_iteration(self, value: Value | None, trips: int | None, turn: int) -> bool:
        """Return whether there is an iteration behind `turn` others; one that may be masked counts. Raises Stays."""
        known = 1 if value is None else self._constant(value, compute=not turn)
        if known is not None:
            if not known and turn and (len(self.node.inputs) < 2 or self.node.inputs[1] is None):
                text = f"it states no condition at its start, but that of its body ends it after {turn} iterations"
                self.decisions.append((DecisionKind.LOOP_CONDITION, self.node.name, text))
            return bool(known)
        assert value is not None
        what = f"whether it goes on behind iteration {turn}" if turn else "whether it runs at all"
        if not self.masked or trips is None:
            raise Stays(f"{what} ({value.name}) is computed at run time")
        carried = len(self.node.inputs) - 2
        for result in self.node.outputs[carried:]:
            if result.is_needed:
                raise Stays(f"{what} ({value.name}) is computed at run time, and with it the length of {result.name}")
        scalar = as_scalar(self.body, value, self.node)
        if self.alive is None:
            text = f"when it ends is known at run time only; all {trips} iterations are computed, and Where selects"
            self.decisions.append((DecisionKind.ALL_ITERATIONS_COMPUTED, self.node.name, text))
            self.alive = scalar
        else:
            self.alive = self._add(And(), [self.alive, scalar], "alive").outputs[0]
        return True

    def _compute_state(self, condition: Value, state: list[Value]) -> list[Value]:
        """Return the condition and the carried values, as constants if the condition depends on constants alone.

        What is computed once is not computed again with the next condition.
        """
        if self.alive is not None or condition.integers is not None:
            return [condition, *state]
        arrays = evaluated(self.graph, [condition, *state], self.evaluator)
        if condition not in arrays:
            return [condition, *state]
        return [self.graph.constant(arrays[value]) if value in arrays else value for value in (condition, *state)]

    def _keep_or_update(self, new: list[Value], old: list[Value]) -> list[Value]:
        """Return the carried values behind an iteration, which stay what they were if the loop has ended."""
        if self.alive is None:
            return new
        for value, other in zip(new, old, strict=True):
            if not have_same_shape(value, other):
                raise Stays(f"when it ends is computed at run time, and {other.type} becomes {value.type} meanwhile")
        pairs = zip(new, old, strict=True)
        return [self._add(Where(), [self.alive, *pair], "kept").outputs[0] for pair in pairs]

    def of_scan(self) -> list[Value]:
        """Return what stands for the results of a Scan. Raises Stays."""
        op, body = self.node.op, self.node.subgraphs[0]
        assert isinstance(op, Scan)
        operands = [value for value in self.node.inputs if value is not None]
        count = len(operands) - op.num_scan_inputs
        state, sources = operands[:count], operands[count:]
        axes = op.scan_input_axes or (0,) * len(sources)
        length = self._length(sources, axes)
        self._check_size(length)
        slices = []
        for slot, (source, axis) in enumerate(zip(sources, axes, strict=True)):
            parts = self._slices(source, axis, length)
            backwards = bool(op.scan_input_directions) and op.scan_input_directions[slot] == 1
            slices.append(parts[::-1] if backwards else parts)
        scanned: list[list[Value]] = [[] for _ in body.outputs[count:]]
        for turn in range(length):
            charge_nodes(self.weight, f"the iterations of {self.node.name}")
            given = [*state, *(parts[turn] for parts in slices)]
            values = self.body.copy(dict(zip(body.inputs, given, strict=True)), self.node, turn=turn)
            state = values[:count]
            for rows, value in zip(scanned, values[count:], strict=True):
                rows.append(value)
        row_axes = op.scan_output_axes or (0,) * len(scanned)
        results = [*state]
        for slot, (rows, axis) in enumerate(zip(scanned, row_axes, strict=True)):
            result = self.node.outputs[count + slot]
            backwards = bool(op.scan_output_directions) and op.scan_output_directions[slot] == 1
            ordered = rows[::-1] if backwards else rows
            results.append(self._stack_values(ordered, axis, result) if result.is_needed else ordered[0])
        return results

    def _check_size(self, count: int) -> None:
        nodes = count * max(1, len(self.node.subgraphs[0]))
        whole, left = self.limit
        if nodes > left:
            more = "" if left == whole else f", of which other loops used {whole - left}"
            raise Stays(
                f"{count} iterations of {len(self.node.subgraphs[0])} nodes are {nodes} nodes unrolled, more than the "
                f"limit of {whole}{more}"
            )

    def _trips(self) -> int | None:
        """Return the largest number of iterations, None if only the condition ends the loop."""
        value = self.node.inputs[0] if self.node.inputs else None
        if value is None:
            return None
        number = self._constant(value)
        if number is None:
            raise Stays(f"the number of iterations ({value.name}) is computed at run time")
        self._check_size(max(0, number))
        return max(0, number)

    def _constant(self, value: Value, *, compute: bool = True) -> int | None:
        """Return the element of a value that is known or computed from constants, None if it is computed at run
        time."""
        numbers = value.integers
        if numbers is None and not compute:
            return None
        if numbers is None:
            array = evaluated(self.graph, [value], self.evaluator).get(value)
            if array is not None and array.size == 1:
                return int(array.reshape(-1)[0])
            return None
        return numbers[0] if len(numbers) == 1 else None

    def _number(self, turn: int, like: Value) -> Value:
        """Return the iteration's number, a scalar or, where the body says so, a vector of one element."""
        return self.graph.constant(np.full(_one_element(like), turn, np.int64))

    def _truth(self, like: Value) -> Value:
        return self.graph.constant(np.full(_one_element(like), True, np.bool_))

    def _length(self, sources: list[Value], axes: tuple[int, ...]) -> int:
        lengths = set()
        for source, axis in zip(sources, axes, strict=True):
            size = None if source.shape is None else source.shape[axis]
            if not isinstance(size, int):
                raise Stays(f"its length, axis {axis} of {source.name} {source.type}, is not known")
            lengths.add(size)
        if len(lengths) != 1:
            raise Stays(f"its operands have the lengths {', '.join(map(str, sorted(lengths)))}")
        if lengths == {0}:
            raise Stays("its length is 0, and a tensor without elements cannot be taken apart")
        return lengths.pop()

    def _slices(self, source: Value, axis: int, length: int) -> list[Value]:
        """Return the slices of a value along an axis, without the axis."""
        assert source.rank is not None
        index = normalize_axis(axis, source.rank)
        parts = [source]
        if length > 1:
            node = self._add(Split(length, index), [source], "split")
            parts = list(node.outputs)
        axes = self.graph.constant([index], DType.INT64)
        return [self._add(Squeeze(), [part, axes], "slice").outputs[0] for part in parts]

    def _stack_values(self, values: list[Value], axis: int, result: Value) -> Value:
        """Return the values along a new axis."""
        if not values:
            type_ = result.type
            if not isinstance(type_, TensorType) or type_.shape is None or type_.dtype is None:
                raise Stays(f"it runs 0 times, and the type of {result.name} is not known")
            sizes = [size for size in type_.shape[1:] if isinstance(size, int)]
            if len(sizes) != len(type_.shape) - 1:
                raise Stays(f"it runs 0 times, and the sizes of {result.name} {type_} are not known")
            return self.graph.constant(np.zeros((0, *sizes), type_.dtype.numpy()))
        axes = self.graph.constant([axis], DType.INT64)
        rows = [self._add(Unsqueeze(), [value, axes], "row").outputs[0] for value in values]
        if len(rows) == 1:
            return rows[0]
        rank = rows[0].rank
        index = axis if axis >= 0 or rank is None else normalize_axis(axis, rank)
        return self._add(Concat(index), rows, "stack").outputs[0]

    def _add(self, op: Operator, operands: list[Value], suffix: str) -> Node:
        return self.body.add(op, operands, self.node, suffix)


def _weight(node: Node, depth: int = 1) -> int:
    """Return what the nodes inside a node cost to put elsewhere: each is inferred anew with each graph that it stands
    in."""
    return sum(
        depth * len(graph) + sum(_weight(inner, depth + 1) for inner in graph.nodes if inner.subgraphs)
        for graph in node.subgraphs
    )


def _one_element(like: Value) -> tuple[int, ...]:
    return (1,) * (like.rank or 0)
