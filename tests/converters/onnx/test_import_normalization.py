"""Normalizations of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.onnx import from_model
from graphir.errors import UnsupportedOpError
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X = {"x": ramp(2, 3, 4)}
CHANNELS = {"s": ramp(3), "b": ramp(3) * 2, "m": ramp(3) / 2, "v": np.abs(ramp(3)) + 0.5}
EACH = {"s": ramp(3, 4), "b": ramp(3, 4) * 2, "m": ramp(3, 4) / 2, "v": np.abs(ramp(3, 4)) + 0.5}
BATCH: dict[str, Any] = X | CHANNELS
MODERN_BATCH = "y = BatchNormalization(x, s, b, m, v)"
SPATIAL = "d = Sub(x, m); e = Sqrt(v); n = Div(d, e); k = Mul(n, s); y = Add(k, b)"
TRAINED = (
    "y, rm, rv = BatchNormalization <epsilon: float = 0.1, momentum: float = 0.75, training_mode: int = 1>"
    " (x, s, b, m, v)"
)
STATISTICS = (
    "sm = ReduceMean <axes: ints = [0, 2], keepdims: int = 0> (x); k = ReduceMean <axes: ints = [0, 2]> (x); "
    "d = Sub(x, k); q = Mul(d, d); sv = ReduceMean <axes: ints = [0, 2], keepdims: int = 0> (q)"
)

OLD = (
    Old(
        1,
        "y = BatchNormalization <is_test: int = 1, consumed_inputs: ints = [0, 0, 0, 1, 1]> (x, s, b, m, v)",
        BATCH,
        means=MODERN_BATCH,
    ),
    Old(6, "y = BatchNormalization <is_test: int = 1> (x, s, b, m, v)", BATCH, means=MODERN_BATCH),
    Old(6, "y = BatchNormalization(x, s, b, m, v)", BATCH, means=MODERN_BATCH),
    Old(7, "y = BatchNormalization <epsilon: float = 0.01> (x, s, b, m, v)", BATCH),
    Old(7, "y = BatchNormalization <spatial: int = 0> (x, s, b, m, v)", {"x": ramp(2, 3)} | CHANNELS),
    Old(7, "y = BatchNormalization <spatial: int = 0, epsilon: float = 0.0> (x, s, b, m, v)", X | EACH, means=SPATIAL),
    Old(9, "y = BatchNormalization(x, s, b, m, v)", BATCH),
    Old(
        9,
        "y, rm, rv, sm, sv = BatchNormalization <epsilon: float = 0.1, momentum: float = 0.75> (x, s, b, m, v)",
        BATCH,
        means=f"{TRAINED}; {STATISTICS}",
    ),
    Old(14, TRAINED, BATCH),
    Old(15, TRAINED, BATCH),
    Old(1, "y = InstanceNormalization <consumed_inputs: ints = [0]> (x, s, b)", BATCH,
        means="y = InstanceNormalization(x, s, b)"),
    Old(6, "y = InstanceNormalization(x, s, b)", BATCH),
    Old(18, "y = GroupNormalization <num_groups: int = 3> (x, s, b)", {"x": ramp(2, 6, 4)} | CHANNELS),
    Old(
        18,
        "o = Reshape(x, t); y = GroupNormalization <num_groups: int = 3> (o, s, b)",
        {"x": ramp(48), "t": np.array([2, 6, 4], np.int64)} | CHANNELS,
    ),
    Old(21, "y = GroupNormalization <num_groups: int = 3> (x, s, b)", {"x": ramp(2, 6, 4), "s": ramp(6), "b": ramp(6)}),
    Old(17, "y, a, d = LayerNormalization <axis: int = 1> (x, s)", X | EACH),
    # onnxruntime's optimiser writes it into ONNX's domain; it runs at every opset
    Old(
        17, "y = SimplifiedLayerNormalization <axis: int = -1, epsilon: float = 0.0> (x, s)", X | {"s": ramp(4) + 1},
        means="q = Mul(x, x); k = ReduceMean <axes: ints = [-1]> (q); r = Sqrt(k); d = Div(x, r); y = Mul(d, s)",
    ),
    Old(1, "y = LRN <size: int = 3, alpha: float = 0.5> (x)", {"x": ramp(2, 5, 4, 4)}),
    Old(1, "y = LpNormalization <axis: int = 1, p: int = 1> (x)", X),
    Old(9, "y = MeanVarianceNormalization(x)", {"x": ramp(2, 3, 4, 4)}),
    Old(9, "y = MeanVarianceNormalization <axes: ints = [0, 2]> (x)", X),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


def test_a_batch_normalization_without_is_test_says_what_it_uses() -> None:
    graph = from_model(model("y = BatchNormalization(x, s, b, m, v)", 6, BATCH))
    assert [decision.kind for decision in graph.decisions] == ["batch normalization"]


@pytest.mark.parametrize(
    ("opset", "text", "reason"),
    [
        (6, "y, a = BatchNormalization <is_test: int = 1> (x, s, b, m, v)", "is_test is set"),
        (7, "y, a, c = BatchNormalization <spatial: int = 0> (x, s, b, m, v)", "spatial=0"),
        (14, "y, a, c = BatchNormalization(x, s, b, m, v)", "it has 3 outputs"),
    ],
)
def test_refusals(opset: int, text: str, reason: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        from_model(model(text, opset, BATCH))
