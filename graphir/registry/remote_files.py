"""Models at addresses that fsspec knows (s3://, gs://, hdfs://): listed, and fetched before they are read.

An address of this machine's own files is their path, and is read as any path is. No other address may lead to them:
what a link points to would be fetched with the model and count as part of it.

What is fetched together is a unit, in which models are looked for as in an archive: each folder right below the address
with all that is in it, each archive, and the files that lie at the address itself. A glob (`s3://zoo/*.tar.gz`) lists
what it matches, each a unit.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path, PurePosixPath
from typing import Any

from graphir.errors import ImportFailure
from graphir.extras import install_hint
from graphir.registry.archives import SUFFIXES, is_archive, path_in, unpack

NEEDED = f"addresses need fsspec, which is not installed: {install_hint('dask')}"
LOOSE = "*"
# What fsspec calls this machine's files.
LOCAL = ("file", "local")
# What the file systems of fsspec call the time of the last change, or a tag of the content.
CHANGING = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")
Unit = tuple[str, str, tuple[tuple[str, int, int], ...]]


def local_path(address: str | os.PathLike[str]) -> str:
    """Return the path that an address of this machine's files means; anything else as it is.

    >>> local_path("file:///zoo/a"), local_path("local://zoo"), local_path("s3://zoo"), local_path("zoo")
    ('/zoo/a', 'zoo', 's3://zoo', 'zoo')
    """
    text = os.fspath(address)
    scheme, sign, path = text.partition("://")
    return os.path.expanduser(path) if sign and scheme in LOCAL else text


def is_remote(address: str | os.PathLike[str]) -> bool:
    """Return whether this is an address, not a path."""
    return "://" in local_path(address)


def open_address(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path there. Raises ImportFailure where fsspec, or what it needs for
    that kind of address, is not installed, and for an unknown kind."""
    try:
        import fsspec
    except ImportError as error:
        raise ImportFailure(NEEDED) from error
    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ImportFailure(f"{address}: {error}") from error
    if _reads_this_machine(system):
        raise ImportFailure(f"{address} leads to files of this machine; name their path instead of an address")
    return system, str(path).rstrip("/")


def _reads_this_machine(system: Any) -> bool:
    """Return whether a file system of fsspec is this machine's own, wraps that (`dir::file://`), or follows a list of
    addresses, which may be of this machine (`reference://`)."""
    import fsspec.implementations.local as local
    import fsspec.implementations.reference as reference

    seen = []
    while system is not None and system not in seen:
        if isinstance(system, local.LocalFileSystem | reference.ReferenceFileSystem):
            return True
        seen.append(system)
        system = getattr(system, "fs", None) or getattr(system, "sync_fs", None)
    return False


def list_units(address: str) -> list[Unit]:
    """Return the units at an address, sorted: name, address and stamps. Raises ImportFailure if there are none."""
    system, path = open_address(address)
    scheme = address.partition("://")[0]
    if any(sign in path for sign in "*?["):
        matches = sorted(system.glob(path))
    elif system.isfile(path):
        matches = [path]
    else:
        matches = _units_below(system, path)
    if not matches:
        raise ImportFailure(f"{address}: no files there")
    return [_unit(system, scheme, match) for match in matches]


def _units_below(system: Any, path: str) -> list[str]:
    if not system.isdir(path):
        return []
    entries = {entry["name"].rstrip("/"): entry["type"] for entry in system.ls(path, detail=True)}
    folders = [name for name, kind in entries.items() if kind == "directory"]
    files = [name for name, kind in entries.items() if kind == "file"]
    archives = [name for name in files if name.endswith(SUFFIXES)]
    loose = [f"{path}/{LOOSE}"] if len(archives) < len(files) else []
    return sorted([*folders, *archives, *loose])


def _unit(system: Any, scheme: str, path: str) -> Unit:
    files = sorted(_files(system, path).items())
    stamps = tuple((name, int(entry.get("size") or 0), _key(entry)) for name, entry in files)
    name = PurePosixPath(path).parent.name if path.endswith(f"/{LOOSE}") else PurePosixPath(path).name
    return name, f"{scheme}://{path}", stamps


def _files(system: Any, path: str) -> dict[str, dict[str, Any]]:
    """Return the files of a unit by their names in it."""
    if path.endswith(f"/{LOOSE}"):
        entries = system.ls(path[: -len(LOOSE) - 1], detail=True)
        return {
            PurePosixPath(entry["name"]).name: entry for entry in entries
            if entry["type"] == "file" and not entry["name"].endswith(SUFFIXES)
        }  # fmt: skip
    if system.isfile(path):
        return {PurePosixPath(path).name: system.info(path)}
    entries = system.find(path, detail=True)
    return {name.removeprefix(path).lstrip("/"): entry for name, entry in entries.items()}


def _key(entry: dict[str, Any]) -> int:
    """Return a number that changes with a file's time or tag."""
    tags = {name: str(entry[name]) for name in CHANGING if name in entry}
    return int(hashlib.sha256(repr(sorted(tags.items())).encode()).hexdigest()[:15], 16)


def fetch(address: str, folder: Path) -> None:
    """Bring a unit's files into an empty folder; of an archive what is in it. Raises FormatError as `unpack` does, and
    for names that lead elsewhere."""
    system, path = open_address(address)
    for name, entry in _files(system, path).items():
        target = path_in(folder, name, address)
        target.parent.mkdir(parents=True, exist_ok=True)
        system.get_file(entry["name"], str(target))
    alone = folder / PurePosixPath(path).name
    if is_archive(alone):
        packed = folder.with_name(folder.name + "-packed")
        os.rename(alone, packed)
        try:
            unpack(packed, folder)
        finally:
            packed.unlink()
