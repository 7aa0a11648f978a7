"""What the JSON file says about names, numbers, dimensions and types: each written and read in one place.

The functions `..._to_json` raise `Unencodable` for what the format cannot hold, `..._from_json` raise `BadDocument` for
what is not written as the format says. `where` is the JSON path of the thing that is read.
"""

from __future__ import annotations

import base64
import json
import math
import operator
import struct
from collections import Counter
from collections.abc import Set
from functools import lru_cache
from typing import Any

from graphir.safety.json_text import read_json
from graphir.types import (
    Dim,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    Sym,
    TensorType,
    Type,
    Unknown,
    parse_dim,
)

FORMAT = "graphir"
VERSION = 1
SUFFIX = ".graphir.json"
WEIGHTS_SUFFIX = ".graphir.safetensors"

LONGEST_DIM = 4096
MOST_AXES = 64
MOST_ELEMENTS = 2**63 - 1

Json = Any

_DTYPES = {dtype.value: dtype for dtype in DType}
_NAN = "7ff8000000000000"


class Unencodable(Exception):
    """A value that the format cannot hold, and why."""


class BadDocument(Exception):
    """Why a document is not accepted, and the JSON path of the place."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where
        self.message = message


def parse_json(text: str) -> Json:
    """Return the document. Raises ValueError, also for NaN and Infinity and for a name that comes twice in one object,
    which readers understand in different ways.
    """
    document = read_json(text, pairs=_object, constant=_no_constant)
    if "\\ud" in text.lower():
        json.dumps(document, ensure_ascii=False).encode()  # half of a surrogate pair is a UnicodeEncodeError
    return document


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {twice!r} comes twice in one object")
    return entries


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def kind(raw: Json) -> str:
    """Return what JSON calls a value, for messages."""
    kinds = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a number"}
    return "null" if raw is None else "a boolean" if isinstance(raw, bool) else kinds[type(raw)]


def members(raw: Json, where: str, required: Set[str], allowed: Set[str]) -> dict[str, Json]:
    """`raw` if it is an object with these keys. A key that is not known is refused: skipping it would lose meaning."""
    if type(raw) is not dict:
        raise BadDocument(where, f"expected an object, found {kind(raw)}")
    keys = raw.keys()
    if not keys >= required:
        raise BadDocument(where, f"{', '.join(sorted(required - keys))} missing")
    if not keys <= allowed:
        raise BadDocument(where, f"no such field here: {', '.join(sorted(keys - allowed))}; expected some of "
                          f"{', '.join(sorted(allowed))}")
    return raw


def items(raw: Json, where: str) -> list[Json]:
    """Return `raw` if it is a list."""
    if type(raw) is not list:
        raise BadDocument(where, f"expected a list, found {kind(raw)}")
    return raw


def text_from_json(raw: Json, where: str) -> str:
    """Return `raw` if it is a string."""
    if type(raw) is not str:
        raise BadDocument(where, f"expected a string, found {kind(raw)}")
    return raw


def text_to_json(text: str) -> str:
    """Return a string. Raises Unencodable for lone surrogates, which neither JSON nor safetensors can hold reliably."""
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Unencodable(f"{text!r} has a lone surrogate, which is no character") from None
    return str.__str__(text)


def name_from_json(raw: Json, where: str) -> str:
    """Return `raw` if it is a string with at least one character."""
    if type(raw) is not str or not raw:
        raise BadDocument(where, f"expected a name, found {kind(raw) if raw != '' else 'an empty string'}")
    return raw


def float_to_json(value: float) -> Json:
    """Return a float64 with all of its bits. JSON has no NaN and no infinity, so these are strings.

    >>> float_to_json(0.1), float_to_json(float("-inf")), float_to_json(float("nan"))
    (0.1, '-inf', 'nan')
    """
    if math.isfinite(value):
        return float(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    bits = struct.pack(">d", value).hex()
    return "nan" if bits == _NAN else f"nan:{bits}"


def float_from_json(raw: Json, where: str) -> float:
    """Return the float that `float_to_json` wrote; an integer that a float64 holds exactly is accepted as well."""
    if type(raw) is float:
        return raw
    if type(raw) is int:
        try:
            if int(float(raw)) == raw:
                return float(raw)
        except OverflowError:
            pass
        raise BadDocument(where, f"{raw} is not a float64")
    if raw in ("inf", "-inf", "nan"):
        return float(raw)
    if type(raw) is str and raw.startswith("nan:"):
        try:
            (number,) = struct.unpack(">d", bytes.fromhex(raw[4:]))
        except (ValueError, struct.error):
            number = 0.0
        if math.isnan(number):
            return float(number)
    raise BadDocument(where, f"expected a number, inf, -inf or nan, found {raw if type(raw) is str else kind(raw)!r}")


def bytes_to_json(value: bytes) -> Json:
    """Return bytes in base64."""
    return {"bytes": base64.b64encode(value).decode("ascii")}


def bytes_from_json(raw: Json, where: str) -> bytes:
    """Return the bytes that `bytes_to_json` wrote."""
    coded = raw.get("bytes") if type(raw) is dict and len(raw) == 1 else None
    if type(coded) is str:
        try:
            return base64.b64decode(coded, validate=True)
        except ValueError as error:
            raise BadDocument(f"{where}.bytes", f"not base64: {error}") from error
    raise BadDocument(where, 'expected {"bytes": base64}')


@lru_cache(maxsize=4096)
def _parse_text(text: str) -> Dim:
    if len(text) > LONGEST_DIM:
        raise ValueError(f"{len(text)} characters, at most {LONGEST_DIM} are read")
    return parse_dim(text)


def dim_to_json(dim: Dim) -> int | str:
    """Return a dimension: an integer, `"?"`, or an expression that reads back as the same dimension."""
    if type(dim) is int:
        return dim
    if isinstance(dim, Unknown):
        return "?"
    if isinstance(dim, Sym):
        text = str(dim)
        try:
            same = _parse_text(text) == dim
        except (ValueError, ArithmeticError, RecursionError):
            same = False
        if not same:
            raise Unencodable(f"the dimension {text} does not read back as itself")
        return text
    return operator.index(dim)


def dim_from_json(raw: Json, where: str) -> Dim:
    """Return the dimension that `dim_to_json` wrote."""
    if type(raw) is int:
        return raw
    if type(raw) is not str:
        raise BadDocument(where, f"expected a dimension (an integer, '?' or an expression), found {kind(raw)}")
    try:
        dim = _parse_text(raw)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise BadDocument(where, f"not a dimension: {raw[:80]!r}: {error}") from error
    if raw != "?" and not isinstance(dim, Sym):
        raise BadDocument(where, f"{raw[:80]!r} is {dim}; a number is written as a number, the unknown as '?'")
    return dim


def dtype_from_json(raw: Json, where: str) -> DType:
    """Return the dtype of this name."""
    dtype = _DTYPES.get(raw) if type(raw) is str else None
    if dtype is None:
        raise BadDocument(where, f"no such dtype: {raw!r}; expected one of {', '.join(_DTYPES)}")
    return dtype


def type_to_json(type_: Type) -> Json:
    """Return a type: `[dtype, shape]` for a tensor, null for an unknown dtype or rank; an object for the other
    kinds."""
    if isinstance(type_, TensorType):
        shape = type_.shape
        dims = None if shape is None else [dim if type(dim) is int else dim_to_json(dim) for dim in shape]
        if dims is not None:
            if any(type(dim) is int and dim < 0 for dim in dims):
                raise Unencodable(f"the type {type_} has a negative size")
            if len(dims) > MOST_AXES:
                raise Unencodable(f"a type has {len(dims)} axes, at most {MOST_AXES} are written")
        return [None if type_.dtype is None else type_.dtype.value, dims]
    if isinstance(type_, SparseTensorType):
        return {"sparse": type_to_json(TensorType(type_.dtype, type_.shape))}
    if isinstance(type_, SequenceType):
        return {"sequence": type_to_json(type_.element)}
    if isinstance(type_, OptionalType):
        return {"optional": type_to_json(type_.element)}
    if isinstance(type_, MapType):
        return {"map": {"key": type_.key.value, "element": type_to_json(type_.element)}}
    raise Unencodable(f"{type_!r} is not a type")


def type_from_json(raw: Json, where: str) -> Type:
    """Return the type that `type_to_json` wrote."""
    if type(raw) is list:
        return tensor_type_from_json(raw, where)
    if type(raw) is not dict or len(raw) != 1:
        raise BadDocument(where, f"expected a type ([dtype, shape], or an object with one of map, sequence, optional, "
                          f"sparse), found {kind(raw)}")
    ((key, inner),) = raw.items()
    if key == "sparse":
        dense = tensor_type_from_json(inner, f"{where}.sparse")
        return SparseTensorType(dense.dtype, dense.shape)
    if key == "sequence":
        return SequenceType(type_from_json(inner, f"{where}.sequence"))
    if key == "optional":
        return OptionalType(type_from_json(inner, f"{where}.optional"))
    if key == "map":
        if type(inner) is not dict or inner.keys() != {"key", "element"}:
            raise BadDocument(f"{where}.map", f"expected an object of key and element, found {kind(inner)}")
        of_keys = dtype_from_json(inner["key"], f"{where}.map.key")
        return MapType(of_keys, type_from_json(inner["element"], f"{where}.map.element"))
    raise BadDocument(where, f"no such kind of type: {key!r}; expected map, sequence, optional or sparse")


def tensor_type_from_json(raw: Json, where: str) -> TensorType:
    """Return the type of a dense tensor, `[dtype, shape]`."""
    if type(raw) is not list or len(raw) != 2:
        raise BadDocument(where, f"expected [dtype, shape], found {kind(raw)}"
                          + (f" of {len(raw)}" if type(raw) is list else ""))
    dtype = None if raw[0] is None else dtype_from_json(raw[0], f"{where}[0]")
    if raw[1] is None:
        return TensorType(dtype, None)
    dims = items(raw[1], f"{where}[1]")
    if len(dims) > MOST_AXES:
        raise BadDocument(f"{where}[1]", f"{len(dims)} axes, at most {MOST_AXES} are read")
    shape: list[Dim] = []
    for axis, dim in enumerate(dims):
        size = dim if type(dim) is int else dim_from_json(dim, f"{where}[1][{axis}]")
        if type(size) is int and not 0 <= size <= MOST_ELEMENTS:
            raise BadDocument(f"{where}[1][{axis}]", f"{size} is no size of an axis")
        shape.append(size)
    return TensorType(dtype, tuple(shape))


def static_type_from_json(raw: Json, where: str) -> tuple[DType, tuple[int, ...]]:
    """Return the dtype and shape of a tensor that has elements: all of it known, and not more than memory can
    address."""
    type_ = tensor_type_from_json(raw, where)
    shape = known_sizes(type_.shape)
    if type_.dtype is None or shape is None:
        raise BadDocument(where, f"elements need a dtype and a shape of numbers, found {type_}")
    count = 1
    for size in shape:
        count *= max(size, 1)
    if count > MOST_ELEMENTS:
        raise BadDocument(where, f"{count} elements are more than any memory holds")
    return type_.dtype, shape


def known_sizes(shape: Shape | None) -> tuple[int, ...] | None:
    """Return the shape if all of its sizes are numbers."""
    if shape is None:
        return None
    sizes = tuple([dim for dim in shape if isinstance(dim, int)])
    return sizes if len(sizes) == len(shape) else None
