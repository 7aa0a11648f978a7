"""Where results go: a folder for each model, complete or not at all, with a record of what came of it.

    OUT/index.html, OUT/index.json           the whole registry on one page, and as data
    OUT/models/SLUG/SLUG.onnx, report.html, report.json, record.json
    OUT/.graphir/                            what is being worked on; empty between runs

The record is the state: who finds it knows that the model is done, by which options and from which files. It is in its
place when everything else is. There is one for each model, so that workers on several machines need no journal that
they would have to share, and so that nothing is lost if the one who started them is gone.

Whoever made OUT may have put links and pipes there: nothing below it is reached through a link (`files.folders`).
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from graphir.errors import ExportFailure, FormatError
from graphir.files.folders import Folder
from graphir.files.writing import replacing
from graphir.registry.jobs import ModelOutcome
from graphir.safety.json_text import NoJson, read_json

RECORD, HTML, JSON = "record.json", "report.html", "report.json"
INDEX_HTML, INDEX_JSON = "index.html", "index.json"
MODELS, STATE, LOCK, WORK = "models", ".graphir", "lock", "work"
ATTEMPTS = 20
# A record has some KB, of a model of 100,000 files 10 MB: what is larger is none of ours.
LARGEST_RECORD = 1 << 24


class ResultStore(Protocol):
    """A place for results. Its objects go to other processes."""

    @property
    def shown(self) -> str:
        """Return its path or address."""
        ...

    def workspace(self, slug: str) -> Path:
        """Return a new empty folder on this machine for the files of a model."""
        ...

    def publish(self, folder: Path, outcome: ModelOutcome) -> None:
        """Replace all results of the model by the files of a workspace and the outcome."""
        ...

    def outcomes(self) -> dict[str, ModelOutcome]:
        """Return the outcomes by slug; records with missing files are left out."""
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
        """Return the folder."""
        return self.root

    def workspace(self, slug: str) -> Path:
        """Return a folder on the file system of the results, so that it can be moved to them. Raises ExportFailure on a
        machine that does not see the folder of who started the work: results would be lost there."""
        with suppress(FileNotFoundError), self._work() as (state, work):
            if state.size_of(LOCK) is not None:
                return work.path / work.make_folder(f"{slug}-")
        raise ExportFailure(
            f"this worker has no access to the folder {self.root}; name a folder that all workers share with --out, "
            "or an address such as s3://bucket/registry"
        )

    def publish(self, folder: Path, outcome: ModelOutcome) -> None:
        """Replace a model's folder. Readers find the old one, none for a moment, or the new one.

        Nothing is brought to the disk by force: a record names the sizes of its files, and after a power cut a file
        that is shorter makes the model one to be done again.
        """
        with self._work() as (_, work), self._inner(MODELS, create=True) as models:
            with work.inner(folder.name) as new:
                new.write(RECORD, record_text(outcome).encode())
            work.set_mode(folder.name, 0o777 & ~_umask())
            for attempt in range(ATTEMPTS):
                old = f"old-{secrets.token_hex(8)}"
                with suppress(FileNotFoundError):
                    models.move(outcome.slug, work, old)
                try:
                    work.move(folder.name, models, outcome.slug)
                    return
                except OSError:  # another worker, which was taken for dead, has put the same there meanwhile
                    if attempt + 1 == ATTEMPTS:
                        raise
                finally:
                    work.remove(old)

    def outcomes(self) -> dict[str, ModelOutcome]:
        """Return the complete outcomes in the folder."""
        recorded = {}
        with suppress(FileNotFoundError), self._inner(MODELS) as models:
            for name in models.names():
                outcome = _read_outcome(models, name)
                if outcome is not None and outcome.slug == name:
                    recorded[name] = outcome
        return recorded

    def write(self, name: str, text: str) -> None:
        """Write a file completely or not at all."""
        with replacing(Path(self.root, name)) as (file,):
            file.write(text.encode("utf-8"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the registry and remove the remains of killed runs. Raises ExportFailure if it is locked."""
        with suppress(FileExistsError):
            os.makedirs(self.root)
        if not os.path.isdir(self.root):
            raise ExportFailure(f"cannot write {self.root}: it is not a folder")
        with Folder.opened(self.root) as top, top.inner(STATE, create=True) as state:
            for name in (INDEX_HTML, INDEX_JSON):
                top.check_file(name)
            with top.inner(MODELS, create=True):
                pass
            descriptor = state.open_file(LOCK)
            try:
                if not _try_lock(descriptor):
                    raise ExportFailure(
                        f"{self.root}: another convert-all is using it; wait for it, or name another --out"
                    )
                state.remove(WORK)
                try:
                    yield
                finally:
                    state.remove(WORK)
            finally:
                os.close(descriptor)

    @contextmanager
    def _inner(self, name: str, *, create: bool = False) -> Iterator[Folder]:
        with Folder.opened(self.root) as top, top.inner(name, create=create) as folder:
            yield folder

    @contextmanager
    def _work(self) -> Iterator[tuple[Folder, Folder]]:
        """Yield the state folder and the work folder in it."""
        with self._inner(STATE) as state, state.inner(WORK, create=True) as work:
            yield state, work


def _read_outcome(models: Folder, name: str) -> ModelOutcome | None:
    """Return the outcome that a model's folder records, if its files are as large as that says."""
    try:
        with models.inner(name) as folder:
            return complete_outcome(folder.read(RECORD, LARGEST_RECORD), folder.size_of)
    except (OSError, FormatError, ExportFailure):  # no record, or none that a run of ours can have written
        return None


def record_text(outcome: ModelOutcome) -> str:
    """Return the text of a record's file."""
    return json.dumps(outcome.to_json(), indent=1) + "\n"


def complete_outcome(text: bytes, size_of: Callable[[str], int | None]) -> ModelOutcome | None:
    """Return the outcome of a record, if the files beside it are as large as it says; None for a damaged one."""
    try:
        outcome = ModelOutcome.of_json(read_json(text))
    except NoJson:
        return None
    if outcome is None or any(size_of(os.path.basename(name)) != size for name, size in outcome.files):
        return None
    return outcome


def _try_lock(descriptor: int) -> bool:
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
