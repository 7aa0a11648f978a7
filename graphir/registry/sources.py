"""The models that folders, globs, manifests, archives and single files mean, each once and in a stated order.

A model is recognized by its content, or by a suffix that only models have. Other files are counted by kind, so that
nothing is skipped silently.
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
from graphir.registry.remote_files import is_remote, list_units, local_path
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
class ListedModel:
    """A model: its name, the path of its main file or folder, and the stamps of the files that belong to it.

    Of a model in an archive, `archive` is that and `path` the path in it; the stamp is then the archive's. `given` is
    what a manifest states for this model alone. `archive` alone, without `path`, is one that was not opened yet.
    """

    name: str
    path: str
    stamps: tuple[Stamp, ...] = ()
    archive: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_closed(self) -> bool:
        """Return whether this is an archive that has to be opened to know its models."""
        return bool(self.archive) and not self.path

    @property
    def shown(self) -> str:
        """Return its location for people: `zoo.zip: resnet/model-symbol.json` for what is in an archive."""
        return f"{self.archive}: {self.path}" if self.archive and self.path else self.archive or self.path


@mutable_record
class ModelSearch:
    """The models in order, and in `passed` the number of other files by kind."""

    models: list[ListedModel] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)

    def add(self, other: ModelSearch) -> None:
        """Add the models and counts of another search."""
        self.models += other.models
        self.passed += other.passed


class _LimitedGlance(Glance):
    """A glance that does not parse huge documents."""

    @cached_property
    def document(self) -> dict[str, Any]:
        return {} if len(self.content) > LARGEST_DOCUMENT else super().document


def search(sources: Iterable[Source], without: str = "") -> ModelSearch:
    """Return the models of files, folders, globs, archives and manifests, in the order of the sources and sorted by
    path within one; what two of them mean is taken once.

    A file that is named is a model whatever it holds: if it is none, its conversion says so. A list of models is only
    what a `ListFile` names: no content of a file makes it one. `without` is a folder that is not looked into, where
    results go. Raises ImportFailure for a source that does not exist or a glob that nothing matches, and FormatError
    for a list that cannot be read.
    """
    result = ModelSearch()
    for source in sources:
        result.add(_search_source(source, without))
    first: dict[tuple[str, str], ListedModel] = {}
    for model in result.models:
        path = model.archive or model.path
        first.setdefault((path if is_remote(path) else os.path.realpath(path), repr(model.given)), model)
    often = Counter(model.name for model in first.values())
    result.models = [_name_by_path(model) if often[model.name] > 1 else model for model in first.values()]
    return result


def _search_source(source: Source, without: str) -> ModelSearch:
    """Return the models of one source."""
    if isinstance(source, ListFile):
        return ModelSearch([_model_of_entry(*entry) for entry in read_manifest(source)])
    if is_remote(source):
        units = list_units(os.fspath(source))
        return ModelSearch([ListedModel(name, "", stamps, address) for name, address, stamps in units])
    result = ModelSearch()
    named = local_path(source)
    for path in _expand_source(named):
        kind = None if path == named else kind_of(path)
        if os.path.isdir(path):
            result.add(walk(path, without))
        elif is_archive(path):
            result.models.append(unopened_archive(path, _base_name(path)))
        elif kind is not None:
            result.passed[kind] += 1
        elif path.endswith((*LISTS, TABLE)) and os.path.isfile(path):
            raise ImportFailure(f"{path} is not a model; name a list of models with --list")
        else:
            result.models.append(model_at(path, _base_name(path)))
    return result


def _name_by_path(model: ListedModel) -> ListedModel:
    """Return the model with its whole path as the name."""
    path = os.path.normpath(model.archive or model.path).replace(os.sep, "/").lstrip("./")
    return replace(model, name=path if model.archive else _strip_suffix(path))


def _expand_source(source: str) -> list[str]:
    """Return the source itself, or the matches of a glob."""
    if os.path.lexists(source) or _is_prefix(source):
        return [source]
    matches = sorted(glob.glob(source, recursive=True)) if glob.has_magic(source) else []
    if not matches:
        what = "nothing matches it" if glob.has_magic(source) else "no such file, folder or checkpoint prefix"
        raise ImportFailure(f"{source}: {what}")
    return matches


def _is_prefix(path: str) -> bool:
    """Return whether this is the prefix of a checkpoint, such as `model` for `model-symbol.json`."""
    return any(os.path.isfile(path + row.target.suffix) for row in FORMATS.values() if row.target is not None)


def _base_name(path: str) -> str:
    """Return the name of a file without its folders."""
    return os.path.basename(os.path.normpath(path)) or "model"


def unopened_archive(path: str, name: str) -> ListedModel:
    """Return an archive that is not opened yet."""
    return ListedModel(name, "", stamps_of([path], os.path.dirname(path)), path)


def _model_of_entry(name: str, path: str, given: Mapping[str, Any]) -> ListedModel:
    """Return the model of a manifest's entry."""
    model = unopened_archive(path, name or _base_name(path)) if is_archive(path) else model_at(
        path, name or _base_name(path)
    )
    files = [str(given[key]) for key in ("params",) if key in given]
    extra = stamps_of(files, os.path.dirname(path))
    return replace(model, given=given, stamps=tuple(dict.fromkeys((*model.stamps, *extra))))


def walk(root: str, without: str = "", *, archives: bool = True) -> ModelSearch:
    """Return every model below a folder, the folder itself included. Hidden files and links to folders are passed over,
    as is the folder `without`."""
    result = ModelSearch()
    shunned = os.path.realpath(without) if without else ""
    if folder_format(root) is not None:
        result.models.append(model_at(root, _base_name(os.path.abspath(root))))
        return result
    for folder, folders, names in os.walk(root, onerror=lambda error: result.passed.update([UNREADABLE])):
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        result.passed[LINKS] += len(linked)
        visible = [
            name for name in sorted(folders) if name not in linked and not name.startswith(".")
            and os.path.realpath(os.path.join(folder, name)) != shunned
        ]  # fmt: skip
        models = [name for name in visible if folder_format(os.path.join(folder, name)) is not None]
        folders[:] = [name for name in visible if name not in models]
        here = sorted([*models, *(name for name in names if not name.startswith("."))])
        result.add(_search_folder(folder, root, here, archives=archives))
    result.models.sort(key=lambda model: model.name)
    result.passed = +result.passed
    return result


def _search_folder(folder: str, root: str, names: Sequence[str], *, archives: bool) -> ModelSearch:
    """Return the models among the entries of one folder, which are sorted."""
    result = ModelSearch()
    for name in names:
        path = os.path.join(folder, name)
        shown = os.path.relpath(path, root).replace(os.sep, "/")
        if is_archive(path):
            if archives:
                result.models.append(unopened_archive(path, shown))
            else:
                result.passed[NESTED] += 1
            continue
        kind = kind_of(path)
        if kind is None:
            result.models.append(model_at(path, shown, names))
        else:
            result.passed[kind] += 1
    return result


def folder_format(path: str) -> Format | None:
    """Return the format of a folder that is one model, None of any other."""
    rows = (row for row in FORMATS.values() if row.source is not None)
    return next((row for row in rows if row.recognizes(Glance(path))), None)


def kind_of(path: str) -> str | None:
    """Return None for a model, else the kind of the file: NO_MODEL, PARTS or UNREADABLE.

    A file of a suffix that only models have is one, though nothing recognizes its content: it is broken, and its
    conversion says how.
    """
    rows = sorted((row for row in FORMATS.values() if row.source is not None), key=lambda row: row.asked_last)
    look = _LimitedGlance(path)
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
    suffixes = {suffix for row in rows for suffix in _exclusive_suffixes(row)}
    return None if look.path.name.endswith(tuple(suffixes)) else NO_MODEL


def _exclusive_suffixes(row: Format) -> Iterator[str]:
    """Return the suffixes that only this format's models have."""
    written = () if row.target is None else (row.target.suffix,)
    return (suffix for suffix in (*row.suffixes, *written) if suffix not in SHARED)


def stem_of(path: str) -> str:
    """Return the common start of a model's file names: its name without the suffix of a format."""
    name = os.path.basename(path)
    known = [suffix for row in FORMATS.values() for suffix in row.suffixes]
    known += [row.target.suffix for row in FORMATS.values() if row.target is not None]
    suffix = max((suffix for suffix in known if name.endswith(suffix)), key=len, default="")
    return name[: len(name) - len(suffix)] or name


def model_at(path: str, name: str, siblings: Sequence[str] | None = None) -> ListedModel:
    """Return the model of a file, folder or prefix, with the stamps of what belongs to it: all that is in its folder,
    or the files beside it whose names begin as its own does. `siblings` are the sorted entries of its folder."""
    if os.path.isdir(path):
        inside = sorted(str(file) for file in Path(path).rglob("*") if file.is_file())
        return ListedModel(_strip_suffix(name), path, stamps_of(inside, path))
    folder, stem = os.path.dirname(path), stem_of(path)
    if siblings is None:
        siblings = sorted(os.listdir(folder or "."))
    files = []
    for sibling in siblings[bisect_left(siblings, stem) :]:
        if not sibling.startswith(stem):
            break
        files.append(os.path.join(folder, sibling))
    return ListedModel(_strip_suffix(name), path, stamps_of(files, folder))


def _strip_suffix(name: str) -> str:
    """Return the name without the suffix of its format."""
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{stem_of(last)}"


def stamps_of(files: Iterable[str], folder: str) -> tuple[Stamp, ...]:
    """Return name, size and last change of each file that exists."""
    stamps = []
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            continue
        if os.path.isfile(file):
            stamps.append((os.path.relpath(file, folder or "."), status.st_size, status.st_mtime_ns))
    return tuple(stamps)
