"""Attributes of ONNX nodes as plain values, and as the typed fields of operator classes."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.onnx.dtypes import BY_CODE
from graphir.ops.base import Operator
from graphir.padding import Explicit, Padding, Same, SameMode
from graphir.types import DType

# onnx.proto, AttributeProto.AttributeType, and the field that holds a value of each.
FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings", 9: "tensors", 10: "graphs"}
FIELDS |= {11: "sparse_tensor", 12: "sparse_tensors", 13: "tp", 14: "type_protos"}
_SHOWN = frozenset({1, 2, 3, 6, 7, 8})
_WHOLE = {1: 2, 6: 7}  # float and int, floats and ints


def plain(proto: Any) -> Any:
    """Return the value of an AttributeProto: int, float, str, a tuple of these, or the proto inside it. Raises Refusal.

    Text that is no UTF-8 keeps its odd bytes as surrogates. Files of the first version state no type.
    """
    kind = proto.type or _kind_of(proto)
    field = FIELDS.get(kind)
    if field is None or proto.ref_attr_name:
        raise Refusal(f"attribute {proto.name} has the unknown type {kind} (or refers to an attribute of a function)")
    value = getattr(proto, field)
    if field == "s":
        return _text(value)
    if field == "strings":
        return tuple(_text(item) for item in value)
    return tuple(value) if field in ("floats", "ints", "tensors", "graphs", "sparse_tensors", "type_protos") else value


def stated(node: Any) -> dict[str, Any]:
    """Return the attributes of a NodeProto by name: plain ones as they are, of others the field that holds them."""
    return {
        proto.name: plain(proto) if proto.type in _SHOWN and not proto.ref_attr_name else FIELDS.get(proto.type, "?")
        for proto in node.attribute
    }


def _kind_of(proto: Any) -> int:
    filled = [kind for kind, field in FIELDS.items() if any(stated.name == field for stated, _ in proto.ListFields())]
    return filled[0] if len(filled) == 1 else 0


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


@cache
def schema_defaults(op_type: str, opset: int) -> dict[str, Any] | None:
    """Return the attributes that ONNX has for a default-domain operator at an opset, with their defaults (None: without
    one).

    None if the operator does not exist at that opset.
    """
    import onnx.defs

    if not onnx.defs.has(op_type, opset):
        return None
    schema = onnx.defs.get_schema(op_type, opset, "")
    defaults = {}
    for name, attribute in schema.attributes.items():
        has_default = bool(attribute.default_value.name)
        defaults[name] = plain(attribute.default_value) if has_default else None
    return defaults


@cache
def schema_kinds(op_type: str, opset: int) -> dict[str, int]:
    """Return the AttributeProto types of the attributes that ONNX has for a default-domain operator at an opset."""
    import onnx.defs

    if not onnx.defs.has(op_type, opset):
        return {}
    schema = onnx.defs.get_schema(op_type, opset, "")
    kinds: dict[str, Any] = {name: attribute.type for name, attribute in schema.attributes.items()}
    return {name: int(kind) for name, kind in kinds.items()}


def check_kind(proto: Any, expected: int | None) -> None:
    """Raise Refusal for an AttributeProto of another type than ONNX wants; whole numbers are numbers too."""
    kind = proto.type or _kind_of(proto)
    if expected is None or kind in (expected, _WHOLE.get(expected)):
        return
    raise Refusal(f"attribute {proto.name} is stated as {FIELDS.get(kind, kind)}, expected {FIELDS[expected]}")


def dtype_of(code: int, name: str) -> DType | None:
    """Return the dtype of one of ONNX's numbers; 0 stands for none. Raises Refusal."""
    if code and code not in BY_CODE:
        raise Refusal(f"{name} is {code}, which is no element type of ONNX")
    return BY_CODE.get(code)


def enum_of(cls: type[enum.Enum], value: Any, name: str) -> Any:
    """Return the member with this value, letters' case aside. Raises Refusal listing all members."""
    for member in cls:
        if member.value == value or str(member.value).lower() == str(value).lower():
            return member
    raise Refusal(f"{name} is {value!r}, expected one of {', '.join(str(member.value) for member in cls)}")


def padding_of(auto_pad: str, pads: tuple[int, ...]) -> Padding:
    """Return the padding in ONNX's order (all begins, then all ends) or its policy. Raises Refusal.

    >>> padding_of("NOTSET", (1, 3, 2, 4))
    Explicit(pads=((1, 2), (3, 4)))
    """
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return Same(SameMode.UPPER if auto_pad == "SAME_UPPER" else SameMode.LOWER)
    if auto_pad not in ("NOTSET", "VALID", ""):
        raise Refusal(f"auto_pad is {auto_pad!r}, expected NOTSET, SAME_UPPER, SAME_LOWER or VALID")
    if auto_pad == "VALID" or not pads:
        return Explicit()
    if len(pads) % 2:
        raise Refusal(f"pads has {len(pads)} entries, expected a begin and an end for each spatial axis")
    rank = len(pads) // 2
    return Explicit(tuple(zip(pads[:rank], pads[rank:], strict=True)))


Reader = Callable[[str, Any], Any]


def _reader(annotation: Any) -> Reader | None:
    """Return what turns an attribute's plain value into a field of this annotation; None for annotations without
    such."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not types.NoneType]
        if members == [DType]:
            return lambda name, value: dtype_of(_scalar(name, value, int), name)
        return _reader(members[0]) if len(members) == 1 else None
    if typing.get_origin(annotation) is tuple:
        item = typing.get_args(annotation)[0]
        return (lambda name, value: _sequence(name, value, item)) if item in (int, float, str) else None
    if annotation is bool:
        return to_flag
    if annotation in (int, float, str):
        return lambda name, value: _scalar(name, value, annotation)
    if annotation is DType:
        return _stated_dtype
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return lambda name, value: enum_of(annotation, value, name)
    return None


def to_flag(name: str, value: Any) -> bool:
    """Return what an attribute that is 0 or 1 says. Raise Refusal for another number: runtimes take it for either."""
    if _scalar(name, value, int) not in (0, 1):
        raise Refusal(f"attribute {name} is {value!r}, expected 0 or 1")
    return bool(value)


def _stated_dtype(name: str, value: Any) -> DType:
    dtype = dtype_of(_scalar(name, value, int), name)
    if dtype is None:
        raise Refusal(f"{name} is 0, which stands for no element type")
    return dtype


def _scalar(name: str, value: Any, kind: type) -> Any:
    if type(value) is int and kind is float:
        return float(value)
    if type(value) is not kind:
        raise Refusal(f"attribute {name} is {value!r}, expected {kind.__name__}")
    return value


def _sequence(name: str, value: Any, item: type) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        raise Refusal(f"attribute {name} is {value!r}, expected a list of {item.__name__}")
    return tuple(_scalar(name, entry, item) for entry in value)


class Fields(NamedTuple):
    """The fields of an operator class as attributes fill them: what reads each, those without a default, and whether
    there is a `padding`, which ONNX says as `pads` and `auto_pad`."""

    readers: dict[str, Reader]
    required: tuple[str, ...]
    padded: bool


def fields_of(cls: type[Operator]) -> Fields:
    """Return the fields of an operator class, found out once."""
    fields = _fields.get(cls)
    if fields is None:
        fields = _fields[cls] = _make_fields(cls)
    return fields


_fields: dict[type[Operator], Fields] = {}


def _make_fields(cls: type[Operator]) -> Fields:
    hints = typing.get_type_hints(cls)
    readers = {}
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    for field in fields:
        reader = _reader(hints[field.name])
        if reader is not None and field.name != "same_shape":
            readers[field.name] = reader
    required = tuple(field.name for field in fields if field.default is dataclasses.MISSING)
    return Fields(readers, required, "padding" in hints)
