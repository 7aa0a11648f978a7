"""Where results go: a folder for each model, complete or not at all, with a record of what came of it.

    OUT/index.html, OUT/index.json           the whole registry on one page, and as data
    OUT/models/SLUG/SLUG.onnx, report.html, report.json, record.json
    OUT/.graphir/                            what is being worked on; empty between runs

The record is the state: who finds it knows that the model is done, by which options and from which files. It is in its
place when everything else is. There is one for each model, so that workers on several machines need no journal that
they would have to share, and so that nothing is lost if the one who started them is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from graphir.errors import ExportFailure
from graphir.files.writing import replacing
from graphir.registry.jobs import Outcome

RECORD, HTML, JSON = "record.json", "report.html", "report.json"
MODELS, STATE, LOCK = "models", ".graphir", "lock"
ATTEMPTS = 20


class Store(Protocol):
    """A place for results. Its objects go to other processes."""

    @property
    def shown(self) -> str:
        """What people call it: a path or an address."""
        ...

    def workspace(self, slug: str) -> Path:
        """A new empty folder of this machine to make a model in."""
        ...

    def publish(self, folder: Path, outcome: Outcome) -> None:
        """Let the files of a workspace and the outcome take the place of what the model had, all of it."""
        ...

    def outcomes(self) -> dict[str, Outcome]:
        """What is known of models, by slug; records whose files are not all there are not among them."""
        ...

    def write(self, name: str, text: str) -> None:
        """Write a file of the registry itself."""
        ...


class LocalStore:
    """A folder of a file system."""

    def __init__(self, root: str) -> None:
        self.root = root

    @property
    def shown(self) -> str:
        """The folder."""
        return self.root

    def workspace(self, slug: str) -> Path:
        """A folder on the file system of the results, so that it can be moved to them. Raises ExportFailure on a
        machine that does not see the folder of who started the work: results would be lost there."""
        if not Path(self.root, STATE, LOCK).is_file():
            raise ExportFailure(
                f"this worker does not see the folder {self.root} of the one who started it; name a folder with --out "
                "that all share, or an address such as s3://bucket/registry"
            )
        return Path(tempfile.mkdtemp(prefix=f"{slug}-", dir=self._state("work")))

    def publish(self, folder: Path, outcome: Outcome) -> None:
        """Readers find the old folder, none for a moment, or the new one.

        Nothing is brought to the disk by force: a record names the sizes of its files, and after a power cut a file
        that is shorter makes the model one to be done again.
        """
        (folder / RECORD).write_text(record_text(outcome), encoding="utf-8")
        folder.chmod(0o777 & ~_umask())
        place = Path(self.root, MODELS, outcome.slug)
        place.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(ATTEMPTS):
            old = Path(tempfile.mkdtemp(prefix="old-", dir=self._state("work")))
            with suppress(FileNotFoundError):
                os.rename(place, old)
            try:
                os.rename(folder, place)
                return
            except OSError:  # another worker, which was taken for dead, has put the same there meanwhile
                if attempt + 1 == ATTEMPTS:
                    raise
            finally:
                shutil.rmtree(old, ignore_errors=True)

    def outcomes(self) -> dict[str, Outcome]:
        """Those in the folder."""
        found = {}
        with suppress(FileNotFoundError):
            for entry in sorted(os.scandir(Path(self.root, MODELS)), key=lambda entry: entry.name):
                outcome = _read(Path(entry.path))
                if outcome is not None and outcome.slug == entry.name:
                    found[entry.name] = outcome
        return found

    def write(self, name: str, text: str) -> None:
        """Complete or not at all."""
        with replacing(Path(self.root, name)) as (file,):
            file.write(text.encode("utf-8"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While one works on the registry, no other does; what killed runs left is removed. Raises ExportFailure."""
        with suppress(FileExistsError):
            os.makedirs(self.root)
        if not os.path.isdir(self.root):
            raise ExportFailure(f"cannot write {self.root}: it is no folder")
        descriptor = os.open(self._state() / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not _locked(descriptor):
                raise ExportFailure(f"{self.root}: another convert-all works on it; wait for it, or name another --out")
            shutil.rmtree(self._state() / "work", ignore_errors=True)
            try:
                yield
            finally:
                shutil.rmtree(self._state() / "work", ignore_errors=True)
        finally:
            os.close(descriptor)

    def _state(self, *names: str) -> Path:
        folder = Path(self.root, STATE, *names)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _read(folder: Path) -> Outcome | None:
    """The outcome that a folder records, if its files are as large as that says."""
    try:
        return whole((folder / RECORD).read_bytes(), lambda name: os.path.getsize(folder / name))
    except OSError:
        return None


def record_text(outcome: Outcome) -> str:
    """A record's file."""
    return json.dumps(outcome.to_json(), indent=1) + "\n"


def whole(text: bytes, size_of: Callable[[str], int | None]) -> Outcome | None:
    """The outcome of a record, if the files beside it are as large as it says; None for a damaged one."""
    try:
        outcome = Outcome.of_json(json.loads(text))
    except (ValueError, RecursionError):
        return None
    if outcome is None or any(size_of(os.path.basename(name)) != size for name, size in outcome.files):
        return None
    return outcome


def _locked(descriptor: int) -> bool:
    """Lock a file while this process lives; False if another one has it locked."""
    try:
        import fcntl
    except ImportError:  # only POSIX has it: elsewhere nobody is kept out
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


__all__ = ["HTML", "JSON", "MODELS", "RECORD", "LocalStore", "Store", "record_text", "whole"]
