"""Activation functions, the softmax family, and Dropout."""

from __future__ import annotations

import math

from graphir.converters.mxnet.export_context import ExportFunction, ExportNode, ExportTable
from graphir.ops import activation as ir
from graphir.ops.elementwise import PRelu
from graphir.ops.shape import Reshape


def activation(kind: str) -> ExportFunction:
    """Activation of a kind."""
    return lambda node: node.emit("Activation", node.entry(0), act_type=kind)


def export_relu(node: ExportNode) -> None:
    """Activation relu of floats; integers have an operator of their own."""
    if node.dtype().is_float:
        node.emit("Activation", node.entry(0), act_type="relu")
    else:
        node.emit("relu", node.entry(0))


def export_leaky_relu(node: ExportNode) -> None:
    """LeakyReLU with a fixed slope."""
    node.emit("LeakyReLU", node.entry(0), act_type="leaky", slope=node.op.alpha)


def export_elu(node: ExportNode) -> None:
    """LeakyReLU elu, whose slope is the factor below 0."""
    node.emit("LeakyReLU", node.entry(0), act_type="elu", slope=node.op.alpha)


def export_selu(node: ExportNode) -> None:
    """LeakyReLU selu, whose constants are fixed."""
    usual = ir.Selu()
    near = math.isclose(node.op.alpha, usual.alpha, rel_tol=1e-6) and math.isclose(
        node.op.gamma, usual.gamma, rel_tol=1e-6
    )
    if not near:
        node.refuse(f"alpha {node.op.alpha} and gamma {node.op.gamma}; MXNet's selu has fixed ones")
    node.emit("LeakyReLU", node.entry(0), act_type="selu")


def export_gelu(node: ExportNode) -> None:
    """LeakyReLU gelu, which is the exact one."""
    if node.op.approximate is not ir.Approximation.NONE:
        node.refuse("MXNet has the exact gelu only")
    node.emit("LeakyReLU", node.entry(0), act_type="gelu")


def export_hard_sigmoid(node: ExportNode) -> None:
    """hard_sigmoid."""
    node.emit("hard_sigmoid", node.entry(0), alpha=node.op.alpha, beta=node.op.beta)


def export_hard_swish(node: ExportNode) -> None:
    """x times hard_sigmoid."""
    gate = node.step("hard_sigmoid", node.entry(0), alpha=1 / 6, beta=0.5)
    node.emit("elemwise_mul", node.entry(0), gate)


def export_swish(node: ExportNode) -> None:
    """x times the sigmoid of alpha x."""
    data = node.entry(0)
    scaled = data if node.op.alpha == 1 else node.step("_mul_scalar", data, scalar=node.op.alpha)
    node.emit("elemwise_mul", data, node.step("Activation", scaled, suffix="sigmoid", act_type="sigmoid"))


def export_mish(node: ExportNode) -> None:
    """x times tanh of softrelu."""
    data = node.entry(0)
    gate = node.step("Activation", data, suffix="softrelu", act_type="softrelu")
    node.emit("elemwise_mul", data, node.step("Activation", gate, suffix="tanh", act_type="tanh"))


def export_prelu(node: ExportNode) -> None:
    """LeakyReLU prelu where there is one slope a channel (or one in all), else what it means."""
    slope = node.value(1)
    producer = slope.producer
    if producer is not None and isinstance(producer.op, Reshape):
        source = producer.inputs[0]
        if source is not None and source.rank == 1 and _is_per_channel(node):
            node.emit("LeakyReLU", node.entry(0), node.export.entry(source), act_type="prelu")
            return
    if slope.rank == 1 and (slope.shape == (1,) or node.rank() == 2):
        node.emit("LeakyReLU", node.entry(0), node.entry(1), act_type="prelu")
        return
    if slope.tensor is not None and _is_per_channel(node):
        vector = node.export.reshaped(slope, (slope.tensor.shape[0],))
        node.emit("LeakyReLU", node.entry(0), vector, act_type="prelu")
        return
    data = node.entry(0)
    below = node.step("_minimum_scalar", data, suffix="below", scalar=0.0)
    above = node.step("_maximum_scalar", data, suffix="above", scalar=0.0)
    node.emit("broadcast_add", above, node.step("broadcast_mul", below, node.entry(1), suffix="scaled"))


def _is_per_channel(node: ExportNode) -> bool:
    slope = node.shape(1)
    return len(slope) == node.rank() - 1 and all(size == 1 for size in slope[1:])


def softmax(op: str) -> ExportFunction:
    """softmax or log_softmax along an axis."""
    return lambda node: node.emit(op, node.entry(0), axis=node.op.axis)


def export_dropout(node: ExportNode) -> None:
    """Nothing at inference."""
    if node.operand(2) is not None:
        node.refuse("training_mode is an operand; only inference can be written")
    mask = node.node.outputs[1]
    if mask.uses or node.export.graph.is_output(mask):
        node.refuse("its mask is used")
    node.export.bind(node.result, node.export.raw(node.value(0)), node.export.carried(node.value(0)))


EXPORTS: ExportTable = {
    ir.Relu: export_relu,
    ir.Sigmoid: activation("sigmoid"),
    ir.Softplus: activation("softrelu"),
    ir.Softsign: activation("softsign"),
    ir.Tanh: activation("tanh"),
    ir.LeakyRelu: export_leaky_relu,
    ir.Elu: export_elu,
    ir.Selu: export_selu,
    ir.Gelu: export_gelu,
    ir.HardSigmoid: export_hard_sigmoid,
    ir.HardSwish: export_hard_swish,
    ir.Swish: export_swish,
    ir.Mish: export_mish,
    PRelu: export_prelu,
    ir.Softmax: softmax("softmax"),
    ir.LogSoftmax: softmax("log_softmax"),
    ir.Dropout: export_dropout,
}

__all__ = ["EXPORTS"]
