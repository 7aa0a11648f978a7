"""Which format a model has: its content decides, by parsing; its name where the content is of no format."""

from __future__ import annotations

from graphir.converters.formats import Format, PathLike
from graphir.converters.glance import Glance
from graphir.converters.table import FORMATS, readable
from graphir.errors import FormatError, ImportFailure


def detect_format(path: PathLike) -> str:
    """The format of a model: by content first, then by suffix. Raises FormatError if it is none that graphir reads."""
    glance = Glance(path)
    if glance.mode is not None and not glance.is_file and not glance.is_folder:
        raise FormatError("is no regular file", path=glance.path)
    rows = sorted((row for row in FORMATS.values() if row.source is not None), key=lambda row: row.asked_last)
    found = next((row for row in rows if row.recognizes(glance)), None) or _by_name(glance, rows)
    if found is not None:
        return found.name
    if glance.mode is None:
        raise ImportFailure(f"{glance.path}: no such file, folder or checkpoint prefix")
    raise FormatError(f"not a model that graphir reads ({', '.join(readable().values())})", path=glance.path)


def text_format(text: object) -> str | None:
    """The format of a text that is a model itself; None for the name of one."""
    if not isinstance(text, str):
        return None
    return next((row.name for row in FORMATS.values() if row.takes_text(text)), None)


def _by_name(glance: Glance, rows: list[Format]) -> Format | None:
    """What nobody recognizes, by its name; a folder goes to the row that takes any. Raises FormatError for JSON that a
    format knows not to be its own."""
    if glance.is_folder:
        return next((row for row in rows if row.takes_folders), None)
    if not glance.is_file:
        return None
    for row in rows:
        for member, what in row.other_json.items():
            if member in glance.document:
                raise FormatError(f"JSON, but {what}", path=glance.path)
    named = [(len(suffix), row) for row in rows for suffix in row.suffixes if glance.path.name.endswith(suffix)]
    return max(named, key=lambda entry: entry[0])[1] if named else None


__all__ = ["detect_format", "text_format"]
