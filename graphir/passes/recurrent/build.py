"""A cell that was found in a loop as a node: its weights in ONNX's order and layout, its states, its attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.passes.inline import InlinedGraph
from graphir.tensor import Tensor
from graphir.types import DType

from .cells import Cell
from .terms import Bias, GateFunction
from .views import View

Array = np.ndarray[Any, Any]
DEFAULTS: dict[type, tuple[GateFunction, ...]] = {
    LSTM: (GateFunction("Sigmoid"), GateFunction("Tanh"), GateFunction("Tanh")),
    GRU: (GateFunction("Sigmoid"), GateFunction("Tanh")),
    RNN: (GateFunction("Tanh"),),
}


class LayerMaker:
    """One layer in the making; its nodes stand before the loop's, which `maker` names them after."""

    def __init__(self, maker: InlinedGraph, before: Node, cell: Cell, dtype: DType) -> None:
        self.maker = maker
        self.graph: Graph = maker.target
        self.before = before
        self.cell = cell
        self.dtype = dtype

    def add(
        self, sequence: Value, states: Sequence[Value | None], lengths: Value | None, direction: Direction
    ) -> Node:
        """Return the node over a sequence (T, N, I), from states (N, H), each None for zeros."""
        weight = self._matrix([gate.input_weight for gate in self.cell.gates], "W")
        recurrent = self._matrix([gate.state_weight for gate in self.cell.gates], "R")
        first = [None if state is None else self._unsqueeze(state, 0, "initial") for state in states]
        operands = [sequence, weight, recurrent, self._bias(), self._lengths(lengths, sequence), *first]
        if self.cell.kind is LSTM:
            operands.append(self._peephole())
        while operands[-1] is None:
            operands.pop()
        return self._add_layer_node(self._op(direction), operands)

    def squeezed(self, value: Value, axis: int, suffix: str) -> Value:
        """Return the value without its axis of directions."""
        axes = self.graph.constant([axis], DType.INT64)
        return self.maker.add(Squeeze(), [value, axes], self.before, suffix).output

    def kept(self, last: Value, initial: Value, lengths: Value) -> Value:
        """Return the last state, but the initial one of sequences without elements, for which runtimes give zeros."""
        nought = self.graph.constant(0, lengths.dtype)
        has_steps = self._unsqueeze(self._add(ew.Greater(), [lengths, nought], "has_steps"), 1, "has_steps")
        return self._add(ew.Where(), [has_steps, last, initial], "last")

    def _add_layer_node(self, op: RNN | GRU | LSTM, operands: Sequence[Value | None]) -> Node:
        """Return the node under the layer's name, its results named after what they are."""
        names, prefix = self.maker.names, self.maker.prefix
        outputs = [names.fresh(f"{prefix}_{name}") for name in op.outputs]
        node = self.graph.add_node(op, operands, name=prefix, output_names=outputs, before=self.before)
        self.maker.new_nodes.append(node)
        names.ancestors[node] = self.before
        return node

    def _op(self, direction: Direction) -> RNN | GRU | LSTM:
        cell = self.cell
        stated: dict[str, Any] = {"hidden_size": cell.hidden, "direction": direction}
        if cell.functions != DEFAULTS[cell.kind]:
            stated["activations"] = tuple(function.name for function in cell.functions)
            alphas = (function.alpha for function in cell.functions)
            betas = (function.beta for function in cell.functions)
            stated["activation_alpha"] = tuple(alpha for alpha in alphas if alpha is not None)
            stated["activation_beta"] = tuple(beta for beta in betas if beta is not None)
        if cell.kind is GRU:
            stated["linear_before_reset"] = cell.linear_before_reset
        return cell.kind(**stated)

    def _matrix(self, views: Sequence[View], suffix: str) -> Value:
        """Return the weights (K, H) of all gates as (1, G * H, K)."""
        width, hidden = views[0].shape
        shape = (1, len(views) * hidden, width)
        if _are_constant(views):
            readers = [view.reader() for view in views]
            return self._parameter(shape, suffix, views, lambda: np.concatenate([read().T for read in readers]))
        turned = [self._add(Transpose((1, 0)), [self._part(view)], f"{suffix}_gate") for view in views]
        return self._unsqueeze(self._join_values(turned, suffix), 0, suffix)

    def _bias(self) -> Value | None:
        """Return the biases (1, 2 * G * H), those of the input first; None if there is none."""
        sums = [*(gate.biases for gate in self.cell.gates), *(gate.state_biases for gate in self.cell.gates)]
        return self._vector(sums, "B") if any(sums) else None

    def _peephole(self) -> Value | None:
        """Return the peepholes (1, 3 * H) of the input, output and forget gates; None if there is none."""
        views = [gate.peephole for gate in self.cell.gates[:3]]
        if not any(views):
            return None
        return self._vector([[] if view is None else [view] for view in views], "P")

    def _vector(self, sums: Sequence[Sequence[Bias]], suffix: str) -> Value:
        """Sums of vectors (H,) and numbers, one behind the other, as (1, G * H)."""
        hidden, dtype = self.cell.hidden, self.dtype.numpy()
        views = [term for terms in sums for term in terms if isinstance(term, View)]

        if _are_constant(views):
            readers = [[_reader(term, dtype) for term in terms] for terms in sums]
            zeros = np.zeros(hidden, dtype)

            def compute() -> Array:
                return np.concatenate([sum((read() for read in group), zeros) for group in readers])

            return self._parameter((1, len(sums) * hidden), suffix, views, compute)
        parts = []
        for terms in sums:
            moving = [self._part(term) for term in terms if isinstance(term, View)]
            still = [term for term in terms if not isinstance(term, View)]
            if still or not moving:
                moving.append(self.graph.constant(np.full(hidden, sum(still), dtype)))
            while len(moving) > 1:
                moving[:2] = [self._add(ew.Add(), moving[:2], f"{suffix}_sum")]
            parts.append(moving[0])
        return self._unsqueeze(self._join_values(parts, suffix), 0, suffix)

    def _parameter(
        self, shape: tuple[int, ...], suffix: str, views: Sequence[View], compute: Callable[[], Array]
    ) -> Value:
        """Return a parameter that is computed from others when it is needed."""
        tensor = Tensor.computed(self.dtype, shape, lambda: compute().reshape(shape))
        parameter = self.graph.add_parameter(self.maker.names.fresh(f"{self.maker.prefix}_{suffix}"), tensor)
        sources = (name for view in views for name in view.value.sources or (view.value.name,))
        parameter.sources = tuple(dict.fromkeys(sources))
        return parameter

    def _part(self, view: View) -> Value:
        """Return the view as computed by nodes."""
        value = view.value
        assert value.shape is not None
        cut = [axis for axis, (low, high) in enumerate(view.ranges) if (low, high) != (0, value.shape[axis])]
        if cut:
            bounds = [[view.ranges[axis][side] for axis in cut] for side in (0, 1)]
            constants = [self.graph.constant(numbers, DType.INT64) for numbers in (*bounds, cut)]
            value = self._add(Slice(), [value, *constants], "part")
        gone = [axis for axis in range(len(view.ranges)) if axis not in view.axes]
        if gone:
            value = self._add(Squeeze(), [value, self.graph.constant(gone, DType.INT64)], "part")
        order = tuple(sorted(view.axes).index(axis) for axis in view.axes)
        if order != tuple(range(len(order))):
            value = self._add(Transpose(order), [value], "part")
        return value if value.dtype is view.dtype else self._add(ew.Cast(view.dtype), [value], "part")

    def _lengths(self, lengths: Value | None, sequence: Value) -> Value | None:
        """Return the lengths as the operators take them: int32, and none larger than the sequence has steps."""
        if lengths is None:
            return None
        steps = None if sequence.shape is None else sequence.shape[0]
        if isinstance(steps, int):
            limit = self.graph.constant([steps], DType.INT64)
        else:
            limit = self._add(Shape(end=1), [sequence], "steps")
        if lengths.dtype is not DType.INT64:
            lengths = self._add(ew.Cast(DType.INT64), [lengths], "lengths")
        return self._add(ew.Cast(DType.INT32), [self._add(ew.Min(), [lengths, limit], "lengths")], "lengths")

    def _join_values(self, values: Sequence[Value], suffix: str) -> Value:
        return values[0] if len(values) == 1 else self._add(Concat(0), values, f"{suffix}_gates")

    def _unsqueeze(self, value: Value, axis: int, suffix: str) -> Value:
        return self._add(Unsqueeze(), [value, self.graph.constant([axis], DType.INT64)], suffix)

    def _add(self, op: Operator, values: Sequence[Value], suffix: str) -> Value:
        return self.maker.add(op, values, self.before, suffix).output


def _reader(term: Bias, dtype: np.dtype[Any]) -> Callable[[], Array]:
    return term.reader() if isinstance(term, View) else lambda: np.asarray(term, dtype)


def _are_constant(views: Sequence[View]) -> bool:
    return all(view.value.tensor is not None for view in views)
