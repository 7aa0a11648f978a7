"""Attribute values: MXNet's strings to Python values, by the type texts of MXNet's own registry.

A type text is what the registry says of a parameter, `"Shape(tuple), optional, default=[]"`. The syntax accepted is
that of dmlc-core's parameter.h and MXNet's tuple.h over all versions, so `(3L,)` of Python 2 and `[3, 3]` too.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

# mshadow/base.h: the numbers by which `__dtype__` and some old files name an element type.
TYPE_FLAGS = {
    0: "float32",
    1: "float64",
    2: "float16",
    3: "uint8",
    4: "int32",
    5: "int8",
    6: "int64",
    7: "bool",
    8: "int16",
    9: "uint16",
    10: "uint32",
    11: "uint64",
    12: "bfloat16",
}

# Operators whose result has a dtype of its own, stated or fixed.
OWN_RESULT = frozenset({
    *("Cast", "amp_cast", "amp_multicast", "argmax", "argmin", "argmax_channel", "argsort", "topk", "one_hot"),
    *("shape_array", "size_array", "_contrib_arange_like", "_contrib_quantize", "_contrib_quantize_v2"),
    *("_contrib_dequantize", "_contrib_requantize", "_contrib_boolean_mask", "_histogram", "_contrib_index_array"),
    *(f"_contrib_quantized_{name}" for name in ("act", "batch_norm", "concat", "conv", "elemwise_add", "elemwise_mul")),
    *(f"_contrib_quantized_{name}" for name in ("embedding", "flatten", "fully_connected", "pooling")),
})
_DTYPES = frozenset(TYPE_FLAGS.values())
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_OPENING, _CLOSING = ("(", "["), (")", "]")
_MOST_DIGITS = 40


class OperatorParameter(NamedTuple):
    """One parameter of an operator: its type in words, whether it must be stated, its default, and how to read it.

    `parse` raises ValueError for text that is no value of the type.
    """

    name: str
    kind: str
    required: bool
    default: object
    parse: Callable[[str], object]


def parse_parameter(name: str, type_text: str) -> OperatorParameter:
    """Return the parameter that the registry describes as `type_text`. Raises ValueError for a type that it never
    uses."""
    stated, has_default, default = type_text.partition(", default=")
    presence = next((word for word in ("required", "optional") if stated.endswith(word)), "")
    if not presence:
        raise ValueError(f"not a type of MXNet's registry: {type_text!r}")
    kind = stated.removesuffix(presence).removesuffix(" ").removesuffix(",")
    parse = _parser(kind)
    if not has_default:
        return OperatorParameter(name, kind or "any", presence == "required", None, parse)
    if default[:1] == default[-1:] == "'" and kind != "string":
        default = default[1:-1]
    elif kind == "string":
        default = default.strip("'")
    value = _shortest_float32(float(default)) if kind == "float" else parse(default)
    return OperatorParameter(name, kind, False, value, parse)


@functools.cache
def _parser(kind: str) -> Callable[[str], object]:
    if kind.endswith(" or None"):
        return functools.partial(_parse_optional, _parser(kind[: -len(" or None")]))
    if kind.startswith("{"):
        members = frozenset(member.strip(" '") for member in kind[1:-1].split(","))
        return functools.partial(_parse_enum, members)
    if kind.startswith("tuple of <"):
        return functools.partial(_parse_tuple, _parser(kind[len("tuple of <") : -1]))
    if kind == "int (non-negative)":
        return functools.partial(_parse_within, -(1 << 31), (1 << 32) - 1)  # MXNet's uint32_t
    return _SIMPLE[kind.removesuffix(" (non-negative)")]


def parse_bool(text: str) -> bool:
    """
    >>> parse_bool("True"), parse_bool("0")
    (True, False)
    """
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise ValueError("not one of True, False, 1, 0")
    return value


def parse_int(text: str) -> int:
    """
    >>> parse_int("-1"), parse_int("64L")
    (-1, 64)
    """
    return _parse_within(-(1 << 63), (1 << 63) - 1, text)


def _parse_within(least: int, most: int, text: str) -> int:
    """Return an integer that MXNet's type of the parameter holds; its own parser refuses others too."""
    number = text.strip().removesuffix("L")
    digits = number[1:] if number.startswith(("+", "-")) else number
    if len(text) > _MOST_DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise ValueError("not an integer")
    value = int(number)
    if not least <= value <= most:
        raise ValueError(f"not between {least} and {most}")
    return value


def parse_float(text: str) -> float:
    """
    >>> parse_float("1e-05"), parse_float("inf"), parse_float("0x10")
    (1e-05, inf, 16.0)
    """
    stripped = text.strip()
    if stripped.lower().lstrip("+-").startswith("0x"):
        return float.fromhex(stripped)
    if "_" in stripped:
        raise ValueError("not a number")
    return float(stripped)


def parse_shape(text: str) -> tuple[int | None, ...] | None:
    """Integers in brackets, or one without; None inside is an entry left open, the whole `None` an unknown shape.

    >>> parse_shape("(3, 3)"), parse_shape("[3L,]"), parse_shape("3"), parse_shape("()"), parse_shape("(None, 1)")
    ((3, 3), (3,), (3,), (), (None, 1))
    >>> parse_shape("None")
    """
    if text.strip() == "None":
        return None
    return _parse_tuple(functools.partial(_parse_optional, parse_int), text)  # type: ignore[return-value]


def _parse_tuple(parse: Callable[[str], object], text: str) -> tuple[object, ...]:
    whole = text.strip()
    if whole[:1] not in _OPENING or whole[-1:] not in _CLOSING or len(whole) < 2:
        return (parse(text),)
    inner = whole[1:-1].rstrip().removesuffix(",")
    if "(" in inner or "[" in inner:
        return tuple(parse(part) for part in _bracketed(inner))
    return tuple(parse(part) for part in inner.split(",")) if inner.strip() else ()


def _bracketed(text: str) -> Iterator[str]:
    """Yield the parts in brackets, from the outer opening one to the next closing one. Linear, as no expression is."""
    start = -1
    for place, character in enumerate(text):
        if character in "([" and start < 0:
            start = place
        elif character in ")]" and start >= 0:
            yield text[start : place + 1]
            start = -1


def _parse_optional(parse: Callable[[str], object], text: str) -> object:
    return None if text.strip() == "None" else parse(text)


def _parse_enum(members: frozenset[str], text: str) -> str | None:
    """Return a name; None for `None` where that is one. An enum of element types takes every element type, also by
    number."""
    if text == "None" and (text in members or members & _DTYPES):
        return None
    if text in members:
        return text
    if members & _DTYPES:
        if text.isdecimal() and int(text) in TYPE_FLAGS:
            return TYPE_FLAGS[int(text)]
        if text in _DTYPES:
            return text
    raise ValueError(f"not one of {', '.join(sorted(members))}")


def _shortest_float32(value: float) -> float:
    """Return the float with the fewest digits that is the same number in single precision.

    >>> _shortest_float32(0.00100000005), _shortest_float32(-1)
    (0.001, -1.0)
    """
    packed = struct.pack("f", value)
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if struct.pack("f", candidate) == packed:
            return candidate
    return value


_SIMPLE: Mapping[str, Callable[[str], object]] = {
    "": str,
    "Shape": parse_shape,
    "Shape(tuple)": parse_shape,
    "boolean": parse_bool,
    "double": parse_float,
    "float": parse_float,
    "int": functools.partial(_parse_within, -(1 << 31), (1 << 31) - 1),
    "long": parse_int,
    "string": str,
}
