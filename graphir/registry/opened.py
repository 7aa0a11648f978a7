"""Archives opened in a worker: unpacked once, kept as long as the next models come out of the same one."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from graphir.registry.archives import SUFFIXES, unpack
from graphir.registry.remote_files import fetch, is_remote
from graphir.registry.sources import Found, Search, walk
from graphir.registry.store import Store
from graphir.safety.limits import Limits, limited
from graphir.structure.record import record


@record
class _Kept:
    """An archive as it was, and the folder that holds its files."""

    model: Found
    folder: Path

    def is_of(self, model: Found) -> bool:
        return (self.model.archive, self.model.stamps) == (model.archive, model.stamps)


_kept: list[_Kept] = []


@contextmanager
def opened(model: Found, store: Store) -> Iterator[tuple[str, Path | None]]:
    """The path of a model; of one in an archive the path of its copy, and the folder of all of the archive's files."""
    if not model.archive:
        yield model.place, None
        return
    root = _unpacked(model, store)
    yield str(root.joinpath(*model.place.split("/"))), root


def look_into(model: Found, store: Store, limits: Limits | None) -> Search:
    """The models of an archive, by their paths in it. Raises what `unpack` raises, and does not open archives in it."""
    with limited(limits):
        root = _unpacked(model, store)
    inside = walk(str(root), archives=False)
    suffix = max((suffix for suffix in SUFFIXES if model.name.endswith(suffix)), key=len, default="")
    name = model.name[: len(model.name) - len(suffix)]
    for index, found in enumerate(inside.models):
        place = Path(found.place).relative_to(root).as_posix()
        own = name if len(inside.models) == 1 else f"{name}/{found.name}"
        inside.models[index] = Found(own, place, model.stamps, model.archive, model.given)
    return inside


def _unpacked(model: Found, store: Store) -> Path:
    for kept in _kept:
        if kept.is_of(model) and kept.folder.is_dir():
            return kept.folder
    forget()
    folder = store.workspace("archive")
    try:
        if is_remote(model.archive):
            fetch(model.archive, folder)
        else:
            unpack(model.archive, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _kept.append(_Kept(replace(model, place=""), folder))
    return folder


@atexit.register
def forget() -> None:
    """Remove what is kept."""
    while _kept:
        shutil.rmtree(_kept.pop().folder, ignore_errors=True)
