"""Operators of other domains than ONNX's own: kept as they are, to the byte."""

from __future__ import annotations

import enum
from typing import Any

from graphir.converters.onnx.exporting.context import ExportNode, row, table
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS, SerializedAttribute
from graphir.converters.onnx.importing import attributes as import_attributes
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.schema_types import inferred_types
from graphir.decisions import DecisionKind
from graphir.ops.base import Operator
from graphir.ops.foreign import Foreign
from graphir.plugins import own_operator


def import_foreign(node: ImportNode) -> None:
    """Any operator; attributes that are not plain are kept as the bytes of their AttributeProto.

    Of the domains that the onnx package knows, it says what types the results have.
    """
    items = tuple((proto.name, _attribute_value(node, proto)) for proto in node.attribute_protos())
    absent = tuple(index for index, name in enumerate(node.output_names) if not name)
    op = Foreign(node.domain, node.op, items, len(node.output_names), absent, node.is_unnamed)
    results = node.emit_all(op, *node.inputs)
    types = inferred_types(
        node.domain,
        node.op,
        node.opset,
        node.attribute_protos(),
        [None if value is None else value.type for value in node.inputs],
        op.output_count,
    )
    for value, type_ in zip(results, types, strict=True):
        value.graph.retype(value, type_, type_)


def import_own(node: ImportNode) -> None:
    """An operator of a plugin's domain, as its class: the attributes are its fields."""
    operator = own_operator(node.op, node.domain)
    assert operator is not None
    stated = {proto.name: _attribute_value(node, proto) for proto in node.attribute_protos()}
    node.decide(DecisionKind.PLUGIN, f"{node.op} of the domain {node.domain} is the operator of {operator.plugin}")
    node.emit_all(operator.cls(**stated), *node.inputs)


def export_own(node: ExportNode[Operator]) -> None:
    """An operator of a plugin, in its own domain: the fields that are not unset are attributes."""
    fields = {name: _plain(getattr(node.op, name)) for name in node.op.field_names}
    attributes = {name: value for name, value in fields.items() if value is not None}
    node.emit_as_is(node.op.domain, node.op.name, (), attributes, name=node.node.name)


def _plain(value: Any) -> Any:
    """Return a field as an attribute of ONNX, which has no bool and no enums."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bool):
        return int(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _attribute_value(node: ImportNode, proto: Any) -> object:
    if proto.HasField("g") or proto.graphs:
        captured = node.captured(proto)
        if captured:
            node.refuse(f"its subgraph {proto.name} uses values from around it: {', '.join(captured)}")
    data = bytes(proto.SerializeToString(deterministic=True))
    if proto.type not in (1, 2, 3, 6, 7, 8) or proto.doc_string or proto.ref_attr_name:
        return data
    value = import_attributes.plain(proto)
    copy = type(proto)(name=proto.name, type=proto.type)
    field = import_attributes.FIELDS[proto.type]
    try:
        if isinstance(value, tuple):
            getattr(copy, field).extend([item.encode() if isinstance(item, str) else item for item in value])
        else:
            setattr(copy, field, value.encode() if isinstance(value, str) else value)
    except UnicodeEncodeError:
        return data
    return value if value != () and copy.SerializeToString(deterministic=True) == data else data


def export_foreign(node: ExportNode[Foreign]) -> None:
    """The operator as it came. Refuses graphs inside it whose operators mean something else at the target's opset."""
    op = node.op
    changed = _changed_operators(op, node.source_opset(), node.opset)
    if changed:
        node.refuse(
            f"it holds a graph with {', '.join(changed)}, which mean something else at opset {node.opset}; "
            f"write it at its own, {node.source_opset()}"
        )
    attributes = {
        name: SerializedAttribute(value) if isinstance(value, bytes) else value for name, value in op.attribute_items
    }
    name = "" if op.unnamed else node.node.name
    node.emit_as_is(op.foreign_domain, op.operator_name, op.absent_results, attributes, name=name)


def _changed_operators(op: Foreign, source: int | None, target: int) -> list[str]:
    """ONNX's operators in the graphs that an operator holds which the import reads in another way at the target."""
    import onnx

    if source is None or source == target:
        return []
    encoded = [value for _, value in op.attribute_items if isinstance(value, bytes)]
    operators: set[str] = set()
    pending = [onnx.AttributeProto.FromString(data) for data in encoded]
    while pending:
        attribute = pending.pop()
        for inner in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
            for node in inner.node:
                pending.extend(node.attribute)
                if node.domain in DEFAULT_DOMAINS and not _means_the_same(node, source, target):
                    operators.add(node.op_type)
    return sorted(operators)


def _means_the_same(node: Any, source: int, target: int) -> bool:
    from graphir.converters.onnx.ops import import_table

    known = import_attributes.schema_kinds(node.op_type, target)
    exists = import_attributes.schema_defaults(node.op_type, target) is not None
    versions = import_table().get(node.op_type, {})
    read_as = [max((since for since in versions if since <= opset), default=0) for opset in (source, target)]
    return exists and read_as[0] == read_as[1] and all(attribute.name in known for attribute in node.attribute)


EXPORTS = table(row(Foreign, export_foreign))
IMPORTS: ImportTable = {}
