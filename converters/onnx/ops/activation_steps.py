"""Activation functions composed of arithmetic, for dtypes in which onnxruntime has only that (float64)."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportFunction, ExportNode
from graphir.ops import activation as ir
from graphir.types import DType


def unless_composed(direct: ExportFunction, composed: ExportFunction) -> ExportFunction:
    """The operator itself, or what it is composed of where the runtime would have to round or could not run it.

    In float64 always: onnxruntime has kernels for none of them, and where it replaces one by ONNX's own function, that
    has constants of float32.
    """

    def export_either(node: ExportNode) -> None:
        is_double = node.may_compose() and node.dtype() is DType.FLOAT64
        (composed if is_double or node.needs_composition() else direct)(node)

    return export_either


def _negative_part(node: ExportNode, x: str) -> str:
    """exp(min(x, 0)) - 1."""
    power = node.step("Exp", [node.step("Min", [x, node.scalar(0.0)])])
    return node.step("Sub", [power, node.scalar(1.0)])


def compose_elu(node: ExportNode) -> None:
    """max(x, 0) + alpha * (exp(min(x, 0)) - 1)."""
    op: ir.Elu = node.op
    x = node.input_names()[0]
    bent = node.step("Mul", [_negative_part(node, x), node.scalar(op.alpha)])
    node.emit("Add", [node.step("Max", [x, node.scalar(0.0)]), bent])


def compose_selu(node: ExportNode) -> None:
    """gamma times Elu."""
    op: ir.Selu = node.op
    x = node.input_names()[0]
    bent = node.step("Mul", [_negative_part(node, x), node.scalar(op.alpha)])
    whole = node.step("Add", [node.step("Max", [x, node.scalar(0.0)]), bent])
    node.emit("Mul", [whole, node.scalar(op.gamma)])


def _hard_sigmoid(node: ExportNode, alpha: float, beta: float) -> list[str]:
    line = node.step("Add", [node.step("Mul", [node.input_names()[0], node.scalar(alpha)]), node.scalar(beta)])
    return [line, node.scalar(0.0), node.scalar(1.0)]


def compose_hard_sigmoid(node: ExportNode) -> None:
    """alpha * x + beta between 0 and 1."""
    op: ir.HardSigmoid = node.op
    node.emit("Clip", _hard_sigmoid(node, op.alpha, op.beta))


def compose_hard_swish(node: ExportNode) -> None:
    """x * HardSigmoid(x)."""
    node.emit("Mul", [node.input_names()[0], node.step("Clip", _hard_sigmoid(node, 1 / 6, 0.5))])


def _softplus(node: ExportNode) -> list[str]:
    """The terms of max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    x = node.input_names()[0]
    power = node.step("Exp", [node.step("Neg", [node.step("Abs", [x])])])
    return [node.step("Max", [x, node.scalar(0.0)]), node.step("Log", [node.step("Add", [power, node.scalar(1.0)])])]


def compose_softplus(node: ExportNode) -> None:
    """log(1 + exp(x))."""
    node.emit("Add", _softplus(node))


def compose_mish(node: ExportNode) -> None:
    """x * tanh(softplus(x))."""
    node.emit("Mul", [node.input_names()[0], node.step("Tanh", [node.step("Add", _softplus(node))])])


def compose_softsign(node: ExportNode) -> None:
    """x / (1 + |x|)."""
    x = node.input_names()[0]
    node.emit("Div", [x, node.step("Add", [node.step("Abs", [x]), node.scalar(1.0)])])


def compose_thresholded_relu(node: ExportNode) -> None:
    """x where it is above alpha, else 0."""
    op: ir.ThresholdedRelu = node.op
    x = node.input_names()[0]
    node.emit("Where", [node.step("Greater", [x, node.scalar(op.alpha)]), x, node.scalar(0.0)])


def compose_leaky_relu(node: ExportNode) -> None:
    """alpha * x where x is below 0, else x."""
    op: ir.LeakyRelu = node.op
    x = node.input_names()[0]
    below = node.step("Less", [x, node.scalar(0.0)])
    node.emit("Where", [below, node.step("Mul", [x, node.scalar(op.alpha)]), x])


def compose_prelu(node: ExportNode) -> None:
    """slope * x where x is below 0, else x."""
    x, slope = node.input_names()
    node.emit("Where", [node.step("Less", [x, node.scalar(0)]), node.step("Mul", [x, slope]), x])


__all__ = [
    "compose_elu",
    "compose_hard_sigmoid",
    "compose_hard_swish",
    "compose_leaky_relu",
    "compose_mish",
    "compose_prelu",
    "compose_selu",
    "compose_softplus",
    "compose_softsign",
    "compose_thresholded_relu",
    "unless_composed",
]
