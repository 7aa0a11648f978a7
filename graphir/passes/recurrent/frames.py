"""Loop and Scan as what a recurrent layer runs in: states carried from step to step, slices of sequences, rows of
results.

Steps may keep the states of sequences that have ended: with `lengths`, a state stays and a row is 0 from the end on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import normalize_axis
from graphir.ops.control import Loop, Scan
from graphir.ops.creation import ConstantOfShape
from graphir.ops.indexing import Gather
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Shape, Unsqueeze
from graphir.types import DType, Sym

from .terms import Columns
from .views import Unlike, number_of, through

_ENDED = {ew.GreaterOrEqual: (0, True), ew.Less: (0, False), ew.LessOrEqual: (1, True), ew.Greater: (1, False)}


@dataclass
class Frame:
    """A loop taken apart.

    `states` are the inputs of the body, `initial` what they start from and `following` what they become; `rows` what
    each step gives besides. `slices` says of which sequences inputs of the body are slices, `iteration` which input is
    the step's number.
    """

    node: Node
    body: Graph
    states: Sequence[Value]
    initial: Sequence[Value]
    following: list[Value]
    rows: list[Value]
    slices: dict[Value, Value] = field(default_factory=dict)
    iteration: Value | None = None
    steps: Value | None = None
    lengths: Value | None = None
    masked: set[int] = field(default_factory=set)

    def sequence(self, x: Columns) -> Value | None:
        """Return the sequence (T, N, I) of which the matrix is the slice of each step, None if it is none."""
        value = x.value
        if x.start or value.shape is None or value.shape[-1] != x.size:
            return None
        if value in self.slices:
            return self.slices[value]
        node = value.producer
        if node is None or node.graph is not self.body or not isinstance(node.op, Gather) or self.iteration is None:
            return None
        data, index = node.inputs
        if data is None or index is None or data.rank != 3 or normalize_axis(node.op.axis, 3) != 0:
            return None
        is_slice = index.rank == 0 and counted(index) is self.iteration and self._is_around(data)
        return data if is_slice else None

    def _is_around(self, value: Value) -> bool:
        return value.graph is not self.body

    def has_all_steps(self, sequence: Value) -> bool:
        """Return whether it is known that there is one step for each element of the sequence.

        With `lengths` there may be fewer, which is False: as many as the longest has. Raises Unlike for other numbers.
        """
        if self.steps is None or _is_number_of(self.steps, sequence):
            return True
        if self.lengths is None or not _covers(self.steps, sequence, self.lengths):
            raise Unlike(f"it is not known that {self.steps.name} is the length of {sequence.name} {sequence.type}")
        return False

    def unmask(self) -> None:
        """Take the selection by lengths off the states and rows. Raises Unlike for any other selection."""
        for index, value in enumerate(self.following):
            selection = self._find_selection(value)
            if selection is not None:
                old, self.following[index] = selection
                self.masked.add(index)
                if through(old) is not self.states[index]:
                    raise Unlike(f"{old.name} is kept where a sequence has ended, not the state before")
        are_masked = [self._unmask_row(index) for index in range(len(self.rows))]
        if self.lengths is not None and not all(are_masked):
            raise Unlike("a row goes on where a sequence has ended")

    def _unmask_row(self, index: int) -> bool:
        selection = self._find_selection(self.rows[index])
        if selection is None:
            return False
        old, self.rows[index] = selection
        if not is_zero(old):
            raise Unlike(f"{old.name}, which a row is where a sequence has ended, is not 0")
        return True

    def _find_selection(self, value: Value) -> tuple[Value, Value] | None:
        """Return what a value is where a sequence has ended and where not, None for one that does not depend on
        that."""
        node = through(value).producer
        if node is None or node.graph is not self.body or not isinstance(node.op, ew.Where):
            return None
        condition, first, second = node.inputs
        assert condition is not None
        assert first is not None
        assert second is not None
        lengths, has_ended = self._end_condition(condition)
        if self.lengths not in (None, lengths):
            raise Unlike(f"it stops at {lengths.name} and at {self.lengths.name if self.lengths else ''}")
        self.lengths = lengths
        return (first, second) if has_ended else (second, first)

    def _end_condition(self, condition: Value) -> tuple[Value, bool]:
        """Return the lengths that a condition compares the step's number with, and whether it holds from the end on."""
        value, flips = through(condition), False
        while (node := value.producer) is not None and isinstance(node.op, ew.Not | Unsqueeze):
            assert node.inputs[0] is not None
            flips ^= isinstance(node.op, ew.Not)
            if isinstance(node.op, Unsqueeze) and node.integers(1) not in ((1,), (-1,)):
                break
            value = through(node.inputs[0])
        row = None if node is None or node.graph is not self.body else _ENDED.get(type(node.op))
        if row is None or node is None or condition.rank != 2 or self.iteration is None:
            raise Unlike(f"{condition.name} does not compare lengths with the step's number")
        number, lengths = node.inputs[row[0]], node.inputs[1 - row[0]]
        is_count = number is not None and counted(number) is self.iteration
        dtype = None if lengths is None else lengths.dtype
        if not is_count or lengths is None or dtype is None or not dtype.is_integer or lengths.rank != 1:
            raise Unlike(f"{condition.name} does not compare lengths with the step's number")
        if not self._is_around(lengths):
            raise Unlike(f"{lengths.name} changes from step to step")
        return lengths, row[1] != flips


def frame_of(node: Node) -> Frame:
    """Return a Loop or Scan taken apart. Raises Unlike for one whose number of steps its body decides."""
    body = node.subgraphs[0]
    if isinstance(node.op, Scan):
        return _frame_of_scan(node, node.op, body)
    assert isinstance(node.op, Loop)
    initial = [value for value in node.inputs[2:] if value is not None]
    start = node.operand(1)
    iteration, running = body.inputs[:2]
    goes_on = through(body.outputs[0])
    if node.inputs[0] is None or (start is not None and number_of(start) != 1):
        raise Unlike("it is not counted")
    if goes_on is not running and number_of(goes_on) != 1:
        raise Unlike("its body decides whether it goes on")
    count = len(initial)
    following, rows = list(body.outputs[1 : count + 1]), list(body.outputs[count + 1 :])
    frame = Frame(node, body, body.inputs[2:], initial, following, rows)
    frame.iteration, frame.steps = iteration, node.inputs[0]
    return frame


def _frame_of_scan(node: Node, op: Scan, body: Graph) -> Frame:
    stated = (
        op.scan_input_axes, op.scan_output_axes, op.scan_input_directions, op.scan_output_directions
    )  # fmt: skip
    if any(any(numbers) for numbers in stated):
        raise Unlike("it runs along other axes than the first, or backwards")
    operands = [value for value in node.inputs if value is not None]
    count = len(operands) - op.num_scan_inputs
    following, rows = list(body.outputs[:count]), list(body.outputs[count:])
    frame = Frame(node, body, body.inputs[:count], operands[:count], following, rows)
    frame.slices = dict(zip(body.inputs[count:], operands[count:], strict=True))
    return frame


def counted(value: Value) -> Value:
    """Return the integer that this one is another dtype of."""
    value = through(value)
    while value.producer is not None and isinstance(value.producer.op, ew.Cast):
        before = value.producer.inputs[0]
        dtypes = (value.dtype, None if before is None else before.dtype)
        if before is None or not all(dtype in (DType.INT32, DType.INT64) for dtype in dtypes):
            return value
        value = through(before)
    return value


def is_zero(value: Value) -> bool:
    """Return whether all elements are known to be 0."""
    value = through(value)
    if value.tensor is not None:
        return not value.tensor.numpy().any()
    op = None if value.producer is None else value.producer.op
    return isinstance(op, ConstantOfShape) and op.value == 0


def _is_number_of(steps: Value, sequence: Value) -> bool:
    """Return whether a number is the length of the sequence."""
    steps = counted(steps)
    length = None if sequence.shape is None else sequence.shape[0]
    if isinstance(length, int | Sym) and steps.known is not None and steps.known.elements == (length,):
        return True
    return steps.producer is not None and isinstance(steps.producer.op, Gather) and _is_length(steps.producer, sequence)


def _covers(steps: Value, sequence: Value, lengths: Value) -> bool:
    """Return whether a number is the length of the sequence, or at least the largest of the lengths."""
    if _is_number_of(steps, sequence):
        return True
    node = counted(steps).producer
    operands = [] if node is None else [value for value in node.inputs if value is not None]
    if node is not None and isinstance(node.op, ew.Min):
        return all(_covers(value, sequence, lengths) for value in operands)
    if node is not None and isinstance(node.op, ew.Max):
        return any(_covers(value, sequence, lengths) for value in operands)
    if node is not None and isinstance(node.op, ReduceMax):
        return counted(operands[0]) is counted(lengths) and node.outputs[0].rank == 0
    return False


def _is_length(node: Node, sequence: Value) -> bool:
    """Return whether a Gather takes the first size of the sequence's shape."""
    shape, index = node.inputs
    if shape is None or number_of(index) != 0:
        return False
    before = counted(shape).producer
    return before is not None and isinstance(before.op, Shape) and not before.op.start and before.inputs[0] is sequence
