"""Files that stand where a model is expected now and then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphir.errors import FormatError

GIT_LFS = (b"version https://git-lfs", "a Git LFS pointer, not the model itself; fetch it with `git lfs pull`")
TF_LITE = b"TFL3"


def refuse_impostors(head: bytes, impostors: Sequence[tuple[bytes, str]], wanted: str, path: Path | None) -> None:
    """Raise FormatError for a file that begins, behind blanks, like one of these, each with what to say of it."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for prefix, what in impostors:
        if start.startswith(prefix) or (prefix == TF_LITE and head[4:8] == prefix):
            raise FormatError(f"not {wanted}: {what}", path=path, offset=0)
