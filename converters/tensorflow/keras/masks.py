"""Sequences of which a mask hides steps, for operators that know the length of a sequence only."""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import Range
from graphir.ops.indexing import Gather, GatherElements
from graphir.ops.reduction import ReduceSum, TopK
from graphir.ops.selection import CumSum
from graphir.ops.shape import Expand, Shape, Squeeze, Unsqueeze
from graphir.types import DType


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
