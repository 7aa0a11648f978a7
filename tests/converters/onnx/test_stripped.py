"""The structure of an .onnx file is cut out once for each state that the file is in."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from graphir.converters.onnx.files import stripped
from graphir.converters.onnx.files.stripped import stripped_file
from graphir.converters.onnx.files.wire import Stripped, strip_weights
from graphir.errors import FormatError


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How large each content was that was cut, nothing being known before."""
    found: list[int] = []

    def strip(content: memoryview) -> Stripped:
        found.append(len(content))
        return strip_weights(content)

    monkeypatch.setattr(stripped, "strip_weights", strip)
    stripped._kept.clear()
    return found


def written(path: Path, size: int, age: float = 10.0) -> Path:
    """A model with a weight of so many numbers, written so many seconds ago."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [size], bytes(4 * size), raw=True)
    path.write_bytes(helper.make_model(helper.make_graph([], "g", [], [], [weight])).SerializeToString())
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_it_is_cut_once(tmp_path: Path, cut: list[int]) -> None:
    path = written(tmp_path / "m.onnx", 1000)
    first = stripped_file(path)
    assert len(first.message) < 4000
    assert stripped_file(tmp_path / "m.onnx") is first
    assert len(cut) == 1


def test_what_is_written_anew_is_cut_anew(tmp_path: Path, cut: list[int]) -> None:
    path = written(tmp_path / "m.onnx", 1000)
    first = stripped_file(path)
    assert stripped_file(written(path, 1000, age=5.0)) is not first
    assert stripped_file(written(path, 2000, age=5.0)).regions[0][1] == 8000
    assert len(cut) == 3


def test_what_may_still_be_written_to_is_not_kept(tmp_path: Path, cut: list[int]) -> None:
    path = written(tmp_path / "m.onnx", 1000, age=-60.0)
    assert stripped_file(path) is not stripped_file(path)
    assert len(cut) == 2


def test_only_the_last_are_kept(tmp_path: Path, cut: list[int]) -> None:
    paths = [written(tmp_path / f"{place}.onnx", 1000) for place in range(stripped.KEPT + 1)]
    for path in (*paths, paths[-1], paths[0]):
        stripped_file(path)
    assert len(cut) == len(paths) + 1
    assert len(stripped._kept) == stripped.KEPT


def test_what_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    assert stripped_file(path).message == b""
    path.write_bytes(b"\x3a\xff\xff\x01abc")
    with pytest.raises(FormatError):
        stripped_file(path)


def test_another_file_of_the_same_size_and_time_is_another(tmp_path: Path, cut: list[int]) -> None:
    """As archives write them: one time for all, whose number a later file may get."""
    path = written(tmp_path / "m.onnx", 1000)
    first, status = stripped_file(path), path.stat()
    time.sleep(0.05)
    content = path.read_bytes().replace(b"w", b"v")
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_ino == status.st_ino
    assert stripped_file(path).message != first.message
    assert len(cut) == 2
