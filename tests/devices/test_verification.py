"""Verification of a model on a device, with faults planted in what the device's kernels compute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
from onnx import helper

from graphir import ComparisonOptions, bench, check, save, verify
from graphir.cli import main
from graphir.converters.onnx import from_model
from graphir.runtime.providers import PROVIDERS
from graphir.verification.verdict import Verdict
from tests.devices.device import PROVIDER, ROW, need_device
from tests.devices.test_sessions import network
from tests.verification import models

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def _device() -> None:
    need_device()


def test_the_device_agrees() -> None:
    report = verify(network(), network(), providers=PROVIDER, per_layer=True)
    assert report.verdict.passes
    assert report.first_divergence is None
    short = ROW.runtime_name.removesuffix("ExecutionProvider")
    assert f"on {short} (" in report.candidate
    assert {node.provider for node in report.placement} >= {ROW.runtime_name}
    assert [note for note in report.notes if note.startswith(f"{short} and the CPU")]


def test_nodes_that_fall_back_are_listed() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Det", ["y"], ["z"])]
    model = models.onnx_model(nodes, {"x": (1, [2, 2])}, {"z": (1, [])}, {})
    graph = from_model(model)
    report = verify(graph, graph, providers=PROVIDER)
    reason = f" ({ROW.runtime_name} has no kernel for its operands)" if ROW.gives_reasons else ""
    sentence = f"run on CPUExecutionProvider, not on {ROW.runtime_name}: Det{reason}"
    assert any(note.endswith(sentence) for note in report.notes)
    timed = bench(graph, providers=[PROVIDER], seconds=0.1)
    assert any(note.endswith(sentence) for note in timed.notes)
    placed = check(graph, provider=PROVIDER).fallbacks
    assert placed is not None
    assert [(item.node.operator, f" ({item.reason})" * bool(item.reason)) for item in placed.nodes] == [("Det", reason)]


def faulty(real: Any, operator: str, attributes: dict[str, Any], kind: str) -> Any:
    """onnxruntime's session, which on a device runs `kind` where a model has the operator."""

    def start(source: str | bytes, options: Any, providers: Any, **rest: Any) -> Any:
        if providers != [PROVIDERS["cpu"]]:
            model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
            for node in model.graph.node:
                if node.op_type == operator:
                    node.op_type = kind
                    node.attribute.extend(onnx.helper.make_attribute(*pair) for pair in attributes.items())
            source = model.SerializeToString()
        return real(source, options, providers=providers, **rest)

    return start


FAULTS = [
    ("Relu", {"alpha": 0.01}, "LeakyRelu", "hidden"),
    ("Relu", {}, "Abs", "hidden"),
    ("Softmax", {}, "Sigmoid", "probabilities"),
]


@pytest.mark.parametrize("operator, attributes, kind, name", FAULTS)
def test_a_fault_of_the_device_is_named_and_reproduced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, operator: str, attributes: dict[str, Any], kind: str, name: str
) -> None:
    path = save(network(), tmp_path / "network.onnx")[0]
    session = onnxruntime.InferenceSession
    start = faulty(session, operator, attributes, kind)
    record = "get_provider_graph_assignment_info"  # what says that onnxruntime has it
    if hasattr(session, record):
        setattr(start, record, getattr(session, record))
    monkeypatch.setattr(onnxruntime, "InferenceSession", start)
    report = verify(path, path, providers=PROVIDER, comparison=ComparisonOptions(reproduce=tmp_path / "part"))
    assert report.verdict is Verdict.BROKEN
    assert report.causes[0].name == name
    short = ROW.runtime_name.removesuffix("ExecutionProvider")
    assert any(note.endswith(f"what differs is what {short} computes, not the model") for note in report.notes)
    assert any(note == f"{name} is reproduced by {tmp_path / 'part' / 'reproduce.py'}" for note in report.notes), (
        report.notes
    )
    part = onnx.load(tmp_path / "part" / "candidate.onnx")
    assert [node.op_type for node in part.graph.node] == [operator]
    script = (tmp_path / "part" / "reproduce.py").read_text()
    assert ROW.runtime_name in script
    # Without the fault the part agrees on the device: the script runs it there, and ends with 1.
    done = subprocess.run([sys.executable, tmp_path / "part" / "reproduce.py"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "largest difference" in done.stdout


def test_a_model_alone_is_held_against_itself_on_the_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(network(), tmp_path / "network.onnx")[0]
    assert main(["verify", str(path), "--provider", PROVIDER]) == 0
    assert f"on {ROW.runtime_name.removesuffix('ExecutionProvider')} (" in capsys.readouterr().out
