"""Files that appear whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphir.errors import ExportFailure
from graphir.files.writing import PARTIAL, WEIGHTS, partial_prefix, replacing, replacing_pair


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def left(folder: Path, target: str, kind: str = PARTIAL) -> Path:
    """Where a run that was killed may have left a part of what it wrote."""
    return folder / f"{partial_prefix(target)}{'0' * 32}{kind}"


def test_all_take_their_places(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    left(tmp_path, "b").write_bytes(b"what a killed run left, longer than what comes")
    with replacing(tmp_path / "a", str(tmp_path / "b")) as (first, second):
        first.write(b"1")
        second.write(b"2")
        assert (tmp_path / "a").read_bytes() == b"old"
    assert contents(tmp_path) == {"a": b"1", "b": b"2"}


def stop(error: BaseException, *paths: Path) -> None:
    """Begin to write, then fail."""
    with replacing(*paths) as files:
        files[0].write(b"1")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_ones(tmp_path: Path, error: type[Any]) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(error, match="stopped"):
        stop(error("stopped"), tmp_path / "a", tmp_path / "b")
    assert contents(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize(("target", "text"), [
    ("missing/a", "folder does not exist"), ("folder", "it is a folder"), ("a/b", "folder does not exist"),
])  # fmt: skip
def test_targets_that_cannot_be_written(tmp_path: Path, target: str, text: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ExportFailure, match=text), replacing(tmp_path / "first", tmp_path / target):
        pytest.fail("nothing is written when one of the targets cannot be")
    assert contents(tmp_path) == {"a": b"old"}


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExportFailure, match="No space left"):
        stop(OSError(28, os.strerror(28)), tmp_path / "a")
    assert contents(tmp_path) == {}


def link(target: Path) -> None:
    target.symlink_to("secret")


def dangling(target: Path) -> None:
    target.symlink_to("nothing")


def fifo(target: Path) -> None:
    os.mkfifo(target)


@pytest.mark.parametrize(("make", "text"), [
    (link, "is a link to secret, .* name that file itself"), (dangling, "is a link to nothing"),
    (fifo, "is a named pipe"), (Path.mkdir, "is a folder"),
])  # fmt: skip
@pytest.mark.parametrize("place", ["first", "last"])
def test_targets_that_are_no_files(tmp_path: Path, make: Callable[..., Any], text: str, place: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    make(tmp_path / "a")
    targets = [tmp_path / "a", tmp_path / "b"] if place == "first" else [tmp_path / "b", tmp_path / "a"]
    with pytest.raises(ExportFailure, match=text), replacing(*targets):
        pytest.fail("nothing is written through a link or into a pipe")
    assert (contents(tmp_path)["secret"], os.listdir(tmp_path).count("b")) == (b"secret", 0)


def test_names_cannot_be_guessed_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    left(tmp_path, "a").symlink_to("secret")
    (tmp_path / ".a.graphir-partial").symlink_to("secret")
    with replacing(tmp_path / "a") as (file,):
        file.write(b"new")
        (during,) = [path for path in tmp_path.iterdir() if path.suffix == PARTIAL and not path.is_symlink()]
        assert len(during.name.removeprefix(partial_prefix("a")).removesuffix(PARTIAL)) == 32
    assert contents(tmp_path) == {"a": b"new", "secret": b"secret", ".a.graphir-partial": b"secret",
                                  left(tmp_path, "a").name: b"secret"}  # fmt: skip


def locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


@pytest.mark.parametrize("kind", [PARTIAL, WEIGHTS])
def test_what_a_living_run_writes_stays(tmp_path: Path, kind: str) -> None:
    left(tmp_path, "a", kind).write_bytes(b"by another run")
    held = locked(left(tmp_path, "a", kind))
    with replacing(tmp_path / "a") as (file,):
        file.write(b"1")
    os.close(held)
    assert contents(tmp_path) == {"a": b"1", left(tmp_path, "a", kind).name: b"by another run"}


@pytest.mark.parametrize("name", [".graphir-0-0.partial", "a.partial", partial_prefix("other") + "0.partial"])
def test_files_of_others_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"other")
    with replacing(tmp_path / "a") as (file,):
        file.write(b"1")
    assert contents(tmp_path) == {"a": b"1", name: b"other"}


def test_weights_that_the_target_refers_to_stay_until_it_is_replaced(tmp_path: Path) -> None:
    left(tmp_path, "w", WEIGHTS).write_bytes(b"w")
    with pytest.raises(ValueError, match="stopped"):
        stop(ValueError("stopped"), tmp_path / "w", tmp_path / "a")
    assert contents(tmp_path) == {left(tmp_path, "w", WEIGHTS).name: b"w"}
    with replacing_pair(tmp_path / "w", tmp_path / "a"):
        pass
    assert contents(tmp_path) == {"w": b"", "a": b""}


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o077, 0o600)])
def test_permissions(tmp_path: Path, umask: int, mode: int) -> None:
    (tmp_path / "old").write_bytes(b"")
    (tmp_path / "old").chmod(0o640)
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "new", tmp_path / "old"):
            pass
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")] == [mode, 0o640]


def test_a_name_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    with replacing(tmp_path / ("n" * 255)) as (file,):
        file.write(b"1")
    assert contents(tmp_path) == {"n" * 255: b"1"}


def write_pair(folder: Path, weights: bytes) -> list[str]:
    """A pair whose description holds the name of its weights; the names that it was described with."""
    with replacing_pair(folder / "w", folder / "a") as pair:
        pair.weights.write(weights)
        for name, file in pair.descriptions:
            file.write(name.encode())
    return [name for name, _ in pair.descriptions]


def test_a_new_pair_and_its_successor(tmp_path: Path) -> None:
    assert write_pair(tmp_path, b"1") == ["w"]
    assert contents(tmp_path) == {"w": b"1", "a": b"w"}
    first, second = write_pair(tmp_path, b"2")
    assert (first.startswith(partial_prefix("w")), second) == (True, "w")
    assert contents(tmp_path) == {"w": b"2", "a": b"w"}


KILLED = """
import os, signal, sys
from pathlib import Path
from graphir.files import writing
from tests.files.test_writing import write_pair

left, how = int(sys.argv[2]), sys.argv[3]

def counted(call):
    def wrapper(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return wrapper

os.replace, os.link, os.unlink = counted(os.replace), counted(os.link), counted(os.unlink)
if how == "named":
    write_pair(Path(sys.argv[1]), b"new")
else:
    with writing.replacing(Path(sys.argv[1]) / "w", Path(sys.argv[1]) / "a") as (weights, file):
        weights.write(b"new")
        file.write(b"new")
"""


@pytest.mark.parametrize("step", range(6))
def test_killed_between_the_renames_of_a_pair(tmp_path: Path, step: int) -> None:
    write_pair(tmp_path, b"old")
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(step), "named"], check=False)
    described = (tmp_path / "a").read_text()
    assert (tmp_path / described).read_bytes() == (b"old" if step < 2 else b"new")
    write_pair(tmp_path, b"next")
    assert contents(tmp_path) == {"a": b"w", "w": b"next"}


@pytest.mark.parametrize("step, found", [
    (0, {"a": b"old", "w": b"old"}), (1, {"a": b"old"}), (2, {"a": b"new"}), (3, {"a": b"new", "w": b"new"}),
    (4, {"a": b"new", "w": b"new"}),
])  # fmt: skip
def test_killed_between_the_renames_of_fixed_names(tmp_path: Path, step: int, found: dict[str, bytes]) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "w").write_bytes(b"old")
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(step), "fixed"], check=False)
    now = contents(tmp_path)
    assert {name: now[name] for name in ("a", "w") if name in now} == found
    with replacing(tmp_path / "w", tmp_path / "a"):
        pass
    assert contents(tmp_path) == {"a": b"", "w": b""}
