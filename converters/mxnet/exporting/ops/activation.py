"""Activation functions, the softmax family, and Dropout."""

from __future__ import annotations

import math
from functools import partial

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportFunction, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import cast, emit_as, operand_dtype
from graphir.ops import activation as ir
from graphir.ops.base import normalize_axis
from graphir.ops.elementwise import PRelu
from graphir.ops.shape import Reshape
from graphir.types import DType


def activation(kind: str) -> ExportFunction:
    """Activation of a kind."""
    return lambda node: node.emit("Activation", node.entry(0), act_type=kind)


def export_relu(node: ExportNode[ir.Relu]) -> None:
    """Activation relu of floats; integers have an operator of their own."""
    if node.dtype().is_float:
        node.emit("Activation", node.entry(0), act_type="relu")
    else:
        node.emit("relu", node.entry(0))


def export_selu(node: ExportNode[ir.Selu]) -> None:
    """LeakyReLU selu, whose constants are fixed; with others elu times gamma."""
    op, usual = node.op, ir.Selu()
    if math.isclose(op.alpha, usual.alpha, rel_tol=1e-6) and math.isclose(op.gamma, usual.gamma, rel_tol=1e-6):
        node.emit("LeakyReLU", node.entry(0), act_type="selu")
        return
    curve = node.step("LeakyReLU", node.entry(0), suffix="elu", act_type="elu", slope=op.alpha)
    node.emit("_mul_scalar", curve, scalar=op.gamma)


def export_celu(node: ExportNode[ir.Celu]) -> None:
    """alpha times elu of x / alpha; for a negative alpha, where that is not so, its two halves."""
    alpha, data = node.op.alpha, node.entry(0)
    scaled = data if alpha == 1 else node.step("_div_scalar", data, suffix="scaled", scalar=alpha)
    if alpha == 1:
        node.emit("LeakyReLU", scaled, act_type="elu", slope=1.0)
    elif alpha > 0:
        curve = node.step("LeakyReLU", scaled, suffix="elu", act_type="elu", slope=1.0)
        node.emit("_mul_scalar", curve, scalar=alpha)
    else:
        curve = node.step("_mul_scalar", node.step("expm1", scaled), suffix="curve", scalar=alpha)
        below = node.step("_minimum_scalar", curve, suffix="below", scalar=0.0)
        node.emit("elemwise_add", node.step("_maximum_scalar", data, suffix="above", scalar=0.0), below)


def export_thresholded_relu(node: ExportNode[ir.ThresholdedRelu]) -> None:
    """A choice between x and 0."""
    data = node.entry(0)
    above = node.step("_greater_scalar", data, suffix="above", scalar=node.op.alpha)
    node.emit("where", above, data, node.step("zeros_like", data))


def export_shrink(node: ExportNode[ir.Shrink]) -> None:
    """Two choices; integers are moved as float64, and lose the fraction."""
    op, source = node.op, operand_dtype(node)
    dtype = source if source.is_float else DType.FLOAT64
    data = cast(node, node.entry(0), source, dtype)
    above = node.step("_greater_scalar", data, suffix="above", scalar=op.lambd)
    below = node.step("_lesser_scalar", data, suffix="below", scalar=-op.lambd)
    lower = data if op.bias == 0 else node.step("_minus_scalar", data, suffix="lower", scalar=op.bias)
    higher = data if op.bias == 0 else node.step("_plus_scalar", data, suffix="higher", scalar=op.bias)
    upper = node.step("where", above, lower, node.step("zeros_like", data), suffix="upper")
    emit_as(node, node.step("where", below, higher, upper, suffix="shrunk"), dtype)


CUBIC = 0.044715


def export_gelu(node: ExportNode[ir.Gelu]) -> None:
    """LeakyReLU gelu, which is the exact one; the other is x times a sigmoid, since (1 + tanh(u)) / 2 is one of 2 u."""
    data = node.entry(0)
    if node.op.approximate is ir.Approximation.NONE:
        node.emit("LeakyReLU", data, act_type="gelu")
        return
    factor = 2 * math.sqrt(2 / math.pi)
    cubic = node.step("_mul_scalar", node.step("square", data), suffix="cubic", scalar=factor * CUBIC)
    slope = node.step("_plus_scalar", cubic, suffix="slope", scalar=factor)
    gate = node.step("Activation", node.step("elemwise_mul", data, slope), suffix="gate", act_type="sigmoid")
    node.emit("elemwise_mul", data, gate)


def export_prelu(node: ExportNode[PRelu]) -> None:
    """LeakyReLU prelu where there is one slope a channel (or one in all)."""
    vector = _slopes(node) if node.dtype().is_float else None
    if vector is None:
        node.refuse("MXNet's LeakyReLU takes floats, and one slope a channel or one in all")
    node.emit("LeakyReLU", node.entry(0), vector, act_type="prelu")


def _slopes(node: AnyNode) -> Entry | None:
    """Return the slopes as a vector with one for each channel, or one for all; None if they lie otherwise."""
    slope = node.input(1)
    producer = slope.producer
    if producer is not None and isinstance(producer.op, Reshape):
        source = producer.inputs[0]
        if source is not None and source.rank == 1 and _is_per_channel(node):
            return node.export.entry(source)
    if slope.rank == 1 and (slope.shape == (1,) or node.rank() <= 2):
        return node.entry(1)
    if slope.tensor is not None and _is_per_channel(node):
        return node.export.reshaped(slope, (slope.tensor.size,))
    return None


def _is_per_channel(node: AnyNode) -> bool:
    """Return whether the slopes lie along axis 1 only."""
    slope, rank = node.shape(1), node.rank()
    if len(slope) == rank and rank > 1 and slope[0] == 1:
        slope = slope[1:]
    return len(slope) == rank - 1 and all(size == 1 for size in slope[1:])


def softmax(op: str, node: ExportNode[ir.LogSoftmax | ir.Softmax]) -> None:
    """softmax or log_softmax along an axis; of float16 through float32, since MXNet's loses three of its digits."""
    if node.dtype() is not DType.FLOAT16:
        node.emit(op, node.entry(0), axis=node.op.axis)
        return
    wide = node.export.cast(node.entry(0), DType.FLOAT32)
    node.emit("Cast", node.step(op, wide, axis=node.op.axis), dtype=DType.FLOAT16.value)


def export_hardmax(node: ExportNode[ir.Hardmax]) -> None:
    """one_hot of argmax, its new axis brought to the place of the old one."""
    rank, dtype = node.rank(), node.dtype()
    axis = normalize_axis(node.op.axis, rank)
    (depth,) = node.fixed(node.shape()[axis : axis + 1], f"axis {axis} of {node.input(0).name}")
    indices = node.step("argmax", node.entry(0), axis=axis)
    if rank == 1:
        hot = node.step("one_hot", indices, depth=depth, dtype=dtype.value)
        node.emit("Reshape", hot, shape=(-1,))
    elif axis == rank - 1:
        node.emit("one_hot", indices, depth=depth, dtype=dtype.value)
    else:
        hot = node.step("one_hot", indices, depth=depth, dtype=dtype.value)
        node.emit("transpose", hot, axes=(*range(axis), rank - 1, *range(axis, rank - 1)))


def export_dropout(node: ExportNode[ir.Dropout]) -> None:
    """Nothing at inference, with a mask of ones."""
    mask, data = node.node.outputs[1], node.export.raw(node.input(0))
    if node.optional(2) is not None and node.number(2) != 0 and node.number(1) != 0:
        node.refuse(f"{node.input(2).name} says that elements are dropped at random; only inference can be written")
    node.export.bind(node.result, data, node.export.carried(node.input(0)))
    if mask.uses or node.export.graph.is_output(mask):
        node.bind(node.step("ones_like", data, suffix="mask"), 1, carried=node.dtype())


EXPORTS = table(
    row(ir.Relu, export_relu),
    row(ir.Sigmoid, activation("sigmoid")),
    row(ir.Softplus, activation("softrelu")),
    row(ir.Softsign, activation("softsign")),
    row(ir.Tanh, activation("tanh")),
    row(ir.LeakyRelu, lambda node: node.emit("LeakyReLU", node.entry(0), act_type="leaky", slope=node.op.alpha)),
    row(ir.ThresholdedRelu, export_thresholded_relu),
    row(ir.Elu, lambda node: node.emit("LeakyReLU", node.entry(0), act_type="elu", slope=node.op.alpha)),
    row(ir.Selu, export_selu),
    row(ir.Celu, export_celu),
    row(ir.Gelu, export_gelu),
    row(ir.HardSigmoid, lambda node: node.emit("hard_sigmoid", node.entry(0), alpha=node.op.alpha, beta=node.op.beta)),
    row(ir.Shrink, export_shrink),
    row(PRelu, export_prelu),
    row(ir.Softmax, partial(softmax, "softmax")),
    row(ir.LogSoftmax, partial(softmax, "log_softmax")),
    row(ir.Hardmax, export_hardmax),
    row(ir.Dropout, export_dropout),
)
