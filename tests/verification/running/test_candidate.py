"""The model under test: inner values as outputs, with and without external data, and nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphir.converters.onnx import save
from graphir.converters.onnx.files.structure import Structure, read_structure
from graphir.converters.session import quiet_session
from graphir.errors import FormatError, VerificationError
from graphir.verification.running import candidate as module
from graphir.verification.running.candidate import OnnxCandidate
from tests.verification import models

X = np.linspace(-1, 1, 2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)
INNER = ("relu0_output", "fc_output", "softmax_output")


def expected() -> dict[str, Any]:
    with OnnxCandidate(models.net_graph()) as candidate:
        return candidate.run({"data": X}, INNER)


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for temporary files."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.parametrize("limit", [0, 1 << 20])
@pytest.mark.parametrize("weights", ["inline", "external"])
def test_inner_values(
    weights: str, limit: int, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the model is handed over in memory or copied, and wherever its weights are."""
    monkeypatch.setattr(module, "IN_MEMORY_BELOW", limit)
    path = save(models.net_graph(), tmp_path / "net.onnx", weights=weights)[0]
    before = sorted(tmp_path.iterdir())
    with OnnxCandidate(path) as candidate:
        found = candidate.run({"data": X}, INNER)
        again = candidate.run({"data": X}, ["conv1_output"])
        assert sorted(tmp_path.iterdir()) == before
    assert list(found) == list(INNER)
    assert again["conv1_output"].shape == (2, 4, 4, 4)
    reference = expected()
    np.testing.assert_array_equal(found["fc_output"], reference["fc_output"])
    assert sorted(tmp_path.iterdir()) == before
    assert list(temporary.iterdir()) == []


def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(models.net_graph(), tmp_path / "net.onnx", weights="external")
    monkeypatch.chdir(tmp_path)
    with OnnxCandidate("net.onnx") as candidate:
        assert candidate.run({"data": X}, ["fc_output"])["fc_output"].shape == (2, 4)


@pytest.mark.parametrize("weights", ["inline", "external"])
@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_folder_that_cannot_be_written(
    weights: str, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IN_MEMORY_BELOW", limit)
    path = save(models.net_graph(), tmp_path / "net.onnx", weights=weights)[0]
    opened = open

    def guarded(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        inside = isinstance(file, str | os.PathLike) and Path(file).parent == tmp_path
        assert not inside or not set(mode) & set("wax+"), f"{file} opened to write"
        return opened(file, mode, *rest, **named)

    monkeypatch.setattr("builtins.open", guarded)
    tmp_path.chmod(0o555)
    try:
        with OnnxCandidate(path) as candidate:
            assert candidate.run({"data": X}, ["fc_output"])["fc_output"].shape == (2, 4)
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize("name", ["a b", "a/b:0", "q'\"\\", "x" * 300, "\u00e9\u4e2d", "a\nb", "0"])
def test_names_of_all_kinds(name: str, tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], [name]), helper.make_node("Neg", [name], ["y"])]
    model = models.onnx_model(nodes, {"x": (1, [2])}, {"y": (1, [2])})
    onnx.save(model, tmp_path / "m.onnx")
    with OnnxCandidate(tmp_path / "m.onnx") as candidate:
        assert candidate.run({"x": np.array([-1, 2], np.float32)}, [name])[name].tolist() == [0, 2]


def test_nothing_stays_after_an_exception(tmp_path: Path, temporary: Path) -> None:
    path = save(models.net_graph(), tmp_path / "net.onnx")[0]
    with pytest.raises(VerificationError, match=r"net.onnx computes no value nowhere"), OnnxCandidate(path) as found:
        found.run({"data": X}, ["fc_output", "nowhere"])
    with pytest.raises(VerificationError, match="takes float32"), OnnxCandidate(models.net_graph()) as found:
        found.run({"data": X.astype(complex)}, ["fc_output"])
    assert [item.name for item in tmp_path.iterdir()] == ["net.onnx"]
    assert list(temporary.iterdir()) == []


def test_the_session_of_a_slice_is_used_again(tmp_path: Path) -> None:
    with OnnxCandidate(models.net_graph()) as candidate:
        first = candidate._session_with_outputs(["fc_output"], turned=False)
        assert candidate._session_with_outputs(["fc_output"], turned=False) is first
        assert candidate._session_with_outputs(["fc_output"], turned=True) is not first
        assert candidate._session_with_outputs(["conv0_output"], turned=False) is not first


def test_only_the_model_itself_has_its_weights_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session for values inside runs a few times, and a copy of the weights costs more than it saves."""
    start = quiet_session
    packed: list[bool] = []

    def noted(*arguments: Any, **options: Any) -> Any:
        packed.append(options["packed"])
        return start(*arguments, **options)

    monkeypatch.setattr(module, "quiet_session", noted)
    with OnnxCandidate(models.net_graph()) as candidate:
        own = candidate.run({"data": X})["softmax_output"]
        inside = candidate.twin.run({"data": X}, ["relu0_output", "softmax_output"])
    assert packed == [True, False]
    np.testing.assert_allclose(inside["softmax_output"], own, rtol=1e-5)


@pytest.mark.parametrize(("memory", "is_held"), [(1 << 30, True), (1, False)])
def test_where_memory_is_scarce_the_session_is_let_go_behind_a_run(memory: int, is_held: bool) -> None:
    with OnnxCandidate(models.net_graph(), memory=memory) as candidate:
        first, again = (candidate.run({"data": X})["softmax_output"] for _ in range(2))
        assert (candidate.session._started is not None) == is_held
        np.testing.assert_array_equal(first, again)


def test_a_session_that_draws_is_held(tmp_path: Path) -> None:
    """Started anew it would draw the same, and pass for one that does not draw."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    nodes = [
        helper.make_node("RandomUniformLike", ["x"], ["d"], seed=1.0),
        helper.make_node("Add", ["x", "d"], ["sum"]),
        helper.make_node("Mul", ["sum", "w"], ["y"]),
    ]
    weight = numpy_helper.from_array(np.ones((2, 3), np.float32), "w")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph(nodes, "g", [value], [output], [weight])
    path = tmp_path / "draws.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    with OnnxCandidate(path, memory=1) as candidate:
        assert candidate.is_tight
        first, again = (candidate.run({"x": np.zeros((2, 3), np.float32)})["y"] for _ in range(2))
    assert not np.array_equal(first, again)


def test_the_session_gives_what_is_before_a_softmax_where_it_is_named() -> None:
    feeds = {"data": X}
    with OnnxCandidate(models.net_graph()) as candidate:
        session = candidate.session
        assert (session.outputs, session.aside) == (("softmax_output",), ("fc_output",))
        assert list(candidate.run(feeds)) == ["softmax_output"]
        results = candidate.run_cached(feeds, ["fc_output", "softmax_output"])
        assert candidate._extended == {}
        assert candidate.run_cached(feeds, ["fc_output"])["fc_output"] is results["fc_output"]


@pytest.mark.parametrize(
    ("before", "aside"), [("Transpose", ("b",)), ("Relu", ()), ("MatMul", ())]
)
def test_the_session_gives_what_is_moved_before_a_sigmoid(before: str, aside: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing fuses a sigmoid with what moves elements, so that asking for its operand changes nothing."""
    operands = "a, w" if before == "MatMul" else "a"
    weight = numpy_helper.from_array(np.ones((3, 3), np.float32), "w")
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g (float[3, 3] x) => (float[3, 3] y)'
        f"{{ a = MatMul(x, w) b = {before}({operands}) y = Sigmoid(b) }}"
    )
    model.graph.initializer.append(weight)
    onnx.save(model, tmp_path / "m.onnx")
    with OnnxCandidate(tmp_path / "m.onnx") as candidate:
        assert (candidate.session.outputs, candidate.session.aside) == (("y",), aside)


def test_sums_lose_the_square_root_of_their_terms() -> None:
    weights = {"w": (1, (64, 9, 3, 3)), "v": (1, (40, 64)), "u": (1, (1000,))}
    nodes = {"a": ("Conv", ("x", "w")), "b": ("Relu", ("a",)), "c": ("MatMul", ("b", "v")), "d": ("Add", ("c", "u"))}
    found = Structure((), (), nodes, external=False, weights=weights)
    assert found.lost_by_sums == pytest.approx((81 + 40) ** 0.5 * 2.0**-24)


def test_structure(tmp_path: Path) -> None:
    path = save(models.net_graph(), tmp_path / "net.onnx", weights="external")[0]
    found = read_structure(path)
    assert (found.inputs, found.outputs, found.external) == (("data",), ("softmax_output",), True)
    assert found.producers["softmax_output"][0] == "Softmax"
    assert not read_structure(save(models.net_graph(), tmp_path / "net.onnx", weights="inline")[0]).external


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x3a\xff\xff\x01abc", b"\x08\x07\x3a\x02\x0a\x7f"])
def test_structure_of_what_is_no_model(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(FormatError):
        read_structure(tmp_path / "m.onnx")
