"""What agreement proves and what not: numb, discrete, empty and constant outputs, an import held against itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import graphir
from graphir.converters.onnx.files.structure import read_structure
from graphir.verification.equivalence import Models, compare_models
from graphir.verification.grading.evidence import (
    DISCRETE,
    EMPTY,
    FIXED,
    NUMB,
    Evidence,
    doubt_sentence,
    unproven,
)
from graphir.verification.models import IMPORT_NOT_PROVEN, hold_against
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import RuntimeReference
from graphir.verification.verdict import Verdict

HEADER = '<ir_version: 9, opset_import: ["" : 17]> '
WEIGHT = np.random.Generator(np.random.PCG64(2)).standard_normal((6, 6)).astype(np.float32)
FEEDS = {"x": np.random.Generator(np.random.PCG64(4)).standard_normal((3, 6)).astype(np.float32)}


def written(folder: Path, text: str, name: str = "m") -> Path:
    model = onnx.parser.parse_model(HEADER + text)
    if any("w" in node.input for node in model.graph.node):
        model.graph.initializer.append(onnx.numpy_helper.from_array(WEIGHT, "w"))
    onnx.save(model, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def on_one_set(reference: Path, candidate: Path, feeds: Any = None) -> VerificationReport:
    """The whole comparison on one set of inputs."""
    source = RuntimeReference(reference)
    with OnnxCandidate(candidate) as under_test:
        fed = FEEDS if feeds is None else feeds
        return compare_models(Models(source, under_test, inside=source.structure), fed).report


X = "g (float[3, 6] x) => "
REAL = X + "(float[3, 6] y) { y = MatMul(x, w) }"
# The names of values inside differ, so that nothing but outputs is known to both.
NUMB_MODEL = X + "(float[3, 6] y) <float big = {300}> { a = Abs(x) {0} = Sub(a, big) y = Relu({0}) }"
ARGMAX = X + "(int64[3, 1] y) { {0} = MatMul(x, w) y = ArgMax<axis = 1>({0}) }"
# Their operands show as little: one that does not react either, and one that is a mask.
NUMB_TWICE = X + (
    "(float[3, 6] y) <float big = {300}> { {0}a = Abs(x) {0}b = Sub({0}a, big) {0} = Relu({0}b) y = Relu({0}) }"
)
OF_A_MASK = X + "(bool[3, 6] y) { {0}p = MatMul(x, w) {0} = Greater({0}p, x) y = Not({0}) }"
COMPARED = X + "(bool[3, 6] y) { {0} = MatMul(x, w) y = Greater({0}, {0}2) {0}2 = Relu({0}) }"
EMPTY_MODEL = X + "(int64[2, N] y) <float big = {9000}> { {0} = MatMul(x, w) k = Greater({0}, big) y = NonZero(k) }"
CONSTANT = X + "(float[3, 6] y, float[2] z) <float[2] anchors = {1, 2}> { y = MatMul(x, w) z = Identity(anchors) }"
SIZES = X + "(float[3, 6] y, int64[2] z) { y = MatMul(x, w) z = Shape(y) }"
WHOLE = "g (int64[4] x) => (int64[4] y) <int64 two = {2}> { y = Mul(x, two) }"


def named(text: str, name: str) -> str:
    return text.replace("{0}", name)


ONE_SET = [
    pytest.param(REAL, "inner", "inner", "", id="a real output"),
    pytest.param(NUMB_TWICE, "inner", "other", NUMB, id="numb and blind"),
    pytest.param(NUMB_MODEL, "inner", "inner", "", id="numb, and what comes before was compared"),
    pytest.param(OF_A_MASK, "inner", "other", DISCRETE, id="a mask alone"),
    pytest.param(ARGMAX, "inner", "other", DISCRETE, id="indices of scores that have other names"),
    pytest.param(ARGMAX, "inner", "inner", "", id="indices of compared scores"),
    pytest.param(EMPTY_MODEL, "inner", "other", EMPTY, id="empty and blind"),
    pytest.param(EMPTY_MODEL, "inner", "inner", "", id="empty, and what comes before was compared"),
    pytest.param(CONSTANT, "inner", "other", "", id="anchors"),
    pytest.param(SIZES, "inner", "other", "", id="sizes"),
]


@pytest.mark.parametrize(("text", "one", "other", "reason"), ONE_SET)
def test_one_set_of_inputs(text: str, one: str, other: str, reason: str, tmp_path: Path) -> None:
    report = on_one_set(written(tmp_path, named(text, one)), written(tmp_path, named(text, other), "other"))
    assert [said for said in report.unproven if reason not in said] == []
    assert bool(report) == (not reason)
    assert report.verdict is Verdict.NOT_PROVEN if reason else report.verdict.passes
    assert report.exit_code == (5 if reason else 0)


def test_integers_of_integers_are_exact(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    assert on_one_set(path, path, {"x": np.arange(4)}).verdict is Verdict.IDENTICAL


def test_what_the_candidate_alone_takes_for_constant(tmp_path: Path) -> None:
    """Equal on these inputs, and no function of them in the candidate: more sets of inputs decide."""
    live = written(tmp_path, X + "(float[3, 6] y) <float low = {-90}> { m = Min(x, low) y = Relu(m) }")
    fixed = written(tmp_path, X + "(float[3, 6] y) <int64[2] s = {3, 6}> { y = ConstantOfShape(s) }", "fixed")
    report = on_one_set(live, fixed)
    assert report.verdict is Verdict.NOT_PROVEN
    assert FIXED in report.unproven[0]


CHOSEN = (
    "m (float[N, 4] x, int64[N, 4] codes) => (float[N, 4] z, int64[N] y) "
    "{ z = Neg(x) real = Cast<to = 1>(codes) y = ArgMax<axis = 1, keepdims = 0>(real) }"
)


def test_what_is_chosen_by_integers_is_shown_by_sets_that_differ(tmp_path: Path) -> None:
    source = written(tmp_path, CHOSEN)
    found = graphir.verify(source, source)
    assert found.verdict is Verdict.IDENTICAL, found.to_text()
    feeds = {"x": FEEDS["x"][:1, :4], "codes": np.array([[3, 1, 2, 0]])}
    report = on_one_set(source, source, feeds)
    assert report.verdict is Verdict.NOT_PROVEN
    assert DISCRETE in report.unproven[0]


def evidence(doubt: str, digest: str, *shown: str) -> Evidence:
    return Evidence({"y": doubt} if doubt else {}, frozenset(shown), {"y": digest})


def behind(digest: str) -> Evidence:
    """Discrete, with a value before it that was compared and did not react."""
    return replace(evidence(DISCRETE, "a"), before={"y": digest})


SETS = [
    ([evidence(NUMB, "a")], NUMB),
    ([evidence(NUMB, "a"), evidence(NUMB, "a")], NUMB),
    ([evidence(NUMB, "a"), evidence(NUMB, "b")], ""),
    ([evidence(NUMB, "a"), evidence("", "a")], ""),
    ([evidence(NUMB, "a", "y"), evidence(NUMB, "a")], ""),
    ([evidence(DISCRETE, "a"), evidence(DISCRETE, "b")], DISCRETE),
    ([evidence(DISCRETE, "a"), evidence(DISCRETE, "b", "y")], ""),
    ([evidence(EMPTY, "a"), evidence(EMPTY, "a")], EMPTY),
    ([evidence(EMPTY, "a"), evidence("", "b")], ""),
    ([evidence(EMPTY, "a"), evidence(DISCRETE, "b")], EMPTY),
    ([evidence(FIXED, "a")], FIXED),
    ([evidence(FIXED, "a"), evidence(FIXED, "a")], ""),
    ([evidence(FIXED, "a"), evidence(FIXED, "b")], FIXED),
    ([behind("c"), behind("c")], DISCRETE),
    ([behind("c"), evidence(DISCRETE, "a")], DISCRETE),
    ([behind("c"), evidence(DISCRETE, "a"), behind("d")], ""),
]


@pytest.mark.parametrize(("found", "reason"), SETS)
def test_evidence_of_several_sets(found: list[Evidence], reason: str) -> None:
    assert list(unproven(found).values()) == ([reason] if reason else [])


def test_what_comes_before_an_output_nearest_first(tmp_path: Path) -> None:
    text = X + "(float[3, 6] y) { a = Relu(x) b = Abs(a) c = Neg(x) d = Add(b, c) y = Exp(d) }"
    assert read_structure(written(tmp_path, text)).before("y") == ["d", "b", "c", "a"]


def test_values_that_graphs_inside_use_are_operands(tmp_path: Path) -> None:
    text = X + """(float[3, 6] y) <bool[1] t = {1}> { a = Relu(x) y = If(t) <
        then_branch = h () => (float[3, 6] p) { p = Neg(a) }, else_branch = k () => (float[3, 6] q) { q = Abs(a) }> }"""
    structure = read_structure(written(tmp_path, text))
    assert "a" in structure.operands("y")
    assert structure.live == {"x", "a", "y"}


def test_an_all_constant_network_against_itself() -> None:
    import onnx.backend.test

    path = Path(onnx.backend.test.__file__).parent / "data" / "light" / "light_squeezenet.onnx"
    report = graphir.verify(path, path)
    assert report.ok


def test_an_import_held_against_itself_says_so_first(tmp_path: Path) -> None:
    from graphir.converters.formats import Judge
    from graphir.graph import Graph

    def check(reference: Any) -> VerificationReport:
        return VerificationReport(reference.label, "", {}, [], unproven=["another reason"])

    imported = graphir.load(written(tmp_path, REAL))
    assert isinstance(imported, Graph)
    report = hold_against([Judge(note="the graph was the reference")], imported, check)
    assert report.unproven == [f"{IMPORT_NOT_PROVEN}: the graph was the reference", "another reason"]
    assert (bool(report), report.exit_code, report.verdict) == (False, 5, Verdict.NOT_PROVEN)
    from graphir.report.verification import verdict_line, verification_json

    assert verdict_line(report) == f"NOT PROVEN: {IMPORT_NOT_PROVEN}: the graph was the reference"
    assert verification_json(report)["verdict"] == "not proven"
    assert hold_against([Judge()], imported, check).unproven == ["another reason"], "a graph is its own model"


# Zeros for whatever is fed: what is not shown by any number.
ZEROS = "g (float[N, 6] x) => (float[N, 6] y) <float big = {1e12}> { t = Sub(x, big) y = HardSigmoid(t) }"


def test_nodes_that_are_the_same_prove_what_no_number_shows(tmp_path: Path) -> None:
    path = written(tmp_path, ZEROS)
    assert graphir.verify(path, path).verdict is Verdict.IDENTICAL
    other = written(tmp_path, ZEROS.replace("1e12", "2e12"), "other")
    assert not graphir.verify(path, other).ok


def test_what_no_number_shows_is_not_proven_of_a_capture(tmp_path: Path) -> None:
    path = written(tmp_path, ZEROS)
    (y,) = graphir.Session(path).run(FEEDS).values()
    np.savez(tmp_path / "capture.npz", **{"input:x": FEEDS["x"], "output:0:y": y})
    report = graphir.verify(tmp_path / "capture.npz", path)
    assert report.verdict is Verdict.NOT_PROVEN
    assert report.unproven == [doubt_sentence("y", NUMB)]
