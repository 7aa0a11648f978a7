"""The models that folders, globs, manifests, archives and single files mean, each once and in a stated order.

What is a model is told by its content, as everywhere, or by a suffix that nothing else has. What is none is counted
by kind, so that nothing is passed over in silence.
"""

from __future__ import annotations

import glob
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from graphir.converters.formats import Format
from graphir.converters.glance import Glance
from graphir.converters.table import FORMATS
from graphir.errors import GraphirError, ImportFailure
from graphir.registry.archives import is_archive
from graphir.registry.manifest import LISTS, TABLE, ListFile, read_manifest
from graphir.registry.remote_files import is_remote, listed, local_path
from graphir.structure.record import mutable_record, record

# JSON that is larger is data (annotations, logs): a symbol of 100,000 nodes has 20 MB, and weights are never JSON.
LARGEST_DOCUMENT = 1 << 28
# Suffixes that models of more than one kind, or no models, have too: such a file is a model by its content only.
SHARED = frozenset({".json", ".params", ".npz", ".npy", ".pb", ".meta", ".h5", ".hdf5"})
NO_MODEL, PARTS, LINKS, UNREADABLE = "no model", "weights of a model", "link to a folder", "not readable"
NESTED, EMPTY = "archive in an archive", "archive or folder of a store without a model"
# File, relative to the folder of the model; size in bytes; nanoseconds of its last change.
Stamp = tuple[str, int, int]
Source = str | os.PathLike[str] | ListFile


@record
class Found:
    """A model: what it is called, the path of its main file or folder, and the stamps of the files that belong to it.

    Of a model in an archive, `archive` is that and `place` the path in it; the stamp is then the archive's. `given` is
    what a manifest states for this model alone. `archive` alone, without `place`, is one that was not opened yet.
    """

    name: str
    place: str
    stamps: tuple[Stamp, ...] = ()
    archive: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_closed(self) -> bool:
        """Whether this is an archive that has to be opened to know its models."""
        return bool(self.archive) and not self.place

    @property
    def shown(self) -> str:
        """Where it is, for people: `zoo.zip: resnet/model-symbol.json` for what is in an archive."""
        return f"{self.archive}: {self.place}" if self.archive and self.place else self.archive or self.place


@mutable_record
class Search:
    """What was found, in order, and how many files were none, by kind."""

    models: list[Found] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)

    def add(self, other: Search) -> None:
        """Take in what another search found."""
        self.models += other.models
        self.passed += other.passed


class _Look(Glance):
    """A glance that does not parse huge documents."""

    @cached_property
    def document(self) -> dict[str, Any]:
        return {} if len(self.content) > LARGEST_DOCUMENT else super().document


def search(sources: Iterable[Source], without: str = "") -> Search:
    """The models of files, folders, globs, archives and manifests, in the order of the sources and sorted by path
    within one; what two of them mean is taken once.

    A file that is named is a model whatever it holds: if it is none, its conversion says so. A list of models is only
    what a `ListFile` names: no content of a file makes it one. `without` is a folder that is not looked into, where
    results go. Raises ImportFailure for a source that does not exist or a glob that nothing matches, and FormatError
    for a list that cannot be read.
    """
    found = Search()
    for source in sources:
        found.add(_searched(source, without))
    first: dict[tuple[str, str], Found] = {}
    for model in found.models:
        place = model.archive or model.place
        first.setdefault((place if is_remote(place) else os.path.realpath(place), repr(model.given)), model)
    often = Counter(model.name for model in first.values())
    found.models = [_told_apart(model) if often[model.name] > 1 else model for model in first.values()]
    return found


def _searched(source: Source, without: str) -> Search:
    """The models of one source."""
    if isinstance(source, ListFile):
        return Search([_of_entry(*entry) for entry in read_manifest(source)])
    if is_remote(source):
        return Search([Found(name, "", stamps, address) for name, address, stamps in listed(os.fspath(source))])
    found = Search()
    named = local_path(source)
    for place in _places(named):
        kind = None if place == named else kind_of(place)
        if os.path.isdir(place):
            found.add(walk(place, without))
        elif is_archive(place):
            found.models.append(closed(place, _plain_name(place)))
        elif kind is not None:
            found.passed[kind] += 1
        elif place.endswith((*LISTS, TABLE)) and os.path.isfile(place):
            raise ImportFailure(f"{place} is no model; a list of models is named with --list")
        else:
            found.models.append(model_at(place, _plain_name(place)))
    return found


def _told_apart(model: Found) -> Found:
    """The model called by its whole path, as it was given."""
    place = os.path.normpath(model.archive or model.place).replace(os.sep, "/").lstrip("./")
    return replace(model, name=place if model.archive else _without_suffix(place))


def _places(source: str) -> list[str]:
    """What a source means: itself, or what a glob matches."""
    if os.path.lexists(source) or _is_prefix(source):
        return [source]
    matches = sorted(glob.glob(source, recursive=True)) if glob.has_magic(source) else []
    if not matches:
        what = "nothing matches it" if glob.has_magic(source) else "no such file, folder or checkpoint prefix"
        raise ImportFailure(f"{source}: {what}")
    return matches


def _is_prefix(place: str) -> bool:
    """Whether a checkpoint is called so, as `model` for `model-symbol.json`."""
    return any(os.path.isfile(place + row.target.suffix) for row in FORMATS.values() if row.target is not None)


def _plain_name(place: str) -> str:
    """What a file that was named is called: without the folders before it."""
    return os.path.basename(os.path.normpath(place)) or "model"


def closed(place: str, name: str) -> Found:
    """An archive, whose models are not known yet."""
    return Found(name, "", stamps_of([place], os.path.dirname(place)), place)


def _of_entry(name: str, place: str, given: Mapping[str, Any]) -> Found:
    """What a line of a manifest states."""
    model = closed(place, name or _plain_name(place)) if is_archive(place) else model_at(
        place, name or _plain_name(place)
    )
    files = [str(given[key]) for key in ("params",) if key in given]
    extra = stamps_of(files, os.path.dirname(place))
    return replace(model, given=given, stamps=tuple(dict.fromkeys((*model.stamps, *extra))))


def walk(root: str, without: str = "", *, archives: bool = True) -> Search:
    """Every model below a folder, the folder itself included. Hidden files and links to folders are passed over, as is
    the folder `without`."""
    found = Search()
    shunned = os.path.realpath(without) if without else ""
    if folder_format(root) is not None:
        found.models.append(model_at(root, _plain_name(os.path.abspath(root))))
        return found
    for folder, folders, names in os.walk(root, onerror=lambda error: found.passed.update([UNREADABLE])):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found.passed[LINKS] += len(linked)
        held = [
            name for name in sorted(folders) if name not in linked and not name.startswith(".")
            and os.path.realpath(os.path.join(folder, name)) != shunned
        ]  # fmt: skip
        models = [name for name in held if folder_format(os.path.join(folder, name)) is not None]
        folders[:] = [name for name in held if name not in models]
        here = sorted([*models, *(name for name in names if not name.startswith("."))])
        found.add(_taken(folder, root, here, archives=archives))
    found.models.sort(key=lambda model: model.name)
    found.passed = +found.passed
    return found


def _taken(folder: str, root: str, names: Sequence[str], *, archives: bool) -> Search:
    """The models among the entries of one folder, which are sorted."""
    found = Search()
    for name in names:
        place = os.path.join(folder, name)
        shown = os.path.relpath(place, root).replace(os.sep, "/")
        if is_archive(place):
            if archives:
                found.models.append(closed(place, shown))
            else:
                found.passed[NESTED] += 1
            continue
        kind = kind_of(place)
        if kind is None:
            found.models.append(model_at(place, shown, names))
        else:
            found.passed[kind] += 1
    return found


def folder_format(place: str) -> Format | None:
    """The format of a folder that is one model, None of any other."""
    rows = (row for row in FORMATS.values() if row.source is not None)
    return next((row for row in rows if row.recognizes(Glance(place))), None)


def kind_of(place: str) -> str | None:
    """None for a model; why a file is none: NO_MODEL, PARTS, UNREADABLE.

    A file of a suffix that only models have is one, though nothing recognizes its content: it is broken, and its
    conversion says how.
    """
    rows = sorted((row for row in FORMATS.values() if row.source is not None), key=lambda row: row.asked_last)
    look = _Look(place)
    if look.is_folder:
        return None
    if not look.is_file:
        return NO_MODEL
    try:
        row = next((row for row in rows if row.recognizes(look)), None)
    except (GraphirError, OSError):
        return UNREADABLE
    if row is not None:
        return PARTS if row.is_part(look) else None
    own = {suffix for row in rows for suffix in _own_suffixes(row)}
    return None if look.path.name.endswith(tuple(own)) else NO_MODEL


def _own_suffixes(row: Format) -> Iterator[str]:
    """The suffixes that only this format's models have."""
    written = () if row.target is None else (row.target.suffix,)
    return (suffix for suffix in (*row.suffixes, *written) if suffix not in SHARED)


def stem_of(place: str) -> str:
    """What a model's files are called alike: its name without the suffix that a format knows."""
    name = os.path.basename(place)
    known = [suffix for row in FORMATS.values() for suffix in row.suffixes]
    known += [row.target.suffix for row in FORMATS.values() if row.target is not None]
    suffix = max((suffix for suffix in known if name.endswith(suffix)), key=len, default="")
    return name[: len(name) - len(suffix)] or name


def model_at(place: str, name: str, siblings: Sequence[str] | None = None) -> Found:
    """The model of a file, folder or prefix, with the stamps of what belongs to it: all that is in its folder, or the
    files beside it whose names begin as its own does. `siblings` are the sorted entries of its folder."""
    if os.path.isdir(place):
        inside = sorted(str(file) for file in Path(place).rglob("*") if file.is_file())
        return Found(_without_suffix(name), place, stamps_of(inside, place))
    folder, stem = os.path.dirname(place), stem_of(place)
    if siblings is None:
        siblings = sorted(os.listdir(folder or "."))
    files = []
    for sibling in siblings[bisect_left(siblings, stem) :]:
        if not sibling.startswith(stem):
            break
        files.append(os.path.join(folder, sibling))
    return Found(_without_suffix(name), place, stamps_of(files, folder))


def _without_suffix(name: str) -> str:
    """The name without what tells the format; a folder of its own names a model that has a common name only."""
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{stem_of(last)}"


def stamps_of(files: Iterable[str], folder: str) -> tuple[Stamp, ...]:
    """Name, size and last change of each that is a file; what is gone has none."""
    found = []
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            continue
        if os.path.isfile(file):
            found.append((os.path.relpath(file, folder or "."), status.st_size, status.st_mtime_ns))
    return tuple(found)
