"""Where two models part is named: planted faults, faults behind faults, harmless rewrites, renamed models."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from graphir import ComparisonOptions, conversion, convert, verify
from graphir.errors import ImportFailure, VerificationError
from graphir.verification import models
from graphir.verification.report import VerificationReport
from tests.verification import networks as net

FAULTS = {
    "an activation with a bound": (net.cnn, net.with_clip("relu2", 0.3), ["relu2"], "Relu -> Clip(0, 0.3)"),
    "another activation": (net.cnn, net.with_operator("relu4", "Tanh"), ["relu4"], "Relu -> Tanh"),
    "other pads": (net.cnn, net.with_attribute("conv2", "pads", [0, 0, 2, 2]), ["conv2", "bn2"], "padding"),
    "other weights": (net.cnn, net.with_weight("conv3_weight", lambda a: a * 1.1), ["conv3", "bn3"], "weights differ"),
    "one weight": (net.cnn, net.with_weight("fc1_bias", lambda a: a + 0.5 * (a == a.max())), ["fc1"], "weights differ"),
    "another statistic": (net.cnn, net.with_weight("bn4_m", lambda a: a + 0.3), ["bn4"], "weights differ"),
    "another operand": (net.cnn, net.with_operand("sum1", 0, "conv3"), ["sum1"], "operand"),
    "a transposed weight": (net.transformer, net.with_weight("key_weight", lambda a: a.T), ["key"], "weights differ"),
    "another scale": (net.transformer, net.with_weight("scale", lambda a: a * 2), ["scaled"], "Mul"),
    "another axis": (net.transformer, net.with_attribute("attention", "axis", 1), ["attention"], "axis"),
    "gates exchanged": (net.lstm, net.with_weight("lstm2_w", lambda a: a[:, ::-1]), ["lstm2"], "weights differ"),
    "a head": (net.two_heads, net.with_operator("sizes", "Sigmoid"), ["sizes"], "Relu -> Sigmoid"),
}


def check(
    tmp_path: Path, network: Callable[[], Any], change: Callable[[Any], Any], **options: Any
) -> VerificationReport:
    first, second = net.saved(tmp_path, [network(), change(network())])
    return verify(first, second, **options)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("per_layer", [False, True], ids=["searched", "all layers"])
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_named(name: str, per_layer: bool, tmp_path: Path) -> None:
    network, change, layers, said = FAULTS[name]
    report = check(tmp_path, network, change, per_layer=per_layer)
    assert report.verdict.differs
    assert [cause.name for cause in report.causes] in [[layer] for layer in layers], report
    assert said in report.causes[0].what
    assert len(report.changes) == 1
    assert said in report.changes[0]


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_named_in_renamed_models(name: str, tmp_path: Path) -> None:
    network, change, layers, said = FAULTS[name]
    report = check(tmp_path, network, net.together(change, net.renamed))
    assert [cause.name for cause in report.causes] in [[layer] for layer in layers], report
    assert said in report.causes[0].what


@pytest.mark.parametrize("per_layer", [False, True], ids=["searched", "all layers"])
@pytest.mark.parametrize(
    "network, changes, layers",
    [
        (net.cnn, (net.with_clip("relu1", 0.3), net.with_operator("relu4", "Tanh")), ["relu1", "relu4"]),
        (net.cnn, (net.with_clip("relu1", 0.3), net.with_weight("fc1_weight", lambda a: a * 1.2)), ["relu1", "fc1"]),
        (net.two_heads, (net.with_operator("sizes", "Tanh"), net.with_operator("tanh1", "Relu")), ["tanh1", "sizes"]),
        (net.lstm, (net.with_weight("lstm1_w", np.negative), net.with_weight("fc1_weight", np.negative)),
         ["lstm1", "fc1"]),
    ],
    ids=["cnn", "cnn weights", "two heads", "lstm"],
)  # fmt: skip
def test_faults_behind_faults_are_named_too(
    network: Callable[[], Any], changes: Any, layers: list[str], per_layer: bool, tmp_path: Path
) -> None:
    report = check(tmp_path, network, net.together(*changes), per_layer=per_layer)
    assert [cause.name for cause in report.causes] == layers
    assert not set(layers) & {name for cause in report.causes for name in cause.follows}


@pytest.mark.parametrize(
    "network, change",
    [
        (net.cnn, net.folded),
        (net.cnn, net.together(net.folded, net.renamed)),
        (net.cnn, lambda model: net.with_channels_last(model, ("relu1", "relu3"))),
        (net.cnn, net.renamed),
        (net.transformer, net.renamed),
        (net.lstm, net.renamed),
    ],
    ids=["folded", "folded and renamed", "channels last", "renamed", "renamed transformer", "renamed lstm"],
)
def test_rewrites_are_not_blamed(network: Callable[[], Any], change: Callable[[Any], Any], tmp_path: Path) -> None:
    report = check(tmp_path, network, change, per_layer=True)
    assert report.ok
    assert report.layers
    assert report.causes == []
    assert report.first_divergence is None
    assert report.diverging == []


def equalized(model: Any) -> Any:
    """A weight twice as large, and the next ones half as large: nothing behind them differs."""
    doubled = net.together(
        net.with_weight("fc1_weight", lambda a: a * 2), net.with_weight("fc1_bias", lambda a: a * 2),
        net.with_weight("fc2_weight", lambda a: a / 2), net.with_weight("fc4_weight", lambda a: a / 2),
    )  # fmt: skip
    return doubled(model)


def test_layers_that_are_written_otherwise_say_where_they_agree_again(tmp_path: Path) -> None:
    report = check(tmp_path, net.two_heads, equalized, per_layer=True)
    assert report.ok
    assert report.causes == []
    assert report.first_divergence is None
    assert report.rewritten == {
        "fc1": "agrees again at fc2 and 1 other value", "relu1": "agrees again at fc2 and 1 other value"
    }
    assert "none differs by more than rounding where both models have the same form" in str(report)


def test_a_fault_beside_rewrites_is_named_alone(tmp_path: Path) -> None:
    report = check(tmp_path, net.cnn, net.together(net.with_clip("relu3", 0.3), net.folded), per_layer=True)
    assert [cause.name for cause in report.causes] == ["relu3"]
    assert report.first_divergence is not None
    assert report.first_divergence.name == "relu3"


def exchanged_names(model: Any) -> Any:
    """The same model in which two layers bear each other's names."""
    made = net.copied(model)
    swap = {"conv2": "conv3", "conv3": "conv2"}
    for node in made.graph.node:
        node.name = swap.get(node.name, node.name)
        node.input[:] = [swap.get(name, name) for name in node.input]
        node.output[:] = [swap.get(name, name) for name in node.output]
    return made


def test_exchanged_names_are_no_divergence(tmp_path: Path) -> None:
    report = check(tmp_path, net.cnn, exchanged_names, per_layer=True)
    assert report.ok
    assert report.diverging == []
    assert report.changes == []


def reordered(model: Any) -> Any:
    """Outputs of other names in the other order."""
    made = net.renamed(model, ends=True)
    ends = list(made.graph.output)[::-1]
    del made.graph.output[:]
    made.graph.output.extend(ends)
    return made


def test_outputs_are_paired_by_what_feeds_them(tmp_path: Path) -> None:
    report = check(tmp_path, net.two_heads, reordered)
    assert report.ok
    assert any("paired by what feeds them: scores with " in note for note in report.notes)


def without_a_head(model: Any) -> Any:
    made = net.renamed(model, ends=True)
    del made.graph.output[0]
    return made


def test_an_output_that_is_missing_among_other_names_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, net.two_heads, without_a_head)
    assert not report.ok
    assert [found.name for found in report.outputs if "no such output" in found.note] == ["scores"]


def test_what_cannot_be_read_as_a_graph_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = net.saved(tmp_path, [net.two_heads(), net.with_clip("relu1", 0.1)(net.two_heads())])

    def refused(*given: Any) -> Any:
        raise ImportFailure("no graph of this")

    monkeypatch.setattr(models, "read_model", refused)
    report = verify(first, second)
    assert report.verdict.differs
    assert report.changes == []
    assert [cause.name for cause in report.causes] == ["relu1"]
    assert report.causes[0].what.startswith("Relu / Clip: the first that differs")
    assert "the graphs were not compared: the reference cannot be read as a graph: no graph of this" in report.notes


REPRODUCED = {
    "bound": (net.cnn, net.with_clip("relu3", 0.3)),
    "weights, renamed": (net.cnn, net.together(net.with_weight("conv3_weight", np.negative), net.renamed)),
    "recurrent": (net.lstm, net.with_weight("lstm2_w", lambda a: a[:, ::-1])),
    "channels last": (net.cnn, lambda made: net.with_channels_last(net.with_clip("relu2", 0.2)(made), ("relu1",))),
}


@pytest.mark.parametrize("name", REPRODUCED)
def test_a_minimal_model_reproduces_the_difference_in_onnxruntime_alone(name: str, tmp_path: Path) -> None:
    report = check(tmp_path, *REPRODUCED[name], comparison=ComparisonOptions(reproduce=tmp_path / "case"))
    files = {path.name: path for path in (tmp_path / "case").iterdir()}
    assert {"reference.onnx", "candidate.onnx", "reproduce.py", "README.txt"} <= files.keys()
    assert all(len(onnx.load(files[which]).graph.node) <= 3 for which in ("reference.onnx", "candidate.onnx"))
    # Without graphir: isolated, from another folder.
    ran = subprocess.run([sys.executable, "-I", files["reproduce.py"]], cwd="/", capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "largest difference" in ran.stdout
    assert any(f"{report.causes[0].name} is reproduced by" in note for note in report.notes)
    files["candidate.onnx"].write_bytes(files["reference.onnx"].read_bytes())
    files["candidate_inputs.npz"].write_bytes(files["reference_inputs.npz"].read_bytes())
    ran = subprocess.run([sys.executable, "-I", files["reproduce.py"]], cwd="/", capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr


def test_nothing_is_written_where_nothing_differs(tmp_path: Path) -> None:
    report = check(tmp_path, net.cnn, net.renamed, comparison=ComparisonOptions(reproduce=tmp_path / "case"))
    assert not (tmp_path / "case").exists()
    assert any("nothing was written" in note for note in report.notes)


def test_a_folder_with_files_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="name one that is new or empty"):
        check(tmp_path, net.cnn, net.renamed, comparison=ComparisonOptions(reproduce=tmp_path))


def converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any], **options: Any
) -> VerificationReport:
    """What `convert --verify` says of a target that was written otherwise than it should be."""
    check_it = conversion._verified

    def changed(conversion: Any, how: Any) -> VerificationReport:
        onnx.save(change(onnx.load(conversion.wanted.target)), conversion.wanted.target)
        return check_it(conversion, how)

    monkeypatch.setattr(conversion, "_verified", changed)
    (source,) = net.saved(tmp_path, [net.cnn()])
    report = convert(source, tmp_path / "written.onnx", verify=True, **options).verification
    assert report is not None
    return report


@pytest.mark.parametrize("per_layer", [False, True], ids=["searched", "all layers"])
def test_a_conversion_that_differs_names_the_layer(
    per_layer: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = converted(tmp_path, monkeypatch, net.with_clip("relu2", 0.3), per_layer=per_layer)
    assert report.verdict.differs
    assert [cause.name for cause in report.causes] == ["relu2"]
    assert "Relu -> Clip(0, 0.3)" in report.causes[0].what
    assert any("Relu -> Clip(0, 0.3)" in line for line in report.changes)


def test_a_conversion_that_agrees_tells_nothing_of_what_was_written_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = converted(tmp_path, monkeypatch, net.with_clip("relu2", 1e9))
    assert report.ok
    assert (report.changes, report.causes) == ([], [])
