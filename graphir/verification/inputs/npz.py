"""Arrays by name: from mappings and from .npz files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import FormatError, VerificationError
from graphir.files.reading import open_plain

Array = NDArray[Any]
PathLike = str | os.PathLike[str]
UNREADABLE = (OSError, EOFError, ValueError, AttributeError, TypeError, FormatError)


def chosen(given: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """The arrays of the inputs. Raises VerificationError with all that are missing."""
    missing = [name for name in names if name not in given]
    if missing:
        raise VerificationError(f"the feeds lack {', '.join(missing)}; they have {', '.join(given) or 'nothing'}")
    return {name: given[name] for name in names}


def read_feeds(feeds: Mapping[str, Any] | PathLike) -> dict[str, Array]:
    """Arrays by name, from a mapping or an .npz."""
    if isinstance(feeds, Mapping):
        return {name: np.asarray(array) for name, array in feeds.items()}
    return {name.removeprefix("input:"): array for name, array in read_npz(feeds).items()}


def npz_names(path: PathLike) -> list[str]:
    """The names of an .npz file's arrays. Raises VerificationError."""
    return list(_in_npz(path, lambda archive: archive.files))


def read_npz(path: PathLike, names: Sequence[str] | None = None) -> dict[str, Array]:
    """The arrays of an .npz, or those named. Raises VerificationError."""

    def read(archive: Any) -> dict[str, Array]:
        return {name: archive[name] for name in (archive.files if names is None else names)}

    found: dict[str, Array] = _in_npz(path, read)
    return found


def _in_npz(path: PathLike, read: Callable[[Any], Any]) -> Any:
    import zipfile
    import zlib

    try:
        with open_plain(path) as file, np.load(file, allow_pickle=False) as archive:
            return read(archive)
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        raise VerificationError(f"cannot read {path} as an .npz of arrays: {error}") from error


__all__ = ["UNREADABLE", "chosen", "npz_names", "read_feeds", "read_npz"]
