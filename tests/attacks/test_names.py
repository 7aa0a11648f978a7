"""Nothing that a stranger wrote acts on the terminal of who looks at it, or forges a line of a report."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graphir.cli import main

from . import names

MODELS: dict[str, Callable[[Path], Path]] = {
    "mxnet": names.mxnet_model,
    "onnx": names.onnx_model,
    "tensorflow": names.tensorflow_model,
    "graphir": names.own_model,
}
BROKEN: dict[str, Callable[[Path], Path]] = {
    "mxnet-operator": lambda folder: names.mxnet_model(folder, operator=names.evil("Strange")),
    "mxnet-no-params": lambda folder: names.mxnet_model(folder, with_params=False),
    "onnx-operator": lambda folder: names.onnx_model(folder, operator=names.evil("Strange")),
    "tensorflow-operator": lambda folder: names.tensorflow_model(folder, operator=names.evil("Strange")),
    "file-name": lambda folder: names.onnx_model(folder, name="evil\x1b[2J\x9b\u202e\nname.onnx"),
    "file-not-text": lambda folder: names.onnx_model(folder, name=os.fsdecode(b"\xff.onnx")),
    "no-model": lambda folder: _written(folder / "evil\x1b[2J.onnx", b"{}"),
}
COMMANDS: dict[str, list[str]] = {
    "convert-onnx": ["convert", "MODEL", "out.onnx", "-v"],
    "convert-mxnet": ["convert", "MODEL", "out-symbol.json"],
    "convert-own": ["convert", "MODEL", "out.graphir.json", "--report", "out.html"],
    "convert-json": ["convert", "MODEL", "out.onnx", "--json", "--report", "out.json"],
    "convert-verify": ["convert", "MODEL", "o.onnx", "--per-layer", "--against", "reference", "--report", "r.html"],
    "convert-input": ["convert", "MODEL", "out.onnx", "-i", "nothing:1,3,8,8"],
    "convert-wrong": ["convert", "MODEL", "out.onnx", "-vv", "-i", names.evil("data") + ":1,3,8"],
    "check": ["check", "MODEL"],
    "check-verbose": ["check", "MODEL", "-v"],
    "check-failed": ["check", "MODEL", "-vv", "-i", names.evil("nothing") + ":1"],
    "shapes": ["shapes", "MODEL"],
    "shapes-other": ["shapes", "MODEL", "MODEL", "-v"],
    "shapes-explain": ["shapes", "MODEL", "--explain", names.evil("conv")],
    "summary": ["summary", "MODEL"],
    "padding": ["padding", "MODEL", "--report", "padding.html"],
    "padding-other": ["padding", "MODEL", "OTHER", "-v", "--report", "padding.html"],
    "diff": ["diff", "MODEL", "OTHER", "-v", "--report", "diff.html"],
    "bench": ["bench", "MODEL", "OTHER", "--seconds", "0.02"],
    "bench-failed": ["bench", "MODEL", "-i", names.evil("nothing") + ":1"],
    "params": ["params", "MODEL"],
    "params-written": ["params", "MODEL", "--to", "out.npz", "-v"],
    "verify": ["verify", "MODEL", "MODEL", "--per-layer", "--against", "reference", "-v", "--report", "verify.html"],
    "verify-match": ["verify", "MODEL", "OTHER", "--match", names.evil("a") + "=b", "--against", "reference"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_names_do_not_act(
    build: Callable[[Path], Path],
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _check(build, command, tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("command", ["convert-onnx", "convert-wrong", "check", "params", "verify"])
@pytest.mark.parametrize("build", BROKEN.values(), ids=BROKEN.keys())
def test_names_in_errors_do_not_act(
    build: Callable[[Path], Path],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _check(build, COMMANDS[command], tmp_path, monkeypatch, capsys)


def test_wrong_usage_does_not_act(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "a", "b.onnx", names.evil("c")]) == 2
    assert main([names.evil("convert")]) == 2
    assert _acting(capsys.readouterr().err) == []


def test_text_of_a_graph_does_not_act(tmp_path: Path) -> None:
    import graphir

    graph = graphir.load(names.own_model(tmp_path))
    assert _acting(str(graph)) == []
    assert "everything is fine" in str(graph)


def _check(
    build: Callable[[Path], Path],
    command: list[str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    (place / "other").mkdir()
    given = {"MODEL": str(build(place)), "OTHER": str(names.onnx_model(place / "other"))}
    code = main([given.get(word, word) for word in command])
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert code in (0, 1, 2, 4, 5)
    assert said
    assert "unexpected" not in said
    assert "DEFECT" not in said
    assert _acting(said) == []
    pages = [page.read_text(encoding="utf-8") for page in place.glob("*.html")]
    assert [_acting(page) for page in pages if _acting(page)] == []


def _acting(text: str) -> list[str]:
    """The characters that act or mislead, and the lines that no part of graphir wrote."""
    found = sorted({repr(character) for character in text if character != "\n" and not character.isprintable()})
    return found + [line for line in text.split("\n") if line.startswith("graphir: everything is fine")]


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
