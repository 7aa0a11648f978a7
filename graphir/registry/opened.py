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
from graphir.registry.sources import ListedModel, ModelSearch, walk
from graphir.registry.store import ResultStore
from graphir.safety.limits import Limits, limited
from graphir.structure.record import record


@record
class _UnpackedArchive:
    """An archive as it was, and the folder that holds its files."""

    model: ListedModel
    folder: Path

    def is_of(self, model: ListedModel) -> bool:
        return (self.model.archive, self.model.stamps) == (model.archive, model.stamps)


_kept: list[_UnpackedArchive] = []


@contextmanager
def extracted(model: ListedModel, store: ResultStore) -> Iterator[tuple[str, Path | None]]:
    """Yield the path of a model and None; for a member of an archive its unpacked path and the archive's folder."""
    if not model.archive:
        yield model.path, None
        return
    root = _unpack_once(model, store)
    yield str(root.joinpath(*model.path.split("/"))), root


def list_archive(model: ListedModel, store: ResultStore, limits: Limits | None) -> ModelSearch:
    """Return the models of an archive, by their paths in it. Raises what `unpack` raises, and does not open archives in
    it."""
    with limited(limits):
        root = _unpack_once(model, store)
    inside = walk(str(root), archives=False)
    suffix = max((suffix for suffix in SUFFIXES if model.name.endswith(suffix)), key=len, default="")
    name = model.name[: len(model.name) - len(suffix)]
    for index, member in enumerate(inside.models):
        path = Path(member.path).relative_to(root).as_posix()
        member_name = name if len(inside.models) == 1 else f"{name}/{member.name}"
        inside.models[index] = ListedModel(member_name, path, model.stamps, model.archive, model.given)
    return inside


def _unpack_once(model: ListedModel, store: ResultStore) -> Path:
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
    _kept.append(_UnpackedArchive(replace(model, path=""), folder))
    return folder


@atexit.register
def forget() -> None:
    """Remove the unpacked archives."""
    while _kept:
        shutil.rmtree(_kept.pop().folder, ignore_errors=True)
