"""Activation functions: what an opset lacks is composed of what it has."""

from __future__ import annotations

import math

from graphir.converters.onnx.context import ExportNode, ExportTable, by_opset, direct
from graphir.converters.onnx.import_context import ImportTable
from graphir.ops import activation as ir
from graphir.types import DType


def export_relu(node: ExportNode) -> None:
    """Relu takes integers from opset 14 on; before that they are compared with 0."""
    names = node.input_names()
    if node.opset < 14 and not node.dtype().is_float:
        node.emit("Max", [*names, node.scalar(0)])
    else:
        node.emit("Relu", names)


def export_gelu(node: ExportNode) -> None:
    """Gelu, which exists from opset 20 on."""
    op: ir.Gelu = node.op
    exact = op.approximate is ir.Approximation.NONE
    node.emit("Gelu", node.input_names(), approximate=None if exact else op.approximate.value)


def compose_gelu(node: ExportNode) -> None:
    """x / 2 * (1 + erf(x / sqrt(2))), or the approximation by tanh."""
    op: ir.Gelu = node.op
    x = node.input_names()[0]
    if op.approximate is ir.Approximation.NONE:
        bent = node.step("Erf", [node.step("Mul", [x, node.scalar(math.sqrt(0.5))])])
    else:
        cube = node.step("Mul", [node.step("Mul", [node.step("Mul", [x, x]), x]), node.scalar(0.044715)])
        inner = node.step("Mul", [node.step("Add", [x, cube]), node.scalar(math.sqrt(2 / math.pi))])
        bent = node.step("Tanh", [inner])
    weight = node.step("Add", [bent, node.scalar(1.0)])
    node.emit("Mul", [node.step("Mul", [x, node.scalar(0.5)]), weight])


def compose_hard_swish(node: ExportNode) -> None:
    """x * HardSigmoid(x)."""
    x = node.input_names()[0]
    node.emit("Mul", [x, node.step("HardSigmoid", [x], alpha=1 / 6, beta=0.5)])


def compose_mish(node: ExportNode) -> None:
    """x * tanh(softplus(x))."""
    x = node.input_names()[0]
    node.emit("Mul", [x, node.step("Tanh", [node.step("Softplus", [x])])])


def compose_swish(node: ExportNode) -> None:
    """x * sigmoid(alpha * x) at every opset: Swish exists from 24 on, but onnxruntime 1.31 has no kernel for it."""
    op: ir.Swish = node.op
    x = node.input_names()[0]
    scaled = x if op.alpha == 1 else node.step("Mul", [x, node.scalar(op.alpha)])
    node.emit("Mul", [x, node.step("Sigmoid", [scaled])])


def export_celu(node: ExportNode) -> None:
    """Celu knows float32 only before opset 28; other dtypes are max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))."""
    op: ir.Celu = node.op
    x = node.input_names()[0]
    if node.opset >= 28 or node.dtype() is DType.FLOAT32:
        node.emit("Celu", [x], alpha=op.alpha if op.alpha != 1 else None)
        return
    alpha, zero = node.scalar(op.alpha), node.scalar(0.0)
    power = node.step("Exp", [node.step("Div", [x, alpha])])
    bent = node.step("Mul", [node.step("Sub", [power, node.scalar(1.0)]), alpha])
    node.emit("Add", [node.step("Max", [x, zero]), node.step("Min", [bent, zero])])


DIRECT = (
    *(ir.LeakyRelu, ir.ThresholdedRelu, ir.Elu, ir.Selu, ir.HardSigmoid, ir.Softplus, ir.Softsign, ir.Sigmoid),
    *(ir.Tanh, ir.Softmax, ir.LogSoftmax, ir.Hardmax, ir.Dropout),
)
EXPORTS: ExportTable = {op: direct() for op in DIRECT} | {
    ir.Relu: export_relu,
    ir.Celu: export_celu,
    ir.Gelu: by_opset({1: compose_gelu, 20: export_gelu}),
    ir.HardSwish: by_opset({1: compose_hard_swish, 14: direct()}),
    ir.Mish: by_opset({1: compose_mish, 18: direct()}),
    ir.Swish: compose_swish,
}

IMPORTS: ImportTable = {}

__all__ = ["EXPORTS", "IMPORTS"]
