"""Sequences and optional values."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.graph import Value
from graphir.ops import sequence as ir
from graphir.tensor import Tensor
from graphir.types import ANYTHING, DType, OptionalType, SequenceType, Type


def import_sequence_map(node: ImportNode) -> None:
    """Read SequenceMap: the body's inputs have the types of one element each, its results make sequences."""
    operands = [node.input(slot) for slot in range(len(node.inputs))]
    body = node.subgraph("body", [_one(value) for value in operands])
    if len(body.inputs) != len(operands):
        node.refuse(f"its body takes {len(body.inputs)} values, but there are {len(operands)} operands")
    node.emit(ir.SequenceMap(len(body.outputs)), *operands, subgraphs=[body])


def _one(value: Value) -> Type:
    return value.type.element if isinstance(value.type, SequenceType) else value.type


def export_sequence_map(node: ExportNode[ir.SequenceMap]) -> None:
    """Write SequenceMap."""
    if node.opset < 17:
        node.refuse(f"SequenceMap exists from opset 17 on, the target is {node.opset}")
    node.emit("SequenceMap", node.input_names(), every_output=True, body=node.subgraph(0))


def import_optional(node: ImportNode) -> None:
    """Read Optional."""
    stated = node.type_attribute("type") if node.has("type") else None
    node.emit(ir.Optional(stated), node.optional(0))


def export_optional(node: ExportNode[ir.Optional]) -> None:
    """Write Optional."""
    if node.opset < 15:
        node.refuse(f"optional values exist from opset 15 on, the target is {node.opset}")
    node.emit("Optional", node.input_names(), type=node.op.type)


def export_optional_get_element(node: ExportNode[ir.OptionalGetElement]) -> None:
    """Write OptionalGetElement; what is no optional passes through, which before opset 18 an Identity says."""
    value = node.optional(0)
    assert value is not None
    certain = value.type != ANYTHING and not isinstance(value.type, OptionalType)
    if node.opset < 18 and certain:
        node.emit("Identity", node.input_names())
    elif node.opset < 15:
        node.refuse(f"optional values exist from opset 15 on, the target is {node.opset}")
    else:
        node.emit("OptionalGetElement", node.input_names())


def export_optional_has_element(node: ExportNode[ir.OptionalHasElement]) -> None:
    """Write OptionalHasElement; before opset 18 its operand must be an optional, otherwise the answer is a constant."""
    value = node.optional(0)
    certain = value is None or (value.type != ANYTHING and not isinstance(value.type, OptionalType))
    if node.opset < 18 and certain:
        node.emit("Constant", (), value=Tensor.of(value is not None, DType.BOOL))
    elif node.opset < 15:
        node.refuse(f"optional values exist from opset 15 on, the target is {node.opset}")
    else:
        node.emit("OptionalHasElement", node.input_names())


EXPORTS = table(
    row(ir.SequenceConstruct, direct(since=11)),
    row(ir.SequenceEmpty, lambda node: node.emit("SequenceEmpty", (), dtype=onnx_value(node.op.dtype))),
    row(ir.SequenceAt, direct(since=11)),
    row(ir.SequenceInsert, direct(since=11)),
    row(ir.SequenceErase, direct(since=11)),
    row(ir.SequenceLength, direct(since=11)),
    row(ir.ConcatFromSequence, direct(since=11)),
    row(ir.SplitToSequence, direct(since=11)),
    row(ir.SequenceMap, export_sequence_map),
    row(ir.Optional, export_optional),
    row(ir.OptionalGetElement, export_optional_get_element),
    row(ir.OptionalHasElement, export_optional_has_element),
)

IMPORTS: ImportTable = {
    "SequenceConstruct": {11: import_direct(ir.SequenceConstruct)},
    "SequenceEmpty": {11: import_direct(ir.SequenceEmpty)},
    "SequenceAt": {11: import_direct(ir.SequenceAt)},
    "SequenceInsert": {11: import_direct(ir.SequenceInsert)},
    "SequenceErase": {11: import_direct(ir.SequenceErase)},
    "SequenceLength": {11: import_direct(ir.SequenceLength)},
    "ConcatFromSequence": {11: import_direct(ir.ConcatFromSequence)},
    "SplitToSequence": {11: import_direct(ir.SplitToSequence)},
    "SequenceMap": {17: import_sequence_map},
    "Optional": {15: import_optional},
    "OptionalGetElement": {15: import_direct(ir.OptionalGetElement)},
    "OptionalHasElement": {15: import_direct(ir.OptionalHasElement)},
}
