"""Broken models: one clear error, exit code 1, nothing written, what stood at the target untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphir.files.signals import Ended
from graphir.files.writing import PARTIAL, partial_prefix

from . import broken
from .conftest import Command


@pytest.mark.parametrize(
    "build, said",
    [
        pytest.param(broken.params(lambda data: data[:-1000]), ["m-0000.params", "cut short", "at byte"], id="cut"),
        pytest.param(broken.params(lambda data: data[:30]), ["m-0000.params", "at byte 16"], id="cut-early"),
        pytest.param(broken.params(lambda data: b""), ["m-0000.params", "the file is empty"], id="empty"),
        pytest.param(broken.params(lambda data: broken.HTML), ["m-0000.params", "HTML"], id="params-html"),
        pytest.param(broken.params(lambda data: broken.LFS), ["m-0000.params", "git lfs pull"], id="params-lfs"),
        pytest.param(broken.params(lambda data: b"ABCD" + data[4:]), ["begins with 41 42 43 44"], id="magic"),
        pytest.param(broken.params(broken.huge_dimension), ["4611686018427387904", "at byte"], id="dimension"),
        pytest.param(broken.params(broken.huge_count), ["1152921504606846976 arrays", "at byte 16"], id="count"),
        pytest.param(broken.symbol_bytes(lambda data: broken.HTML), ["m-symbol.json", "HTML page"], id="symbol-html"),
        pytest.param(broken.symbol_bytes(lambda data: broken.LFS), ["m-symbol.json", "git lfs pull"], id="symbol-lfs"),
        pytest.param(broken.symbol_bytes(lambda data: data[:500]), ["invalid JSON at line 27", "byte 500"], id="json"),
        pytest.param(broken.symbol(broken.make_cycle), ["cycle", "conv1 <- softmax"], id="cycle"),
        pytest.param(broken.symbol(broken.state("conv1", kernel="None")), ["conv1", "kernel is 'None'"], id="kernel"),
        pytest.param(broken.symbol(broken.state("conv1", stride="(0, 1)")), ["conv1", "stride is [0, 1]"], id="stride"),
        pytest.param(broken.symbol(broken.state("pool1", stride="(2,)")), ["pool1", "stride is [2]"], id="rank"),
        pytest.param(broken.symbol(broken.state("data", __shape__="(1.5,)")), ["data", "(1.5,)"], id="shape"),
        pytest.param(broken.symbol(broken.drop_weight), ["conv1"], id="inputs"),
        pytest.param(broken.symbol(broken.make_dangling), ["4711", "nodes[2].inputs[0]"], id="dangling"),
        pytest.param(
            broken.symbol(broken.rename_operators),
            ["3 node(s)", "_npx_mystery: 2 nodes (tanh1, relu2)", "HomeMade: 1 node (fc1)"],
            id="operators",
        ),
        pytest.param(broken.arrays(broken.drop_arrays), ["fc1_weight", "bn2_moving_var"], id="missing"),
        pytest.param(broken.arrays(broken.reshape_arrays), ["conv1_weight", "[16, 1, 5, 4]"], id="contradiction"),
    ],
)
def test_broken_model(graphir: Command, digits: Path, tmp_path: Path, build: broken.Build, said: list[str]) -> None:
    build(digits.parent)
    target = tmp_path / "out" / "m.onnx"
    target.parent.mkdir()
    target.write_bytes(b"what stood here")
    outcome = graphir("convert", digits, target)
    assert outcome.code == 1
    assert outcome.err.startswith("graphir: error: ")
    assert "Traceback" not in outcome.err
    assert "unexpected" not in outcome.err
    assert [part for part in said if part not in outcome.err] == []
    assert outcome.out == ""
    assert [path.name for path in target.parent.iterdir()] == ["m.onnx"]
    assert target.read_bytes() == b"what stood here"


def test_stranger_operators(graphir: Command, shared: Path, tmp_path: Path) -> None:
    model = shared / "models" / "mxnet" / "bmxnet-mnist-32"
    outcome = graphir("convert", model, tmp_path / "m.onnx")
    assert outcome.code == 1
    assert all(name in outcome.err for name in ("QActivation: 2 nodes", "QConvolution: 1", "QFullyConnected: 1"))
    assert list(tmp_path.iterdir()) == []


def test_target_in_no_folder(graphir: Command, digits: Path, tmp_path: Path) -> None:
    outcome = graphir("convert", digits, tmp_path / "nowhere" / "m.onnx")
    assert (outcome.code, "its folder does not exist" in outcome.err) == (1, True)


def test_target_is_a_folder(graphir: Command, digits: Path, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").mkdir()
    outcome = graphir("convert", digits, tmp_path / "m.onnx")
    assert (outcome.code, "it is a folder" in outcome.err) == (1, True)


def test_half_written_target_of_a_killed_run(graphir: Command, digits: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.onnx"
    target.write_bytes(b"\x08\x07half")
    (tmp_path / f"{partial_prefix(target.name)}{'0' * 32}{PARTIAL}").write_bytes(b"\x08\x07")
    outcome = graphir("convert", digits, target)
    assert outcome.code == 0, outcome.err
    assert target.stat().st_size > 40_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "model"]


def test_weights_that_do_not_lie_beside_the_target(graphir: Command, digits: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    outcome = graphir("convert", digits, tmp_path / "out" / "m.onnx", "--weights", "reference")
    assert (outcome.code, "outside the target's folder" in outcome.err) == (1, True)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("error, code", [(KeyboardInterrupt(), 130), (Ended(15), 143)], ids=["int", "term"])
@pytest.mark.parametrize("place, words", [
    ("recognition.looks_like_onnx", ()), ("stripped.strip_weights", ("--format", "onnx")),
])  # fmt: skip
def test_a_signal_while_a_file_is_mapped(
    graphir: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, words: tuple[str, ...],
    error: BaseException, code: int,
) -> None:  # fmt: skip
    def interrupted(view: memoryview) -> None:
        part = view[1:]
        assert part
        raise error

    monkeypatch.setattr(f"graphir.converters.onnx.files.{place}", interrupted)
    (tmp_path / "m.bin").write_bytes(bytes([8, 7]) * 40)
    assert graphir("convert", tmp_path / "m.bin", tmp_path / "n.onnx", *words).code == code
