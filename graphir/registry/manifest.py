"""Manifests: lists of models with what is stated for each alone. docs/registry.md describes them.

JSON: `{"models": [{"source": "a.onnx", "name": "a", "shapes": {"data": [1, 3, 224, 224]}}]}`; CSV: a line of column
names, among them `source`; a text (.txt, .list): a path a line, `#` begins a remark. Paths are relative to the
manifest's folder.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphir.converters.table import FORMATS
from graphir.errors import FormatError
from graphir.files.reading import read_limited
from graphir.safety.json_text import NoJson, read_json
from graphir.structure.record import record

LISTS, TABLE = (".txt", ".list"), ".csv"
# A manifest of 100,000 models has some 20 MB.
LARGEST = 1 << 28
Entry = tuple[str, str, dict[str, Any]]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value


def _names(value: Any) -> list[str]:
    names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ValueError("expected names, as in [\"fc1\", \"fc2\"]")
    return names


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
}


@record
class ListFile:
    """A file that a user named as a list of models. What it lists lies below `root`, by default its own folder: whoever
    wrote the list need not be who uses it."""

    path: str
    root: str = ""


def read_manifest(listed: ListFile) -> list[Entry]:
    """Name ("" for none), path and what is stated, of each model. Raises FormatError, with the line or the number of
    the entry, for what cannot be read and for a path that leads out of the list's root."""
    path = listed.path
    try:
        text = read_limited(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("a list of models must be UTF-8", path=path, offset=error.start) from error
    if path.endswith(LISTS):
        rows = _lines(text)
    else:
        rows = _table(text, path) if path.endswith(TABLE) else _documents(text, path)
    root = os.path.realpath(listed.root or os.path.dirname(path) or ".")
    return [_entry(where, row, Path(path), root) for where, row in rows]


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        source = line.strip()
        if source and not source.startswith("#"):
            yield f"line {number}", {"source": source}


def _table(text: str, path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(rows, [])
        for row in rows:
            if len(row) > len(header):
                raise FormatError(f"line {rows.line_num}: {len(row)} fields for {len(header)} columns", path=path)
            stated = {name.strip(): value.strip() for name, value in zip(header, row, strict=False) if value.strip()}
            if stated:
                yield f"line {rows.line_num}", stated
    except csv.Error as error:
        raise FormatError(f"line {rows.line_num}: {error}", path=path) from error


def _documents(text: str, path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        document = read_json(text)
    except NoJson as error:
        raise FormatError(f"a list of models is .csv, .txt, .list or JSON: {error}", path=path) from error
    models = document.get("models") if isinstance(document, dict) else None
    if not isinstance(models, list):
        raise FormatError('expected an object with a list "models"', path=path)
    for number, entry in enumerate(models):
        if isinstance(entry, str):
            entry = {"source": entry}
        if not isinstance(entry, dict):
            raise FormatError("expected an object or a path", path=path, json_path=f"models[{number}]")
        yield f"models[{number}]", entry


def _entry(where: str, row: Mapping[str, Any], manifest: Path, root: str) -> Entry:
    """Return one entry, its paths joined to the manifest's folder."""
    unknown = sorted(row.keys() - STATED.keys() - {"source", "name"})
    if unknown:
        known = ", ".join(("source", "name", *STATED))
        raise FormatError(f"{where}: unknown: {', '.join(unknown)}; expected {known}", path=manifest)
    given: dict[str, Any] = {}
    for key, value in row.items():
        read: Callable[[Any], Any] = STATED.get(key, _text)
        try:
            given[key] = read(value)
        except ValueError as error:
            raise FormatError(f"{where}: {key}: {error}, found {value!r}", path=manifest) from None
    source, name = given.pop("source", ""), given.pop("name", "")
    if not source:
        raise FormatError(f"{where}: no source", path=manifest)
    for key, path in (("source", source), ("params", given.get("params"))):
        if path is not None and not _is_below(str(manifest.parent / path), root):
            raise FormatError(
                f"{where}: {key} {path!r} leads out of {root}; where that is meant, name the folder that holds "
                "everything listed with --list-root", path=manifest,
            )  # fmt: skip
    if "params" in given:
        given["params"] = str(manifest.parent / given["params"])
    return name, str(manifest.parent / source), given


def _is_below(path: str, root: str) -> bool:
    """Return whether a path, or the files of a checkpoint with that prefix, lie in a folder, links followed."""
    suffixes = ("", *(row.target.suffix for row in FORMATS.values() if row.target is not None))
    files = (os.path.realpath(path + suffix) for suffix in suffixes)
    return all(os.path.commonpath((file, root)) == root for file in files)
