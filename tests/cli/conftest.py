"""The command, called in this process."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx.numpy_helper
import pytest

from graphir.cli import main

from .broken import intact


@dataclass(frozen=True)
class Outcome:
    """What a call of the command gave."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def graphir(capsys: pytest.CaptureFixture[str]) -> Command:
    """`graphir("convert", source, target)` calls the command."""

    def call(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Command:
    """`terminal(80, "summary", model)` calls the command with a terminal of 80 columns as stdout and stderr; all that
    it wrote there is `out`, the ends of lines as they were printed."""

    def call(columns: int, *arguments: object, **environment: str) -> Outcome:
        for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", **environment}.items():
            monkeypatch.setenv(name, value)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        written: list[bytes] = []
        reader = threading.Thread(target=_read, args=(ours, written))
        reader.start()
        with monkeypatch.context() as patch, open(theirs, "w", encoding="utf-8") as stream:
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            code = main([str(argument) for argument in arguments])
        reader.join()
        os.close(ours)
        return Outcome(code, b"".join(written).decode().replace("\r\n", "\n"), "")

    return call


def _read(place: int, written: list[bytes]) -> None:
    """All that comes out of a terminal until its other side is closed, which Linux tells as an error."""
    with suppress(OSError):
        while part := os.read(place, 1 << 16):
            written.append(part)


def bare(text: str) -> str:
    """What stays on a terminal: without colours, and without lines that were written over."""
    kept = [line.rpartition("\x1b[K")[2] for line in text.split("\n")]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(kept))


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    """A copy of the digits checkpoint; its prefix."""
    return intact(tmp_path / "model")


@pytest.fixture
def converted(graphir: Command, digits: Path, tmp_path: Path) -> Path:
    """The digits checkpoint as ONNX."""
    assert graphir("convert", digits, tmp_path / "m.onnx", "-q").code == 0
    return tmp_path / "m.onnx"


def with_changed_weight(path: Path, name: str) -> Path:
    """Write a model beside another one whose first output channel of a weight is changed; return its path."""
    model = onnx.load(path)
    (weight,) = (stored for stored in model.graph.initializer if stored.name == name)
    array = onnx.numpy_helper.to_array(weight).copy()
    array[0] += 1
    weight.CopyFrom(onnx.numpy_helper.from_array(array, name))
    target = path.with_name("wrong.onnx")
    onnx.save(model, target)
    return target


@pytest.fixture
def wrong(converted: Path) -> Path:
    """The same with one weight of the second convolution changed."""
    return with_changed_weight(converted, "conv2_weight")

