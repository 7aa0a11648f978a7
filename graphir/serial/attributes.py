"""Operators' attributes as JSON, after the annotations of their fields.

`fields_of` makes one codec for each field of an operator class, once. What an annotation cannot say is a GraphError
then, so that an operator with such a field fails in a test and not in somebody's file.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from typing import Any, NamedTuple

from graphir.errors import GraphError
from graphir.ops.base import Operator

from .codecs import ANYTHING, SCALARS, Codec, GetTensor, PutTensor
from .notation import BadDocument, Json, Unencodable, items, kind


class Field(NamedTuple):
    """One attribute: its name, its codec, and its default (MISSING if it has none)."""

    name: str
    codec: Codec
    default: Any


def fields_of(cls: type[Operator]) -> tuple[Field, ...]:
    """Return the attributes of an operator class. Raises GraphError for an annotation that no codec is known for."""
    fields = _fields.get(cls)
    if fields is None:
        fields = _fields[cls] = _make_fields(cls)
    return fields


def _make_fields(cls: type[Operator]) -> tuple[Field, ...]:
    hints = typing.get_type_hints(cls)
    fields = []
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        try:
            fields.append(Field(field.name, _codec(hints[field.name]), default))
        except GraphError as error:
            raise GraphError(f"attribute {field.name} of {cls.__name__}: {error}") from None
    return tuple(fields)


_fields: dict[type[Operator], tuple[Field, ...]] = {}


def attributes_to_json(op: Operator, put: PutTensor) -> dict[str, Json]:
    """Return the attributes that differ from their defaults, in the order of the fields. Raises Unencodable."""
    entries = {}
    for name, codec, default in fields_of(type(op)):
        value = getattr(op, name)
        if value is default:
            continue
        try:
            encoded = codec.encode(value, put)
            # -0.0 == 0.0 and 1 == True, so equality of the values alone would lose what was set.
            if default is not dataclasses.MISSING and repr(encoded) == repr(codec.encode(default, put)):
                continue
        except Unencodable as error:
            raise Unencodable(f"attribute {name}: {error}") from error
        entries[name] = encoded
    return entries


def operator_from_json(cls: type[Operator], raw: Json, where: str, get: GetTensor) -> Operator:
    """Return the operator with these attributes and the defaults of the others. Raises Refused."""
    if type(raw) is not dict:
        raise BadDocument(where, f"expected an object, found {kind(raw)}")
    values = {}
    for name, codec, default in fields_of(cls):
        if name in raw:
            values[name] = codec.decode(raw[name], f"{where}.{name}", get)
        elif default is dataclasses.MISSING:
            raise BadDocument(where, f"{cls.__name__} needs the attribute {name}")
    if len(values) != len(raw):
        known = ", ".join(field.name for field in fields_of(cls)) or "none"
        raise BadDocument(where, f"{cls.__name__} has no attribute {', '.join(sorted(raw.keys() - values.keys()))}; "
                          f"it has {known}")
    return cls(**values)


def _codec(annotation: Any) -> Codec:
    if annotation is Any:
        return ANYTHING
    codec = SCALARS.get(annotation)
    if codec is not None:
        return codec
    origin = typing.get_origin(annotation)
    if origin is tuple:
        return _tuple_codec(typing.get_args(annotation))
    if origin in (typing.Union, types.UnionType):
        return _union_codec([_codec(member) for member in typing.get_args(annotation)])
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enum_codec(annotation)
    raise GraphError(f"no JSON form for the annotation {annotation!r}")


def _tuple_codec(arguments: tuple[Any, ...]) -> Codec:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        each = _codec(arguments[0])

        def encode_all(value: Any, put: PutTensor) -> Json:
            return [each.encode(item, put) for item in _sequence(value)]

        def decode_all(raw: Json, where: str, get: GetTensor) -> Any:
            return tuple([each.decode(item, f"{where}[{i}]", get) for i, item in enumerate(items(raw, where))])

        return Codec((tuple,), frozenset({list}), encode_all, decode_all)
    codecs = [_codec(argument) for argument in arguments]

    def encode(value: Any, put: PutTensor) -> Json:
        if len(_sequence(value)) != len(codecs):
            raise Unencodable(f"{value!r} has {len(value)} entries, expected {len(codecs)}")
        return [codec.encode(item, put) for codec, item in zip(codecs, value, strict=True)]

    def decode(raw: Json, where: str, get: GetTensor) -> Any:
        if len(items(raw, where)) != len(codecs):
            raise BadDocument(where, f"{len(raw)} entries, expected {len(codecs)}")
        pairs = enumerate(zip(codecs, raw, strict=True))
        return tuple([codec.decode(item, f"{where}[{i}]", get) for i, (codec, item) in pairs])

    return Codec((tuple,), frozenset({list}), encode, decode)


def _sequence(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        raise Unencodable(f"{value!r} is not a tuple")
    return value


def _union_codec(codecs: list[Codec]) -> Codec:
    codecs = list(dict.fromkeys(codecs))
    if ANYTHING in codecs:
        return ANYTHING
    by_json: dict[type, Codec] = {}
    for codec in codecs:
        for json_type in codec.json:
            if json_type is int and float in codec.json and any(int in other.python for other in codecs):
                continue
            if json_type in by_json:
                raise GraphError(f"two members of a union are both written as {json_type.__name__}")
            by_json[json_type] = codec

    def encode(value: Any, put: PutTensor) -> Json:
        exact = [codec for codec in codecs if type(value) in codec.python]
        for codec in exact or codecs:
            try:
                return codec.encode(value, put)
            except Unencodable as error:
                reason = error
        raise Unencodable(f"{value!r} is none of what the attribute may be: {reason}")

    def decode(raw: Json, where: str, get: GetTensor) -> Any:
        codec = by_json.get(type(raw))
        if codec is None:
            raise BadDocument(where, f"found {kind(raw)}, which the attribute may not be")
        return codec.decode(raw, where, get)

    python = tuple(member for codec in codecs for member in codec.python)
    return Codec(python, frozenset(by_json), encode, decode)


def _enum_codec(cls: type[enum.Enum]) -> Codec:
    texts = all(isinstance(member.value, str) for member in cls)
    names = {member: str(member.value) if texts else member.name for member in cls}
    members = {name: member for member, name in names.items()}

    def encode(value: Any, put: PutTensor) -> Json:
        if not isinstance(value, cls):
            raise Unencodable(f"{value!r} is not a {cls.__name__}")
        return names[value]

    def decode(raw: Json, where: str, get: GetTensor) -> Any:
        if type(raw) is not str or raw not in members:
            raise BadDocument(where, f"{raw!r} is not one of {', '.join(members)}")
        return members[raw]

    return Codec((cls,), frozenset({str}), encode, decode)
