"""Writing files: complete or not at all.

What is written lies beside its target under a name that nobody can guess, made exclusively and locked while its process
lives, and takes the target's place by a rename when it is complete. What a killed process left is recognised by its
name, by its owner and by the lock that nobody holds, and removed by the next run to the same target.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from graphir.errors import ExportFailure
from graphir.structure.record import record

from .signals import signals_held
from .sources import WRITTEN, how_used, remember

try:
    import fcntl
except ImportError:  # only POSIX has it: without it nothing is locked, and nothing that is left is removed
    fcntl = None  # type: ignore[assignment]

PARTIAL = ".partial"  # nothing refers to such a file
WEIGHTS = ".weights"  # the file that stands at the target may refer to it
LOCK_SECONDS = 30.0
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def partial_prefix(target: str) -> str:
    """Return how the names begin under which a file called `target` is written. Of fixed length: long names work
    too."""
    return f".graphir-{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}-"


@contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[IO[bytes]]]:
    """Yield files to write; on success they take the places of `paths`, on an error they vanish.

    Of several, the last is what readers open first, and the others are what they look for beside it: a new one never
    stands beside an old one. Where the process is killed in the very middle of the renames, the others are missing.

    A target that is a link is refused, as is what is no file. Raises ExportFailure if a target cannot be written,
    before anything is.
    """
    with _Writing(paths) as writing:
        parts = [writing.create(place) for place in writing.places]
        yield [part.file for part in parts]
        writing.close()
        with writing.locked():
            _switch(parts)
            writing.sweep((WEIGHTS,))


@record
class Pair:
    """A file of weights and the descriptions that name it: (the name that they shall have for it, the file)."""

    weights: IO[bytes]
    descriptions: list[tuple[str, IO[bytes]]]


@contextmanager
def replacing_pair(weights: str | os.PathLike[str], target: str | os.PathLike[str]) -> Iterator[Pair]:
    """As `replacing`, for a target that names the file of its weights, which lies beside it.

    Readers find the old pair or the new one at every moment, wherever the process is killed. Where an old pair stands,
    that takes a description more, which for a moment names the new weights by the name that they are written under.
    """
    with _Writing((weights, target)) as writing:
        weights_place, place = writing.places
        has_old = weights_place.exists() and place.exists()
        data = writing.create(weights_place, WEIGHTS if has_old else PARTIAL)
        last = writing.create(place)
        first = writing.create(place) if has_old else None
        final = (weights_place.name, last.file)
        yield Pair(data.file, [final] if first is None else [(data.name, first.file), final])
        writing.close()
        with writing.locked():
            if first is not None and _link_part(data):
                _switch_pair(data, first, last)
            elif place.exists() and weights_place.exists():
                _switch([data, last])
            else:
                data.replace()
                last.replace()
            writing.sweep((WEIGHTS,))


@record
class _Place:
    """Where a file is to stand: an opened folder, whatever becomes of its path, and a name in it."""

    path: Path
    folder: int

    @property
    def name(self) -> str:
        return self.path.name

    def status(self, name: str | None = None) -> os.stat_result | None:
        """Return what stands there, or in the folder under another name; None if nothing does."""
        try:
            return os.stat(name or self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def exists(self) -> bool:
        return self.status() is not None

    def check(self) -> None:
        """Raise ExportFailure for what is not to be replaced by a file."""
        status = self.status()
        if status is None:
            return
        if stat.S_ISREG(status.st_mode):
            used = how_used(self.path)
            if used is not None:
                raise ExportFailure(f"cannot write {self.path}: this command {used} it; name another file")
            return
        if stat.S_ISLNK(status.st_mode):
            leads = os.readlink(self.name, dir_fd=self.folder)
            raise ExportFailure(
                f"cannot write {self.path}: it is a link to {leads}, and links are not written through; name that file "
                "itself, or remove the link"
            )
        kind = next((text for test, text in _KINDS if test(status.st_mode)), "no file")
        raise ExportFailure(f"cannot write {self.path}: it is {kind}")

    def move(self, old: str, new: str) -> None:
        os.replace(old, new, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.folder)


class _PartialFile:
    """A file on its way to its place. `lock` is a second descriptor of it, which holds its lock until the end."""

    def __init__(self, place: _Place, name: str, descriptor: int) -> None:
        self.place = place
        self.name = name
        self.lock = os.dup(descriptor)
        self.file: IO[bytes] = os.fdopen(descriptor, "wb")
        self.other_names: list[str] = []
        self.is_used = False  # whether the target refers to it under the name that it was written under

    def replace(self, name: str | None = None) -> None:
        self.place.move(name or self.name, self.place.name)
        remember(self.place.path, WRITTEN)

    def discard(self) -> None:
        """Close it, and remove what is left of it."""
        with suppress(OSError):  # what is still in a buffer need not reach a full disk any more
            self.file.close()
        for name in self.other_names if self.is_used else [self.name, *self.other_names]:
            self.place.remove(name)
        os.close(self.lock)


class _Writing:
    """The writing of some files, from opening their folders to what remains to be removed."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self._targets = [Path(os.path.abspath(path)) for path in paths]
        self._stack = ExitStack()
        self._parts: list[_PartialFile] = []
        self._folders: dict[Path, int] = {}
        self.places: list[_Place] = []

    def __enter__(self) -> _Writing:
        try:
            with signals_held():
                for target in self._targets:
                    self.places.append(_Place(target, self._folder(target)))
                for place in self.places:
                    with _naming_target(place.path):
                        place.check()
                self.sweep((PARTIAL,))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with signals_held():
            for part in self._parts:
                part.discard()
            self._stack.close()
        if isinstance(error, OSError):
            raise ExportFailure(f"cannot write {self._targets[-1]}: {error.strerror or error}") from error

    def _folder(self, target: Path) -> int:
        descriptor = self._folders.get(target.parent)
        if descriptor is None:
            with _naming_target(target):
                descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._stack.callback(os.close, descriptor)
            self._folders[target.parent] = descriptor
        return descriptor

    def create(self, place: _Place, kind: str = PARTIAL) -> _PartialFile:
        """Return a new file for a place, with the permissions of the one that stands there. Raises ExportFailure."""
        with _naming_target(place.path), signals_held():
            while True:
                name = f"{partial_prefix(place.name)}{os.urandom(16).hex()}{kind}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                part = _PartialFile(place, name, os.open(name, flags, 0o666, dir_fd=place.folder))
                status = place.status(name) if _lock(part.lock) is not False else None
                if status is not None and os.path.samestat(status, os.fstat(part.lock)):
                    break
                part.discard()  # another process took it, before it was locked, for one that was left
            self._parts.append(part)
            old = place.status()
            if old is not None:
                os.fchmod(part.lock, old.st_mode & 0o777)
        return part

    def close(self) -> None:
        """Bring what is written to the disk's cache: a full disk is seen here."""
        for part in self._parts:
            part.file.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The time of the renames, in which no other run renames there and no signal interrupts. Raises ExportFailure
        if another process holds a folder's lock for long."""
        folders = sorted(self._folders.values(), key=lambda folder: os.fstat(folder).st_ino)
        for folder in folders:
            end = time.monotonic() + LOCK_SECONDS
            while _lock(folder) is False:
                if time.monotonic() > end:
                    raise ExportFailure(
                        f"cannot write {self._targets[-1]}: another process has held the lock of its folder for "
                        f"{LOCK_SECONDS:.0f} seconds"
                    )
                time.sleep(0.005)
        with signals_held():
            for place in self.places:
                place.check()
            yield

    def sweep(self, kinds: tuple[str, ...]) -> None:
        """Remove what killed runs left of these targets: regular files of ours, named as we name them, that no process
        has locked."""
        names = {part.name for part in self._parts}
        for path, folder in self._folders.items():
            prefixes = tuple(partial_prefix(place.name) for place in self.places if place.path.parent == path)
            for name in os.listdir(folder):
                if name.startswith(prefixes) and name.endswith(kinds) and name not in names:
                    _sweep(folder, name)


def _switch(parts: Sequence[_PartialFile]) -> None:
    """Let the parts take their places, the last one's old file never beside a new one of the others."""
    *besides, main = parts
    if not main.place.exists():
        for part in parts:
            part.replace()
        return
    aside: list[tuple[_PartialFile, str]] = []
    try:
        for part in besides:
            if part.place.exists():
                name = f"{partial_prefix(part.place.name)}{os.urandom(16).hex()}{PARTIAL}"
                part.place.move(part.place.name, name)
                aside.append((part, name))
        main.replace()
    except OSError:
        for part, name in aside:
            part.place.move(name, part.place.name)
        raise
    for part in besides:
        part.replace()
    for part, name in aside:
        part.place.remove(name)


def _link_part(part: _PartialFile) -> bool:
    """Give a part's file a second name, which can take its place while the first one stays. False where the file system
    has no links."""
    folder, name = part.place.folder, f"{partial_prefix(part.place.name)}{os.urandom(16).hex()}{PARTIAL}"
    try:
        os.link(part.name, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    part.other_names.append(name)
    return True


def _switch_pair(weights: _PartialFile, first: _PartialFile, last: _PartialFile) -> None:
    """The new description names the weights by the name they were written under, until they have their own."""
    first.replace()
    weights.is_used = True
    weights.replace(weights.other_names[0])
    last.replace()
    weights.is_used = False


def _lock(descriptor: int) -> bool | None:
    """Lock a file or folder; False if another process has it locked, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _sweep(folder: int, name: str) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError):  # gone meanwhile, a link, or not ours to open: it stays
        descriptor = os.open(name, flags, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if is_ours and _lock(descriptor) is True:
                now = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if os.path.samestat(now, status):
                    os.unlink(name, dir_fd=folder)
        finally:
            os.close(descriptor)


@contextmanager
def _naming_target(target: Path) -> Iterator[None]:
    """Raise ExportFailure, naming the target, for what the system refuses."""
    try:
        yield
    except OSError as error:
        reason = "its folder does not exist" if not target.parent.is_dir() else error.strerror or str(error)
        raise ExportFailure(f"cannot write {target}: {reason}") from error
