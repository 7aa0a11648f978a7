"""Quantized tensors. Each opset since 10 has brought further dtypes and forms of scales."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, table
from graphir.converters.onnx.importing.context import ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import quantization as ir
from graphir.types import DType

# The opset from which a dtype can be quantized to and from.
SINCE = {
    DType.INT8: 10,
    DType.UINT8: 10,
    DType.INT32: 10,
    DType.FLOAT8E4M3FN: 19,
    DType.FLOAT8E4M3FNUZ: 19,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 19,
    DType.INT16: 21,
    DType.UINT16: 21,
    DType.INT4: 21,
    DType.UINT4: 21,
    DType.FLOAT4E2M1: 23,
    DType.INT2: 25,
    DType.UINT2: 25,
}


def _check(
    node: ExportNode[ir.QuantizeLinear | ir.DequantizeLinear], quantized: DType | None, real: DType | None
) -> None:
    """Refuse what the target's version has no form for."""
    since = 10 if quantized is None else SINCE.get(quantized, 10)
    node.demand(since, f"{node.op.name} of {quantized} exists")
    node.demand(19, f"{node.op.name} with a scale of {real} exists", when=real in (DType.FLOAT16, DType.BFLOAT16))
    node.demand(21, f"{node.op.name} in blocks exists", when=bool(node.op.block_size))


def export_quantize(node: ExportNode[ir.QuantizeLinear]) -> None:
    """Write QuantizeLinear. Before opset 21 the zero point alone says which dtype comes out."""
    op = node.op
    x, scale, zero = (node.optional(slot) for slot in range(3))
    assert x is not None
    assert scale is not None
    _check(node, node.node.outputs[0].dtype, scale.dtype)
    names = node.input_names()
    output_dtype = op.output_dtype
    if node.opset < 21 and output_dtype is not None:
        if zero is None and output_dtype is not DType.UINT8:
            if scale.rank != 0:
                like = node.step("Shape", [names[1]])
                zeros = node.constant([0], output_dtype, "zero_point")
                names.append(node.step("Expand", [zeros, like]))
            else:
                names.append(node.constant(0, output_dtype, "zero_point"))
        output_dtype = None
    if node.opset < 23:
        node.demand(23, "the precision of a quantization is stated", when=op.precision not in (None, scale.dtype))
        is_other = x.dtype is not scale.dtype and x.dtype is not DType.INT32
        node.demand(23, "a scale of another dtype than x exists", when=is_other)
    node.emit(
        "QuantizeLinear",
        names,
        axis=None if op.axis == 1 else op.axis,
        block_size=op.block_size or None,
        output_dtype=None if output_dtype is None else onnx_value(output_dtype),
        precision=None if op.precision is None or node.opset < 23 else onnx_value(op.precision),
        saturate=None if op.saturate or node.opset < 19 else 0,
    )


def export_dequantize(node: ExportNode[ir.DequantizeLinear]) -> None:
    """Write DequantizeLinear. The zero point of int8 weights belongs to them alone.

    On processors without VNNI onnxruntime can make uint8 of int8 weights, whose products are exact, but not where two
    weights share a zero point.
    """
    op = node.op
    x, scale, zero = (node.optional(slot) for slot in range(3))
    names = node.input_names()
    if x is not None and x.tensor is not None and zero is not None and zero.tensor is not None:
        names[2] = node.own_constant(zero.tensor, "zero_point")
    assert x is not None
    assert scale is not None
    _check(node, x.dtype, scale.dtype)
    output_dtype = op.output_dtype
    if node.opset < 23:
        is_other = output_dtype not in (None, scale.dtype)
        node.demand(23, "a result of another dtype than the scale exists", when=is_other)
        output_dtype = None
    node.emit(
        "DequantizeLinear",
        names,
        axis=None if op.axis == 1 else op.axis,
        block_size=op.block_size or None,
        output_dtype=None if output_dtype is None else onnx_value(output_dtype),
    )


def export_qlinear_matmul(node: ExportNode[ir.QLinearMatMul]) -> None:
    """Write QLinearMatMul, whose scales are float32 before opset 21."""
    scale = node.dtype(1)
    node.demand(21, f"QLinearMatMul with a scale of {scale} exists", when=scale is not DType.FLOAT32)
    node.emit("QLinearMatMul", node.input_names())


EXPORTS = table(
    row(ir.QuantizeLinear, export_quantize),
    row(ir.DequantizeLinear, export_dequantize),
    row(ir.DynamicQuantizeLinear, direct(since=11)),
    row(ir.QLinearConv, direct(since=10)),
    row(ir.ConvInteger, direct(since=10)),
    row(ir.QLinearMatMul, export_qlinear_matmul),
)

IMPORTS: ImportTable = {
    **direct_rows(ir.QuantizeLinear, ir.DequantizeLinear, ir.QLinearConv, ir.ConvInteger, ir.QLinearMatMul, since=10),
    "DynamicQuantizeLinear": {11: import_direct(ir.DynamicQuantizeLinear)},
}
