"""What comes after a target is written cannot harm it, and what fails before leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.errors import GraphirError, OutOfMemory
from graphir.ops.activation import Relu
from graphir.types import DType, TensorType
from tests.attacks.names import mxnet_model, tensorflow_model
from tests.building import parse_model, save_model
from tests.tensorflow.graphdef import encode, node

from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]


def onnx_texts(folder: Path) -> Path:
    nodes = 'c = Constant<value = string[2] {"a", "bc"}>() y = Concat<axis=0>(x, c)'
    return save_model(folder / "m.onnx", parse_model(f"g (string[2] x) => (string[4] y) {{ {nodes} }}"))


def tensorflow_texts(folder: Path) -> Path:
    nodes = [
        node("Placeholder", "x", dtype="float32", shape=[2]),
        node("Relu", "y", ["x"], T="float32"),
        node("Const", "t", dtype="string", value=np.array(["a", "bc"], object)),
        node("Identity", "z", ["t"], T="string"),
    ]
    path = folder / "m.pb"
    path.write_bytes(encode("GraphDef", {"node": nodes, "versions": {"producer": 1882}}))
    return path


def named(folder: Path, name: str) -> Path:
    """A model whose input has this name."""
    target = parse_model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    target.graph.input[0].name = target.graph.node[0].input[0] = name
    return save_model(folder / "m.onnx", target)


@pytest.mark.parametrize("build", [onnx_texts, tensorflow_texts])
@pytest.mark.parametrize("target", ["out.onnx", "out.graphir.json"])
def test_texts_in_a_model(graphir: Command, tmp_path: Path, build: Any, target: str) -> None:
    source = build(tmp_path)
    outcome = graphir("convert", source, tmp_path / target, "--report", tmp_path / "r.html")
    assert outcome.code == 0, outcome.err
    assert "(3 B)" in outcome.out
    assert graphir("summary", source).code == 0
    assert graphir("params", source).code == 0


def test_report_is_made_before_writing(digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GraphirError("no report can be made")

    monkeypatch.setattr("graphir.report.conversion.ConversionReport.of", fail)
    with pytest.raises(GraphirError, match="no report can be made"):
        graphir.convert(digits, tmp_path / "out.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("error", [RuntimeError("defect"), OSError(28, "No space left on device"), MemoryError()])
@pytest.mark.parametrize("step", ["graphir.report.write.write_report", "graphir.conversion._verified"])
def test_what_fails_later_says_what_stands(
    graphir: Command, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(step, fail)
    target = tmp_path / "out.onnx"
    outcome = graphir("convert", digits, target, "--verify", "--against", "reference", "--report", tmp_path / "r.html")
    assert outcome.code == 1
    assert f"{target} was written; only" in outcome.err
    assert graphir("summary", target).code == 0


@pytest.mark.parametrize(
    "function, arguments",
    [
        ("graphir.converters.opening.detect_format", ["convert", "MODEL", "out.onnx"]),
        ("graphir.converters.onnx.files.writer.write_model", ["convert", "MODEL", "out.onnx"]),
        ("graphir.converters.onnx.exporting.exporter.export_graph", ["convert", "MODEL", "out.onnx"]),
        ("graphir.verification.models.verify_sets", ["verify", "MODEL", "MODEL"]),
        ("graphir.analysis.summary.summarize", ["summary", "MODEL"]),
    ],
)
def test_no_memory(
    graphir: Command, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, arguments: list[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 1.0 TiB")

    monkeypatch.setattr(function, fail)
    monkeypatch.chdir(tmp_path)
    outcome = graphir(*[digits if word == "MODEL" else word for word in arguments])
    assert outcome.code == 1
    assert "graphir: error: not enough memory" in outcome.err
    assert "1.0 TiB" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_no_memory_in_the_library(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> str:
        raise MemoryError

    monkeypatch.setattr("graphir.converters.opening.detect_format", fail)
    with pytest.raises(OutOfMemory, match="not enough memory for reading"):
        graphir.load(digits)


def run(*arguments: object, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    around = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    return subprocess.run(
        [sys.executable, "-m", "graphir", *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE, check=False,
        env={**around, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["ascii", "C"],
)
def test_terminal_without_the_letters(tmp_path: Path, environment: dict[str, str]) -> None:
    source = named(tmp_path, "gr\u00fc\u00dfe\u4e2d")
    done = run("convert", source, tmp_path / "out.onnx", "--report", tmp_path / "r.html", **environment)
    assert done.returncode == 0, done.stderr
    assert rb"gr\xfc\xdfe\u4e2d" in done.stdout
    assert "gr\u00fc\u00dfe\u4e2d" in (tmp_path / "r.html").read_text(encoding="utf-8")
    failed = run("convert", source, tmp_path / "x.onnx", "-i", "nothing:1", **environment)
    assert (failed.returncode, rb"gr\xfc\xdfe" in failed.stderr) == (1, True)


def test_report_about_a_file_whose_name_is_no_text(graphir: Command, tmp_path: Path) -> None:
    source = named(tmp_path, "x").rename(tmp_path / os.fsdecode(b"\xff.onnx"))
    outcome = graphir("convert", source, tmp_path / "out.onnx", "--report", tmp_path / "r.html")
    assert outcome.code == 0, outcome.err
    assert "\\udcff.onnx" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("build", [tensorflow_model, mxnet_model], ids=["tensorflow", "mxnet"])
@pytest.mark.parametrize("target", ["out.onnx", "out-symbol.json", "out.graphir.json"])
def test_graph_called_after_a_file_whose_name_is_no_text(
    graphir: Command, tmp_path: Path, build: Any, target: str
) -> None:
    source = build(tmp_path)
    for file in tmp_path.glob("evil*"):
        file.rename(tmp_path / file.name.replace("evil", os.fsdecode(b"\xff")))
    source = tmp_path / source.name.replace("evil", os.fsdecode(b"\xff"))
    outcome = graphir("convert", source, tmp_path / target)
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("target", ["out.onnx", "out-symbol.json", "out.graphir.json"])
def test_names_that_are_no_text(tmp_path: Path, target: str) -> None:
    graph = graphir.Graph("g")
    graph.set_outputs([graph.add(Relu(), graph.add_input("x\ud800", TensorType(DType.FLOAT32, (2,))))])
    with pytest.raises(GraphirError, match="lone surrogate"):
        graphir.save(graph, tmp_path / target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_stdout(digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.onnx"
    with open("/dev/full", "wb") as full:
        done = run("convert", digits, target, stdout=full)
    assert done.returncode == 1
    assert f"{target} was written; only the report of it could not be made".encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert len(graphir.load(target)) > 0
