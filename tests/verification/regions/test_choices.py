"""Models whose choices rounding turns agree by one run on the reference's choices, unless something else differs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import graphir
from graphir.arrays import Array
from graphir.verification.equivalence import Models, compare_models
from graphir.verification.pairs.sides import Sides
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.references import RuntimeReference

# The last two of four rows have scores that are equal but for rounding: which one is the best follows from the order
# in which `scale` and `w` are multiplied.
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4, 8] x) => (float[1, 6] y) <int64[1] one = {1}, float[8, 1] w = {1, 1, 1, 1, 1, 1, 1, 1}, float scale = {0.1},
    float gain = {3.5}, float shift = {0.25}> {
  score = MatMul(x, w)
  scaled = Mul(score, scale)
  best, place = TopK<axis = 0>(scaled, one)
  features = Mul(x, gain)
  flat = Squeeze(place, one)
  row = Gather<axis = 0>(features, flat)
  shifted = Add(row, shift)
  first = Slice(shifted, zero, six, one)
  y = Relu(first)
}"""
MODEL = MODEL.replace("int64[1] one = {1}", "int64[1] one = {1}, int64[1] zero = {0}, int64[1] six = {6}")


def compared(folder: Path, turn: float, **other: float) -> tuple[VerificationReport, Any]:
    """The model and one that differs in some constants, on rows of which the last two have scores that are `turn` of a
    unit apart: the candidate's inputs are so much larger in the last row."""
    numbers = np.arange(32, dtype=np.float32).reshape(4, 8) / 32
    numbers[3] = numbers[2, ::-1]
    model = onnx.parser.parse_model(MODEL)
    onnx.save(model, folder / "a.onnx")
    for tensor in model.graph.initializer:
        if tensor.name in other:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.array(other[tensor.name], np.float32), tensor.name))
    onnx.save(model, folder / "b.onnx")
    first, second = graphir.load(folder / "a.onnx"), graphir.load(folder / "b.onnx")

    class Turned(OnnxCandidate):
        """A candidate that rounds its input otherwise."""

        def run(self, feeds: Mapping[str, Array], *rest: Any, **options: Any) -> dict[str, Array]:
            moved = feeds["x"].copy()
            moved[3] *= np.float32(1 + turn)
            return super().run({"x": moved}, *rest, **options)

    with Turned(folder / "b.onnx") as candidate:
        reference = RuntimeReference(folder / "a.onnx")
        models = Models(reference, candidate, graph=second, sides=Sides(first, second, made_of=True))
        result = compare_models(models, {"x": numbers})
    return result.report, result.bench


def test_rounding_that_turns_a_choice_is_no_difference(tmp_path: Path) -> None:
    report, bench = compared(tmp_path, 2.0**-22)
    assert report.outputs[0].verdict.passes
    assert report.outputs[0].relative > 0.1
    assert "parts" not in bench.judged  # one run was enough: no part ran by itself


FAULTS = [{"gain": 3.5002}, {"shift": 0.2502}, {"scale": 0.10001}]


@pytest.mark.parametrize("fault", FAULTS, ids=["among what is chosen from", "behind the choice", "before the choice"])
def test_a_fault_about_a_choice_is_shown(fault: dict[str, float], tmp_path: Path) -> None:
    report, bench = compared(tmp_path, 2.0**-22, **fault)
    assert report.verdict.differs
    assert "parts" in bench.judged
