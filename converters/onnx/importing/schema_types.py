"""What the onnx package itself says of the types that an operator gives, for operators that the IR has no rule for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.types import type_text
from graphir.converters.onnx.importing.types import TypeReader
from graphir.errors import FormatError
from graphir.files.rows import read_rows
from graphir.types import ANYTHING, DType, MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

_DTYPES = {type_text(TensorType(dtype)): dtype for dtype in DType}


def inferred_types(
    domain: str, op_type: str, opset: int, attributes: Sequence[Any], operands: Sequence[Type | None], results: int
) -> tuple[Type, ...]:
    """Return the types of the results of one node of another domain, as far as onnx or onnxruntime says; else
    `ANYTHING`.

    What onnx refuses to infer is `ANYTHING` too: whether the node is valid is for whoever runs it to say.
    """
    types = _infer_by_schema((op_type, opset, domain), attributes, operands, results)
    rules = _result_rules().get(domain, {}).get(op_type, ())
    return tuple([
        _by_rule(rules[slot], operands) if type_ == ANYTHING and slot < len(rules) else type_
        for slot, type_ in enumerate(types)
    ])


@cache
def _result_rules() -> Mapping[str, Any]:
    """By domain and operator, for each result, the slot of the operand that has its element type, or its only type.
    From `tools/foreign_results.py`."""
    return read_rows(Path(__file__).with_name("foreign_results.json"))


def _by_rule(rule: int | str | None, operands: Sequence[Type | None]) -> Type:
    if isinstance(rule, str):
        return TensorType(_DTYPES.get(rule))
    operand = operands[rule] if rule is not None and rule < len(operands) else None
    return TensorType(operand.dtype) if isinstance(operand, TensorType) else ANYTHING


def _infer_by_schema(
    key: tuple[str, int, str], attributes: Sequence[Any], operands: Sequence[Type | None], results: int
) -> tuple[Type, ...]:
    import onnx
    import onnx.shape_inference

    unknown = (ANYTHING,) * results
    if not onnx.defs.has(*key):
        return unknown
    schema, (op_type, opset, domain) = onnx.defs.get_schema(*key), key
    names = ["" if operand is None else f"operand{slot}" for slot, operand in enumerate(operands)]
    node = onnx.helper.make_node(op_type, names, [f"result{slot}" for slot in range(results)], domain=domain)
    node.attribute.extend(attributes)
    types: dict[str, Any] = {}
    for name, operand in zip(names, operands, strict=True):
        if operand is not None:
            types[name] = type_proto(operand)
    versions = [onnx.helper.make_opsetid(domain, opset)]
    try:
        protos = onnx.shape_inference.infer_node_outputs(schema, node, types, opset_imports=versions)
        return tuple([_read_type(protos, f"result{slot}") for slot in range(results)])
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, FormatError, RuntimeError, ValueError):
        return unknown


def _read_type(protos: Mapping[str, Any], name: str) -> Type:
    proto = protos.get(name)
    return ANYTHING if proto is None else TypeReader(expressions=True).type_of(proto)


def type_proto(type_: Type) -> Any:
    """Return the TypeProto of a type; expressions are the names of dimensions."""
    import onnx

    proto = onnx.TypeProto()
    if isinstance(type_, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_proto(type_.element))
    elif isinstance(type_, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_proto(type_.element))
    elif isinstance(type_, MapType):
        proto.map_type.key_type = CODES[type_.key]
        proto.map_type.value_type.CopyFrom(type_proto(type_.element))
    elif type_ != ANYTHING:
        tensor = proto.sparse_tensor_type if isinstance(type_, SparseTensorType) else proto.tensor_type
        if type_.dtype is not None:
            tensor.elem_type = CODES[type_.dtype]
        if type_.shape is not None:
            tensor.shape.SetInParent()
            for size in type_.shape:
                dim = tensor.shape.dim.add()
                if isinstance(size, int):
                    dim.dim_value = size
                elif str(size) != "?":
                    dim.dim_param = str(size)
    return proto
