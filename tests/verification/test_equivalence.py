"""Equivalence: pairing, heads, layers in slices, and the first divergence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from graphir import verify
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.references import ReferenceEvaluator
from graphir.converters.onnx import save
from graphir.converters.onnx.files.structure import Structure, read_structure
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.ops.convolution import Conv
from graphir.padding import Explicit
from graphir.runtime.session import OnnxSession
from graphir.safety import isolation
from graphir.verification import equivalence
from graphir.verification.equivalence import Models, compare_models
from graphir.verification.numbers import compare as numbers
from graphir.verification.numbers import limits
from graphir.verification.numbers.compare import compare
from graphir.verification.options import ComparisonOptions
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.heads import values_before_heads
from graphir.verification.running.noise import RoundedRuns
from graphir.verification.running.references import RuntimeReference
from graphir.verification.running.slices import HELD_OF_EACH
from graphir.verification.verdict import Verdict
from tests.verification import models

FEEDS = {"data": np.random.Generator(np.random.PCG64(1)).standard_normal((2, 3, 8, 8)).astype(np.float32)}


def check(graph: Graph, scale: float = 1.0, **options: Any) -> Any:
    return models.held_against(models.net_source(scale), graph, feeds=FEEDS, against="reference", **options)


def bump(array: Any) -> Any:
    array[0, 0, 1, 1] += 0.5
    return array


def transpose(array: Any) -> Any:
    return np.ascontiguousarray(array.transpose(1, 0, 2, 3))


def ignoring_fix_gamma() -> Graph:
    return models.net_graph(symbol=models.NET.replace('"fix_gamma": "True"', '"fix_gamma": "False"'))


def with_other_eps() -> Graph:
    return models.net_graph(symbol=models.NET.replace('"eps": "0.001"', '"eps": "0.1"'))


def with_transposed_weight() -> Graph:
    return models.damaged(models.net_graph(), "conv1_weight", transpose)


def with_damaged_weight() -> Graph:
    return models.damaged(models.net_graph(), "conv1_weight", bump)


def with_damaged_bias() -> Graph:
    return models.damaged(models.net_graph(), "fc_bias", lambda array: array + np.array([0, 0.05, 0, 0], np.float32))


@pytest.mark.parametrize(
    "make, first",
    [
        (ignoring_fix_gamma, "bn0_output"),
        (with_other_eps, "bn0_output"),
        (with_transposed_weight, "conv1_output"),
        (with_damaged_weight, "conv1_output"),
        (with_damaged_bias, "fc_output"),
    ],
)
def test_broken_conversions_are_broken_and_located(make: Any, first: str) -> None:
    report = check(make(), per_layer=True)
    assert report.verdict is Verdict.BROKEN
    assert report.first_divergence.name == first
    assert report.first_divergence.verdict is Verdict.BROKEN


def test_wrong_padding_is_broken() -> None:
    """The same sizes, one pixel off."""
    graph = models.net_graph()
    node = next(node for node in graph.nodes if node.name == "conv1")
    assert isinstance(node.op, Conv)
    shifted = replace(node.op, padding=Explicit(((0, 2), (1, 1))))
    value = graph.add(shifted, *node.inputs, before=node)
    graph.replace_uses(node.output, value)
    value.sources = node.output.sources
    graph.erase(node)
    report = check(graph, per_layer=True)
    assert report.verdict is Verdict.BROKEN
    assert report.first_divergence.name == "conv1_output"


def test_a_good_conversion_is_noise() -> None:
    report = check(models.net_graph(), per_layer=True)
    assert report.verdict.passes
    assert report.first_divergence is None
    names = [layer.name for layer in report.layers]
    assert names == [f"{name}_output" for name in ("conv0", "bn0", "relu0", "conv1", "relu1", "fc", "softmax")]
    assert report.notes == []
    assert report.feeds == {"data": "float32[2, 3, 8, 8]"}


def test_saturated_head_does_not_hide_an_error() -> None:
    graph = models.damaged(models.net_graph(1e4), "fc_bias", lambda array: array + np.array([0, 300, 0, 0], np.float32))
    report = check(graph, 1e4)
    assert [(found.name, found.verdict.passes) for found in report.outputs] == [
        ("softmax_output", True),
        ("fc_output (before the head)", False),
    ]
    assert not report.ok


@pytest.mark.parametrize("size", [1, 600, 1 << 30])
def test_layers_come_in_slices(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []

    class Counting(ReferenceEvaluator):
        def stream(self, feeds: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
            runs.append(1)
            return super().stream(feeds, names)

    sessions: list[int] = []
    real = OnnxCandidate._session_with_outputs

    def counted(self: OnnxCandidate, names: Any, turned: bool) -> OnnxSession:
        sessions.append(len(names))
        return real(self, names, turned)

    monkeypatch.setattr(OnnxCandidate, "_session_with_outputs", counted)
    source = models.net_source()
    with OnnxCandidate(models.net_graph(), memory=HELD_OF_EACH * size) as candidate:
        reference = Counting(source.symbol, source.plain_tensors())
        how = ComparisonOptions(per_layer=True)
        report = compare_models(Models(reference, candidate, how, models.net_graph()), FEEDS).report
    assert len(report.layers) == 7
    assert report.first_divergence is None
    assert runs == [1], "the reference is evaluated once, however many slices there are"
    most = {1: 1, 600: 2, 1 << 30: 7}[size]
    assert max(sessions) <= most


def test_few_values_are_held_at_a_time() -> None:
    """A chain of 64 values of 1 MB: with a budget of 16 MB about that much is alive at once, not 64."""
    import tracemalloc

    nodes = ['{"op": "null", "name": "data", "inputs": []}']
    nodes += [f'{{"op": "negative", "name": "n{index}", "inputs": [[{index}, 0, 0]]}}' for index in range(64)]
    symbol = f'{{"nodes": [{", ".join(nodes)}], "arg_nodes": [0], "heads": [[64, 0, 0]], "attrs": {{}}}}'
    from graphir.converters.mxnet.source import open_source

    source = open_source(symbol, {})
    graph = source.to_graph({"data": (1, 1 << 18)}, simplified=False)
    tracemalloc.start()
    report = models.held_against(source, graph, against="reference", per_layer=True, memory_budget=16 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(report.layers) == 64
    assert peak < 48 << 20


@pytest.mark.parametrize(
    "names, swap, weight, verdict, note",
    [
        (("sum", "twice"), False, 2.0, Verdict.IDENTICAL, ""),
        (("sum", "twice"), True, 2.0, Verdict.IDENTICAL, "the outputs come in another order: sum, twice became"),
        (("twice", "sum"), False, 2.0, Verdict.BROKEN, "the outputs come in another order"),
        (("a", "b"), False, 2.0, Verdict.IDENTICAL, "were paired by what feeds them: sum with a, twice with b"),
        (("a", "b"), True, 2.0, Verdict.IDENTICAL, "were paired by what feeds them: sum with a, twice with b"),
        (("a", "b"), True, 2.1, Verdict.BROKEN, "were paired by what feeds them: sum with a, twice with b"),
        (("sum", "b"), False, 2.0, Verdict.IDENTICAL, "paired by what feeds them: twice with b"),
        (("sum", "twice"), False, 2.00005, Verdict.BROKEN, ""),
        (("sum", "twice"), False, 2.1, Verdict.BROKEN, ""),
    ],
)
def test_pairs_of_outputs(
    names: tuple[str, str], swap: bool, weight: float, verdict: Verdict, note: str, tmp_path: Path
) -> None:
    candidate = models.affine(tmp_path, weight, names, swap)
    report = verify(models.affine(tmp_path), candidate)
    assert report.verdict is verdict
    assert (note in report.notes[0]) if note else report.notes == []


def subset(path: Path, count: int) -> Path:
    import onnx

    model = onnx.load(path)
    del model.graph.output[count:]
    target = path.with_name(f"only{count}.onnx")
    onnx.save(model, target)
    return target


def test_outputs_that_are_missing_or_more(tmp_path: Path) -> None:
    both = models.affine(tmp_path)
    lacking = verify(both, subset(both, 1))
    assert (lacking.ok, lacking.notes) == (False, ["outputs that the candidate lacks: twice"])
    assert [(found.name, found.verdict, found.note) for found in lacking.outputs[1:]] == [
        ("twice", Verdict.BROKEN, "the candidate has no such output")
    ]
    more = verify(subset(both, 1), both)
    assert (more.ok, more.notes) == (True, ["outputs of the candidate alone, not compared: twice"])
    renamed = models.affine(tmp_path, names=("a", "b"))
    alone = verify(both, subset(renamed, 1))
    assert alone.notes == ["outputs of different names were paired by what feeds them: sum with a",
                           "outputs that the candidate lacks: twice"]  # fmt: skip
    assert [found.verdict for found in alone.outputs] == [Verdict.IDENTICAL, Verdict.BROKEN]


def test_nothing_to_compare(tmp_path: Path) -> None:
    reference = RuntimeReference(models.affine(tmp_path))
    reference.outputs = []
    with (
        OnnxCandidate(models.affine(tmp_path)) as candidate,
        pytest.raises(VerificationError, match="nothing to compare"),
    ):
        compare_models(Models(reference, candidate), {"x": np.ones((2, 3), np.float32)})


PRODUCERS = {
    "logits": ("Gemm", ("flat", "w")),
    "scaled": ("Mul", ("logits", "two")),
    "soft": ("Softmax", ("scaled",)),
    "shaped": ("Reshape", ("soft", "shape")),
    "other": ("Gemm", ("flat", "v")),
    "gate": ("Sigmoid", ("other",)),
    "joined": ("Concat", ("shaped", "gate")),
    "direct": ("Softmax", ("data",)),
}


@pytest.mark.parametrize(
    "outputs, known, found",
    [
        (["soft"], ["logits", "scaled"], {"S.scaled": "scaled"}),
        (["soft"], ["logits"], {"S.logits": "logits"}),
        (["shaped"], ["scaled", "soft", "shaped"], {"S.scaled": "scaled"}),
        (["joined"], ["scaled", "other"], {"S.scaled": "scaled", "S.other": "other"}),
        (["soft", "scaled"], ["scaled"], {}),
        (["soft"], [], {}),
        (["logits"], ["logits"], {}),
        (["direct"], ["data"], {}),
    ],
)
def test_values_before_heads(outputs: list[str], known: list[str], found: dict[str, str]) -> None:
    from graphir.converters.onnx.files.structure import Structure

    structure = Structure(("data",), tuple(outputs), PRODUCERS, False)
    before = values_before_heads(structure, outputs, {f"S.{name}": name for name in known})
    assert {source: name for source, (name, _) in before.items()} == found


def test_evaluation_in_turn_gives_what_evaluation_gives() -> None:
    from graphir.converters.mxnet.reference.evaluate import evaluate, evaluate_in_turn

    symbol, arrays = read_symbol(models.NET), {**models.net_params(), **FEEDS}
    expected = evaluate(symbol, arrays, internals=True)
    found = dict(evaluate_in_turn(symbol, arrays, reversed(expected)))
    assert list(found) == list(expected)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_what_came_through_float16_has_its_noise(tmp_path: Path) -> None:
    """Mixed precision: float32 in and out, float16 between."""
    half = "g (float[2, 9] x) => (float[2, 9] y) { h = Cast<to = 10>(x) s = Mul(h, h) y = Cast<to = 1>(s) }"
    path = tmp_path / "half.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>{half}'), path)
    step = read_structure(path).steps["y"]
    assert step == 2.0**-10
    ones = np.ones(9, np.float32)
    assert compare("y", ones, ones + np.float32(5e-4)).verdict is Verdict.BROKEN
    assert compare("y", ones, ones + np.float32(5e-4), step=step).verdict is Verdict.NOISE
    assert compare("y", ones, ones + np.float32(0.05), step=step).verdict is Verdict.BROKEN


@pytest.mark.parametrize("is_proven", [True, False])
def test_rounding_of_the_same_nodes_takes_no_run_of_its_own(
    is_proven: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference computes what the candidate does without optimisations then: a run of that shows nothing else."""
    paths = [save(models.net_graph(), tmp_path / f"{name}.onnx")[0] for name in "ab"]
    measured: list[Any] = []
    runs = RoundedRuns.runs

    def noted(rounding: RoundedRuns, names: Any, **options: Any) -> Any:
        measured.append(names)
        return runs(rounding, names, **options)

    monkeypatch.setattr(RoundedRuns, "runs", noted)
    monkeypatch.setattr(isolation, "_may_fork", False)
    monkeypatch.setattr(equivalence, "HEAVY", 1.0 if is_proven else 1e9)
    for module, name in ((limits, "NOISE_LEAST"), (numbers, "PLAIN_NOISE")):
        monkeypatch.setattr(module, name, 0.0)  # every difference asks for a floor
    monkeypatch.setattr(Structure, "lost_by_sums", 0.0)
    report = verify(*paths)
    assert report.ok
    assert len(report.sets) > 1
    assert all(any(output.relative for output in one.outputs) for one in report.sets)
    outputs = [output for one in report.sets for output in one.outputs]
    assert all(output.floor == pytest.approx(output.relative) for output in outputs) or not is_proven
    assert not measured if is_proven else (len(measured) >= len(report.sets))


@pytest.mark.parametrize(
    ("is_heavy", "is_changed", "is_once"), [(True, False, True), (False, False, False), (True, True, False)],
    ids=["the same nodes", "little work", "a changed weight"],
)  # fmt: skip
def test_values_inside_of_the_same_nodes_are_computed_once(
    is_heavy: bool, is_changed: bool, is_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where onnxruntime runs the same nodes for both, the candidate's values inside are the reference's."""
    asked: list[str] = []
    plain = RoundedRuns.plain

    def noted(rounding: RoundedRuns, names: Any) -> Any:
        asked.extend(names)
        return plain(rounding, names)

    monkeypatch.setattr(RoundedRuns, "plain", noted)
    monkeypatch.setattr(isolation, "_may_fork", False)
    monkeypatch.setattr(equivalence, "HEAVY", 1.0 if is_heavy else 1e9)
    candidate = models.net_graph()
    if is_changed:
        models.damaged(candidate, "conv1_weight", bump)
    paths = [save(graph, tmp_path / f"{index}.onnx")[0] for index, graph in enumerate((models.net_graph(), candidate))]
    report = verify(*paths, per_layer=True)
    outputs = {output.name for output in report.outputs}
    verdicts = {layer.verdict for layer in report.layers if layer.name not in outputs}
    assert len(report.layers) > 3
    assert all(layer.scale > 0 for layer in report.layers)
    assert (equivalence.ONCE in report.notes) is is_once is not bool(asked)
    assert report.ok is not is_changed
    assert (Verdict.BROKEN in verdicts) is is_changed
    assert verdicts == {Verdict.IDENTICAL} or not is_once
