"""Activations, the softmax family and Dropout of every opset."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import from_model
from graphir.ops.activation import Softmax
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X = {"x": ramp(2, 3, 4)}

OLD = (
    Old(6, "y = Relu(x)", X),
    Old(1, "y = Relu <consumed_inputs: ints = [0]> (x)", X, means="y = Relu(x)"),
    Old(6, "y = LeakyRelu(x)", X),
    Old(1, "y = LeakyRelu <alpha: float = 0.2> (x)", X, means="y = LeakyRelu <alpha: float = 0.2> (x)"),
    Old(6, "y = Elu(x)", X),
    Old(1, "y = Elu(x)", X, means="y = Elu(x)"),
    Old(1, "y = Selu(x)", X, means="y = Selu <alpha: float = 1.6732, gamma: float = 1.0507> (x)"),
    Old(6, "y = Selu(x)", X),
    Old(6, "y = HardSigmoid(x)", X),
    Old(1, "y = HardSigmoid <alpha: float = 0.5> (x)", X, means="y = HardSigmoid <alpha: float = 0.5> (x)"),
    Old(10, "y = ThresholdedRelu <alpha: float = 0.3> (x)", X),
    Old(12, "y = Celu <alpha: float = 0.5> (x)", X),
    Old(1, "y = Softplus(x)", X),
    Old(1, "y = Softsign(x)", X),
    Old(1, "y = Sigmoid(x)", X, means="y = Sigmoid(x)"),
    Old(6, "y = Tanh(x)", X),
    Old(14, "y = HardSwish(x)", X),
    Old(18, "y = Mish(x)", X),
    Old(20, 'y = Gelu <approximate: string = "tanh"> (x)', X),
    Old(1, "y = Softmax(x)", X),
    Old(11, "y = Softmax(x)", X),
    Old(11, "y = Softmax <axis: int = -2> (x)", X),
    Old(11, "y = Softmax <axis: int = 0> (x)", X),
    Old(11, "y = Softmax <axis: int = 2> (x)", X),
    Old(13, "y = Softmax(x)", X),
    Old(13, "y = Softmax <axis: int = 1> (x)", X),
    Old(7, "y = LogSoftmax(x)", X),
    Old(11, "y = Hardmax(x)", X),
    Old(7, "y = Softmax(x)", {"x": ramp(2, 5, 1, 1)}),
    Old(7, "y = Softmax(x)", {"x": ramp(3, 1, 1)}),
    Old(11, "z = Transpose(x); y = Softmax <axis: int = 1> (z)", X),
    Old(11, "z = Reshape(x, s); y = LogSoftmax(z)", X | {"s": np.array([2, 6, 2], np.int64)}),
    Old(7, "y = Dropout <ratio: float = 0.3> (x)", X),
    Old(6, "y = Dropout <is_test: int = 1> (x)", X, means="y = Identity(x)"),
    Old(1, "y = Dropout <is_test: int = 1, consumed_inputs: ints = [0]> (x)", X, means="y = Identity(x)"),
    Old(12, "y, m = Dropout(x)", X),
    Old(12, "y, m = Dropout <seed: int = 3> (x, r, t)", X | {"r": np.float32(0.0), "t": np.bool_(True)}, ("r", "t")),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


@pytest.mark.parametrize(
    ("opset", "dtype"),
    [
        (7, "float32"),
        (10, "bool"),
    ],
)
def test_the_mask_of_an_older_dropout(opset: int, dtype: str) -> None:
    graph = from_model(model("y, m = Dropout(x)", opset, X))
    assert str(graph.outputs[1].type) == f"{dtype}[2, 3, 4]"


def test_a_dropout_that_trains_says_so() -> None:
    graph = from_model(model("y = Dropout(x)", 6, X))
    assert [decision.kind for decision in graph.decisions] == ["dropout"]
    assert [len(node.inputs) for node in graph.nodes] == [3]


def test_softmax_over_one_wide_axis_stays_one_node() -> None:
    graph = from_model(model("y = Softmax(x)", 7, {"x": ramp(2, 5, 1, 1)}))
    assert [node.op for node in graph.nodes] == [Softmax(1)]
