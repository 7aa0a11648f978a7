"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphir.errors import ExportFailure
from graphir.files import partial_path, replacing


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_all_take_their_places(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    partial_path(tmp_path / "b").write_bytes(b"what a killed run left, longer than what comes")
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
def test_an_error_leaves_the_old_ones(tmp_path, error):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(error, match="stopped"):
        stop(error("stopped"), tmp_path / "a", tmp_path / "b")
    assert contents(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize(("target", "text"), [
    ("missing/a", "folder does not exist"), ("folder", "it is a folder"), ("a/b", "folder does not exist"),
])  # fmt: skip
def test_targets_that_cannot_be_written(tmp_path, target, text):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ExportFailure, match=text), replacing(tmp_path / "first", tmp_path / target):
        pytest.fail("nothing is written when one of the targets cannot be")
    assert contents(tmp_path) == {"a": b"old"}


def test_a_full_disk_is_said(tmp_path):
    with pytest.raises(ExportFailure, match="No space left"):
        stop(OSError(28, os.strerror(28)), tmp_path / "a")
    assert contents(tmp_path) == {}
