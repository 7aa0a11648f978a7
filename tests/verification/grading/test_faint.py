"""Rounding of an operator's own, which no moved input shows: of sigmoids that are next to nothing, of places between
elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from numpy.typing import NDArray

import graphir
from graphir.verification.equivalence import Models, compare_models
from graphir.verification.grading.evidence import FAINT, doubt
from graphir.verification.numbers.compare import OF_ONE, Comparison, Floor, compare
from graphir.verification.numbers.local import BESIDE_ONE
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import RuntimeReference
from graphir.verification.verdict import Verdict

Array = NDArray[Any]
DRAWN = np.random.Generator(np.random.PCG64(5))
WEIGHT = DRAWN.standard_normal((8, 6)).astype(np.float32)
FED = {"x": DRAWN.uniform(-1, 1, (4, 8)).astype(np.float32)}
SIGMOID = "y = Sigmoid({0})"
# The same with a rounding of its own, as another framework has it.
WRITTEN_OUT = "low = Neg({0}) e = Exp(low) sum = Add(one, e) y = Div(one, sum)"


def scores(path: Path, head: str, *, name: str = "score", bias: float = -16.0) -> Path:
    text = f"""
        <ir_version: 9, opset_import: ["" : 17]>
        g (float[4, 8] x) => (float[4, 6] y) <float bias = {{{bias}}}, float one = {{1}}>
        {{ {name}s = MatMul(x, w) {name} = Add({name}s, bias) {head.replace("{0}", name)} }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(WEIGHT, "w"))
    onnx.save(model, path)
    return path


def verified(folder: Path, *, name: str = "score", bias: float = -16.0) -> VerificationReport:
    one = scores(folder / "one.onnx", WRITTEN_OUT)
    return graphir.verify(one, scores(folder / "other.onnx", SIGMOID, name=name, bias=bias), feeds=FED)


def test_what_comes_before_shows_that_faint_outputs_agree(tmp_path: Path) -> None:
    report = verified(tmp_path)
    assert report.verdict is Verdict.NOISE, str(report)
    assert [one.note for one in report.outputs if one.name == "y"] == [OF_ONE]
    assert report.unproven == []


@pytest.mark.parametrize("name", ["score", "other"])
def test_a_fault_behind_faint_outputs_is_found(name: str, tmp_path: Path) -> None:
    report = verified(tmp_path, name=name, bias=-16.02)
    assert report.verdict.differs or (name == "other" and report.verdict is Verdict.NOT_PROVEN), str(report)
    assert report.exit_code != 0


UNITS = [
    pytest.param([3e-7, 1e-7], [4e-7, 1e-7], BESIDE_ONE, Verdict.NOISE, id="within a unit of 1"),
    pytest.param([3e-7, 1e-7], [4e-7, 1e-7], 0.0, Verdict.BROKEN, id="no sigmoid"),
    pytest.param([0, 0], [3e-8, 0], BESIDE_ONE, Verdict.NOISE, id="zero, and next to it"),
    pytest.param([3e-7, 1e-7], [2e-6, 1e-7], BESIDE_ONE, Verdict.BROKEN, id="beyond"),
    pytest.param([[1, 3e-7]], [[1, 4e-7]], BESIDE_ONE, Verdict.NOISE, id="a channel of next to nothing"),
]


@pytest.mark.parametrize(("expected", "found", "unit", "verdict"), UNITS)
def test_units_of_one(expected: list[float], found: list[float], unit: float, verdict: Verdict) -> None:
    arrays = np.array(expected, np.float32), np.array(found, np.float32)
    result: Comparison = compare("y", *arrays, floor=Floor(unit=unit))
    assert result.verdict is verdict, result


def test_what_is_faint_shows_nothing() -> None:
    array = np.array([3e-7], np.float32)
    assert doubt(array, reacts=True, exact=False, fixed=False, faint=True) == FAINT
    assert doubt(array, reacts=True, exact=False, fixed=False, faint=False) == ""


PLACES = 256


@pytest.mark.parametrize(("off", "verdict"), [(1.6e-5, Verdict.NOISE), (3e-4, Verdict.BROKEN)])
def test_places_between_elements_are_rounded_to_units_of_the_farthest(
    off: float, verdict: Verdict, tmp_path: Path
) -> None:
    """By 1.6e-5 of scale MXNet's BilinearResize2D to 256 places was seen to be off onnxruntime's Resize."""
    text = f"""
        <ir_version: 9, opset_import: ["" : 17]>
        g (float[1, 2, 40, 40] x) => (float[1, 2, {PLACES}, {PLACES}] y) <int64[4] sizes = {{1, 2, {PLACES}, {PLACES}}}>
        {{ y = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, , , sizes) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    fed = {"x": DRAWN.uniform(-1, 1, (1, 2, 40, 40)).astype(np.float32)}

    class Off(RuntimeReference):
        def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
            for name, array in super().stream(feeds, names):
                yield name, moved(array)

        def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
            return {name: moved(array) for name, array in super().run(feeds, outputs).items()}

    def moved(array: Array) -> Array:
        other = array.copy()
        other[0, 0, 7, 7] += np.float32(off * np.abs(array).max())
        return other

    with OnnxCandidate(tmp_path / "m.onnx") as candidate:
        report = compare_models(Models(Off(tmp_path / "m.onnx"), candidate), fed).report
    assert report.outputs[0].verdict is verdict
