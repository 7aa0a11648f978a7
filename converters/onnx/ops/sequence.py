"""Sequences and optional values."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable, direct_rows
from graphir.graph import Value
from graphir.ops import sequence as ir
from graphir.ops.base import Operator
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
    node.demand(17, "SequenceMap exists")
    node.emit("SequenceMap", node.input_names(), every_output=True, body=node.subgraph(0))


def import_optional(node: ImportNode) -> None:
    """Read Optional."""
    stated = node.type_attribute("type") if node.has("type") else None
    node.emit(ir.Optional(stated), node.optional(0))


def export_optional(node: ExportNode[ir.Optional]) -> None:
    """Write Optional."""
    node.demand(15, "optional values exist")
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


SEQUENCES: tuple[type[Operator], ...] = (
    *(ir.SequenceConstruct, ir.SequenceAt, ir.SequenceInsert, ir.SequenceErase, ir.SequenceLength),
    *(ir.ConcatFromSequence, ir.SplitToSequence),
)
EXPORTS = table(
    *rows(SEQUENCES, direct(since=11)),
    row(ir.SequenceEmpty, lambda node: node.emit("SequenceEmpty", (), dtype=onnx_value(node.op.dtype))),
    row(ir.SequenceMap, export_sequence_map),
    row(ir.Optional, export_optional),
    row(ir.OptionalGetElement, export_optional_get_element),
    row(ir.OptionalHasElement, export_optional_has_element),
)

IMPORTS: ImportTable = {
    **direct_rows(ir.SequenceEmpty, *SEQUENCES, since=11),
    "SequenceMap": {17: import_sequence_map},
    "Optional": {15: import_optional},
    **direct_rows(ir.OptionalGetElement, ir.OptionalHasElement, since=15),
}
