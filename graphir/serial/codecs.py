"""Codecs: how a value of one Python type is written as JSON and read back.

Writing raises `Unencodable` for a value of another type, reading `BadDocument` for JSON of another form. Tensors go
through the two functions that a codec is given: one puts the bytes somewhere and says where, one finds them again.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphir.padding import Explicit, Same, SameMode
from graphir.tensor import Tensor
from graphir.types import TYPES, DType, Sym, Unknown

from .notation import (
    BadDocument,
    Json,
    Unencodable,
    bytes_from_json,
    bytes_to_json,
    dim_from_json,
    dim_to_json,
    dtype_from_json,
    float_from_json,
    float_to_json,
    items,
    kind,
    text_from_json,
    text_to_json,
    type_from_json,
    type_to_json,
)

PutTensor = Callable[[Tensor], Json]
GetTensor = Callable[[Json, str], Tensor]


class Codec(NamedTuple):
    """How the values of one annotation are written and read. `python` and `json` are the types that it stands for."""

    python: tuple[type, ...]
    json: frozenset[type]
    encode: Callable[[Any, PutTensor], Json]
    decode: Callable[[Json, str, GetTensor], Any]


def _written(python: Any, name: str, write: Callable[[Any], Json]) -> Callable[[Any, PutTensor], Json]:
    """Return what writes the values of a type, of which messages say that a value is not `name`."""

    def encode(value: Any, put: PutTensor) -> Json:
        if not isinstance(value, python):
            raise Unencodable(f"{value!r} is not {name}")
        return write(value)

    return encode


def _as_it_is(python: type, expected: str) -> Callable[[Json, str, GetTensor], Any]:
    """Return what reads the values that JSON has as Python does."""

    def decode(raw: Json, where: str, get: GetTensor) -> Any:
        if type(raw) is not python:
            raise BadDocument(where, f"expected {expected}, found {kind(raw)}")
        return raw

    return decode


_encode_none = _written(types.NoneType, "None", lambda nothing: nothing)
_decode_none = _as_it_is(types.NoneType, "null")
_decode_bool = _as_it_is(bool, "true or false")
_decode_int = _as_it_is(int, "an integer")
_encode_text = _written(str, "a string", text_to_json)
_encode_bytes = _written(bytes, "bytes", bytes_to_json)
_encode_dtype = _written(DType, "a DType", lambda dtype: dtype.value)
_encode_same = _written(Same, "a padding", lambda same: f"same_{same.mode.value}")
_encode_dim = _written(Sym | Unknown, "a dimension", dim_to_json)
_encode_type = _written(TYPES, "a type", type_to_json)


def _encode_bool(value: Any, put: PutTensor) -> Json:
    if isinstance(value, bool | int | np.bool_) and value in (0, 1):
        return bool(value)
    raise Unencodable(f"{value!r} is not a bool")


def _encode_int(value: Any, put: PutTensor) -> Json:
    try:
        return int(operator.index(value))
    except TypeError:
        raise Unencodable(f"{value!r} is not an int") from None


def _encode_float(value: Any, put: PutTensor) -> Json:
    if isinstance(value, float | int | np.floating):
        try:
            if value != value or float(value) == value:
                return float_to_json(float(value))
        except OverflowError:
            pass
    raise Unencodable(f"{value!r} is not a float")


def _encode_explicit(value: Any, put: PutTensor) -> Json:
    if not isinstance(value, Explicit):
        raise Unencodable(f"{value!r} is not a padding")
    return [[_encode_int(before, put), _encode_int(after, put)] for before, after in value.pads]


def _decode_explicit(raw: Json, where: str, get: GetTensor) -> Explicit:
    pads = []
    for axis, pair in enumerate(items(raw, where)):
        if type(pair) is not list or len(pair) != 2 or any(type(pad) is not int for pad in pair):
            raise BadDocument(f"{where}[{axis}]", "expected [before, after], two integers")
        pads.append((pair[0], pair[1]))
    return Explicit(tuple(pads))


def _decode_same(raw: Json, where: str, get: GetTensor) -> Same:
    for mode in SameMode:
        if raw == f"same_{mode.value}":
            return Same(mode)
    raise BadDocument(where, f"{raw!r} is no padding; expected [[before, after], ...], same_upper or same_lower")


def _encode_tensor(value: Any, put: PutTensor) -> Json:
    if not isinstance(value, Tensor):
        raise Unencodable(f"{value!r} is not a Tensor")
    return {"tensor": put(value)}


def _decode_tensor(raw: Json, where: str, get: GetTensor) -> Tensor:
    if type(raw) is not dict or raw.keys() != {"tensor"}:
        raise BadDocument(where, 'expected {"tensor": ...}')
    return get(raw["tensor"], f"{where}.tensor")


def _encode_anything(value: Any, put: PutTensor) -> Json:
    """Return a value of no stated type: what JSON has as it is, the rest as an object whose only key says what it
    is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, tuple):
        return [_encode_anything(item, put) for item in value]
    if isinstance(value, float):
        coded = float_to_json(value)
        return coded if isinstance(coded, float) else {"float": coded}
    for python, (tag, codec) in TAGGED.items():
        if isinstance(value, python):
            coded = codec.encode(value, put)
            return coded if tag is None else {tag: coded}
    raise Unencodable(f"{value!r} has no form in the file")


def _decode_anything(raw: Json, where: str, get: GetTensor) -> Any:
    if type(raw) is list:
        return tuple([_decode_anything(item, f"{where}[{i}]", get) for i, item in enumerate(raw)])
    if type(raw) is not dict:
        return raw
    tag = next(iter(raw)) if len(raw) == 1 else None
    if tag == "tensor":
        return _decode_tensor(raw, where, get)
    if tag == "bytes":
        return bytes_from_json(raw, where)
    readers = {"float": float_from_json, "dtype": dtype_from_json, "dim": dim_from_json, "type": type_from_json}
    if tag not in readers:
        raise BadDocument(where, f"expected an object with one key of bytes, dim, dtype, float, tensor, type, found "
                          f"{', '.join(raw) or 'none'}")
    return readers[tag](raw[tag], f"{where}.{tag}")


def _without_tensors(read: Callable[[Json, str], Any]) -> Callable[[Json, str, GetTensor], Any]:
    return lambda raw, where, get: read(raw, where)



NONE = Codec((types.NoneType,), frozenset({types.NoneType}), _encode_none, _decode_none)
BOOL = Codec((bool,), frozenset({bool}), _encode_bool, _decode_bool)
INT = Codec((int,), frozenset({int}), _encode_int, _decode_int)
FLOAT = Codec((float,), frozenset({float, int, str}), _encode_float, _without_tensors(float_from_json))
TEXT = Codec((str,), frozenset({str}), _encode_text, _without_tensors(text_from_json))
BYTES = Codec((bytes,), frozenset({dict}), _encode_bytes, _without_tensors(bytes_from_json))
DTYPE = Codec((DType,), frozenset({str}), _encode_dtype, _without_tensors(dtype_from_json))
DIM = Codec((Sym, Unknown), frozenset({str}), _encode_dim, _without_tensors(dim_from_json))
TYPE = Codec(TYPES, frozenset({list, dict}), _encode_type, _without_tensors(type_from_json))
TENSOR = Codec((Tensor,), frozenset({dict}), _encode_tensor, _decode_tensor)
ANYTHING = Codec((object,), frozenset({object}), _encode_anything, _decode_anything)
SAME = Codec((Same,), frozenset({str}), _encode_same, _decode_same)
EXPLICIT = Codec((Explicit,), frozenset({list}), _encode_explicit, _decode_explicit)

SCALARS: dict[Any, Codec] = {
    types.NoneType: NONE,
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: TEXT,
    bytes: BYTES,
    object: ANYTHING,
    DType: DTYPE,
    Sym: DIM,
    Unknown: DIM,
    Tensor: TENSOR,
    Same: SAME,
    Explicit: EXPLICIT,
    **dict.fromkeys(TYPES, TYPE),
}

TAGGED: dict[Any, tuple[str | None, Codec]] = {
    int: (None, INT),
    str: (None, TEXT),
    bytes: (None, BYTES),
    Tensor: (None, TENSOR),
    DType: ("dtype", DTYPE),
    (Sym, Unknown): ("dim", DIM),
    TYPES: ("type", TYPE),
}
