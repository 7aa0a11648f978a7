"""Attention and what stands beside it in language models."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, table
from graphir.converters.onnx.importing.context import ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import attention as ir
from graphir.types import DType


def export_attention(node: ExportNode[ir.Attention]) -> None:
    """Write Attention. Operands and windows that came with a later opset than the target's are refused."""
    op = node.op
    node.demand(23, "Attention exists")
    node.demand(24, "Attention with nonpad_kv_seqlen exists", when=node.optional(6) is not None)
    node.demand(25, "Attention in a window exists", when=(op.left_window_size, op.right_window_size) != (-1, -1))
    node.emit("Attention", node.input_names(), **{name: onnx_value(value) for name, value in op.attributes().items()})


def export_swiglu(node: ExportNode[ir.SwiGLU]) -> None:
    """Write SwiGLU; before opset 28 what it stands for, in float64 as `compose_swish` has it."""
    op = node.op
    gate, value = node.input_names()
    if node.opset >= 28:
        node.emit("SwiGLU", [gate, value], alpha=None if op.alpha == 1.0 else op.alpha)
        return
    if node.dtype() is DType.FLOAT64:
        power = node.step("Exp", [node.step("Mul", [gate, node.scalar(-op.alpha)])])
        swish = node.step("Div", [gate, node.step("Add", [power, node.scalar(1.0)])], suffix="swish")
    else:
        scaled = gate if op.alpha == 1.0 else node.step("Mul", [gate, node.scalar(op.alpha)], suffix="scaled")
        swish = node.step("Mul", [gate, node.step("Sigmoid", [scaled])], suffix="swish")
    node.emit("Mul", [swish, value])


def export_causal_conv(node: ExportNode[ir.CausalConvWithState]) -> None:
    """Write CausalConvWithState; before opset 27 a Conv over the past state (or zeros) and X."""
    op = node.op
    names = node.input_names()
    if node.opset >= 27:
        node.emit("CausalConvWithState", names, **{key: onnx_value(value) for key, value in op.attributes().items()})
        return
    weight = node.optional(1)
    if weight is None or weight.shape is None or not all(isinstance(size, int) for size in weight.shape):
        node.refuse(f"without the weight's shape it can be said from opset 27 on only, the target is {node.opset}")
    channels, _, width = weight.shape
    x, bias = names[0], names[2] if len(names) > 2 else ""
    if len(names) > 3:
        whole = node.step("Concat", [names[3], x], axis=2)
    else:
        whole = node.step("Pad", [x, node.vector((0, 0, width - 1, 0, 0, 0))])
    operands = [whole, names[1], *([bias] if bias else [])]
    if op.activation is ir.ConvActivation.NONE:
        node.emit_result(0, "Conv", operands, group=channels)
    else:
        summed = node.step("Conv", operands, group=channels)
        node.emit_result(0, "Mul", [summed, node.step("Sigmoid", [summed])])
    start = node.vector((1 - width,)) if width > 1 else node.vector((2**31 - 1,))
    node.emit_result(1, "Slice", [whole, start, node.vector((2**31 - 1,)), node.vector((2,))])


EXPORTS = table(
    row(ir.Attention, export_attention),
    row(ir.RotaryEmbedding, direct(since=23)),
    row(ir.TensorScatter, direct(since=24)),
    row(ir.LinearAttention, direct(since=27)),
    row(ir.CausalConvWithState, export_causal_conv),
    row(ir.SwiGLU, export_swiglu),
)

IMPORTS: ImportTable = {
    **direct_rows(ir.Attention, ir.RotaryEmbedding, since=23),
    "TensorScatter": {24: import_direct(ir.TensorScatter)},
    **direct_rows(ir.LinearAttention, ir.CausalConvWithState, since=27),
    "SwiGLU": {28: import_direct(ir.SwiGLU)},
}
