"""Spectra and windows, of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

N = {"n": np.int32(10)}
X = {"x": ramp(2, 8, 6, 1), "c": ramp(2, 5, 2), "k": np.int64(5), "a": np.int64(1), "b": np.int64(-2)}
SIGNAL = {"x": ramp(1, 32, 1), "v": ramp(2, 32), "s": np.int64(4), "w": ramp(8), "k": np.int64(8)}

OLD = (
    Old(17, "y = HannWindow(n)", N),
    Old(17, "y = HannWindow(n)", N, target=13),
    Old(17, "y = HammingWindow <periodic: int = 0> (n)", N, target=13),
    Old(17, "y = BlackmanWindow <periodic: int = 0> (n)", N, target=13),
    Old(17, "y = BlackmanWindow <output_datatype: int = 11> (n)", N),
    Old(17, "y = DFT(x)", X),
    Old(17, "y = DFT <axis: int = 2> (x, k)", X),
    Old(17, "y = DFT <inverse: int = 1> (c)", X),
    Old(17, "y = DFT <axis: int = 2, onesided: int = 1> (x)", X, target=20),
    Old(20, "y = DFT(x)", X, target=17),
    Old(20, "y = DFT <onesided: int = 1> (x, , a)", X, ("a",), target=17),
    Old(20, "y = DFT(x, k, b)", X, ("b", "k"), target=17),
    Old(20, "y = DFT(x, , a)", X),
    Old(17, "y = STFT(x, s, w)", SIGNAL),
    Old(17, "y = STFT(v, s, w)", SIGNAL),
    Old(17, "y = STFT <onesided: int = 0> (x, s, , k)", SIGNAL, ("s", "k")),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


BEYOND = (
    (20, "y = DFT(x, , a)", 19, "an axis that is computed"),
    (20, "y = DFT(x)", 13, "DFT exists from opset 17"),
)


@pytest.mark.parametrize(("opset", "text", "target", "reason"), BEYOND)
def test_what_an_older_target_cannot_say(opset: int, text: str, target: int, reason: str) -> None:
    graph = from_model(model(text, opset, X))
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=target)
