"""How the shape of an input is read, as `-i` takes it."""

from __future__ import annotations

import argparse
import re
from typing import Any, NamedTuple

SHAPE_EXAMPLE = "data:1,3,224,224 (a size may be a name such as N, or ? for unknown)"
# As in 1x3x224x224, Nx3x?x? and batchx3x224x224; a name with an x in it can only be told in a list with commas.
SIZES_WITH_X = r"(\d+|\?|[A-Z]+|[a-wyz]\w*?)(x(\d+|\?|[A-Z]+))+"
PRINTED = r"(\w+) ?([\[(].*[\])])"  # as in float32[1, 3, 224, 224]
OPEN = "None"  # what TensorFlow prints for a size that is open
SCALAR = "scalar"  # what our tables print for a shape without sizes


class InputSpec(NamedTuple):
    """`-i name:1,3,H,W:float32`: the input's name, its shape, its dtype or None."""

    name: str
    shape: tuple[Any, ...]
    dtype: str | None


def input_spec(text: str) -> InputSpec:
    """Read `name:shape` or `name:shape:dtype`; names may hold colons. Raises ArgumentTypeError saying which part.

    Other spellings that people and our own tables use are taken too: `name=1,3,8,8`, `name:1x3x8x8`,
    `name:float32[1, 3, 8, 8]`, `name  float32[1, 3, 8, 8]`, `name:None,3,8,8`.
    """
    from graphir.types import DType

    parts = text.split(":") if ":" in text else text.split("=", 1)
    if len(parts) == 1 and re.fullmatch(r"\S+\s+\w+\[.*\]", text):
        parts = text.split(None, 1)  # as reports list inputs: name and type
    printed = re.fullmatch(PRINTED, parts[-1].strip())
    if printed is not None and len(parts) > 1:
        parts = [*parts[:-1], printed[2], printed[1]]
    if len(parts) < 2:
        what = "a shape without a name" if "," in text or text.isdigit() else "a name without a shape"
        raise argparse.ArgumentTypeError(f"{text!r} is {what}; write {SHAPE_EXAMPLE}")
    dtype = None
    names = {item.value for item in DType}
    if len(parts) > 2 and (parts[-1] in names or (set(parts[-2]) & set(",[") and parts[-1].isidentifier())):
        dtype = parts.pop()
        if dtype not in names:
            expected = "float32, float16, float64, int64, int32, int8, uint8, bool"
            raise argparse.ArgumentTypeError(f"{dtype!r} in {text!r} is not a dtype; expected one such as {expected}")
    name, shape = ":".join(parts[:-1]), parts[-1]
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} has no name before the colon; write {SHAPE_EXAMPLE}")
    return InputSpec(name, _shape(shape, text), dtype)


def _shape(shape: str, text: str) -> tuple[Any, ...]:
    from graphir.types import parse_shape

    inner = shape.strip().strip("[]()")
    if re.fullmatch(SIZES_WITH_X, inner):
        inner = inner.replace("x", ",")
    if inner == SCALAR:
        inner = ""
    if inner == "...":
        raise argparse.ArgumentTypeError(f"{text!r} leaves the rank open; write sizes, ? for those that are open")
    sizes = ["?" if size.strip() == OPEN else size.strip() for size in inner.split(",")] if inner else []
    if sizes and not sizes[-1]:
        sizes.pop()
    for size in sizes:
        if not size:
            raise argparse.ArgumentTypeError(f"there is an empty size in the shape {shape!r} of {text!r}")
        if size == "0" or size.startswith("-"):
            raise argparse.ArgumentTypeError(
                f"{size} in {text!r} is no size; write a name such as N, or ?, for a dynamic size"
            )
        if size.isdecimal() and int(size) >= 1 << 63:
            raise argparse.ArgumentTypeError(f"{size} in {text!r} is no size: it needs over 64 bits")
    try:
        return tuple(parse_shape(",".join(sizes)))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"cannot read the shape {shape!r} in {text!r}: {error}") from None
