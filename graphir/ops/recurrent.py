"""Recurrent layers over whole sequences, time first: (steps, batch, features).

All three take X (T, N, I), W (D, G*H, I), R (D, G*H, H), B (D, 2*G*H: the input biases, then the recurrent ones),
sequence_lens (N), initial_h (D, N, H), and give Y (T, D, N, H) and the last state Y_h (D, N, H). D is the number of
directions, G the number of gates. Behind a sequence's length Y is 0; states that are absent are 0.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, product, unify_dim

from .base import Operand, Operator, family, operator, refine, same_dtype, same_rank
from .dtypes import FLOATS, INT32, DTypes
from .steps import of_cell
from .traits import Rounding
from .work import Counted, is_given


class Direction(enum.Enum):
    """Which way the time runs; with both, the directions are stacked: forward, then reverse."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BIDIRECTIONAL = "bidirectional"

    @property
    def count(self) -> int:
        """The number of directions."""
        return 2 if self is Direction.BIDIRECTIONAL else 1


@family
class _Recurrent(Operator):
    """What the recurrent layers share: the shape rules."""

    rounding = Rounding.STATES
    work = Counted(of_cell)
    takes: ClassVar[tuple[DTypes, ...]] = (FLOATS, FLOATS, FLOATS, FLOATS, INT32, FLOATS)
    inputs: ClassVar[tuple[str, ...]] = ("X", "W", "R", "B?", "sequence_lens?", "initial_h?")
    outputs: ClassVar[tuple[str, ...]] = ("Y", "Y_h")
    gates: ClassVar[int] = 1
    joins: ClassVar[int] = 0
    has_cell: ClassVar[bool] = False
    hidden_size: int | None = None
    direction: Direction = Direction.FORWARD
    activations: tuple[str, ...] = ()
    activation_alpha: tuple[float, ...] = ()
    activation_beta: tuple[float, ...] = ()
    clip: float | None = None

    def infer(self, *operands: Operand) -> tuple[TensorType, ...]:
        steps, batch, _, hidden = self._dims(operands, ())
        dtype = same_dtype(*self._floats(operands))
        directions = self.direction.count
        state = TensorType(dtype, (directions, batch, hidden))
        whole = TensorType(dtype, (steps, directions, batch, hidden))
        return (whole, state, state) if self.has_cell else (whole, state)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        steps, batch, width, hidden = self._dims(operands, results)
        dtype = same_dtype(*self._floats(operands), *results)
        directions = self.direction.count
        rows = hidden * self.gates
        state: Shape = (directions, batch, hidden)
        wanted: list[Shape] = [
            (steps, batch, width),
            (directions, rows, width),
            (directions, rows, hidden),
            (directions, rows * 2),
            (batch,),
            state,
            state,
            (directions, hidden * 3),
        ]
        return tuple(
            refine(operand, wanted[slot], None if slot == 4 else dtype) for slot, operand in enumerate(operands)
        )

    def _floats(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return (*operands[:4], *operands[5:])

    def _dims(
        self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]
    ) -> tuple[Dim, Dim, Dim, Dim]:
        """Steps, batch, features and hidden size, from all types together. Raises ShapeError."""
        shapes = self._shapes(operands)
        (steps, batch, width), weight, _, _, lengths, state, cell, peephole = shapes
        width = self._join(width, weight[2], "features of X", "W's")
        hidden = self._hidden(shapes)
        for name, begin in (("initial_h", state), ("initial_c", cell)):
            batch = self._join(batch, begin[1], "the batch", f"{name}'s")
            hidden = self._join(hidden, begin[2], "hidden_size", f"{name}'s")
        batch = self._join(batch, lengths[0], "the batch", "sequence_lens'")
        if isinstance(peephole[1], int) and isinstance(hidden, int) and peephole[1] != 3 * hidden:
            raise ShapeError(f"P has the shape {format_shape(peephole)}, expected {3 * hidden} on axis 1")
        for index, result in enumerate(results):
            shape = same_rank(result, 4 if index == 0 else 3, self.outputs[index])
            if shape is not None:
                if index == 0:
                    steps = self._join(steps, shape[0], "the steps of X", "Y's")
                batch = self._join(batch, shape[-2], "the batch", f"{self.outputs[index]}'s")
                hidden = self._join(hidden, shape[-1], "hidden_size", f"{self.outputs[index]}'s")
        return steps, batch, width, hidden

    def _shapes(self, operands: tuple[Operand, ...]) -> list[Shape]:
        """Return the shapes of all operands by slot, with unknown sizes for those that are absent. Raises
        ShapeError."""
        names, ranks = self._names(), (3, 3, 3, 2, 1, 3, 3, 2)
        shapes: list[Shape] = []
        for slot, rank in enumerate(ranks):
            operand = operands[slot] if slot < len(operands) else None
            shape = None if operand is None else same_rank(operand, rank, names[slot])
            shapes.append((UNKNOWN,) * rank if shape is None else shape)
        lens = operands[4] if len(operands) > 4 else None
        if lens is not None and lens.dtype not in (None, DType.INT32):
            raise ShapeError(f"sequence_lens is {lens.dtype}, expected int32")
        directions = self.direction.count
        for slot in (1, 2, 3, 5, 6, 7):
            if isinstance(shapes[slot][0], int) and shapes[slot][0] != directions:
                shown = format_shape(shapes[slot])
                raise ShapeError(f"{names[slot]} has the shape {shown}, expected {directions} direction(s) on axis 0")
        return shapes

    def _hidden(self, shapes: list[Shape]) -> Dim:
        """Return the hidden size, from its attribute and the weights. Raises ShapeError."""
        names, (_, weight, recurrent, bias, *_) = self._names(), shapes
        hidden: Dim = UNKNOWN if self.hidden_size is None else self.hidden_size
        hidden = self._join(hidden, recurrent[2], "hidden_size", "R's")
        for slot, dim, blocks in ((1, weight[1], 1), (2, recurrent[1], 1), (3, bias[1], 2)):
            factor = blocks * self.gates
            if isinstance(dim, int):
                if dim % factor:
                    raise ShapeError(
                        f"{names[slot]} has the shape {format_shape(shapes[slot])}, expected {factor} blocks of the "
                        f"hidden size on axis 1"
                    )
                hidden = self._join(hidden, dim // factor, "hidden_size", f"{names[slot]}'s")
        return hidden

    def _names(self) -> tuple[str, ...]:
        return tuple(name.rstrip("?") for name in self.inputs)

    def _join(self, left: Dim, right: Dim, left_name: str, right_name: str) -> Dim:
        try:
            return unify_dim(left, right)
        except ShapeError:
            raise ShapeError(f"{left_name} is {left}, but {right_name} is {right}") from None

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        steps, batch, width, hidden = self._dims(operands, results)
        return product((steps, batch, self.direction.count * self.gates, hidden)) * (width + hidden)

    def cell_steps(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        """Steps beside the products: for each gate the sum of both, with B its two biases, and the activation; then
        what joins the gates; with P three products and sums."""
        steps, batch, _, hidden = self._dims(operands, results)
        biases, peepholes = is_given(operands, 3), is_given(operands, 7)
        cell = self.gates * (2 + 2 * biases) + self.joins + 6 * peepholes
        return product((steps, batch, self.direction.count, hidden)) * cell


@operator
class RNN(_Recurrent):
    """H' = f(X W^T + Wb + H R^T + Rb), f one of `activations` for each direction (Tanh if empty).

    Source: ONNX RNN-22.
    """


@operator
class GRU(_Recurrent):
    """Gated recurrent unit, gates in the order update, reset, hidden.

    With `linear_before_reset` the reset gate multiplies H Rh^T + Rbh, else H itself. Source: ONNX GRU-22.
    """

    gates = 3
    joins = 5
    linear_before_reset: bool = False


@operator
class LSTM(_Recurrent):
    """Long short-term memory, gates in the order input, output, forget, cell; the third result is the last cell.

    `P` (D, 3*H) holds peephole weights, `clip` bounds the gates' inputs, `input_forget` couples the input gate to the
    forget gate. Source: ONNX LSTM-22.
    """

    inputs = ("X", "W", "R", "B?", "sequence_lens?", "initial_h?", "initial_c?", "P?")
    outputs = ("Y", "Y_h", "Y_c")
    takes = (FLOATS, FLOATS, FLOATS, FLOATS, INT32, FLOATS, FLOATS, FLOATS)
    gates = 4
    joins = 5
    has_cell = True
    input_forget: bool = False


OPERATORS = (RNN, GRU, LSTM)
