"""verify: every kind of reference against every kind of candidate, feeds from everywhere, golden captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from graphir import ModelOptions, load, save, verify
from graphir.converters.mxnet.files.params import write_params
from graphir.converters.session import Session
from graphir.errors import ImportFailure, VerificationError
from graphir.graph import Graph
from graphir.types import UNKNOWN, Dim, DType, TensorType
from graphir.verification.numbers.compare import NOISE_LEAST
from graphir.verification.running.references import GoldenCapture
from graphir.verification.verdict import Verdict
from tests.typed import untyped
from tests.verification import models

CHECKPOINTS = (
    *("gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "go-test-linear", "mtcnn-det1-pnet"),
    *("mtcnn-det2-rnet", "mtcnn-det3-onet", "toy-lenet-miraclewkf", "xdl-blaze-dnn"),
)
X = np.random.Generator(np.random.PCG64(3)).standard_normal((2, 3, 8, 8)).astype(np.float32)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The small net on disk, as a prefix."""
    (tmp_path / "net-symbol.json").write_text(models.NET)
    kinds = {name: "aux" if "moving" in name else "arg" for name in models.SHAPES}
    write_params(tmp_path / "net-0000.params", {f"{kinds[n]}:{n}": a for n, a in models.net_params().items()})
    return tmp_path / "net"


@pytest.fixture
def converted(checkpoint: Path) -> Path:
    """The small net as .onnx."""
    path = checkpoint.with_name("net.onnx")
    save(load(checkpoint, shapes=models.DATA), path)
    return path


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A capture of the small net."""
    from graphir.converters.mxnet.references import ReferenceEvaluator

    source = models.net_source()
    reference = ReferenceEvaluator(source.symbol, source.plain_tensors())
    found = reference.run({"data": X}, reference.values())
    stored = {f"internal:{name}": array for name, array in found.items() if name != "softmax_output"}
    stored |= {"input:data": X, "input:softmax_label": np.zeros(2), "zero_input:label": np.zeros(2)}
    np.savez(tmp_path / "golden.npz", **stored, **{"output:0:softmax_output": found["softmax_output"]})
    return tmp_path / "golden.npz"


def shapes_of(folder: Path) -> dict[str, Any]:
    facts = json.loads((folder / "golden.json").read_text())
    return {name: tuple(shape) for name, shape in facts["inputs"].items()}


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_shared_models_differ_by_rounding_only(shared: Path, name: str, tmp_path: Path) -> None:
    folder = shared / "models" / "mxnet" / name
    shapes = shapes_of(folder)
    graph = load(folder, shapes=shapes)
    target = tmp_path / "model.onnx"
    save(graph, target)
    report = verify(folder, target, shapes=shapes, against="reference", per_layer=True)
    assert {found.verdict.passes for found in (*report.outputs, *report.layers)} == {True}
    assert max(found.relative / found.limit for found in report.layers) < 0.5, "room for other machines"
    captured = verify(folder / "golden.npz", target)
    assert captured.ok
    assert captured.reference == "golden capture golden.npz"


@pytest.mark.parametrize("name", ["gluoncv-cifar-resnet20-v1", "mtcnn-det3-onet", "xdl-blaze-dnn"])
def test_damage_in_shared_models_is_found(shared: Path, name: str) -> None:
    folder = shared / "models" / "mxnet" / name
    graph = load(folder, shapes=shapes_of(folder))
    weights = [value for value in graph.parameters if value.tensor is not None and value.rank in (2, 4)]
    chosen = weights[len(weights) // 2]
    node, _ = next(iter(chosen.uses))

    def change(array: Any) -> Any:
        array.reshape(-1)[0] += np.abs(array).max()
        return array

    models.damaged(graph, chosen.name, change)
    report = verify(folder, graph, shapes=shapes_of(folder), against="reference", per_layer=True)
    assert report.first_divergence is not None
    assert report.first_divergence.name in node.output.sources
    assert report.first_divergence.verdict is Verdict.BROKEN
    assert not report.ok


def kinds(checkpoint: Path, converted: Path, golden: Path) -> dict[str, Any]:
    own = checkpoint.with_name("net.graphir.json")
    save(load(checkpoint, shapes=models.DATA), own)
    return {
        "mxnet prefix": checkpoint,
        "mxnet text": f"{checkpoint}-symbol.json",
        "onnx": converted,
        "graph": load(checkpoint, shapes=models.DATA),
        "graphir": own,
        "golden": golden,
    }


REFERENCES = {
    "mxnet prefix": "graphir's numpy reference of MXNet",
    "mxnet text": "graphir's numpy reference of MXNet",
    "onnx": "no optimisation",
    "graph": "no optimisation",
    "graphir": "no optimisation",
    "golden": "golden capture golden.npz",
}


@pytest.mark.parametrize("candidate", ["mxnet prefix", "onnx", "graph", "graphir"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_kinds(reference: str, candidate: str, checkpoint: Path, converted: Path, golden: Path) -> None:
    made = kinds(checkpoint, converted, golden)
    shapes = models.DATA
    report = verify(made[reference], made[candidate], shapes=shapes, against="reference", per_layer=True)
    assert report.ok
    assert REFERENCES[reference] in report.reference
    assert len(report.layers) >= 7
    assert [found.name for found in report.outputs] == ["softmax_output", "fc_output (before the head)"]


@pytest.mark.parametrize("kind", ["mxnet prefix", "onnx", "graph", "graphir", "golden"])
def test_damage_is_found_against_every_reference(kind: str, checkpoint: Path, converted: Path, golden: Path) -> None:
    reference = kinds(checkpoint, converted, golden)[kind]
    damaged = models.damaged(models.net_graph(), "conv1_weight", lambda array: array * np.float32(1.1))
    path = checkpoint.with_name("damaged.onnx")
    save(damaged, path)
    report = verify(reference, path, shapes=models.DATA, against="reference", per_layer=True)
    assert report.verdict is Verdict.BROKEN
    assert report.first_divergence is not None
    assert report.first_divergence.name == "conv1_output"


def test_capture_without_inner_values_says_what_it_cannot_see(golden: Path, converted: Path) -> None:
    with np.load(golden) as archive:
        kept = {name: archive[name] for name in archive.files if not name.startswith("internal:")}
    np.savez(golden, **kept)
    report = verify(golden, converted)
    assert len(report.outputs) == 1
    assert report.notes == ["a softmax or the like hides errors before it, and no value before it is known to both"]


def test_captures_answer_for_their_own_inputs_only(golden: Path, converted: Path) -> None:
    assert GoldenCapture(golden).feeds.keys() == {"data", "softmax_label"}
    with pytest.raises(VerificationError, match="its own inputs only"):
        verify(golden, converted, feeds={"data": X})


@pytest.mark.parametrize(
    "stored, message",
    [
        ({"a": np.ones(1)}, "is no golden capture: .*found: a"),
        ({}, "is no golden capture: .*found: nothing"),
        ({"output:first:y": np.ones(1)}, "is no golden capture"),
        ({"output:0:sum": np.ones((2, 3))}, "the feeds lack x; they have nothing"),
        ({"output:0:sum": np.array([{}]), "input:x": np.ones((2, 3))}, "cannot read .*golden.npz as an .npz"),
    ],
)
def test_refused_captures(stored: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "golden.npz", **stored)
    with pytest.raises(VerificationError, match=message):
        verify(tmp_path / "golden.npz", models.affine(tmp_path))


@pytest.mark.parametrize("content", [None, b"", b"<html>", b"PK\x03\x04rest", b"\x93NUMPY"])
def test_files_that_are_no_npz(content: bytes | None, converted: Path, tmp_path: Path) -> None:
    path = tmp_path / "feeds.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VerificationError, match=r"cannot read .*feeds.npz as an .npz"):
        verify(path, converted)
    with pytest.raises(VerificationError, match=r"cannot read .*feeds.npz as an .npz"):
        verify(converted, converted, feeds=path)


@pytest.mark.parametrize("prefix", ["", "input:"])
def test_feeds_from_a_file(prefix: str, checkpoint: Path, converted: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "feeds.npz", **untyped({f"{prefix}data": X, "label": np.ones(2)}))
    report = verify(checkpoint, converted, feeds=tmp_path / "feeds.npz", against="reference")
    assert report.ok
    assert report.feeds == {"data": "float32[2, 3, 8, 8]"}


@pytest.mark.parametrize("kind", ["mxnet prefix", "onnx", "graph"])
def test_missing_feeds(kind: str, checkpoint: Path, converted: Path, golden: Path) -> None:
    reference = kinds(checkpoint, converted, golden)[kind]
    with pytest.raises(VerificationError, match="the feeds lack data; they have Data"):
        verify(reference, converted, feeds={"Data": X}, shapes=models.DATA, against="reference")


def test_the_seed_decides(converted: Path) -> None:
    first, second, other = (verify(converted, converted, seed=seed).outputs[1] for seed in (0, 0, 1))
    assert first == second
    assert first.scale != other.scale


def test_other_tolerances(converted: Path, tmp_path: Path) -> None:
    damaged = models.damaged(models.net_graph(), "fc_bias", lambda array: array + np.float32(1))
    assert verify(converted, damaged, rtol=1.0, atol=2.0).ok
    assert verify(converted, damaged, atol=1e-9).verdict is Verdict.BROKEN


@pytest.mark.parametrize("against, message", [("tensorflow", "expected one of auto, live, reference")])
def test_unknown_reference(against: str, message: str, checkpoint: Path, converted: Path) -> None:
    with pytest.raises(VerificationError, match=message):
        verify(checkpoint, converted, against=against)


def embedding(folder: Path) -> Path:
    nodes = [
        helper.make_node("Gather", ["table", "rows"], ["picked"]),
        helper.make_node("Mul", ["picked", "scale"], ["scaled"]),
        helper.make_node("Where", ["keep", "scaled", "picked"], ["y"]),
    ]
    inputs: dict[str, tuple[int, list[Any]]] = {"rows": (7, ["N", 3]), "scale": (1, [1]), "keep": (9, ["N", 3, 1])}
    table = np.arange(20, dtype=np.float32).reshape(5, 4)
    onnx.save(models.onnx_model(nodes, inputs, {"y": (1, ["N", 3, 4])}, {"table": table}), folder / "e.onnx")
    return folder / "e.onnx"


PARAMS, SIGNED = ModelOptions("x.params"), ModelOptions(signature="s")
CUT = ModelOptions(outputs=["nowhere"])


@pytest.mark.parametrize(
    "options, said",
    [
        pytest.param({"params": "x.params"}, "ONNX models hold their own parameters", id="params"),
        pytest.param({"reference_options": SIGNED}, "can be chosen of TensorFlow models only", id="signature"),
        pytest.param({"reference_options": CUT}, "has no value or layer 'nowhere'", id="outputs"),
        pytest.param({"candidate_options": PARAMS}, "graphir models hold their own", id="candidate-params"),
        pytest.param({"candidate_options": SIGNED}, "can be chosen of TensorFlow", id="candidate-signature"),
    ],
)
def test_options_that_a_model_has_not(converted: Path, options: dict[str, Any], said: str) -> None:
    own = converted.with_name("net.graphir.json")
    save(load(converted), own)
    with pytest.raises(ImportFailure, match=said):
        verify(converted, own, **options)


def test_params_of_a_candidate_that_is_run_as_it_is(converted: Path) -> None:
    with pytest.raises(ImportFailure, match="ONNX models hold their own parameters"):
        verify(converted, converted, candidate_options=PARAMS)


@pytest.mark.parametrize("against", ["sometimes", ""])
def test_unknown_judge(converted: Path, against: str) -> None:
    with pytest.raises(VerificationError, match="expected one of auto, live, reference"):
        verify(converted, converted, against=against)


def test_inputs_of_several_dtypes_and_symbolic_sizes(tmp_path: Path) -> None:
    path = embedding(tmp_path)
    report = verify(path, path, shapes={"rows": (6, 3), "keep": (6, 3, 1)})
    assert report.feeds == {"rows": "int64[6, 3]", "scale": "float32[1]", "keep": "bool[6, 3, 1]"}
    assert verify(path, path).feeds["rows"] == "int64[2, 3]"
    assert report.ok


INDEXED = """{"nodes": [
{"op": "null", "name": "rows", "inputs": []}, {"op": "null", "name": "table", "inputs": []},
{"op": "Embedding", "name": "picked", "inputs": [[0, 0, 0], [1, 0, 0]],
 "attrs": {"input_dim": "3", "output_dim": "4"}}],
"arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


@pytest.mark.parametrize("shape", [(2, 50), ("N", 50)])
def test_indices_are_drawn_from_their_table(shape: Any) -> None:
    from graphir.converters.mxnet.source import open_source
    from graphir.inputs.draws import make_feeds

    source = open_source(INDEXED, {"table": np.arange(12, dtype=np.float32).reshape(3, 4)})
    graph = source.to_graph({"rows": shape})
    feeds = make_feeds(graph)
    assert feeds["rows"].shape == (2, 50)
    assert set(feeds["rows"].reshape(-1).tolist()) == {0, 1, 2}
    report = models.held_against(source, graph, against="reference")
    assert report.verdict is Verdict.IDENTICAL
    assert (report.outputs[0].floor, report.outputs[0].limit) == (0.0, NOISE_LEAST)


@pytest.fixture
def open_inputs() -> Graph:
    graph = Graph()
    types = {"a": (UNKNOWN, 540), "b": None, "c": (2,), "d": (3, UNKNOWN), "e": None}
    for name, shape in types.items():
        graph.add_input(name, TensorType(DType.FLOAT32, shape))
    return graph


def test_inputs_of_unknown_rank_are_asked_for_at_once(open_inputs: Graph) -> None:
    from graphir.inputs.draws import make_feeds

    with pytest.raises(VerificationError, match=r"open: b float32\[\.\.\.\], e .*, as in -i b:1,3 -i e:1,3$"):
        make_feeds(open_inputs)


def test_sizes_without_a_name_are_made_up(open_inputs: Graph) -> None:
    from graphir.inputs.draws import make_feeds

    feeds = make_feeds(open_inputs, shapes={"b": (), "e": (7,)})
    assert [feeds[name].shape for name in "abcde"] == [(2, 540), (), (2,), (3, 32), (7,)]


def test_made_up_sizes_fit_the_operators() -> None:
    from graphir.inputs.draws import make_feeds
    from graphir.ops.elementwise import Add

    graph = Graph()
    shapes: dict[str, tuple[Dim, ...]] = {"a": (UNKNOWN, UNKNOWN), "b": (64,)}
    inputs = [graph.add_input(name, TensorType(DType.FLOAT32, shape)) for name, shape in shapes.items()]
    graph.set_outputs([graph.add(Add(), *inputs)])
    assert {name: array.shape for name, array in make_feeds(graph).items()} == {"a": (2, 64), "b": (64,)}


def test_a_model_without_inputs(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["w"], ["y"])]
    model = models.onnx_model(nodes, {}, {"y": (1, [2])}, {"w": np.array([-1, 1], np.float32)})
    onnx.save(model, tmp_path / "m.onnx")
    report = verify(tmp_path / "m.onnx", tmp_path / "m.onnx", per_layer=True)
    assert (report.verdict, report.feeds) == (Verdict.IDENTICAL, {})


def test_nothing_is_left_behind(checkpoint: Path, converted: Path, tmp_path_factory: Any, monkeypatch: Any) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = sorted(converted.parent.iterdir())
    verify(checkpoint, converted, shapes=models.DATA, per_layer=True, against="reference")
    verify(converted, converted, per_layer=True)
    with pytest.raises(VerificationError):
        verify(converted, converted, per_layer=True, feeds={"data": X[:1, :1]})
    Session(converted, providers="cpu")
    assert sorted(converted.parent.iterdir()) == before
    assert list(temporary.iterdir()) == []


@pytest.mark.one_of(8)
@pytest.mark.parametrize("size", [("N", 3, 8, 8), (None, 3, None, 8), (1, 3, 8, 8)])
@pytest.mark.parametrize("kind", ["checkpoint", "file", "graph"])
def test_open_sizes_are_those_of_the_other_model(
    kind: str, size: tuple[Any, ...], checkpoint: Path, tmp_path: Path
) -> None:
    """Whichever of the two has them."""
    fixed, opened = tmp_path / "fixed.onnx", tmp_path / "open.onnx"
    save(load(checkpoint, shapes={"data": (1, 3, 8, 8)}), fixed)
    save(load(checkpoint, shapes={"data": size}), opened)
    one = {"checkpoint": checkpoint, "file": opened, "graph": load(checkpoint, shapes={"data": size})}[kind]
    shapes = {"data": size} if kind == "checkpoint" else None
    own = ModelOptions(shapes=shapes)
    for report in (verify(one, fixed, shapes=shapes), verify(fixed, one, candidate_options=own)):
        assert report.ok, report
        assert report.feeds == {"data": "float32[1, 3, 8, 8]"}
