"""A look at a place, before it is known which format's model is there."""

from __future__ import annotations

import mmap
import os
import stat
from functools import cached_property
from pathlib import Path
from typing import Any

from graphir.errors import ImportFailure
from graphir.safety.collector import paused_collector
from graphir.safety.json_text import NoJson, read_json

ZIP = b"PK\x03\x04"
HEAD = 64
START = 4096
_NO_JSON = bytes(set(range(0x20)) - set(b"\t\n\r"))


class Glance:
    """What is at a path, read as far as is asked for, and once.

    `mode` is None where nothing is, or nothing that has such a name.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.mode: int | None = os.stat(self.path).st_mode
        except (OSError, ValueError):  # a name may be too long, or hold a null byte
            self.mode = None

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.mode is not None and stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode is not None and stat.S_ISREG(self.mode)

    @cached_property
    def content(self) -> memoryview:
        """The bytes of a file, mapped; none of anything else. Raises ImportFailure for what cannot be read.

        The mapping goes with the last view: what an error's traceback holds could not be closed.
        """
        if not self.is_file:
            return memoryview(b"")
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size == 0:
                    return memoryview(b"")
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise ImportFailure(f"cannot read {self.path}: {error.strerror or error}") from error

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        return bytes(self.content[:HEAD])

    @cached_property
    def archive(self) -> list[str]:
        """The names of a zip archive's members; none of a damaged one, whose reader says how it is damaged."""
        if not self.head.startswith(ZIP):
            return []
        import zipfile

        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.namelist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
            return []
        except OSError as error:
            raise ImportFailure(f"cannot read {self.path}: {error.strerror or error}") from error

    @cached_property
    def json_start(self) -> bytes:
        """What follows the first brace of a JSON object, without blanks; nothing of anything else.

        Binary messages can begin with a brace behind blanks too; they have control characters, which JSON has not.
        """
        start = bytes(self.content[:START])
        text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
        if not text.startswith(b"{") or len(start.translate(None, _NO_JSON)) < len(start):
            return b""
        return text[1:].lstrip(b" \t\r\n")

    @cached_property
    def document(self) -> dict[str, Any]:
        """The JSON object that the file holds; empty for a damaged one, whose reader says where it is damaged."""
        if not self.json_start:
            return {}
        try:
            with paused_collector():
                document = read_json(bytes(self.content))
        except NoJson:
            return {}
        return document if isinstance(document, dict) else {}

    def has(self, text: bytes) -> bool:
        """Return whether these bytes stand in the file."""
        return isinstance(self.content.obj, mmap.mmap) and self.content.obj.find(text) >= 0
