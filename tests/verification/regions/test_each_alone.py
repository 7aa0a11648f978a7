"""Peaks of a saturated heat map: rounding turns masks inside that no output shows, and a fault there is still found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import graphir
from graphir.verification.report import VerificationReport

SIDE, CHANNELS = 24, 32
DRAWN = np.random.Generator(np.random.PCG64(8))
WEIGHT = DRAWN.standard_normal((2, CHANNELS, 1, 1)).astype(np.float32)
ORDER = DRAWN.permutation(CHANNELS)
FED = {"x": DRAWN.uniform(-1, 1, (1, CHANNELS, SIDE, SIDE)).astype(np.float32)}


def peaks(path: Path, *, order: bool = False, maximum: int = 3, bias: float = 16.4, shift: float = 0.0) -> Path:
    """Where a sigmoid is its own maximum among its neighbours, and the highest of these: 1 throughout, since the
    numbers before it are about `bias`, where it goes from one but last to 1. With `order` the channels are summed in
    another order."""
    pads = ", ".join([str(maximum // 2)] * 4)
    text = f"""
        <ir_version: 9, opset_import: ["" : 17]>
        g (float[1, {CHANNELS}, {SIDE}, {SIDE}] x) => (float[1, 3] best, float[1, 3] label)
        <int64[2] flat = {{1, -1}}, int64[1] three = {{3}}, float shift = {{{shift}}}, float wide = {{{SIDE * SIDE}}}>
        {{
            c = Gather<axis = 1>(x, order)
            conv = Conv(c, w, b)
            map = Sigmoid(conv)
            moved = Add(map, shift)
            pooled = MaxPool<kernel_shape = [{maximum}, {maximum}], pads = [{pads}]>(moved)
            same = Equal(pooled, moved)
            mask = Cast<to = 1>(same)
            masked = Mul(mask, moved)
            line = Reshape(masked, flat)
            best, place = TopK(line, three)
            real = Cast<to = 1>(place)
            share = Div(real, wide)
            label = Floor(share)
        }}"""
    model = onnx.parser.parse_model(text)
    chosen = ORDER if order else np.arange(CHANNELS)
    constants = {"order": chosen, "w": WEIGHT[:, chosen], "b": np.full(2, bias, np.float32)}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in constants.items())
    onnx.save(model, path)
    return path


def verified(folder: Path, **changed: float) -> VerificationReport:
    reference = peaks(folder / "one.onnx")
    return graphir.verify(reference, peaks(folder / "other.onnx", order=True, **changed), feeds=FED)  # type: ignore[arg-type]


def test_what_rounding_turns_inside_is_no_fault(tmp_path: Path) -> None:
    report = verified(tmp_path)
    assert report.verdict.passes, str(report)
    assert report.unproven == []


FAULTS = [
    pytest.param({"maximum": 5}, "pooled", id="a maximum over more neighbours"),
    pytest.param({"bias": 16.6}, "conv", id="a bias"),
    pytest.param({"shift": 6e-5}, "moved", id="a shift of the map that outputs hardly show"),
]


@pytest.mark.parametrize(("fault", "name"), FAULTS)
def test_a_fault_among_what_rounding_turns_is_found(fault: dict[str, float], name: str, tmp_path: Path) -> None:
    report = verified(tmp_path, **fault)
    assert not report.ok, str(report)
    said = [*(cause.name for cause in report.causes), *(text.split(":")[0] for text in report.unproven)]
    assert name in said, str(report)
