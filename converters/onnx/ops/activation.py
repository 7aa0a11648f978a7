"""Activation functions: what an opset lacks is composed of what it has."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, P, by_opset, direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportFunction, ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import activation as ir
from graphir.ops.base import Operator
from graphir.ops.elementwise import Clip
from graphir.ops.shape import Flatten, Reshape, Shape
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


def export_relu(node: ExportNode[ir.Relu]) -> None:
    """Relu takes integers from opset 14 on; before that, and where the runtime lacks it, they are compared with 0."""
    names = node.input_names()
    composed = node.needs_composition() if node.opset >= 14 else not node.dtype().is_float
    if composed or _stops_at_its_clip(node):
        node.emit("Max", [*names, node.scalar(0)])
    else:
        node.emit("Relu", names)


def _stops_at_its_clip(node: ExportNode[ir.Relu]) -> bool:
    """Return whether onnxruntime (1.32 at least) would not open the file: it makes one Clip of a Relu and a Clip with a
    known lower limit, and fails of all but float32 and float16."""
    if node.dtype() in (DType.FLOAT16, DType.FLOAT32):
        return False
    clips = (user for user in node.node.outputs[0].users() if isinstance(user.op, Clip))
    return any(len(clip.inputs) > 1 and (low := clip.inputs[1]) and low.tensor is not None for clip in clips)


def export_gelu(node: ExportNode[ir.Gelu]) -> None:
    """Write Gelu, which exists from opset 20 on."""
    op = node.op
    exact = op.approximate is ir.Approximation.NONE
    node.emit("Gelu", node.input_names(), approximate=None if exact else op.approximate.value)


def compose_gelu(node: ExportNode[ir.Gelu]) -> None:
    """Compute x / 2 * (1 + erf(x / sqrt(2))), or the approximation by tanh."""
    op = node.op
    x = node.input_names()[0]
    if op.approximate is ir.Approximation.NONE:
        bent = node.step("Erf", [node.step("Mul", [x, node.scalar(math.sqrt(0.5))])])
    else:
        cube = node.step("Mul", [node.step("Mul", [node.step("Mul", [x, x]), x]), node.scalar(0.044715)])
        inner = node.step("Mul", [node.step("Add", [x, cube]), node.scalar(math.sqrt(2 / math.pi))])
        bent = node.step("Tanh", [inner])
    weight = node.step("Add", [bent, node.scalar(1.0)])
    node.emit("Mul", [node.step("Mul", [x, node.scalar(0.5)]), weight])


def compose_swish(node: ExportNode[ir.Swish]) -> None:
    """Compute x * sigmoid(alpha * x) at every opset: Swish exists from 24 on, but onnxruntime 1.31 has no kernel for
    it.

    In float64 x / (1 + exp(-alpha * x)): onnxruntime 1.20 makes one node of the product, for which it lacks a kernel.
    """
    op = node.op
    x = node.input_names()[0]
    if node.dtype() is DType.FLOAT64:
        power = node.step("Exp", [node.step("Mul", [x, node.scalar(-op.alpha)])])
        node.emit("Div", [x, node.step("Add", [power, node.scalar(1.0)])])
        return
    scaled = x if op.alpha == 1 else node.step("Mul", [x, node.scalar(op.alpha)])
    node.emit("Mul", [x, node.step("Sigmoid", [scaled])])


def export_celu(node: ExportNode[ir.Celu]) -> None:
    """Celu knows float32 only before opset 28; other dtypes are max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))."""
    op = node.op
    x = node.input_names()[0]
    if node.opset >= 28 or node.dtype() is DType.FLOAT32:
        node.emit("Celu", [x], alpha=op.alpha if op.alpha != 1 else None)
        return
    alpha, zero = node.scalar(op.alpha), node.scalar(0.0)
    power = node.step("Exp", [node.step("Div", [x, alpha])])
    bent = node.step("Mul", [node.step("Sub", [power, node.scalar(1.0)]), alpha])
    node.emit("Add", [node.step("Max", [x, zero]), node.step("Min", [bent, zero])])


def export_dropout(node: ExportNode[ir.Dropout]) -> None:
    """Write Dropout; noise of another distribution, which acts in training only, is the data as they are."""
    if node.op.noise is ir.Noise.ZEROS:
        node.emit("Dropout", node.input_names(), seed=node.op.seed)
    else:
        node.emit("Identity", node.input_names()[:1])


DIRECT = (ir.Sigmoid, ir.Tanh, ir.Softmax, ir.LogSoftmax, ir.Hardmax)
EXPORTS = table(
    *rows(DIRECT, direct()),
    row(ir.Relu, export_relu),
    row(ir.Celu, export_celu),
    row(ir.Dropout, export_dropout),
    row(ir.Gelu, by_opset({1: compose_gelu, 20: export_gelu})),
    row(ir.Elu, unless_composed(direct(), compose_elu)),
    row(ir.HardSigmoid, unless_composed(direct(), compose_hard_sigmoid)),
    row(ir.HardSwish, by_opset({1: compose_hard_swish, 14: unless_composed(direct(), compose_hard_swish)})),
    row(ir.LeakyRelu, unless_composed(direct(), compose_leaky_relu)),
    row(ir.Mish, by_opset({1: compose_mish, 18: unless_composed(direct(), compose_mish)})),
    row(ir.Selu, unless_composed(direct(), compose_selu)),
    row(ir.Softplus, unless_composed(direct(), lambda node: node.emit("Add", _softplus(node)))),
    row(ir.Softsign, unless_composed(direct(), compose_softsign)),
    row(ir.ThresholdedRelu, unless_composed(direct(), compose_thresholded_relu)),
    row(ir.Swish, compose_swish),
    row(ir.Shrink, direct(since=9)),
)


def import_over_rows(cls: type[Operator]) -> ImportFunction:
    """Softmax and its kin before opset 13: over all axes from `axis` to the last, as if these were one."""

    def import_rows(node: ImportNode) -> None:
        axis, x = node.attribute("axis"), node.input(0)
        wide = _wide_axis(x, axis)
        if wide is not None:
            node.emit(cls(axis=wide), x)
            return
        result = node.step(cls(), node.step(Flatten(axis), x, suffix="rows"))
        known = None if x.shape is None else [size for size in x.shape if isinstance(size, int)]
        shape = node.vector(known) if known and len(known) == x.rank else node.step(Shape(), x)
        node.emit(Reshape(), result, shape)

    return import_rows


def _wide_axis(x: Value, axis: int) -> int | None:
    """Return the one axis from `axis` on that has more than one element; None if there are several or it is open."""
    if x.shape is None:
        return -1 if axis == -1 else None
    first = axis % len(x.shape) if x.shape else 0
    axes = [axis for axis in range(first, len(x.shape)) if x.shape[axis] != 1] or [-1]
    last = len(x.shape) - 1
    return None if len(axes) > 1 else -1 if axes[0] == last else axes[0]


def import_dropout_1(node: ImportNode) -> None:
    """Read Dropout before opset 7, which trains unless `is_test` is set."""
    is_test = node.flag("is_test")
    if not is_test:
        node.decide(
            DecisionKind.DROPOUT, "is_test is not set: elements are dropped at random at every run, as in training"
        )
    _dropout(node, training=not is_test)


def _dropout(node: ImportNode, *, training: bool) -> None:
    """Before opset 10 the mask has the data's dtype."""
    ratio = node.attribute("ratio")
    data = node.input(0)
    operands = (
        data,
        node.constant(ratio, DType.FLOAT32) if training or ratio != 0.5 else None,
        node.constant(True, DType.BOOL) if training else None,
    )
    if node.opset >= 10 or not any(node.output_names[1:]):
        node.emit(ir.Dropout(), *operands)
        return
    names = (node.output_names[0], node.fresh_name(f"{node.name}_mask"))
    dropout = node.graph.add_node(ir.Dropout(), operands, name=node.name, output_names=names)
    node.bind(1, node.cast(dropout.outputs[1], node.dtype(), suffix="mask_cast"))


SOFTMAXES = (ir.Softmax, ir.LogSoftmax, ir.Hardmax)
ALONE = (
    *(ir.Relu, ir.Celu, ir.Gelu, ir.HardSwish, ir.Mish, ir.LeakyRelu, ir.ThresholdedRelu, ir.Elu, ir.Selu),
    *(ir.HardSigmoid, ir.Softplus, ir.Softsign, ir.Sigmoid, ir.Tanh),
)
IMPORTS: ImportTable = {
    **{op.__name__: {1: import_direct(op)} for op in (*ALONE, ir.Swish)},
    **{op.__name__: {1: import_over_rows(op), 13: import_direct(op)} for op in SOFTMAXES},
    "Shrink": {9: import_direct(ir.Shrink)},
    "Dropout": {1: import_dropout_1, 7: partial(_dropout, training=False), 12: import_direct(ir.Dropout)},
}
