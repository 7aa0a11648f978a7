"""Which types ONNX's operators take at an opset: an export that another opset would refuse is refused here, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.onnx.dtypes import BY_CODE
from graphir.converters.onnx.exporting.signatures import Formal, newest_opset, signature
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS, OnnxNode
from graphir.runtime.kernels import releases
from graphir.tensor import Tensor
from graphir.types import DType, MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

# The few dtypes that ONNX's type constraints call by another name than the IR.
_NAMES = {DType.FLOAT32: "float", DType.FLOAT64: "double"}


def type_text(type_: Type | None) -> str:
    """Return a type as ONNX's type constraints write it; "" if the element type is unknown."""
    if isinstance(type_, TensorType):
        return "" if type_.dtype is None else _TENSORS[type_.dtype]
    if isinstance(type_, SequenceType | OptionalType):
        inner = type_text(type_.element)
        word = "seq" if isinstance(type_, SequenceType) else "optional"
        return f"{word}({inner})" if inner else ""
    if isinstance(type_, MapType):
        inner = type_text(type_.element)
        return f"map({dtype_text(type_.key)},{inner})" if inner else ""
    if type_ is None or isinstance(type_, SparseTensorType) or type_.dtype is None:
        return ""
    return _TENSORS[type_.dtype]


def dtype_text(dtype: DType) -> str:
    """Return a dtype as ONNX's type constraints write it."""
    return _NAMES.get(dtype, dtype.value)


_TENSORS = {dtype: f"tensor({dtype_text(dtype)})" for dtype in DType}


def types_of(
    nodes: Iterable[OnnxNode], known: Mapping[str, str], opset: int, *, checked: bool = True, casts: bool = False
) -> dict[str, str]:
    """Return the types, as texts, of what these nodes in order get and give.

    `known` holds the types of values from elsewhere; those of values between the nodes follow from the operators'
    signatures where they do. Raises Refusal, if `checked`, for the first node that has not such a type at the opset;
    with `casts` not for types that only an opset takes which the oldest onnxruntime does not open: casts may do.
    """
    mendable = releases()[0].opset if casts else newest_opset()
    types = dict(known)
    for node in nodes:
        schema = signature(node.op_type, opset) if node.domain in DEFAULT_DOMAINS else None
        if schema is None:
            continue
        bound: dict[str, str] = {}
        for formal, name in matched(schema.inputs, node.inputs):
            text = types.get(name, "")
            if checked:
                _check(node, formal, text, opset, mendable)
            if text and formal.variable:
                bound[formal.variable] = text
        for formal, name in matched(schema.outputs, node.outputs):
            text = types.get(name) or _result(node, formal, bound)
            if checked:
                _check(node, formal, text, opset, mendable)
            types[name] = text
    return types


def matched(formals: Sequence[Formal], names: Sequence[str]) -> list[tuple[Formal, str]]:
    """Return the operands or results of a node that are there, each with what the signature says of it."""
    return [(formals[min(slot, len(formals) - 1)], name) for slot, name in enumerate(names) if name and formals]


def _result(node: OnnxNode, formal: Formal, bound: Mapping[str, str]) -> str:
    if len(formal.types) == 1:
        return next(iter(formal.types))
    if node.op_type == "Cast":
        return _type_of_code(node.attributes.get("to"))
    if "dtype" in node.attributes:
        return _type_of_code(node.attributes["dtype"])
    if node.op_type == "ConstantOfShape":
        value = node.attributes.get("value")
        return type_text(value.type) if isinstance(value, Tensor) else "tensor(float)"
    return bound.get(formal.variable, "")


def _type_of_code(code: object) -> str:
    return f"tensor({dtype_text(BY_CODE[code])})" if isinstance(code, int) and code in BY_CODE else ""


def _check(node: OnnxNode, formal: Formal, text: str, opset: int, mendable: int) -> None:
    if text and text not in formal.types:
        since = _first_that_takes(node.op_type, formal.name, text, opset)
        if since > mendable:
            return
        later = f"; from opset {since} on it does" if since else ""
        raise Refusal(f"ONNX's {node.op_type} has no {text} as {formal.name} at opset {opset}{later}")


def _first_that_takes(op_type: str, name: str, text: str, opset: int) -> int:
    """Return the first newer opset at which the operand or result may have the type; 0 if none."""
    for newer in range(opset + 1, newest_opset() + 1):
        schema = signature(op_type, newer)
        formals = () if schema is None else (*schema.inputs, *schema.outputs)
        if any(formal.name == name and text in formal.types for formal in formals):
            return newer
    return 0
