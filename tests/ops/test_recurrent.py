"""Rules of recurrent layers."""

from __future__ import annotations

from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.types import UNKNOWN, symbol
from tests.ops.harness import backward, bad, good, macs

BOTH = Direction.BIDIRECTIONAL

GOOD = (
    (RNN(), "f[5,2,4] f[1,6,4] f[1,6,6]", "f[5,1,2,6] f[1,2,6]"),
    (RNN(hidden_size=6), "f[5,2,4] f[1,6,4] f[1,6,6] f[1,12]", "f[5,1,2,6] f[1,2,6]"),
    (RNN(activations=("Relu",)), "f[5,2,4] f[1,6,4] f[1,6,6] - j[2]", "f[5,1,2,6] f[1,2,6]"),
    (GRU(), "f[T,N,4] f[1,18,4] f[1,18,6] f[1,36]", "f[T,1,N,6] f[1,N,6]"),
    (GRU(direction=BOTH), "f[T,N,4] f[2,18,4] f[2,18,6] f[2,36]", "f[T,2,N,6] f[2,N,6]"),
    (GRU(), "f[...] f[1,18,?] f[...]", "f[?,1,?,6] f[1,?,6]"),
    (GRU(hidden_size=6), "f[...] f[...] f[...]", "f[?,1,?,6] f[1,?,6]"),
    (GRU(), "f[5,?,4] f[...] f[...] - - f[1,N,6]", "f[5,1,N,6] f[1,N,6]"),
    (LSTM(), "f[5,2,4] f[1,24,4] f[1,24,6]", "f[5,1,2,6] f[1,2,6] f[1,2,6]"),
    (
        LSTM(direction=BOTH),
        "d[5,2,4] d[2,24,4] d[2,24,6] d[2,48] j[2] d[2,2,6] d[2,2,6] d[2,18]",
        "d[5,2,2,6] d[2,2,6] d[2,2,6]",
    ),
    (LSTM(direction=Direction.REVERSE), "f[5,?,4] f[1,24,4] f[...] - j[3]", "f[5,1,3,6] f[1,3,6] f[1,3,6]"),
    (LSTM(), "f[...] f[...] f[...]", "f[?,1,?,?] f[1,?,?] f[1,?,?]"),
)
test_results = good(GOOD)


BAD = (
    (RNN(), "f[5,2] f[1,6,4] f[1,6,6]", "X has the shape .* expected 3 axes"),
    (RNN(), "f[5,2,4] f[1,6,3] f[1,6,6]", "features of X is 4, but W's is 3"),
    (RNN(), "f[5,2,4] f[2,6,4] f[1,6,6]", r"W has the shape .* expected 1 direction\(s\) on axis 0"),
    (RNN(hidden_size=5), "f[5,2,4] f[1,6,4] f[1,6,6]", "hidden_size is 5, but R's is 6"),
    (RNN(), "f[5,2,4] f[1,6,4] d[1,6,6]", "dtypes float32 and float64 differ"),
    (GRU(), "f[5,2,4] f[1,20,4] f[1,18,6]", "W has the shape .* expected 3 blocks"),
    (GRU(), "f[5,2,4] f[1,18,4] f[1,18,6] f[1,18]", "hidden_size is 6, but B's is 3"),
    (GRU(), "f[5,2,4] f[1,18,4] f[1,18,6] - - f[1,3,6]", "the batch is 2, but initial_h's is 3"),
    (LSTM(), "f[5,2,4] f[1,24,4] f[1,24,6] - i[2]", "sequence_lens is int64, expected int32"),
    (LSTM(), "f[5,2,4] f[1,24,4] f[1,24,6] - j[3]", "the batch is 2, but sequence_lens' is 3"),
    (LSTM(), "f[5,2,4] f[1,24,4] f[1,24,6] - - - f[1,2,5]", "hidden_size is 6, but initial_c's is 5"),
    (LSTM(), "f[5,2,4] f[1,24,4] f[1,24,6] - - - - f[1,24]", "P has the shape .* expected 18 on axis 1"),
)
test_refused = bad(BAD)


BACKWARD = (
    (
        LSTM(hidden_size=6),
        "f[5,2,4] [...] [...] [...] [...] [...] [...] [...]",
        "f[...] f[...] f[...]",
        "f[5,2,4] f[1,24,4] f[1,24,6] f[1,48] [2] f[1,2,6] f[1,2,6] f[1,18]",
    ),
    (
        GRU(direction=BOTH),
        "[...] f[2,18,4] f[...] - - f[2,?,6]",
        "f[5,2,N,?] [...]",
        "f[5,N,4] f[2,18,4] f[2,18,6] - - f[2,N,6]",
    ),
    (RNN(), "f[T,N,4] f[...] f[...]", "f[T,1,N,6] f[...]", "f[T,N,4] f[1,6,4] f[1,6,6]"),
)
test_operands = backward(BACKWARD)


MACS = (
    (RNN(), "f[5,2,4] f[1,6,4] f[1,6,6]", 5 * 2 * 6 * (4 + 6)),
    (LSTM(direction=BOTH), "f[5,N,4] f[2,24,4] f[2,24,6]", 5 * 2 * 24 * (4 + 6) * symbol("N")),
    (GRU(), "f[...] f[1,18,4] f[1,18,6]", UNKNOWN),
)
test_macs = macs(MACS)
