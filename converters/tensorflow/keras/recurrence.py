"""Keras's recurrent layers as the graph's LSTM, GRU and RNN, one for each layer, both directions together.

Keras's kernels are (in, gates * units), its gates input, forget, cell, output (LSTM) and update, reset, new (GRU); the
graph's are (gates * units, in) with input, output, forget, cell and update, reset, new.

A mask (N, steps) may hide any step: the state then stays, and the output is the one before (or 0, with
`zero_output_for_mask`). That is what the steps that count alone give, so they are brought to the front, stably, their
number is the sequence's length, and each step takes the output of the last one that counts. Source: Keras 3's RNN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import Range
from graphir.ops.indexing import Gather, GatherElements
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.reduction import ReduceSum, TopK
from graphir.ops.selection import CumSum
from graphir.ops.shape import Expand, Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.ops.slicing import Slice
from graphir.structure.state import Carried
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, DType, TensorType


class Compact:
    """The steps that a mask (steps, N) lets through, brought to the front in their order.

    `lengths` (N) is how many there are, int32. The order comes from TopK of keys that are all different, so that it
    is the same everywhere.
    """

    def __init__(self, node: ImportNode, mask: Value) -> None:
        self._node = node
        self._mask = mask
        counted = node.step(ew.Cast(DType.INT64), mask, suffix="mask_numbers")
        self._numbers = counted
        self._counts = node.step(CumSum(), counted, node.constant(0, DType.INT64), suffix="mask_counts")
        total = node.step(ReduceSum(keepdims=False), counted, node.vector([0]), suffix="length")
        self.lengths = node.step(ew.Cast(DType.INT32), total, suffix="lengths")
        self._order: Value | None = None

    def gathered(self, value: Value) -> Value:
        """Return (steps, N, ...) with the steps that count first."""
        node = self._node
        if self._order is None:
            shape = node.step(Shape(), self._mask, suffix="mask_shape")
            steps = node.step(Gather(0), shape, node.vector([0]), suffix="steps")
            count = node.step(Squeeze(), steps, node.vector([0]), suffix="step_count")
            zero, unit = node.constant(0, DType.INT64), node.constant(1, DType.INT64)
            indices = node.step(Range(), zero, count, unit, suffix="places")
            later = node.step(Unsqueeze(), node.step(ew.Sub(), count, indices), node.vector([1]), suffix="later")
            keys = node.step(ew.Add(), node.step(ew.Mul(), self._numbers, count), later, suffix="keys")
            self._order = node.steps(TopK(axis=0), keys, steps, suffix="order")[1]
        return self._take(value, self._order)

    def spread(self, value: Value, *, backward: bool, zeros: bool) -> Value:
        """Return the outputs (steps, N, units) of gathered steps, at the steps where they came from.

        A hidden step has the output of the last one before it that counts (`backward`: the first one behind), 0 if
        there is none, or always 0 with `zeros`.
        """
        node = self._node
        if backward:
            # behind the last step that counts the operator gives 0 itself
            outputs = self._take(value, node.step(ew.Sub(), self._counts, self._numbers, suffix="places_from"))
            return self._select(self._mask, outputs) if zeros else outputs
        before = node.step(ew.Sub(), self._counts, node.constant(1, DType.INT64), suffix="places_before")
        sources = node.step(ew.Max(), before, node.constant(0, DType.INT64), suffix="places_from")
        counted = node.step(ew.Greater(), self._counts, node.constant(0, DType.INT64), suffix="begun")
        return self._select(self._mask if zeros else counted, self._take(value, sources))

    def last(self, value: Value, *, backward: bool, zeros: bool) -> Value:
        """Return the last output (N, units): 0 where no step counts or, with `zeros`, where the last one does not."""
        node = self._node
        if zeros:
            at = node.vector([0 if backward else -1])
            kept = node.step(Squeeze(), node.step(Gather(0), self._mask, at), node.vector([0]), suffix="last_counts")
        else:
            kept = node.step(ew.Greater(), self.lengths, node.constant(0, DType.INT32), suffix="any_counts")
        return self._select(kept, value)

    def reached(self, state: Value, begin: Value) -> Value:
        """Return the last state (N, units), which is the first one where no step counts: runtimes give 0 there."""
        counts = self._node.step(ew.Greater(), self.lengths, self._node.constant(0, DType.INT32), suffix="any_counts")
        return self._select(counts, state, begin)

    def _select(self, condition: Value, value: Value, other: Value | None = None) -> Value:
        node = self._node
        wide = node.step(Unsqueeze(), condition, node.vector([-1]), suffix="condition")
        return node.step(ew.Where(), wide, value, other or node.scalar_like(value, 0.0), suffix="kept")

    def _take(self, value: Value, indices: Value) -> Value:
        node = self._node
        wide = node.step(Unsqueeze(), indices, node.vector([-1]), suffix="wide")
        shape = node.step(Shape(), value, suffix="whole")
        return node.step(GatherElements(0), value, node.step(Expand(), wide, shape), suffix="taken")


OPERATORS: Mapping[str, Any] = {"LSTM": LSTM, "GRU": GRU, "SimpleRNN": RNN}
STATES = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1}
USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "SimpleRNN": ("Tanh",)}
# ONNX's name of a function, and its alpha and beta if it has them.
Function = tuple[str, tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class LayerDirection:
    """One direction of one layer: what it computes, its weights in the graph's order, its states' slots among the
    operands, whether it runs from the last step to the first, and the parameters of its first call (`cached`)."""

    kind: str
    units: int
    activations: tuple[Function, ...]
    reset_after: bool
    backward: bool
    weight: Tensor
    recurrent: Tensor
    bias: Tensor | None
    cached: dict[tuple[str, int], Value] = field(default_factory=dict, compare=False, repr=False)

    @property
    def fits(self) -> tuple[object, ...]:
        """Return what two directions have to share to be one operator."""
        return self.kind, self.units, self.reset_after, self.bias is None, self.weight.dtype


@dataclass(frozen=True)
class Recurrence:
    """A layer as Keras means it: one cell, or two side by side, and which results are wanted.

    `flips` tells of each cell whether Keras gives its sequence from the last step to the first. The operands are x,
    the mask if there is one, and the states that are given: all of a cell's, or none. A layer that keeps its states
    from call to call has the names that they have in the model.
    """

    cells: tuple[LayerDirection, ...]
    flips: tuple[bool, ...]
    merge: str | None
    sequences: bool
    states: bool
    zero_masked: bool
    time_major: bool
    masked: bool
    begun: bool
    kept: tuple[str, ...]

    def __call__(self, node: ImportNode) -> Imported:
        """Return the node's results: the output or, unmerged, outputs, then the last states."""
        operands = list(node.inputs)
        x = operands.pop(0)
        mask = operands.pop(0) if self.masked else None
        kept = self._add_state_inputs(node, x)
        if not self.begun:
            operands = kept
        first = x if self.time_major else node.step(Transpose((1, 0, 2)), x, suffix="steps_first")
        compact = None
        if mask is not None:
            compact = Compact(node, mask if self.time_major else _swap_axes(node, mask))
            first = compact.gathered(first)
        runs = self._make_runs(node, first, None if compact is None else compact.lengths, operands)
        joined = len(runs) == 2 and runs[0].results is runs[1].results and self.merge == "concat"
        if joined and compact is None and not any(self.flips):
            outputs = [_join_directions(node, self, runs[0].results)]
        else:
            outputs = [self._read_output(node, run, index, compact) for index, run in enumerate(runs)]
            outputs = _merge_outputs(node, self, outputs)
        after: list[Value] = []
        for run, begin in zip(runs, _split_states(self, operands), strict=True) if self.states or kept else ():
            last = run.states(node)
            if compact is not None and begin:
                last = [compact.reached(*pair) for pair in zip(last, begin, strict=True)]
            after += last
        zero = Tensor.of(np.zeros((), node.dtype(0).numpy()))
        for name, before, value in zip(self.kept, kept, after, strict=False):
            node.importer.carried.append(Carried(name, before, value, zero, "the layer is stateful"))
        return outputs + after if self.states else outputs

    def _make_runs(self, node: ImportNode, x: Value, lengths: Value | None, states: Sequence[Value]) -> list[Run]:
        """Run the cells on the data, by one operator if they run in opposite directions and are of one kind."""
        cells = self.cells
        given = _split_states(self, states)
        if len(cells) == 2 and cells[0].fits == cells[1].fits and not cells[0].backward and cells[1].backward:
            results = _emit_operator(node, cells, x, lengths, given, Direction.BIDIRECTIONAL)
            return [Run(results, 0, 2), Run(results, 1, 2)]
        runs = []
        for cell, begin in zip(cells, given, strict=True):
            direction = Direction.REVERSE if cell.backward else Direction.FORWARD
            runs.append(Run(_emit_operator(node, [cell], x, lengths, [begin], direction), 0, 1))
        return runs

    def _add_state_inputs(self, node: ImportNode, x: Value) -> list[Value]:
        """Return the inputs for the states that the layer keeps. Refuses a second call of it."""
        if any(state.holder in self.kept for state in node.importer.carried):
            node.refuse("a stateful layer that is called more than once: which call comes first is not in the file")
        units = [cell.units for cell in self.cells for _ in range(STATES[cell.kind])]
        batch = UNKNOWN if x.shape is None else x.shape[1 if self.time_major else 0]
        return [
            node.graph.add_input(node.fresh_name(name), TensorType(x.dtype, (batch, size)))
            for name, size in zip(self.kept, units, strict=False)
        ]

    def _read_output(self, node: ImportNode, run: Run, index: int, compact: Compact | None) -> Value:
        """Return one cell's output: (N, units), or the sequence as Keras gives it."""
        cell = self.cells[index]
        if not self.sequences:
            last = run.last(node)
            if compact is None or not (self.begun or self.zero_masked):
                return last
            return compact.last(last, backward=cell.backward, zeros=self.zero_masked)
        value = run.sequence(node)
        if compact is not None:
            value = compact.spread(value, backward=cell.backward, zeros=self.zero_masked)
        if self.flips[index]:
            far = np.iinfo(np.int64).min
            ends = [node.vector([-1]), node.vector([far]), node.vector([0]), node.vector([-1])]
            value = node.step(Slice(), value, *ends, suffix="reversed")
        return value if self.time_major else node.step(Transpose((1, 0, 2)), value, suffix="batch_first")


def _join_directions(node: ImportNode, layer: Recurrence, results: Sequence[Value]) -> Value:
    """Return both directions' outputs in one axis, from those of one operator."""
    if not layer.sequences:
        return node.step(Reshape(), node.step(Transpose((1, 0, 2)), results[1]), node.vector([0, -1]), suffix="both")
    order = (0, 2, 1, 3) if layer.time_major else (2, 0, 1, 3)
    return node.step(Reshape(), node.step(Transpose(order), results[0]), node.vector([0, 0, -1]), suffix="both")


def _swap_axes(node: ImportNode, mask: Value) -> Value:
    return node.step(Transpose((1, 0)), mask, suffix="mask_steps_first")


@dataclass(frozen=True)
class Run:
    """The results of one direction of an operator: its slot among the directions, and the operator's results."""

    results: tuple[Value, ...]
    slot: int
    directions: int

    def sequence(self, node: ImportNode) -> Value:
        """Return the outputs of all steps (steps, N, units)."""
        return self._direction(node, self.results[0], 1, "sequence")

    def last(self, node: ImportNode) -> Value:
        """Return the last output (N, units)."""
        return self._direction(node, self.results[1], 0, "last")

    def states(self, node: ImportNode) -> list[Value]:
        """Return the last states (N, units)."""
        names = ("state", "cell_state")
        return [
            self._direction(node, value, 0, name) for value, name in zip(self.results[1:], names, strict=False)
        ]

    def _direction(self, node: ImportNode, value: Value, axis: int, suffix: str) -> Value:
        if self.directions > 1:
            ends = [node.vector([self.slot]), node.vector([self.slot + 1]), node.vector([axis])]
            value = node.step(Slice(), value, *ends, suffix=f"{suffix}_{self.slot}_kept")
        return node.step(Squeeze(), value, node.vector([axis]), suffix=f"{suffix}_{self.slot}")


def _split_states(layer: Recurrence, states: Sequence[Value]) -> list[Sequence[Value]]:
    """Return the states that each cell begins with, none if none are given."""
    if not states:
        return [()] * len(layer.cells)
    groups, start = [], 0
    for cell in layer.cells:
        groups.append(states[start : start + STATES[cell.kind]])
        start += STATES[cell.kind]
    return groups


def _emit_operator(
    node: ImportNode,
    cells: Sequence[LayerDirection],
    x: Value,
    lengths: Value | None,
    states: Sequence[Sequence[Value]],
    direction: Direction,
) -> tuple[Value, ...]:
    cell = cells[0]
    names = tuple(name for item in cells for name, _, _ in item.activations)
    fields: dict[str, Any] = {"hidden_size": cell.units, "direction": direction}
    if names != USUAL[cell.kind] * len(cells):
        fields["activations"] = names
        fields["activation_alpha"] = tuple(x for item in cells for _, alpha, _ in item.activations for x in alpha)
        fields["activation_beta"] = tuple(x for item in cells for _, _, beta in item.activations for x in beta)
    if cell.kind == "GRU":
        fields["linear_before_reset"] = cell.reset_after
    parts = [("W", [item.weight for item in cells]), ("R", [item.recurrent for item in cells])]
    operands: list[Value | None] = [x]
    operands += [_stack_weights(node, cell, tensors, name) for name, tensors in parts]
    biases = [item.bias for item in cells if item.bias is not None]
    operands.append(_stack_biases(node, cell, biases) if biases else None)
    operands.append(lengths)
    for slot in range(STATES[cell.kind]):
        rows = [item[slot] for item in states if item]
        wide = [node.step(Unsqueeze(), row, node.vector([0]), suffix=f"begin_{slot}") for row in rows]
        operands.append(None if not wide else wide[0] if len(wide) == 1 else node.step(Concat(0), *wide))
    while operands[-1] is None:
        operands.pop()
    return node.steps(OPERATORS[cell.kind](**fields), *operands, suffix=cell.kind.lower())


def _stack_weights(node: ImportNode, cell: LayerDirection, tensors: Sequence[Tensor], suffix: str) -> Value:
    """Return the directions' weights in one parameter, computed when it is needed; `cell` is the first one's, which
    keeps it for other calls of the layer."""
    key = suffix, len(tensors)
    previous = _reuse_value(node, cell, key)
    if previous is not None:
        return previous
    tensor = tensors[0]
    if len(tensors) > 1:
        shape = (len(tensors), *tensor.shape[1:])
        tensor = Tensor.computed(tensor.dtype, shape, lambda: np.concatenate([part.numpy() for part in tensors]))
    value = node.graph.add_parameter(node.fresh_name(f"{node.name}_{suffix}"), tensor)
    value.sources = (f"{value.name}:0",)  # a weight of the model, of its size, though in another order
    cell.cached[key] = value
    return value


def _stack_biases(node: ImportNode, cell: LayerDirection, tensors: Sequence[Tensor]) -> Value:
    """Return the input's and the state's biases; where a layer has one, the state's are zeros, which are no weights."""
    wide = cell.weight.shape[1]
    if tensors[0].shape[1] != wide:
        return _stack_weights(node, cell, tensors, "B")
    key = "biases", len(tensors)
    previous = _reuse_value(node, cell, key)
    if previous is not None:
        return previous
    zeros = node.graph.constant(np.zeros((len(tensors), wide), tensors[0].dtype.numpy()), name=f"{node.name}_zeros")
    cell.cached[key] = node.step(Concat(1), _stack_weights(node, cell, tensors, "B"), zeros, suffix="biases")
    return cell.cached[key]


def _reuse_value(node: ImportNode, cell: LayerDirection, key: tuple[str, int]) -> Value | None:
    """Return the value that an earlier call of the layer added, if it can be used."""
    value = cell.cached.get(key)
    return value if value is not None and value.graph is node.graph and node.graph.holds(value) else None


def _merge_outputs(node: ImportNode, layer: Recurrence, outputs: list[Value]) -> list[Value]:
    if len(outputs) == 1 or layer.merge is None:
        return outputs
    match layer.merge:
        case "concat":
            return [node.step(Concat(-1), *outputs, suffix="both")]
        case "sum":
            return [node.step(ew.Add(), *outputs, suffix="sum")]
        case "mul":
            return [node.step(ew.Mul(), *outputs, suffix="product")]
        case _:
            total = node.step(ew.Add(), *outputs, suffix="sum")
            return [node.step(ew.Mul(), total, node.scalar_like(total, 0.5), suffix="mean")]
