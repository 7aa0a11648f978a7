"""Operators that make tensors out of sizes and numbers."""

from __future__ import annotations

from graphir.converters.onnx.context import ExportNode, ExportTable, direct
from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.import_context import ImportNode, ImportTable
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

def import_constant(node: ImportNode) -> None:
    """Constant, in any of its forms, becomes a parameter."""
    stated = [proto.name for proto in node.attribute_protos()]
    if len(stated) != 1:
        node.refuse(f"it states {', '.join(stated) or 'no value'}, expected exactly one value")
    name = stated[0]
    if name == "value":
        tensor = node.tensor(name)
        assert tensor is not None
    elif name == "sparse_value":
        tensor = node.sparse_tensor(name)
        node.decide("sparse weights", f"made dense: {tensor.type}")
    elif name in CONSTANT_DTYPES:
        tensor = Tensor.of(node.attribute(name), CONSTANT_DTYPES[name])
    else:
        node.refuse(f"it has no attribute {name} at opset {node.opset}")
    node.parameter(0, tensor)


CONSTANT_DTYPES = {
    "value_float": DType.FLOAT32,
    "value_floats": DType.FLOAT32,
    "value_int": DType.INT64,
    "value_ints": DType.INT64,
    "value_string": DType.STRING,
    "value_strings": DType.STRING,
}
IMPORTS: ImportTable = {"Constant": {1: import_constant}}

__all__ = ["EXPORTS", "IMPORTS"]
