"""Activation functions, softmaxes and Dropout in torch, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.ops import activation as ir
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

X = uniform(3, 5, 7)
HALF, DOUBLE = uniform(5, 3, dtype="float16"), uniform(2, 1, 9, low=-40, high=40, dtype="float64")
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, -0.5, 1.5, -2.5, 88.0, -104.0, -1e-40], np.float32)
# Each with its defaults and other attributes; what stands in the text.
FUNCTIONS = {
    ir.Celu(): "F.celu(x)", ir.Celu(0.3): "F.celu(x, alpha=0.3)",
    ir.Elu(): "F.elu(x)", ir.Elu(0.5): "F.elu(x, alpha=0.5)",
    ir.Gelu(): "F.gelu(x)", ir.Gelu(ir.Approximation.TANH): 'F.gelu(x, approximate="tanh")',
    ir.HardSigmoid(): "(0.2 * x + 0.5).clamp(0, 1)", ir.HardSigmoid(0.4, 0.25): "(0.4 * x + 0.25).clamp(0, 1)",
    ir.HardSigmoid(1 / 6): "F.hardsigmoid(x)",
    ir.HardSwish(): "F.hardswish(x)",
    ir.LeakyRelu(): "F.leaky_relu(x)", ir.LeakyRelu(0.3): "F.leaky_relu(x, negative_slope=0.3)",
    ir.Mish(): "F.mish(x)",
    ir.Relu(): "F.relu(x)",
    ir.Selu(): "F.selu(x)", ir.Selu(1.5, 0.5): "0.5 * F.elu(x, 1.5)",
    ir.Shrink(): "torch.where(x > 0.5, x - 0.0, torch.where(x < -0.5, x + 0.0, 0))",
    ir.Shrink(0.25, 0.75): "torch.where(x > 0.25, x - 0.75, torch.where(x < -0.25, x + 0.75, 0))",
    ir.Sigmoid(): "torch.sigmoid(x)",
    ir.Softplus(): "F.softplus(x)",
    ir.Softsign(): "F.softsign(x)",
    ir.Swish(): "F.silu(x)", ir.Swish(1.702): "x * torch.sigmoid(1.702 * x)",
    ir.Tanh(): "torch.tanh(x)",
    ir.ThresholdedRelu(): "torch.where(x > 1.0, x, 0.0)", ir.ThresholdedRelu(0.25): "torch.where(x > 0.25, x, 0.0)",
}  # fmt: skip
SOFTMAXES = {ir.Softmax: "F.softmax", ir.LogSoftmax: "F.log_softmax", ir.Hardmax: "torch.zeros_like"}
TIES = np.array([[1, 3, 3, -2], [0, 0, 0, 0]], np.float32)

ROWS = [
    *(Case(op, X, batch=True, text=text) for op, text in FUNCTIONS.items()),
    # torch's GELU of infinity is NaN where it computes several elements at once.
    *(Case(op, SPECIAL[3:] if isinstance(op, ir.Gelu) else SPECIAL) for op in FUNCTIONS),
    # onnxruntime computes some of them in float32.
    *(Case(op, DOUBLE, tolerance=1e-6) for op in FUNCTIONS),
    *(Case(op, HALF, batch=True) for op in FUNCTIONS),
    Case(ir.Shrink(2.0, 1.0), uniform(9, low=-9, high=9, dtype="int32")),
    Case(ir.Shrink(2.0, 1.0), uniform(9, low=0, high=9, dtype="uint8")),
    *(Case(op(), X, batch=True, text=text) for op, text in SOFTMAXES.items()),
    *(Case(op(1), X) for op in SOFTMAXES),
    *(Case(op(-2), uniform(2, 3, 1, 5), batch=True) for op in SOFTMAXES),
    *(Case(op(0), DOUBLE[0, 0]) for op in SOFTMAXES),
    *(Case(op(0), HALF) for op in SOFTMAXES),
    *(Case(op(), np.array([[1, np.inf], [-np.inf, 0], [300, -300]], np.float32)) for op in SOFTMAXES),
    *(Case(op(), TIES, batch=True) for op in SOFTMAXES),
    Case(ir.Dropout(), X, batch=True),
    Case(ir.Dropout(), X, Constant(np.float32(0.3)), Constant(np.bool_(False))),
    Case(ir.Dropout(3), HALF, Constant(np.float32(0.9))),
]  # fmt: skip


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)
