"""Pipes, devices, folders and links in the place of files: refused at once, never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import graphir
from graphir.errors import GraphirError
from tests.attacks.graphir_rows import DOCUMENT, ENTRY, WEIGHTS
from tests.attacks.mxnet_rows import node, symbol
from tests.attacks.onnx_tensor_rows import edited, lies_elsewhere

Make = Callable[[Path], object]
def link_to_a_pipe(path: Path) -> None:
    os.mkfifo(f"{path}-pipe")
    path.symlink_to(f"{path}-pipe")


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to a pipe": link_to_a_pipe,
    "link to nothing": lambda path: path.symlink_to("nothing"),
}
EXTERNAL = edited("external", lies_elsewhere(location="w.bin")).files["m.onnx"]
PLACES = {
    "ONNX": ({}, "m.onnx", "m.onnx"),
    "external data": ({"m.onnx": EXTERNAL}, "w.bin", "m.onnx"),
    "symbol": ({}, "m-symbol.json", "m-symbol.json"),
    "params": ({"m-symbol.json": symbol(node("broadcast_add", 0, 1))}, "m-0000.params", "m-symbol.json"),
    "params by name": ({"m-symbol.json": symbol(node("broadcast_add", 0, 1))}, "m-0000.params", "m-0000.params"),
    "graphir": ({}, ENTRY, ENTRY),
    "weights": ({ENTRY: str(DOCUMENT).replace("'", '"').encode()}, WEIGHTS, ENTRY),
    "nothing known": ({}, "m.bin", "m.bin"),
}


def test_running_a_model_writes_nothing_below_the_home_folder(tmp_path: Path) -> None:
    program = "from graphir.runtime.providers import import_onnxruntime; import_onnxruntime()"
    folder = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    given = {key: text for key, text in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-B", "-c", program], env=given | folder, check=True, cwd=tmp_path)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str, place: str) -> None:
    files, name, entry = PLACES[place]
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    KINDS[kind](tmp_path / name)
    target = tmp_path / "out" / "result.onnx"
    target.parent.mkdir()
    target.write_bytes(b"old")
    with pytest.raises(GraphirError):
        graphir.convert(tmp_path / entry, target)
    assert target.read_bytes() == b"old"
    assert os.listdir(target.parent) == ["result.onnx"]


@pytest.mark.parametrize("name", ["a\0b.onnx", "\ud800.onnx", "x" * 5000 + ".onnx", "a\0b-symbol.json", "a\0b"])
def test_names_that_no_file_has_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(GraphirError):
        graphir.load(tmp_path / name)
