"""Writing files so that nothing is lost: beside the target first, then renamed over it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import ExportFailure

PARTIAL = ".graphir-partial"


def partial_path(path: str | os.PathLike[str]) -> Path:
    """Where a file is written until it is complete. A run that was killed leaves it; the next one writes over it."""
    target = Path(path)
    return target.with_name(f".{target.name}{PARTIAL}")


@contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[IO[bytes]]]:
    """Files to write; on success they take the places of `paths`, in order, on an error they vanish.

    Raises ExportFailure if a target cannot be written, before anything is.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]  # a link stays, what it leads to is written
    files: list[IO[bytes]] = []
    opened: list[Path] = []
    try:
        for target in targets:
            if target.is_dir():
                raise ExportFailure(f"cannot write {target}: it is a folder")
            place = partial_path(target)
            try:
                files.append(open(place, "wb"))  # noqa: SIM115  closed below, after the caller is done
            except OSError as error:
                reason = "its folder does not exist" if not target.parent.is_dir() else error.strerror or str(error)
                raise ExportFailure(f"cannot write {target}: {reason}") from error
            opened.append(place)
        yield files
        for file in files:
            file.close()
        for place, target in zip(opened, targets, strict=True):
            os.replace(place, target)
    except OSError as error:
        raise ExportFailure(f"cannot write {targets[-1]}: {error.strerror or error}") from error
    finally:
        for file in files:
            with suppress(OSError):  # what is still in a buffer need not reach a full disk any more
                file.close()
        for place in opened:
            place.unlink(missing_ok=True)


__all__ = ["PARTIAL", "partial_path", "replacing"]
