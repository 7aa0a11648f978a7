"""RNN, GRU and LSTM of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.converters.onnx.versions import Old, assert_comes_back, ramp


def operands(gates: int, directions: int = 1) -> dict[str, Any]:
    """X of 5 steps, 2 samples and 3 features, for a hidden size of 4."""
    return {
        "x": ramp(5, 2, 3),
        "w": ramp(directions, gates * 4, 3) / 2,
        "r": ramp(directions, gates * 4, 4) / 3,
        "b": ramp(directions, gates * 8) / 4,
        "n": np.array([5, 3], np.int32),
        "h": ramp(directions, 2, 4),
        "c": ramp(directions, 2, 4) / 2,
        "p": ramp(directions, 12) / 5,
    }


def batch_first(made: dict[str, Any]) -> dict[str, Any]:
    """The same with the batch in front."""
    return made | {name: made[name].swapaxes(0, 1).copy() for name in ("x", "h", "c")}


SIZE = "hidden_size: int = 4"
BOTH = f'{SIZE}, direction: string = "bidirectional"'
LAYOUT = (
    "t = Transpose <perm: ints = [1, 0, 2]> (x); g = Transpose <perm: ints = [1, 0, 2]> (h); "
    f"u, v = GRU <{SIZE}> (t, w, r, b, n, g); y = Transpose <perm: ints = [2, 0, 1, 3]> (u); "
    "s = Transpose <perm: ints = [1, 0, 2]> (v)"
)
WEIGHTS = ("w", "r", "b")

OLD = (
    Old(1, f"y, s = RNN <{SIZE}, output_sequence: int = 1> (x, w, r, b)", operands(1), WEIGHTS,
        means=f"y, s = RNN <{SIZE}> (x, w, r, b)"),
    Old(1, f"y, s = GRU <{SIZE}> (x, w, r)", operands(3), means=f"y, s = GRU <{SIZE}> (x, w, r)"),
    Old(3, f"y, s = GRU <{SIZE}, linear_before_reset: int = 1, output_sequence: int = 1> (x, w, r, b)", operands(3),
        means=f"y, s = GRU <{SIZE}, linear_before_reset: int = 1> (x, w, r, b)"),
    Old(1, f"y, s, c2 = LSTM <{SIZE}> (x, w, r, b)", operands(4), means=f"y, s, c2 = LSTM <{SIZE}> (x, w, r, b)"),
    Old(7, f"y, s = RNN <{SIZE}, clip: float = 0.5> (x, w, r, b, n, h)", operands(1), WEIGHTS),
    Old(7, f'y, s = RNN <{BOTH}, activations: strings = ["Relu", "Tanh"]> (x, w, r, b)', operands(1, 2)),
    Old(7, f"y, s = GRU <{SIZE}> (x, w, r, b, n, h)", operands(3), WEIGHTS),
    Old(7, f"y = GRU <{BOTH}, linear_before_reset: int = 1> (x, w, r, b)", operands(3, 2)),
    Old(7, f"y, s, q = LSTM <{SIZE}> (x, w, r, b, n, h, c, p)", operands(4)),
    Old(7, f", s, q = LSTM <{BOTH}> (x, w, r, b, , h, c)", operands(4, 2), WEIGHTS),
    Old(14, f"y, s = GRU <{SIZE}, layout: int = 1> (x, w, r, b, n, h)", batch_first(operands(3)), means=LAYOUT),
    Old(14, f"y, s, q = LSTM <{SIZE}, input_forget: int = 1> (x, w, r, b)", operands(4)),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)
