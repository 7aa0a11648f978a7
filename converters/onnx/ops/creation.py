"""Operators that make tensors out of sizes and numbers."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable, direct
from graphir.converters.onnx.dtypes import CODES
from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.tensor import Tensor
from graphir.types import DType


def export_constant_of_shape(node: ExportNode) -> None:
    """ConstantOfShape; its value is a tensor of one element, float32 zero by default."""
    op: ConstantOfShape = node.op
    value = None if op.dtype is DType.FLOAT32 and op.value == 0 else Tensor.of([op.value], op.dtype)
    node.emit("ConstantOfShape", node.input_names(), value=value)


def export_eye_like(node: ExportNode) -> None:
    """EyeLike."""
    op: EyeLike = node.op
    node.emit("EyeLike", node.input_names(), dtype=None if op.dtype is None else CODES[op.dtype], k=op.k or None)


def export_fill(node: ExportNode) -> None:
    """Fill, where all sizes are known; sizes that still are not are asked for."""
    shape = node.node.output.shape
    if shape is None or not all(isinstance(size, int) for size in shape):
        node.refuse(f"its sizes are not known: {node.node.output.type}; give the shape of the inputs with -i")
    value = Tensor.of([node.op.value], node.op.dtype)
    node.emit("ConstantOfShape", [node.vector(shape)], value=value)


EXPORTS: ExportTable = {
    Range: direct(),
    ConstantOfShape: export_constant_of_shape,
    EyeLike: export_eye_like,
    Fill: export_fill,
}

__all__ = ["EXPORTS"]
