"""One floor for every value: outputs, heads and layers, integer inputs, coarse types of the reference, and chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from graphir import verify
from graphir.converters.onnx.files.structure import read_structure
from graphir.verification import driver
from graphir.verification.numbers.compare import Floor
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.noise import RoundedRuns
from graphir.verification.verdict import Verdict

SEEDED = np.random.Generator(np.random.PCG64(11))
HEADER = '<ir_version: 9, opset_import: ["" : 17]> '


def written(folder: Path, name: str, text: str, **weights: Any) -> Path:
    """A model whose weights are arrays."""
    model = onnx.parser.parse_model(HEADER + text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, key) for key, array in weights.items())
    onnx.save(model, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def held(folder: Path, reference: str, candidate: str, **options: Any) -> VerificationReport:
    """Two models of the same weights."""
    weights = {
        "table": SEEDED.standard_normal((16, 24)).astype(np.float32),
        "w": SEEDED.standard_normal((24, 24)).astype(np.float32),
    }
    paths = [written(folder, name, text, **weights) for name, text in (("a", reference), ("b", candidate))]
    return verify(*paths, **options)


# What almost cancels: its rounding is a thousand times that of its operands.
CANCELLING = """g (float[8, 24] x) => (float[8, 24] y, float[8, 24] z) <float big = {3000}>
    { m = MatMul(x, w) raised = Add(m, big) low = Sub(raised, big) y = Relu(low) z = Identity(y) }"""
OTHERWISE = CANCELLING.replace("m = MatMul(x, w)", "t = Transpose<perm = [1, 0]>(w) m = Gemm<transB = 1>(x, t)")


def test_a_tensor_is_graded_alike_as_output_and_as_layer(tmp_path: Path) -> None:
    report = held(tmp_path, CANCELLING, OTHERWISE, per_layer=True)
    outputs = {found.name: found for found in report.outputs}
    layers = {found.name: found for found in report.layers}
    assert report.ok
    assert outputs["y"] == layers["y"]


IDS = "g (int64[2, 5] ids) => (float[2, 5, 24] y) <float big = {20}> { p = Gather(table, ids) "
LOOKED_UP = IDS + "m = MatMul(p, w) r = Mul(m, big) y = Sin(r) }"
REGROUPED = IDS + "p1, p2 = Split<axis = 2>(p) w1, w2 = Split<axis = 0>(w) m1 = MatMul(p1, w1) m2 = MatMul(p2, w2) "
REGROUPED += "m = Add(m1, m2) r = Mul(m, big) y = Sin(r) }"


def test_integer_inputs_have_a_floor_from_the_weights_that_they_meet(tmp_path: Path) -> None:
    report = held(tmp_path, LOOKED_UP, REGROUPED)
    assert report.outputs[0].floor > 0
    assert report.ok


def test_weights_are_moved_in_place_of_integers(tmp_path: Path) -> None:
    weights = {"table": np.ones((16, 24), np.float32), "w": np.eye(24, dtype=np.float32)}
    path = written(tmp_path, "ids", LOOKED_UP, **weights)
    assert list(read_structure(path).first_weights()) == ["table", "w", "big"]
    from graphir.graph import Graph

    feeds = {"ids": np.arange(10, dtype=np.int64).reshape(2, 5)}
    with OnnxCandidate(path) as candidate:
        first = list(RoundedRuns(candidate, Graph(), feeds, 0).runs(["p"]))
        again = list(RoundedRuns(candidate, Graph(), feeds, 0).runs(["p"]))
        still = candidate.run(feeds, ["p"])["p"]
    assert len(first) == 4
    assert all(np.array_equal(one["p"], other["p"]) for one, other in zip(first, again, strict=True)), "seeded"
    assert [np.array_equal(one["p"], still) for one in first] == [True, False, False, False]
    assert max(float(np.abs(one["p"] - still).max()) for one in first) <= 2 * np.spacing(np.float32(1))


NARROW = "{ n = Cast<to = 10>(x) c = Cast<to = 1>(n) y = MatMul(c, w) z = MatMul(x, w) }"
WIDE = "{ y = MatMul(x, w) z = MatMul(x, w) }"
TYPES = "g (float[6, 24] x) => (float[6, 24] y, float[6, 24] z) "
OFF = "{ n = Cast<to = 10>(x) c = Cast<to = 1>(n) y = MatMul(c, w) n2 = Cast<to = 10>(x) d = Cast<to = 1>(n2) "
OFF += "z = MatMul(d, w) }"
COARSE = [
    pytest.param(NARROW, NARROW, {"y": True, "z": True}, id="both"),
    pytest.param(WIDE, NARROW, {"y": False, "z": True}, id="the candidate alone"),
    pytest.param(NARROW, WIDE, {"y": True, "z": True}, id="the reference alone"),
    pytest.param(NARROW, OFF, {"y": True, "z": False}, id="one value more than in the reference"),
]


@pytest.mark.parametrize(("reference", "candidate", "passes"), COARSE)
def test_coarse_limits_hold_behind_the_casts_of_the_reference(
    reference: str, candidate: str, passes: dict[str, bool], tmp_path: Path
) -> None:
    report = held(tmp_path, TYPES + reference, TYPES + candidate)
    assert {found.name: found.verdict.passes for found in report.outputs} == passes
    if reference == WIDE and candidate == NARROW:
        assert any("in float16 or bfloat16" in note for note in report.notes)


def test_structure_knows_what_comes_through_a_coarse_type(tmp_path: Path) -> None:
    path = written(tmp_path, "n", TYPES + NARROW, w=np.eye(24, dtype=np.float32))
    assert read_structure(path).steps == dict.fromkeys(("n", "c", "y"), 2.0**-10)


def test_structure_knows_sigmoids_that_branches_hand_on(tmp_path: Path) -> None:
    moved = "then_branch = t () => (a) { o = Constant <value_ints = [0]> () a = Squeeze(s, o) }"
    other = "else_branch = e () => (b) { b = Identity(s) }"
    computed = "else_branch = f () => (d) { d = Neg(s) }"
    path = written(
        tmp_path, "n",
        "g (float[1, 24] x, bool c) => (float[24] y, float[24] z) { s = Sigmoid(x) m = ReduceMean(s) n = Neg(s) "
        f"h = If (c) <{moved}, {other}> y = Identity(h) z = If (c) <{moved}, {computed}> }}",
    )  # fmt: skip
    structure = read_structure(path)
    assert {name for name in structure.producers if "Sigmoid" in structure.origins(name)} == {"s", "m", "h", "y"}
    assert structure.bounded == {"s", "m", "n", "h", "y", "z"}


DROPPED = "<float r = {0.4}, bool t = {1}> { d = Dropout(x, r, t) y = Mul(d, d) }"
KEPT = "{ d = Dropout(x) y = Mul(d, d) }"
DRAWN = "{ d = RandomUniformLike<seed = 1.0>(x) y = Add(x, d) }"
CHANCE = [
    pytest.param(DROPPED, DROPPED, "the candidate", id="against itself"),
    pytest.param(KEPT, DROPPED, "the candidate", id="left in training"),
    pytest.param(DROPPED, KEPT, "the reference", id="the reference"),
    pytest.param(DRAWN, DRAWN, "the candidate", id="seeded"),
]


@pytest.mark.parametrize(("reference", "candidate", "side"), CHANCE)
def test_what_is_random_is_told(reference: str, candidate: str, side: str, tmp_path: Path) -> None:
    types = "g (float[4, 24] x) => (float[4, 24] y) "
    report = held(tmp_path, types + reference, types + candidate)
    assert (report.verdict, report.exit_code) == (Verdict.NOT_DETERMINISTIC, 5)
    assert f"random: two runs of {side}" in report.outputs[0].note


@pytest.mark.parametrize(("reference", "candidate", "side"), CHANCE[:3])
def test_two_draws_that_are_the_same_do_not_pass_for_no_draw(
    reference: str, candidate: str, side: str, tmp_path: Path
) -> None:
    onnxruntime.set_seed(0)
    test_what_is_random_is_told(reference, candidate, side, tmp_path)


def test_only_what_was_drawn_keeps_further_inputs_away(tmp_path: Path) -> None:
    types = "g (float[4, 24] x) => (float[4, 24] y) "
    drawn = held(tmp_path, types + DROPPED, types + DROPPED)
    assert driver._is_settled(drawn)
    assert len(drawn.sets) == 1
    drawn.outputs = [replace(drawn.outputs[0], verdict=Verdict.NOISE, note="shown is random_boxes, random: by name")]
    assert not driver._is_settled(drawn)


ILL = "g (float[4, 24] x) => (float[4, 24] y) <float k = {100000.0}> { m = MatMul(x, w) h = Mul(m, k) y = Sin(h) }"
WELL = ILL.replace("h = Mul(m, k)", "h = Mul(m, m)")


def test_what_rounding_alone_moves_too_far_is_no_fault_where_each_region_agrees(tmp_path: Path) -> None:
    other = ILL.replace("m = MatMul(x, w)", "m = Gemm<alpha = 1.0000004>(x, w)")
    report = held(tmp_path, ILL, other)
    assert report.verdict is Verdict.NOISE
    assert "rounding on the way" in report.outputs[0].note
    assert "rounding on the way" in report.outputs[0].note


def test_a_candidate_that_is_alone_ill_conditioned_is_no_excuse(tmp_path: Path) -> None:
    report = held(tmp_path, WELL, ILL)
    assert report.verdict.differs
    assert "than the reference" in report.outputs[0].note


def test_a_floor_counts_changed_shapes_and_places() -> None:
    array = np.array([1.0, 2.0], np.float32)
    assert Floor().seen(array, array[:1]).overall == np.inf
    assert Floor().seen(array, np.array([1.0, np.nan], np.float32)).overall == np.inf
    assert Floor().seen(array, np.array([1.0, 2.5], np.float32)).overall == 0.25
