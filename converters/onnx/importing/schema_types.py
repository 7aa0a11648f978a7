"""What the onnx package itself says of the types that an operator gives, for operators that the IR has no rule for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.importing.types import TypeReader
from graphir.errors import FormatError
from graphir.types import ANYTHING, OptionalType, SequenceType, SparseTensorType, Type


def inferred_types(
    domain: str, op_type: str, opset: int, attributes: Sequence[Any], operands: Sequence[Type | None], results: int
) -> tuple[Type, ...]:
    """The types of the results of one node of a domain that onnx knows; `ANYTHING` where it does not say.

    What onnx refuses to infer is `ANYTHING` too: whether the
    node is valid is for whoever runs it to say.
    """
    import onnx
    import onnx.shape_inference

    unknown = (ANYTHING,) * results
    if not onnx.defs.has(op_type, opset, domain):
        return unknown
    schema = onnx.defs.get_schema(op_type, opset, domain)
    names = ["" if operand is None else f"operand{slot}" for slot, operand in enumerate(operands)]
    node = onnx.helper.make_node(op_type, names, [f"result{slot}" for slot in range(results)], domain=domain)
    node.attribute.extend(attributes)
    types: dict[str, Any] = {}
    for name, operand in zip(names, operands, strict=True):
        if operand is not None:
            types[name] = type_proto(operand)
    versions = [onnx.helper.make_opsetid(domain, opset)]
    try:
        found = onnx.shape_inference.infer_node_outputs(schema, node, types, opset_imports=versions)
        return tuple([_read(found, f"result{slot}") for slot in range(results)])
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, FormatError, RuntimeError, ValueError):
        return unknown


def _read(found: Mapping[str, Any], name: str) -> Type:
    proto = found.get(name)
    return ANYTHING if proto is None else TypeReader(expressions=True).type_of(proto)


def type_proto(type_: Type) -> Any:
    """The TypeProto of a type; expressions are the names of dimensions."""
    import onnx

    proto = onnx.TypeProto()
    if isinstance(type_, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_proto(type_.element))
    elif isinstance(type_, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_proto(type_.element))
    elif type_ != ANYTHING:
        held = proto.sparse_tensor_type if isinstance(type_, SparseTensorType) else proto.tensor_type
        if type_.dtype is not None:
            held.elem_type = CODES[type_.dtype]
        if type_.shape is not None:
            held.shape.SetInParent()
            for size in type_.shape:
                dim = held.shape.dim.add()
                if isinstance(size, int):
                    dim.dim_value = size
                elif str(size) != "?":
                    dim.dim_param = str(size)
    return proto


__all__ = ["inferred_types", "type_proto"]
