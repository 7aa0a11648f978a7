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
    """Return the inputs by names and types (`float32[N, 3]`), in `known` those with the sizes that were run; None where
    one is no tensor or of unknown rank.

    >>> inputs_of([("data", "float32[N, 3]")])
    [Input(name='data', dtype='float32', sizes=('N', '3'))]
    """
    inputs = []
    for name, text in given:
        read = _TENSOR.fullmatch((known or {}).get(name, text))
        if read is None or read[2] == "...":
            return None
        inputs.append(Input(name, read[1], tuple(size.strip() for size in read[2].split(",") if size.strip())))
    return inputs


def option_of(given: Sequence[Input]) -> str:
    """Return the `-i` options for the inputs, quoted for a shell.

    >>> option_of([Input("data", "float32", ("1", "3"))]), option_of([Input("my x", "int64", ("N",))])
    ('-i data:1,3', "-i 'my x:N'")
    """
    stated = [f"{item.name}:{','.join(item.sizes)}" for item in given if item.sizes]
    return " ".join(f"-i {shlex.quote(one_line(text))}" for text in stated)


def program(given: Sequence[Input], path: str) -> str | None:
    """Return a program that runs the ONNX file at `path` in onnxruntime; None if numpy has no such dtype."""
    feeds = [_feed(item) for item in given]
    if None in feeds:
        return None
    entries = [f"    {item.name!a}: {feed}," for item, feed in zip(given, feeds, strict=True)]
    open_sizes = any(not size.isdecimal() for item in given for size in item.sizes)
    remark = ["# Dynamic sizes were chosen here: set your own."] if open_sizes else []
    return "\n".join([
        "import numpy as np",
        "import onnxruntime",
        "",
        f"session = onnxruntime.InferenceSession({path!a}, providers=[\"CPUExecutionProvider\"])",
        "random = np.random.default_rng(0)",
        *remark,
        "feeds = {",
        *entries,
        "}",
        "for output, array in zip(session.get_outputs(), session.run(None, feeds)):",
        "    print(output.name, array.dtype, array.shape)",
    ])  # fmt: skip


def _feed(item: Input) -> str | None:
    sizes = ", ".join(_size(size, axis, len(item.sizes)) for axis, size in enumerate(item.sizes))
    shape = f"({sizes},)" if len(item.sizes) == 1 else f"({sizes})"
    if item.dtype in _FLOATS:
        return f"np.asarray(random.standard_normal({shape}), np.{item.dtype})"
    if item.dtype in _INTEGERS:
        return f"np.ones({shape}, np.{item.dtype})"
    if item.dtype == "bool":
        return f"np.ones({shape}, np.bool_)"
    return f'np.full({shape}, "", object)' if item.dtype == "string" else None


def _size(size: str, axis: int, rank: int) -> str:
    if size.isdecimal():
        return size
    return str(SAMPLE if axis == 0 or rank != 4 else EXTENT)
