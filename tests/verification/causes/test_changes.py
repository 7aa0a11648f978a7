"""Two graphs that differ where no number shows it: said, by the node; and what is only written otherwise passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphir
from graphir.errors import VerificationError
from graphir.report.verification import verdict_line
from graphir.verification.numbers.compare import Comparison
from graphir.verification.regions.judge import Regions
from graphir.verification.report import EXIT_NOT_PROVEN, VerificationReport, worst
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.verdict import Verdict

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(0)
DENSE = RANDOM.standard_normal((6, 5)).astype(np.float32)
CHANNELS = {"gamma": np.linspace(0.5, 1.5, 5, dtype=np.float32), "beta": np.linspace(-1, 1, 5, dtype=np.float32)}
Node = tuple[str, list[str], str, dict[str, Any]]
"""Operator, operands, result, attributes."""
PRODUCT: Node = ("MatMul", ["x", "w"], "y", {})
INNER: Node = ("MatMul", ["x", "w"], "p", {})
OUTPUTS = {"y": FLOAT}


def model(nodes: list[Node], weights: dict[str, Any], outputs: dict[str, int] | None = None) -> onnx.ModelProto:
    """A model of one input x of (N, 6); each node has the name of its result."""
    made = [helper.make_node(kind, reads, [name], name=name, **attributes) for kind, reads, name, attributes in nodes]
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in (outputs or OUTPUTS).items()]
    graph = helper.make_graph(made, "m", [helper.make_tensor_value_info("x", FLOAT, ["N", 6])], ends, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compared(folder: Path, first: onnx.ModelProto, second: onnx.ModelProto, **options: Any) -> VerificationReport:
    paths = folder / "first.onnx", folder / "second.onnx"
    for path, proto in zip(paths, (first, second), strict=True):
        onnx.save(proto, path)
    return graphir.verify(*paths, **options)


def never_taken(factor: float) -> onnx.ModelProto:
    """A branch for numbers that no set of inputs has."""
    return model(
        [INNER, ("Greater", ["p", "huge"], "is_huge", {}), ("Mul", ["p", "factor"], "other", {}),
         ("Where", ["is_huge", "other", "p"], "y", {})],
        {"w": DENSE, "huge": np.float32(1e30), "factor": np.float32(factor)},
    )  # fmt: skip


def behind_contrib(threshold: float) -> onnx.ModelProto:
    """A threshold of what an operator of another domain gives, whose type no graph knows."""
    made = model(
        [INNER, ("FastGelu", ["p"], "gelu", {}), ("Greater", ["gelu", "limit"], "is_large", {}),
         ("Where", ["is_large", "gelu", "zero"], "y", {})],
        {"w": DENSE, "limit": np.float32(threshold), "zero": np.float32(0)},
    )  # fmt: skip
    made.graph.node[1].domain = "com.microsoft"
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def remainder(fmod: int) -> onnx.ModelProto:
    """The remainder of integers that are never negative here."""
    return model(
        [INNER, ("Abs", ["p"], "size", {}), ("Cast", ["size"], "whole", {"to": INT64}),
         ("Mod", ["whole", "three"], "rest", {"fmod": fmod}), ("Cast", ["rest"], "y", {"to": FLOAT})],
        {"w": DENSE, "three": np.int64(3)},
    )  # fmt: skip


def limited(*nodes: Node) -> onnx.ModelProto:
    """A product, what may limit it, and another product."""
    last = nodes[-1][2] if nodes else "p"
    weights = {"w": DENSE, "large": np.float32(1e9), "low": np.float32(-1e9), "zero": np.float32(0), "v": np.eye(5)}
    return model([INNER, *nodes, ("MatMul", [last, "v"], "y", {})], {**weights, "v": np.eye(5, dtype=np.float32)})


def chosen(*, last: int = 0, twice: bool = False, factor: float = 1.0) -> onnx.ModelProto:
    """The largest of five, and the five."""
    nodes: list[Node] = [PRODUCT]
    if twice:
        nodes.append(("MatMul", ["x", "w"], "again", {}))
    nodes.append(("ArgMax", ["again" if twice else "y"], "best", {"axis": 1, "select_last_index": last}))
    return model(nodes, {"w": DENSE * np.float32(factor)}, {"best": INT64, "y": FLOAT})


def normalized(*, exchanged: bool = False) -> onnx.ModelProto:
    """LayerNormalization by parts, as onnxruntime fuses it, its difference the other way round or not."""
    difference = ["mean", "p"] if exchanged else ["p", "mean"]
    return model(
        [
            INNER,
            ("ReduceMean", ["p"], "mean", {"axes": [-1]}),
            ("Sub", difference, "centred", {}),
            ("Pow", ["centred", "two"], "square", {}),
            ("ReduceMean", ["square"], "variance", {"axes": [-1]}),
            ("Add", ["variance", "eps"], "shifted", {}),
            ("Sqrt", ["shifted"], "root", {}),
            ("Div", ["centred", "root"], "ratio", {}),
            ("Mul", ["ratio", "gamma"], "scaled", {}),
            ("Add", ["scaled", "beta"], "y", {}),
        ],
        {"w": DENSE, "two": np.float32(2), "eps": np.float32(1e-3), **CHANNELS},
    )


def active(kind: str, *bounds: str) -> onnx.ModelProto:
    weights = {"w": DENSE, "zero": np.float32(0), "one": np.float32(1)}
    return model([INNER, ("Sigmoid", ["p"], "s", {}), (kind, ["s", *bounds], "y", {})], weights)


@pytest.mark.parametrize("first, second, said", [
    (never_taken(2.0), never_taken(3.0), "other: Mul: factor 2 -> 3, which differs and shows in nothing"),
    (chosen(), chosen(last=1), "best: ArgMax: select_last_index False -> True"),
    (behind_contrib(6e8), behind_contrib(4e8), "is_large: Greater: limit 6e+08 -> 4e+08"),
    (remainder(0), remainder(1), "rest: Mod: fmod False -> True"),
    (limited(), limited(("Max", ["p", "low"], "kept", {})), "kept: Max(-1e+09) only in the candidate"),
    (limited(), limited(("Greater", ["p", "large"], "is_large", {}), ("Where", ["is_large", "zero", "p"], "kept", {})),
     "only in the candidate"),
])  # fmt: skip
def test_what_no_number_shows_is_not_proven(
    tmp_path: Path, first: onnx.ModelProto, second: onnx.ModelProto, said: str
) -> None:
    report = compared(tmp_path, first, second)
    assert report.verdict is Verdict.NOT_PROVEN, str(report)
    assert report.exit_code == EXIT_NOT_PROVEN
    assert any(said in reason for reason in report.unproven), report.unproven


@pytest.mark.parametrize("first, second, differing", [
    (active("Relu"), active("Max", "zero"), "1 node differs"),
    (active("Clip", "zero"), active("Max", "zero"), "1 node differs"),
    (never_taken(2.0), never_taken(2.0), ""),
    (chosen(), chosen(twice=True), "1 node differs"),
    (normalized(), normalized(), ""),
])  # fmt: skip
def test_what_is_written_otherwise_passes(
    tmp_path: Path, first: onnx.ModelProto, second: onnx.ModelProto, differing: str
) -> None:
    report = compared(tmp_path, first, second)
    assert report.ok, str(report)
    assert ("differs, " in verdict_line(report)) == bool(differing)
    assert differing in verdict_line(report)


def test_a_part_that_does_not_run_is_not_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise VerificationError("no kernel")

    monkeypatch.setattr("graphir.verification.regions.trials._Trials._compared", refuses)
    report = compared(tmp_path, active("Clip", "zero", "one"), active("Clip", "zero"))
    assert report.verdict is Verdict.NOT_PROVEN
    (reason,) = report.unproven
    assert reason.endswith("is there in the first only, which could not be run by itself: no kernel")


def test_parts_that_do_not_run_are_not_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise VerificationError("no kernel")

    monkeypatch.setattr(Regions, "judged", refuses)
    report = compared(tmp_path, never_taken(2.0), never_taken(3.0))
    assert report.verdict is Verdict.NOT_PROVEN
    assert "could not be run by themselves: no kernel" in report.unproven[0]


def test_what_a_fusion_hides_is_found(tmp_path: Path) -> None:
    report = compared(tmp_path, normalized(), normalized(exchanged=True))
    assert report.verdict is Verdict.BROKEN, str(report)
    assert any("hidden by a fusion of onnxruntime" in one.note for one in report.outputs)
    assert report.causes[0].name == "centred"


def test_stated_tolerances_alone_decide(tmp_path: Path) -> None:
    assert compared(tmp_path, never_taken(2.0), never_taken(3.0), rtol=1e-3).ok


def test_an_index_of_other_scores_is_not_proven_by_its_choice(tmp_path: Path) -> None:
    """Scores of twice the size choose alike, and are no outputs here."""
    first, second = (chosen(factor=factor) for factor in (1.0, 2.0))
    for proto in (first, second):
        del proto.graph.output[1]
    report = compared(tmp_path, first, second)
    assert not report.ok, str(report)


LAYERS = 120
MOST_SESSIONS = 12


def scaled(*, divided: bool) -> onnx.ModelProto:
    """Many sums with a product behind each, a power of two, which is a division in another model."""
    nodes: list[Node] = []
    held, weights = "x", {"factor": np.float32(0.5), "divisor": np.float32(2)}
    for place in range(LAYERS):
        nodes.append(("Add", [held, "x"], f"sum{place}", {}))
        held = f"product{place}"
        kind, other = ("Div", "divisor") if divided else ("Mul", "factor")
        nodes.append((kind, [f"sum{place}", other], held, {}))
    return model([*nodes, ("Neg", [held], "y", {})], weights)


def test_many_changes_are_looked_at_in_few_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started_part, started = OnnxCandidate.started_part, []

    def counted(self: OnnxCandidate, message: bytes, **options: bool) -> Any:
        started.append(len(message))
        return started_part(self, message, **options)

    monkeypatch.setattr(OnnxCandidate, "started_part", counted)
    report = compared(tmp_path, scaled(divided=False), scaled(divided=True))
    assert report.ok, str(report)
    assert len(started) <= MOST_SESSIONS, len(started)


def test_without_time_for_them_it_is_told_how_many_were_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHARE_FOR_CHANGES", "LEAST_FOR_CHANGES"):
        monkeypatch.setattr(f"graphir.verification.driver.{name}", 0.0)
    report = compared(tmp_path, scaled(divided=False), scaled(divided=True))
    assert report.ok, str(report)
    assert any("run by themselves: " in note for note in report.notes), report.notes


def graded(verdict: Verdict, floor: float) -> Comparison:
    return Comparison("y", (1,), 1.0, 0.02, 0.02, floor, 0.01, verdict)


@pytest.mark.parametrize("found, expected", [
    ([graded(Verdict.NOT_DETERMINISTIC, 0.5), graded(Verdict.BROKEN, 0.0)], Verdict.BROKEN),
    ([graded(Verdict.NOT_DETERMINISTIC, 0.5), graded(Verdict.NOT_PROVEN, 0.5)], Verdict.NOT_DETERMINISTIC),
    ([graded(Verdict.NOISE, 0.0), graded(Verdict.IDENTICAL, 0.0)], Verdict.NOISE),
    ([], Verdict.IDENTICAL),
])  # fmt: skip
def test_what_differs_for_sure_is_worse_than_what_rounding_moves(found: list[Comparison], expected: Verdict) -> None:
    assert worst(found) is expected
    assert worst(found[::-1]) is expected
