"""Live MXNet in a child process: what it computes, and what is said when it does not."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir import convert
from graphir.converters.mxnet import references
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.params import write_params
from graphir.converters.mxnet.live import child
from graphir.converters.mxnet.references import LiveMXNet, MXNetMissing, ReferenceEvaluator, with_plain_labels
from graphir.converters.mxnet.source import MXNetSource, open_source
from graphir.errors import VerificationError
from tests.verification import models

live_child: Any = child  # plain Python, without types

X = np.random.Generator(np.random.PCG64(3)).standard_normal((2, 3, 8, 8)).astype(np.float32)
FEEDS = {"data": X}


def live(source: MXNetSource, python: str | None = None) -> LiveMXNet:
    return LiveMXNet(source.symbol, source.plain_tensors(), python=python)


def close(found: Any, expected: Any) -> None:
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4 * np.abs(array).max(initial=0))


@pytest.mark.live
def test_live_equals_the_reference(mxnet: ModuleType) -> None:
    source = models.net_source()
    running, reference = live(source), ReferenceEvaluator(source.symbol, source.plain_tensors())
    close(running.run(FEEDS), reference.run(FEEDS))
    process = running._process
    values = reference.values()
    close(running.run(FEEDS, values), reference.run(FEEDS, values))
    assert running._process is process, "one child answers everything"
    assert running.label == f"MXNet {mxnet.__version__} in a child process"
    running.close()


@pytest.mark.live
def test_live_verification_layer_by_layer(mxnet: ModuleType) -> None:
    graph = models.damaged(models.net_graph(), "conv1_weight", lambda array: array * np.float32(1.1))
    intact = models.net_graph()
    good = models.held_against(models.net_source(), intact, against="live", per_layer=True)
    assert good.ok
    assert len(good.layers) == 7
    bad = models.held_against(models.net_source(), graph, against="live", per_layer=True)
    assert bad.first_divergence is not None
    assert bad.first_divergence.name == "conv1_output"


@pytest.mark.live
def test_the_child_works_in_slices(mxnet: ModuleType) -> None:
    symbol = mxnet.sym.load_json(models.NET)
    arrays = {**models.net_params(), **FEEDS}
    names = [f"{name}_output" for name in ("conv0", "bn0", "relu0", "conv1", "relu1", "fc", "softmax")]
    whole = live_child.slices(symbol, names, arrays)
    assert [group for group, _ in whole] == [names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_child, "SLICE_BYTES", 2 * 8 * 128)
        parts = live_child.slices(symbol, names, arrays)
    assert [group for group, _ in parts] == [names[:2], names[2:4], names[4:]]


REPEATED = """{"nodes": [
{"op": "null", "name": "data", "inputs": []},
{"op": "_mul_scalar", "name": "same", "attrs": {"scalar": "2"}, "inputs": [[0, 0, 0]]},
{"op": "_plus_scalar", "name": "same", "attrs": {"scalar": "3"}, "inputs": [[1, 0, 0]]},
{"op": "_mul_scalar", "name": "same", "attrs": {"scalar": "5"}, "inputs": [[2, 0, 0]]}],
"arg_nodes": [0], "heads": [[3, 0, 0], [1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""

LABEL = """{"nodes": [
{"op": "null", "name": "data", "inputs": []},
{"op": "null", "name": "fc_weight", "inputs": []},
{"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "3", "no_bias": "True"},
 "inputs": [[0, 0, 0], [1, 0, 0]]},
{"op": "null", "name": "softmax_label", "inputs": []},
{"op": "Reshape", "name": "flat", "attrs": {"shape": "(-1,)"}, "inputs": [[3, 0, 0]]},
{"op": "SoftmaxOutput", "name": "softmax", "inputs": [[2, 0, 0], [4, 0, 0]]}],
"arg_nodes": [0, 1, 3], "heads": [[5, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""

RECURRENT = """{"nodes": [
{"op": "null", "name": "data", "inputs": []},
{"op": "null", "name": "parameters", "inputs": []},
{"op": "null", "name": "state", "inputs": []},
{"op": "RNN", "name": "rnn", "attrs": {"mode": "gru", "num_layers": "1", "state_size": "4", "state_outputs": "True"},
 "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}],
"arg_nodes": [0, 1, 2], "heads": [[3, 0, 0], [3, 1, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""

INDEXED = """{"nodes": [
{"op": "null", "name": "rows", "inputs": []}, {"op": "null", "name": "table", "inputs": []},
{"op": "Embedding", "name": "picked", "inputs": [[0, 0, 0], [1, 0, 0]],
 "attrs": {"input_dim": "3", "output_dim": "4"}}],
"arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


def ramp(*shape: int) -> Any:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.live
@pytest.mark.parametrize(
    "symbol, params, feeds",
    [
        (REPEATED, {}, {"data": ramp(2, 3)}),
        (LABEL, {"fc_weight": ramp(3, 4)}, {"data": ramp(2, 4)}),
        (RECURRENT, {"parameters": ramp(3 * 4 * (3 + 4 + 2))}, {"data": ramp(5, 2, 3), "state": ramp(1, 2, 4)}),
        (INDEXED, {"table": ramp(3, 4)}, {"rows": np.array([0, 2, 1], np.int32)}),
        (INDEXED, {"table": ramp(3, 4)}, {"rows": np.array([0, 2, 1], np.float32)}),
    ],
    ids=["repeated names", "label behind a reshape", "fused recurrent", "integers", "indices as floats"],
)
def test_special_symbols(mxnet: ModuleType, symbol: str, params: Any, feeds: Any) -> None:
    source = open_source(symbol, params)
    running, reference = live(source), ReferenceEvaluator(source.symbol, source.plain_tensors())
    close(running.run(feeds), reference.run(feeds))
    running.close()


@pytest.mark.live
@pytest.mark.parametrize(
    "feeds, names, message",
    [
        ({"data": ramp(2, 3, 8, 9)}, None, r"live MXNet \(.*\) failed: .*[Ss]hape"),
        ({}, None, "cannot infer the shapes of .*data.*: feed them"),
        (FEEDS, ["nothing_output"], "the symbol has no output nothing_output"),
    ],
)
def test_refusals_of_live_mxnet(mxnet: ModuleType, feeds: Any, names: Any, message: str) -> None:
    running = live(models.net_source())
    with pytest.raises(VerificationError, match=message):
        running.run(feeds, names)
    assert running.run(FEEDS)["softmax_output"].shape == (2, 4), "the child survives a refusal"
    running.close()


def interpreter(folder: Path, program: str) -> str:
    """An executable that runs a program in place of the child's script."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\n{program}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


READY = "import sys; print('{\"version\": \"0.0\"}', flush=True); sys.stdin.readline();"


@pytest.mark.skipif(sys.platform == "win32", reason="stand-ins for the interpreter are scripts")
@pytest.mark.parametrize(
    "program, error, message",
    [
        ("print('{\"missing\": \"ModuleNotFoundError: mxnet\"}')", MXNetMissing, "cannot import MXNet: ModuleNotFound"),
        ("raise SystemExit('what is this')", VerificationError, "ended with status 1: what is this"),
        ("print('hello')", VerificationError, "ended with status 0"),
        ("import os; os.kill(os.getpid(), 11)", VerificationError, "was ended by SIGSEGV"),
        (READY + "import os; os.abort()", VerificationError, "was ended by SIGABRT"),
        (READY + "print('{\"error\": \"bad\"}')", VerificationError, r"live MXNet \(.*\) failed: bad"),
    ],
)
def test_interpreters_that_fail(program: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    running = live(models.net_source(), interpreter(tmp_path, program))
    with pytest.raises(error, match=message):
        running.run(FEEDS)
    running.close()


def test_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MXNetMissing, match=r"cannot start .*nothing to run MXNet: No such file"):
        live(models.net_source(), str(tmp_path / "nothing")).run(FEEDS)


MISSING = "print('{\"missing\": \"broken\"}')"


@pytest.mark.skipif(sys.platform == "win32", reason="stand-ins for the interpreter are scripts")
def test_only_what_was_not_asked_for_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = interpreter(tmp_path, MISSING)
    monkeypatch.delenv("GRAPHIR_MXNET_PYTHON", raising=False)
    monkeypatch.setattr("graphir.converters.mxnet.references.live_python", lambda: python)
    source, graph = models.net_source(), models.net_graph()
    report = models.held_against(source, graph)
    assert (report.ok, report.reference) == (True, "graphir's numpy reference of MXNet")
    with pytest.raises(MXNetMissing, match="cannot import MXNet: broken"):
        models.held_against(source, graph, against="live")
    monkeypatch.setenv("GRAPHIR_MXNET_PYTHON", python)
    with pytest.raises(MXNetMissing, match="cannot import MXNet: broken"):
        models.held_against(source, graph)


def test_live_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphir.converters.mxnet.references.live_python", lambda: None)
    with pytest.raises(VerificationError, match="name one that has it with --python or GRAPHIR_MXNET_PYTHON"):
        models.held_against(models.net_source(), models.net_graph(), against="live")


def test_named_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHIR_MXNET_PYTHON", "/opt/old/python")
    assert references.live_python() == "/opt/old/python"


def test_labels_are_read_directly() -> None:
    symbol = read_symbol(LABEL)
    plain = with_plain_labels(symbol, {"fc_weight": ramp(3, 4)})
    assert plain.nodes[5].inputs == [(2, 0), (3, 0)]
    assert symbol.nodes[5].inputs == [(2, 0), (4, 0)]


@pytest.mark.skipif(sys.platform == "win32", reason="stand-ins for the interpreter are scripts")
def test_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    running = live(models.net_source(), interpreter(tmp_path, READY + "print('{}')"))
    assert dict(running.stream(FEEDS, ["softmax_output"])) == {}
    process = running._process
    assert process is not None
    child = process._child
    running.close()
    assert child.returncode is not None
    assert os.listdir(tmp_path / "temporary") == []


@pytest.mark.live
def test_a_model_that_mxnet_cannot_run_is_held_against_the_reference(tmp_path: Path) -> None:
    nodes: list[dict[str, Any]] = [
        {"op": "null", "name": name, "inputs": []} for name in ("data", "c_weight", "c_bias")
    ]
    attrs = {"kernel": "(3, 3)", "num_filter": "4", "layout": "NHWC"}
    nodes.append({"op": "Convolution", "name": "c", "attrs": attrs, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]})
    document: dict[str, Any] = {"nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[3, 0, 0]]}
    document["attrs"] = {"mxnet_version": ["int", 10901]}
    (tmp_path / "m-symbol.json").write_text(json.dumps(document))
    arrays = {"arg:c_weight": np.ones((4, 3, 3, 2), np.float32), "arg:c_bias": np.ones(4, np.float32)}
    write_params(tmp_path / "m-0000.params", arrays)
    report = convert(tmp_path / "m", tmp_path / "m.onnx", shapes={"data": (1, 5, 6, 2)}, verify=True).verification
    assert report is not None
    assert report.ok
    assert report.reference == "graphir's numpy reference of MXNet"
    assert "stands in for MXNet" in report.notes[0]


@pytest.mark.parametrize("version, said", [
    ("1.5.1", ", older than the 1.9.1 that wrote the model"), ("1.9.0", ""), ("2.0.0b1", ""), ("own", ""),
])  # fmt: skip
def test_an_older_mxnet_is_said(version: str, said: str) -> None:
    class Fake:
        is_done = False

        def evaluate(self, feeds: Any, names: Any) -> Any:
            return iter(())

    fake: Any = Fake()
    fake.version = version
    running = live(models.net_source())
    running._process = fake
    list(running.stream(FEEDS, []))
    assert running.label == f"MXNet {version} in a child process{said}"


def pyramid(mxnet: Any) -> list[Any]:
    """The regions pooled by their size: each of two levels has those of the other as regions of no image."""
    data, rois = mxnet.sym.Variable("data"), mxnet.sym.Variable("rois")
    right, left = (mxnet.sym.slice_axis(rois, axis=1, begin=column, end=column + 1) for column in (3, 1))
    large = mxnet.sym.reshape(right - left > 4, (-1,))
    own = [mxnet.sym.where(chosen, rois, -mxnet.sym.ones_like(rois)) for chosen in (large, 1 - large)]
    return [mxnet.sym.contrib.ROIAlign(data, each, (2, 3), 0.5, 2, name=f"pool{i}") for i, each in enumerate(own)]


@pytest.mark.live
def test_regions_of_no_image_are_zeros(mxnet: ModuleType) -> None:
    large, small = pyramid(mxnet)
    source = MXNetSource(read_symbol(mxnet.sym.Group([large + small, small]).tojson()), {})
    corners = np.sort(np.random.default_rng(0).uniform(0, 12, (40, 2, 2)), axis=1).reshape(40, 4)
    feeds = {"data": X[:1], "rois": np.concatenate([np.zeros((40, 1)), corners], axis=1).astype(np.float32)}
    running, reference = live(source), ReferenceEvaluator(source.symbol, {})
    expected = reference.run(feeds)
    filled = expected["pool1_output"].any(axis=(1, 2, 3))
    assert 5 < filled.sum() < 35
    close(running.run(feeds), expected)
    values = [name for name in reference.values() if name.startswith("pool")]
    close(running.run(feeds, values), reference.run(feeds, values))
    assert running.label == f"MXNet {mxnet.__version__} in a child process, given zeros for regions of no image"
    running.close()
