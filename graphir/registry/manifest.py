"""Manifests: lists of models with what is stated for each alone. docs/registry.md describes them.

JSON: `{"models": [{"source": "a.onnx", "name": "a", "shapes": {"data": [1, 3, 224, 224]}}]}`; CSV: a line of column
names, among them `source`; a text (.txt, .list): a path a line, `#` begins a remark. Paths are relative to the
manifest's folder.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphir.converters.glance import Glance
from graphir.errors import FormatError
from graphir.files.reading import open_plain

LISTS = (".txt", ".list")
# A manifest of 100,000 models has some 20 MB.
LARGEST = 1 << 28
Entry = tuple[str, str, dict[str, Any]]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value


def _names(value: Any) -> list[str]:
    found = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(name, str) and name for name in found):
        raise ValueError("expected names, as in [\"fc1\", \"fc2\"]")
    return found


def _shapes(value: Any) -> dict[str, list[Any]]:
    """`{"data": [1, 3, 224, 224]}`, or `data:1,3,224,224; mask:N,8` as a table has it. Names are open sizes."""
    if isinstance(value, str):
        pairs = [part.strip().rpartition(":") for part in value.split(";") if part.strip()]
        value = {name: [_size(size.strip()) for size in sizes.split(",")] for name, _, sizes in pairs}
    sizes = value.values() if isinstance(value, dict) else [None]
    if not all(isinstance(shape, list) and all(type(size) in (int, str) for size in shape) for shape in sizes):
        raise ValueError('expected sizes by input, as in {"data": [1, 3, 224, 224]} or data:1,3,224,224')
    return dict(value)


def _size(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() else text


def _dtypes(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        value = dict(part.strip().split(":", 1) for part in value.split(";") if part.strip())
    if not isinstance(value, dict) or not all(isinstance(dtype, str) for dtype in value.values()):
        raise ValueError('expected dtypes by input, as in {"data": "float16"} or data:float16')
    return value


def _number(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value)
    if type(value) is not int:
        raise ValueError("expected a whole number")
    return int(value)


# What a manifest may state of a model, and how it is read.
STATED: Mapping[str, Callable[[Any], Any]] = {
    "params": _text,
    "format": _text,
    "signature": _text,
    "shapes": _shapes,
    "dtypes": _dtypes,
    "inputs": _names,
    "outputs": _names,
    "opset": _number,
    "mxnet_version": _text,
}


def is_manifest(place: str | os.PathLike[str]) -> bool:
    """Whether a file lists models: by its suffix, or JSON with a member `models`."""
    name = os.fspath(place)
    if name.endswith((".csv", *LISTS)):
        return os.path.isfile(place)
    if not name.endswith(".json"):
        return False
    look = Glance(place)
    return len(look.content) <= LARGEST and look.has(b'"models"') and isinstance(look.document.get("models"), list)


def read_manifest(place: str | os.PathLike[str]) -> list[Entry]:
    """Name ("" for none), path and what is stated, of each model. Raises FormatError, with the line or the number of
    the entry, for what cannot be read."""
    with open_plain(place) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FormatError(f"a list of models of more than {LARGEST} bytes is not read", path=place)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("a list of models is UTF-8, this is not", path=place, offset=error.start) from error
    if os.fspath(place).endswith(LISTS):
        rows = _lines(text)
    else:
        rows = _table(text, place) if os.fspath(place).endswith(".csv") else _documents(text, place)
    return [_entry(where, row, Path(place)) for where, row in rows]


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        source = line.strip()
        if source and not source.startswith("#"):
            yield f"line {number}", {"source": source}


def _table(text: str, place: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(rows, [])
        for row in rows:
            if len(row) > len(header):
                raise FormatError(f"line {rows.line_num}: {len(row)} fields for {len(header)} columns", path=place)
            stated = {name.strip(): value.strip() for name, value in zip(header, row, strict=False) if value.strip()}
            if stated:
                yield f"line {rows.line_num}", stated
    except csv.Error as error:
        raise FormatError(f"line {rows.line_num}: {error}", path=place) from error


def _documents(text: str, place: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, entry in enumerate(json.loads(text)["models"]):
        if isinstance(entry, str):
            entry = {"source": entry}
        if not isinstance(entry, dict):
            raise FormatError("expected an object or a path", path=place, json_path=f"models[{number}]")
        yield f"models[{number}]", entry


def _entry(where: str, row: Mapping[str, Any], place: Path) -> Entry:
    """Paths become those of the folder of the manifest."""
    unknown = sorted(row.keys() - STATED.keys() - {"source", "name"})
    if unknown:
        known = ", ".join(("source", "name", *STATED))
        raise FormatError(f"{where}: unknown: {', '.join(unknown)}; expected {known}", path=place)
    given: dict[str, Any] = {}
    for key, value in row.items():
        read: Callable[[Any], Any] = STATED.get(key, _text)
        try:
            given[key] = read(value)
        except ValueError as error:
            raise FormatError(f"{where}: {key}: {error}, found {value!r}", path=place) from None
    source, name = given.pop("source", ""), given.pop("name", "")
    if not source:
        raise FormatError(f"{where}: no source", path=place)
    if "params" in given:
        given["params"] = str(place.parent / given["params"])
    return name, str(place.parent / source), given


__all__ = ["STATED", "is_manifest", "read_manifest"]
