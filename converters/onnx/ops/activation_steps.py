"""Activation functions composed of arithmetic, for dtypes in which onnxruntime has only that (float64)."""

from __future__ import annotations

from collections.abc import Callable

from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, P
from graphir.ops import activation as ir
from graphir.types import DType


def unless_composed(
    direct: Callable[[ExportNode[P]], None], composed: Callable[[ExportNode[P]], None]
) -> Callable[[ExportNode[P]], None]:
    """Return the operator itself, or what it is composed of where the runtime would have to round or could not run it.

    In float64 always: onnxruntime has kernels for none of them, and where it replaces one by ONNX's own function, that
    has constants of float32.
    """

    def export_either(node: ExportNode[P]) -> None:
        is_double = node.may_compose() and node.dtype() is DType.FLOAT64
        (composed if is_double or node.needs_composition() else direct)(node)

    return export_either


def _negative_part(node: AnyNode, x: str) -> str:
    """exp(min(x, 0)) - 1."""
    power = node.step("Exp", [node.step("Min", [x, node.scalar(0.0)])])
    return node.step("Sub", [power, node.scalar(1.0)])


def compose_elu(node: ExportNode[ir.Elu]) -> None:
    """Compute max(x, 0) + alpha * (exp(min(x, 0)) - 1)."""
    op = node.op
    x = node.input_names()[0]
    bent = node.step("Mul", [_negative_part(node, x), node.scalar(op.alpha)])
    node.emit("Add", [node.step("Max", [x, node.scalar(0.0)]), bent])


def compose_selu(node: ExportNode[ir.Selu]) -> None:
    """Compute gamma times Elu."""
    op = node.op
    x = node.input_names()[0]
    bent = node.step("Mul", [_negative_part(node, x), node.scalar(op.alpha)])
    whole = node.step("Add", [node.step("Max", [x, node.scalar(0.0)]), bent])
    node.emit("Mul", [whole, node.scalar(op.gamma)])


def _hard_sigmoid(node: AnyNode, alpha: float, beta: float) -> list[str]:
    line = node.step("Add", [node.step("Mul", [node.input_names()[0], node.scalar(alpha)]), node.scalar(beta)])
    return [line, node.scalar(0.0), node.scalar(1.0)]


def compose_hard_sigmoid(node: ExportNode[ir.HardSigmoid]) -> None:
    """Compute alpha * x + beta between 0 and 1."""
    op = node.op
    node.emit("Clip", _hard_sigmoid(node, op.alpha, op.beta))


def compose_hard_swish(node: AnyNode) -> None:
    """Compute x * HardSigmoid(x)."""
    node.emit("Mul", [node.input_names()[0], node.step("Clip", _hard_sigmoid(node, 1 / 6, 0.5))])


def _softplus(node: AnyNode) -> list[str]:
    """Return the terms of max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    x = node.input_names()[0]
    power = node.step("Exp", [node.step("Neg", [node.step("Abs", [x])])])
    return [node.step("Max", [x, node.scalar(0.0)]), node.step("Log", [node.step("Add", [power, node.scalar(1.0)])])]


def compose_softplus(node: AnyNode) -> None:
    """Compute log(1 + exp(x))."""
    node.emit("Add", _softplus(node))


def compose_mish(node: AnyNode) -> None:
    """Compute x * tanh(softplus(x))."""
    node.emit("Mul", [node.input_names()[0], node.step("Tanh", [node.step("Add", _softplus(node))])])


def compose_softsign(node: AnyNode) -> None:
    """Compute x / (1 + |x|)."""
    x = node.input_names()[0]
    node.emit("Div", [x, node.step("Add", [node.step("Abs", [x]), node.scalar(1.0)])])


def compose_thresholded_relu(node: ExportNode[ir.ThresholdedRelu]) -> None:
    """Compute x where it is above alpha, else 0."""
    op = node.op
    x = node.input_names()[0]
    node.emit("Where", [node.step("Greater", [x, node.scalar(op.alpha)]), x, node.scalar(0.0)])


def compose_leaky_relu(node: ExportNode[ir.LeakyRelu]) -> None:
    """Compute alpha * x where x is below 0, else x."""
    op = node.op
    x = node.input_names()[0]
    below = node.step("Less", [x, node.scalar(0.0)])
    node.emit("Where", [below, node.step("Mul", [x, node.scalar(op.alpha)]), x])


def compose_prelu(node: AnyNode) -> None:
    """Compute slope * x where x is below 0, else x."""
    x, slope = node.input_names()
    node.emit("Where", [node.step("Less", [x, node.scalar(0)]), node.step("Mul", [x, slope]), x])
