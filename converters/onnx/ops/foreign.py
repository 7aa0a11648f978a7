"""Operators of other domains than ONNX's own: kept as they are, to the byte."""

from __future__ import annotations

from typing import Any

from graphir.converters.onnx import import_attributes
from graphir.converters.onnx.context import ExportNode, ExportTable, SerializedAttribute
from graphir.converters.onnx.import_context import ImportNode, ImportTable
from graphir.converters.onnx.schema_types import inferred_types
from graphir.ops.foreign import Foreign


def import_foreign(node: ImportNode) -> None:
    """Any operator; attributes that are not plain are kept as the bytes of their AttributeProto.

    Of the domains that the onnx package knows, it says what types the results have.
    """
    items = tuple((proto.name, _held(node, proto)) for proto in node.attribute_protos())
    absent = tuple(index for index, name in enumerate(node.output_names) if not name)
    op = Foreign(node.domain, node.op_type, items, len(node.output_names), absent, node.is_unnamed)
    made = node.emit(op, *node.inputs)
    types = inferred_types(
        node.domain,
        node.op_type,
        node.opset,
        node.attribute_protos(),
        [None if value is None else value.type for value in node.inputs],
        op.output_count,
    )
    for value, type_ in zip(made.outputs, types, strict=True):
        value.declared = value.type = type_


def _held(node: ImportNode, proto: Any) -> object:
    if proto.HasField("g") or proto.graphs:
        captured = node.captured(proto)
        if captured:
            node.refuse(f"its subgraph {proto.name} uses values from around it: {', '.join(captured)}")
    data = bytes(proto.SerializeToString(deterministic=True))
    if proto.type not in (1, 2, 3, 6, 7, 8) or proto.doc_string or proto.ref_attr_name:
        return data
    value = import_attributes.plain(proto)
    again = type(proto)(name=proto.name, type=proto.type)
    field = import_attributes.FIELDS[proto.type]
    try:
        if isinstance(value, tuple):
            getattr(again, field).extend([item.encode() if isinstance(item, str) else item for item in value])
        else:
            setattr(again, field, value.encode() if isinstance(value, str) else value)
    except UnicodeEncodeError:
        return data
    return value if value != () and again.SerializeToString(deterministic=True) == data else data


def export_foreign(node: ExportNode) -> None:
    """The operator as it came."""
    op: Foreign = node.op
    attributes = {
        name: SerializedAttribute(value) if isinstance(value, bytes) else value for name, value in op.attribute_items
    }
    name = "" if op.unnamed else node.node.name
    node.emit_as_is(op.foreign_domain, op.operator_name, op.absent_results, attributes, name=name)


EXPORTS: ExportTable = {Foreign: export_foreign}
IMPORTS: ImportTable = {}

__all__ = ["EXPORTS", "IMPORTS", "export_foreign", "import_foreign"]
