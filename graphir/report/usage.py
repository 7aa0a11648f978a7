"""How to go on with a model: what to type after `-i`, and a program that runs it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graphir.safety.foreign_text import one_line

_TENSOR = re.compile(r"(\w+)\[(.*)\]")
_FLOATS = frozenset({"float16", "float32", "float64"})
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
# What an open size is in a program: of the first axis one sample, of others a picture's.
SAMPLE, EXTENT = 1, 224


class Input(NamedTuple):
    """An input of a model: its name, dtype and sizes as text."""

    name: str
    dtype: str
    sizes: tuple[str, ...]


def inputs_of(given: Sequence[tuple[str, str]], known: Mapping[str, str] | None = None) -> list[Input] | None:
    """The inputs by names and types (`float32[N, 3]`), in `known` those with the sizes that were run; None where one is
    no tensor or of unknown rank.

    >>> inputs_of([("data", "float32[N, 3]")])
    [Input(name='data', dtype='float32', sizes=('N', '3'))]
    """
    found = []
    for name, text in given:
        read = _TENSOR.fullmatch((known or {}).get(name, text))
        if read is None or read[2] == "...":
            return None
        found.append(Input(name, read[1], tuple(size.strip() for size in read[2].split(",") if size.strip())))
    return found


def option_of(given: Sequence[Input]) -> str:
    """What states the inputs' shapes to a command, ready for a shell.

    >>> option_of([Input("data", "float32", ("1", "3"))]), option_of([Input("my x", "int64", ("N",))])
    ('-i data:1,3', "-i 'my x:N'")
    """
    stated = [f"{held.name}:{','.join(held.sizes)}" for held in given if held.sizes]
    return " ".join(f"-i {shlex.quote(one_line(text))}" for text in stated)


def program(given: Sequence[Input], path: str) -> str | None:
    """A program that runs the ONNX file at `path` in onnxruntime; None for dtypes that numpy lacks."""
    feeds = [_feed(held) for held in given]
    if None in feeds:
        return None
    made = [f"    {held.name!a}: {feed}," for held, feed in zip(given, feeds, strict=True)]
    open_sizes = any(not size.isdecimal() for held in given for size in held.sizes)
    remark = ["# Sizes that the model leaves open were chosen here: put yours."] if open_sizes else []
    return "\n".join([
        "import numpy as np",
        "import onnxruntime",
        "",
        f"session = onnxruntime.InferenceSession({path!a}, providers=[\"CPUExecutionProvider\"])",
        "random = np.random.default_rng(0)",
        *remark,
        "feeds = {",
        *made,
        "}",
        "for output, array in zip(session.get_outputs(), session.run(None, feeds)):",
        "    print(output.name, array.dtype, array.shape)",
    ])  # fmt: skip


def _feed(held: Input) -> str | None:
    sizes = ", ".join(_size(size, axis, len(held.sizes)) for axis, size in enumerate(held.sizes))
    shape = f"({sizes},)" if len(held.sizes) == 1 else f"({sizes})"
    if held.dtype in _FLOATS:
        return f"np.asarray(random.standard_normal({shape}), np.{held.dtype})"
    if held.dtype in _INTEGERS:
        return f"np.ones({shape}, np.{held.dtype})"
    if held.dtype == "bool":
        return f"np.ones({shape}, np.bool_)"
    return f'np.full({shape}, "", object)' if held.dtype == "string" else None


def _size(size: str, axis: int, rank: int) -> str:
    if size.isdecimal():
        return size
    return str(SAMPLE if axis == 0 or rank != 4 else EXTENT)
