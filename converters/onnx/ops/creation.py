"""Operators that make tensors out of sizes and numbers."""

from __future__ import annotations

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import ExportNode, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.decisions import DecisionKind
from graphir.ops.creation import ConstantOfShape, EyeLike, Fill, Range
from graphir.ops.shape import Expand
from graphir.tensor import Tensor
from graphir.types import DType


def export_constant_of_shape(node: ExportNode[ConstantOfShape]) -> None:
    """Write ConstantOfShape; its value is a tensor of one element, float32 zero by default."""
    op = node.op
    value = None if op.dtype is DType.FLOAT32 and op.value == 0 else Tensor.of([op.value], op.dtype)
    node.emit("ConstantOfShape", node.input_names(), value=value)


def export_eye_like(node: ExportNode[EyeLike]) -> None:
    """Write EyeLike."""
    op = node.op
    node.emit("EyeLike", node.input_names(), dtype=None if op.dtype is None else CODES[op.dtype], k=op.k or None)


def export_fill(node: ExportNode[Fill]) -> None:
    """Write Fill, where all sizes are known; sizes that still are not are asked for."""
    shape = node.node.output.shape
    if shape is None or not all(isinstance(size, int) for size in shape):
        node.refuse(f"its sizes are not known: {node.node.output.type}; give the shape of the inputs with -i")
    value = Tensor.of([node.op.value], node.op.dtype)
    node.emit("ConstantOfShape", [node.vector(shape)], value=value)


def export_range(node: ExportNode[Range]) -> None:
    """Write Range; it takes 16-bit floats from opset 27 on, before that they are cast around it."""
    op = node.op
    names, dtype = node.input_names(), node.dtype()
    is_half = dtype in (DType.FLOAT16, DType.BFLOAT16)
    if node.opset >= 27 or not is_half:
        stashes = is_half and op.stash_type is not DType.FLOAT32
        node.emit("Range", names, stash_type=CODES[op.stash_type] if stashes else None)
        return
    if op.stash_type is not DType.FLOAT32:
        node.refuse(f"Range computed in {op.stash_type} exists from opset 27 on, the target is {node.opset}")
    wide = [node.step("Cast", [name], to=CODES[DType.FLOAT32]) for name in names]
    node.emit("Cast", [node.step("Range", wide)], to=CODES[dtype])


EXPORTS = table(
    row(Range, export_range),
    row(ConstantOfShape, export_constant_of_shape),
    row(EyeLike, export_eye_like),
    row(Fill, export_fill),
)


def import_constant(node: ImportNode) -> None:
    """Read Constant, in any of its forms, as a parameter."""
    stated = [proto.name for proto in node.attribute_protos()]
    if len(stated) != 1:
        node.refuse(f"it states {', '.join(stated) or 'no value'}, expected exactly one value")
    name = stated[0]
    if name == "value":
        tensor = node.tensor(name)
        assert tensor is not None
    elif name == "sparse_value":
        tensor = node.sparse_tensor(name)
        node.decide(DecisionKind.SPARSE_WEIGHTS, f"made dense: {tensor.type}")
    elif name in CONSTANT_DTYPES:
        tensor = Tensor.of(node.attribute(name), CONSTANT_DTYPES[name])
    else:
        node.refuse(f"it has no attribute {name} at opset {node.opset}")
    node.parameter(tensor)


CONSTANT_DTYPES = {
    "value_float": DType.FLOAT32,
    "value_floats": DType.FLOAT32,
    "value_int": DType.INT64,
    "value_ints": DType.INT64,
    "value_string": DType.STRING,
    "value_strings": DType.STRING,
}


def import_constant_of_shape(node: ImportNode) -> None:
    """Read ConstantOfShape; a value that a float does not hold exactly is expanded instead."""
    value = node.tensor("value")
    if value is None:
        node.emit(ConstantOfShape(), node.input(0))
        return
    if value.shape not in ((), (1,)):
        node.refuse(f"its value is {value.type}, expected one element")
    number = None if value.dtype is DType.STRING else _exact_float(value)
    if number is None:
        node.emit(Expand(), node.constant(value.numpy().reshape(()), value.dtype), node.input(0))
    else:
        node.emit(ConstantOfShape(number, value.dtype), node.input(0))


def _exact_float(value: Tensor) -> float | None:
    """Return the element as a float, None if that is another number."""
    element = value.numpy().reshape(-1)[0]
    if element.dtype.kind == "c":
        return None
    number = float(element)
    return number if element.dtype.kind not in "iu" or int(number) == int(element) else None


IMPORTS: ImportTable = {
    "Constant": {1: import_constant},
    "ConstantOfShape": {9: import_constant_of_shape},
    "Range": {11: import_direct(Range)},
    "EyeLike": {9: import_direct(EyeLike)},
}
