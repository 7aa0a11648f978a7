"""What a command has read or just written it does not overwrite: a report named like the model, for one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from graphir.cli import main

ROOT = Path(__file__).resolve().parents[2]
SYMBOL, PARAMS = "digits-symbol.json", "digits-0020.params"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The digits in two formats, and feeds, in the working folder."""
    for name in (SYMBOL, PARAMS):
        shutil.copy(ROOT / "models" / "digits" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert main(["convert", "digits", "digits.graphir.json", "-q"]) == 0
    np.savez(tmp_path / "feeds.npz", data=np.zeros((1, 1, 8, 8), np.float32))
    os.symlink("digits.graphir.json", "link.json")
    return tmp_path


OVERWRITING = (
    ["convert", "digits", "new.onnx", "--report", SYMBOL],
    ["convert", "digits", "new.onnx", "--verify", "--report", f"./{SYMBOL}"],
    ["convert", "digits", "new.graphir.json", "--report", "new.graphir.json"],
    ["convert", "digits", "new.graphir.json", "--verify", "--report", "../{name}/new.graphir.json"],
    ["convert", "digits.graphir.json", "new.onnx", "--report", "digits.graphir.json"],
    ["convert", "link.json", "new.onnx", "--report", "digits.graphir.json"],
    ["convert", "link.json", "digits.graphir.json", "--format", "graphir"],
    ["verify", "digits", "digits.graphir.json", "--report", SYMBOL],
    ["verify", "digits", "digits.graphir.json", "--report", "digits.graphir.json"],
    ["diff", "digits", "digits.graphir.json", "--report", "digits.graphir.json"],
    ["padding", "digits", "--report", SYMBOL],
    ["padding", "digits", "digits.graphir.json", "--report", "digits.graphir.json"],
    ["params", "feeds.npz", "--to", "feeds.npz"],
    ["params", "digits.graphir.json", "--to", "digits.graphir.safetensors"],
)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("words", OVERWRITING, ids=lambda words: "-".join(words))
def test_no_file_of_a_command_is_overwritten(
    words: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main([word.format(name=folder.name) for word in words]) == 1
    error = capsys.readouterr().err
    assert any(text in error for text in ("is a file of the", "this command has read it", "it is a link")), error
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name: after.get(name) for name in before} == before
    assert words[0] != "convert" or after == before


def test_a_hard_link_is_another_name(folder: Path) -> None:
    """Only the name is replaced; the source keeps its contents."""
    os.link(PARAMS, "new.onnx")
    before = Path(PARAMS).read_bytes()
    assert main(["convert", "digits", "new.onnx", "-q"]) == 0
    assert Path(PARAMS).read_bytes() == before != Path("new.onnx").read_bytes()


def test_the_next_command_may_write_what_the_last_one_read(folder: Path) -> None:
    assert main(["padding", "digits.graphir.json", "--report", "a.json", "-q"]) == 0
    assert main(["convert", "digits", "digits.graphir.json", "-q"]) == 0
