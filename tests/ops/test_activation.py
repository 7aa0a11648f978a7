"""Rules of the activation family."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.converters.onnx.exporting.exporter import newest_opset
from graphir.graph import Graph
from graphir.ops import activation as ir
from graphir.ops.base import Operator
from graphir.types import DType, TensorType, parse_shape
from tests.building import run_model
from tests.ops.harness import backward, bad, check_good, good

PLAIN = (
    *(ir.Relu(), ir.LeakyRelu(alpha=0.2), ir.ThresholdedRelu(), ir.Elu(), ir.Selu(), ir.Celu(), ir.Gelu()),
    *(ir.Gelu(ir.Approximation.TANH), ir.HardSigmoid(), ir.HardSwish(), ir.Mish(), ir.Softplus(), ir.Softsign()),
    *(ir.Sigmoid(), ir.Swish(), ir.Swish(alpha=1.7), ir.Tanh(), ir.Softmax(), ir.LogSoftmax(axis=0), ir.Hardmax()),
    ir.Shrink(lambd=0.1, bias=0.2),
)
TYPES = ("float32[2, 3]", "float16[N, 3, (H+1)//2]", "float64[?, 4]", "?[2, N]", "float32[...]", "?[...]")


GOOD = (
    *((op, text, text) for op in PLAIN for text in TYPES),
    *((ir.Relu(), text, text) for text in ("int8[2]", "int32[2]", "int64[2]")),
    *(
        (ir.Dropout(), operands, "float32[2, N] bool[2, N]")
        for operands in ("f[2,N]", "f[2,N] f[]", "f[2,N] f[] b[]", "f[2,N] - b[...]")
    ),
)
test_results = good(GOOD)

BAD = (
    *((op, "b[2]", "X is bool") for op in PLAIN),
    (ir.Sigmoid(), "int32[2]", "X is int32, expected a floating point dtype"),
    (ir.Softmax(), "int64[2, 3]", "X is int64"),
    (ir.Softmax(axis=2), "float32[2, 3]", "axis 2 does not exist in a tensor of rank 2"),
    (ir.LogSoftmax(axis=-3), "float32[2, N]", "axis -3 does not exist"),
    (ir.Hardmax(), "float32[]", "axis -1 does not exist in a tensor of rank 0"),
    (ir.Dropout(), "f[2] f[2]", "ratio is float32.2., expected a scalar"),
    (ir.Dropout(), "f[2] f[] i[]", "training_mode is int64, expected bool"),
)
test_refused = bad(BAD)


def test_a_ratio_of_one_element_is_a_scalar() -> None:
    check_good(ir.Dropout(), "f[2,N] f[1] b[]", "f[2,N] b[2,N]")  # which onnxruntime does not open


BACKWARD = tuple((op, text, "float32[2, N]", "float32[2, N]") for op in PLAIN for text in ("?[?, ?]", "?[...]"))
test_operands = backward(BACKWARD)


def expected(op: Operator, x: NDArray[Any]) -> NDArray[Any]:
    """The operator's formula in float64."""
    x = x.astype(np.float64)
    softplus = np.log1p(np.exp(x))
    match op:
        case ir.Celu(alpha=alpha):
            return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))
        case ir.Gelu(approximate=ir.Approximation.TANH):
            return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        case ir.HardSwish():
            return x * np.clip(x / 6 + 0.5, 0, 1)
        case ir.Mish():
            return x * np.tanh(softplus)
        case ir.Swish(alpha=alpha):
            return x / (1 + np.exp(-alpha * x))
        case ir.ThresholdedRelu(alpha=alpha):
            return np.where(x > alpha, x, 0)
    raise AssertionError(op)


@pytest.mark.parametrize("opset", [13, 17, 18, 20, min(newest_opset(), 25)])
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
@pytest.mark.parametrize(
    "op",
    [
        *(ir.Celu(alpha=0.7), ir.Gelu(ir.Approximation.TANH), ir.HardSwish(), ir.Mish(), ir.Swish(alpha=1.7)),
        *(ir.Swish(), ir.ThresholdedRelu(alpha=0.3)),
    ],
    ids=str,
)
def test_onnx_computes_the_formula(op: Operator, dtype: DType, opset: int) -> None:
    graph = Graph("one")
    x = graph.add_input("x", TensorType(dtype, parse_shape("N,5")))
    graph.set_outputs([graph.add(op, x, name="y")])
    model = to_model(graph, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    data = np.random.default_rng(0).standard_normal((4, 5)).astype(dtype.numpy()) * 2
    (found,) = run_model(model, {"x": data}).values()
    np.testing.assert_allclose(found.astype(np.float64), expected(op, data), atol=2e-6 if dtype.bits == 32 else 1e-2)
