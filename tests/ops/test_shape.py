"""Rules of the operators that rearrange elements."""

from __future__ import annotations

from graphir.ops.base import Known
from graphir.ops.shape import Expand, Flatten, Pad, PadMode, Reshape, Shape, Size, Squeeze, Tile, Transpose, Unsqueeze
from graphir.types import SequenceType, TensorType, symbol
from tests.ops.harness import backward, bad, followed, good
from tests.ops.late import late
from tests.ops.rule import known, scalar

N = symbol("N")

GOOD = (
    (Transpose(), ("float32[2, N, ?]",), "float32[?, N, 2]"),
    (Transpose((1, 2, 0)), ("float32[2, N, ?]",), "float32[N, ?, 2]"),
    (Transpose((1, 0)), ("float32[...]",), "float32[?, ?]"),
    (Transpose(), ("float32[...]",), "float32[...]"),
    (Reshape(), ("float32[2, 3, 4]", known(6, -1)), "float32[6, 4]"),
    (Reshape(), ("float32[N, 3, 4]", known(0, -1)), "float32[N, 12]"),
    (Reshape(), ("float32[N, 3, H]", known(-1, 0, 0)), "float32[N, 3, H]"),
    (Reshape(), ("float32[N, 3, 4]", known(-1, 4)), "float32[3*N, 4]"),
    (Reshape(), ("float32[...]", known(0, -1)), "float32[?, ?]"),
    (Reshape(), ("float32[?, 3, 4]", known(0, -1)), "float32[?, 12]"),
    (Reshape(), ("float32[N, 6]", known("N", 2, 3)), "float32[N, 2, 3]"),
    (Reshape(), ("float32[2, 6]", "int64[3]"), "float32[?, ?, ?]"),
    (Reshape(), ("float32[2, 6]", "int64[?]"), "float32[...]"),
    (Reshape(allowzero=True), ("float32[0, 3]", known(3, 0)), "float32[3, 0]"),
    (Shape(), ("float32[2, N]",), "int64[2]"),
    (Shape(1), ("float32[2, N, 3]",), "int64[2]"),
    (Shape(), ("float32[...]",), "int64[?]"),
    (Size(), ("float32[...]",), "int64[]"),
    (Expand(), ("float32[1, 3, 1]", known(2, 1, 4)), "float32[2, 3, 4]"),
    (Expand(), ("float32[3]", known("N", 3)), "float32[N, 3]"),
    (Expand(), ("float32[3]", "int64[2]"), "float32[?, 3]"),
    (Expand(), ("float32[1, 3]", "int64[1]"), "float32[1, 3]"),
    (Expand(), ("float32[1, 1]", "int64[?]"), "float32[...]"),
    (Expand(), ("float32[N]", known("M")), "float32[max(M,N)]"),
    (Flatten(), ("float32[N, 3, 4]",), "float32[N, 12]"),
    (Flatten(), ("float32[5]",), "float32[5, 1]"),
    (Flatten(0), ("float32[2, H]",), "float32[1, 2*H]"),
    (Flatten(-1), ("float32[2, 3, ?]",), "float32[6, ?]"),
    (Flatten(), ("float32[...]",), "float32[?, ?]"),
    (Squeeze(), ("float32[1, 3, 1]",), "float32[3]"),
    (Squeeze(), ("float32[1, N]",), "float32[...]"),
    (Squeeze(), ("float32[1, N, 1]", known(0, -1)), "float32[N]"),
    (Squeeze(), ("float32[N, 3]", known(0)), "float32[3]"),
    (Squeeze(), ("float32[1, 3, 1]", "int64[2]"), "float32[3]"),
    (Squeeze(), ("float32[1, 3, 1]", "int64[1]"), "float32[?, ?]"),
    (Squeeze(), ("float32[N, 3, 1]", "int64[1]"), "float32[?, ?]"),
    (Squeeze(), ("float32[1, 3, 1]", scalar(0)), "float32[3, 1]"),
    (Squeeze(), ("float32[...]", known(0)), "float32[...]"),
    (Unsqueeze(), ("float32[N, 3]", known(0, -1)), "float32[1, N, 3, 1]"),
    (Unsqueeze(), ("float32[N, 3]", "int64[1]"), "float32[?, ?, ?]"),
    (Unsqueeze(), ("float32[N, 3]", scalar(-1)), "float32[N, 3, 1]"),
    (Unsqueeze(), ("float32[...]", known(0)), "float32[...]"),
    (Tile(), ("float32[N, 3]", known(2, 1)), "float32[2*N, 3]"),
    (Tile(), ("float32[N, 3]", "int64[2]"), "float32[?, ?]"),
    (Tile(), ("float32[...]", known(1, 2)), "float32[?, ?]"),
    (Pad(), ("float32[N, 4]", known(0, 1, 0, 2)), "float32[N, 7]"),
    (Pad(), ("float32[N, H]", known(1, 2), None, known(1)), "float32[N, H+3]"),
    (Pad(), ("float32[N, 4]", "int64[4]"), "float32[?, ?]"),
    (Pad(), ("float32[...]", known(0, 1)), "float32[...]"),
)

BAD = (
    (Shape(), (SequenceType(TensorType()),), "Shape takes tensors"),
    (Size(), (SequenceType(TensorType()),), "Size takes tensors"),
    (late(Transpose, (0, 0)), ("float32[2, 3]",), "expected each axis once"),
    (Transpose((0, 1, 2)), ("float32[2, 3]",), "no order of the axes"),
    (Reshape(), ("float32[2, 3]", known(5)), "has 6 elements"),
    (Reshape(), ("float32[2, 3]", known(4, -1)), "do not fit"),
    (Reshape(), ("float32[2, 3]", known(2, 3, 0)), "copies axis 2"),
    (Expand(), ("float32[2, 3]", known(2, 6)), "do not broadcast"),
    (Flatten(3), ("float32[2, 3]",), "axis 3 is out of range"),
    (Squeeze(), ("float32[2, 3]", known(0)), "has size 2, expected 1"),
    (Squeeze(), ("float32[1, 3]", known(0, -2)), "name an axis twice"),
    (Squeeze(), ("float32[1, 3]", known(2)), "axis 2 does not exist"),
    (Unsqueeze(), ("float32[2]", known(2, 3)), "axis 3 does not exist"),
    (Unsqueeze(), ("float32[2]", known(0, 0)), "name an axis twice"),
    (Tile(), ("float32[2, 3]", known(2)), "1 repeats"),
    (Pad(), ("float32[2, 3]", known(0, 1)), "2 pads for 2 axes"),
    (Pad(), ("float32[2, 3]", known(-2, 0, -1, 0)), "crop more"),
)

BACKWARD = (
    (Transpose((1, 2, 0)), ("float32[...]",), ("float32[3, 4, N]",), ["float32[N, 3, 4]"]),
    (Flatten(), ("float32[?, 3, ?]",), ("float32[N, 12]",), ["float32[N, 3, 4]"]),
    (Flatten(), ("float32[?, ?, ?]",), ("float32[2, 12]",), ["float32[2, ?, ?]"]),
    (Flatten(), ("?[...]",), ("float32[2, 12]",), ["float32[...]"]),
)

VALUES = (
    (Shape(), ("float32[2, N]",), ["[2, N]"]),
    (Shape(1, 2), ("float32[2, N, 4]",), ["[N]"]),
    (Shape(), ("float32[2, ?]",), ["[2, ?]"]),
    (Shape(), ("float32[?, ?]",), [None]),
    (Transpose(), (Known((2, 2), (1, 2, N, 4)),), ["[2, 2] 1, N, 2, 4"]),
    (Flatten(0), (known(1, "N"),), ["[1, 2] 1, N"]),
    (Tile(), (known(1, "N"), known(2)), ["[1, N, 1, N]"]),
    (Tile(), (known(1, "N"), known("N")), [None]),
    (Pad(), (known(5, "N"), known(1, 2)), ["[0, 5, N, 0, 0]"]),
    (Pad(), (known(5, "N"), known(1, 0), scalar("M")), ["[M, 5, N]"]),
    (Pad(), (known(5, "N"), known(-1, 1)), ["[N, 0]"]),
    (Pad(PadMode.EDGE), (known(5, "N"), known(1, 1)), ["[5, 5, N, N]"]),
    (Pad(PadMode.REFLECT), (known(5, "N"), known(1, 1)), ["[N, 5, N, 5]"]),
    (Pad(PadMode.WRAP), (known(5, "N", 7), known(1, 1)), ["[7, 5, N, 7, 5]"]),
    (Reshape(), (known(1, "N", 3, 4), known(2, -1)), ["[2, 2] 1, N, 3, 4"]),
    (Reshape(), (known(1, "N"), known(0, 1)), ["[2, 1] 1, N"]),
    (Expand(), (known(1, "N"), known(2, 1)), ["[2, 2] 1, N, 1, N"]),
    (Size(), ("float32[2, N]",), ["2*N"]),
    (Size(), ("float32[?]",), [None]),
    (Reshape(), (known(1, "N"), known(-1)), ["[1, N]"]),
    (Reshape(), (scalar("N"), known(1)), ["[N]"]),
    (Expand(), (known(7), known(3)), ["[7, 7, 7]"]),
    (Expand(), (known(7), known(1000)), [None]),
    (Squeeze(), (known("N"),), ["N"]),
    (Squeeze(), (known("N"), known(0)), ["N"]),
    (Unsqueeze(), (scalar("N"), known(0)), ["[N]"]),
    (Unsqueeze(), (known(1, 2), known(0)), ["[1, 2] 1, 2"]),
)
test_results = good(GOOD)
test_refused = bad(BAD)
test_operands = backward(BACKWARD)
test_elements = followed(VALUES)
