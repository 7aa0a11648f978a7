"""Tables that come with graphir as JSON and of which a run needs few rows: each row is parsed when it is asked for.

Such a file is one object. An entry of it stands on a line of its own, or is an object each of whose entries does, the
rows, between a line that ends with its opening brace and one with its closing brace. It is valid JSON, and what is read
here is what a parser of the whole finds. Names are plain: without quotes and backslashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Rows(Mapping[str, Any]):
    """Entries by name, in the file's order. A text stands for what it says in JSON, a dictionary for rows."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self._entries = entries
        self._parsed: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._parsed:
            entry = self._entries[name]
            self._parsed[name] = json.loads(entry.removesuffix(",")) if isinstance(entry, str) else Rows(entry)
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


def read_rows(file: Path) -> Rows:
    """Return the entries of a table; those that are rows are `Rows` themselves."""
    whole: dict[str, Any] = {}
    part = whole
    for line in file.read_bytes().decode().splitlines()[1:]:
        name, colon, text = line.partition('": ')
        if not colon:
            part = whole
        elif text == "{":
            part = whole[name[1:]] = {}
        else:
            part[name[1:]] = text
    return Rows(whole)


def rows_text(entries: Mapping[str, Any], *of_rows: str) -> str:
    """Return the file of a table, of which the entries in `of_rows` have rows."""
    return "{\n" + ",\n".join(_entry(name, value, name in of_rows) for name, value in entries.items()) + "\n}\n"


def _entry(name: str, value: Any, has_rows: bool) -> str:
    if not has_rows:
        return f"{json.dumps(name)}: {json.dumps(value)}"
    rows = ",\n".join(_entry(row, entry, has_rows=False) for row, entry in value.items())
    return f"{json.dumps(name)}: {{\n{rows}\n}}"
