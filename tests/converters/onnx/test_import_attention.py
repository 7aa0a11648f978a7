"""Operators of language models: what targets without them get instead, and what they cannot get."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

CONV = {"x": ramp(2, 3, 7), "w": ramp(3, 1, 4), "b": ramp(3), "s": ramp(2, 3, 3)}
QKV = {"q": ramp(1, 4, 3, 8), "k": ramp(1, 2, 5, 8), "v": ramp(1, 2, 5, 6), "n": np.array([5], np.int64)}
PADDED = "c = Constant <value_ints: ints = [0, 0, 3, 0, 0, 0]> (); p = Pad(x, c);"
LAST = (
    "f = Constant <value_ints: ints = [-3]> (); e = Constant <value_ints: ints = [100]> (); "
    "a = Constant <value_ints: ints = [2]> ();"
)

OLD = (
    Old(
        28,
        "y = SwiGLU(x, z)",
        {"x": ramp(2, 3), "z": ramp(2, 3)},
        means="g = Sigmoid(x); h = Mul(x, g); y = Mul(h, z)",
        target=13,
    ),
    Old(
        28,
        "y = SwiGLU <alpha: float = 2.0> (x, z)",
        {"x": ramp(2, 3), "z": ramp(2, 3)},
        means="d = Add(x, x); g = Sigmoid(d); h = Mul(x, g); y = Mul(h, z)",
        target=23,
    ),
    Old(
        27,
        "y, t = CausalConvWithState(x, w)",
        CONV,
        ("w",),
        f"{PADDED} y = Conv <group: int = 3> (p, w); {LAST} t = Slice(p, f, e, a)",
        13,
    ),
    Old(
        27,
        'y = CausalConvWithState <activation: string = "silu"> (x, w, b, s)',
        CONV,
        means="p = Concat <axis: int = 2> (s, x); r = Conv <group: int = 3> (p, w, b); g = Sigmoid(r); y = Mul(r, g)",
        target=17,
    ),
    Old(23, "y = Attention(q, k, v)", QKV),
    Old(24, "y = Attention <is_causal: int = 1> (q, k, v)", QKV, target=23),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_other_versions_say_the_same(old: Old) -> None:
    assert_comes_back(old)


BEYOND = (
    (23, "y = Attention(q, k, v)", 22, "Attention exists from opset 23"),
    (24, "y = Attention(q, k, v, , , , n)", 23, "nonpad_kv_seqlen exists from opset 24"),
    (25, "y = Attention <left_window_size: int = 2> (q, k, v)", 24, "in a window exists from opset 25"),
)


@pytest.mark.parametrize(("opset", "text", "target", "reason"), BEYOND)
def test_what_an_older_target_cannot_say(opset: int, text: str, target: int, reason: str) -> None:
    graph = from_model(model(text, opset, QKV))
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=target)
