"""Outputs that differ while every part gives the reference's result: rounding that grows, and what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import graphir
from graphir.errors import VerificationError
from graphir.verification.regions.judge import Regions
from graphir.verification.verdict import Verdict
from tests.verification.causes.test_changes import normalized
from tests.verification.regions.test_regions import model

DRAWN = np.random.Generator(np.random.PCG64(4))
WIDE = DRAWN.standard_normal((64, 8)).astype(np.float32)
ORDER = DRAWN.permutation(64)
FED = {"x": DRAWN.standard_normal((2, 64)).astype(np.float32)}


def larger(*, order: bool, factor: float = 1.0, bias: float = 0.0) -> onnx.ModelProto:
    """1 where a sum is larger than the same sum in another order, else 0; one of them may be in a third order."""
    body = """
        c = Gather<axis = 1>(x, order) s = MatMul(c, wide) m = Mul(s, factor) t = Add(m, bias)
        e = Gather<axis = 1>(x, back) f = MatMul(e, behind) over = Greater(t, f) y = Cast<to = 1>(over)"""
    chosen, back = ORDER if order else np.arange(64), np.arange(64)[::-1]
    made: onnx.ModelProto = model(
        body, "float[2, 64] x) => (float[2, 8] y", order=chosen, wide=WIDE[chosen], back=back.copy(),
        behind=WIDE[back].copy(), factor=np.float32(factor), bias=np.float32(bias),
    )  # fmt: skip
    return made


def verified(folder: Path, first: onnx.ModelProto, second: onnx.ModelProto) -> graphir.VerificationReport:
    for name, made in (("first", first), ("second", second)):
        onnx.save(made, folder / f"{name}.onnx")
    return graphir.verify(folder / "first.onnx", folder / "second.onnx", feeds=FED)


def test_what_rounding_decides_is_no_difference(tmp_path: Path) -> None:
    report = verified(tmp_path, larger(order=False), larger(order=True))
    assert report.outputs[0].max_abs == 1
    assert report.outputs[0].verdict is Verdict.NOISE, str(report)
    assert "given the reference's choices" in report.outputs[0].note


def test_parts_that_could_not_be_run_are_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(self: Regions) -> None:
        raise VerificationError("no room for inner values")

    monkeypatch.setattr(Regions, "judged", refuse)
    report = verified(tmp_path, larger(order=False), larger(order=True))
    assert report.verdict is Verdict.NOT_PROVEN, str(report)
    assert "could not be run by themselves: no room for inner values" in report.reasons[0]


@pytest.mark.parametrize("fault", [{"factor": 1.01}, {"bias": 0.5}])
def test_a_fault_beside_what_rounding_decides_is_found(fault: dict[str, float], tmp_path: Path) -> None:
    report = verified(tmp_path, larger(order=False), larger(order=True, **fault))
    assert not report.ok, str(report)


def chaos(*, order: tuple[str, str] = ("four", "left"), fault: float = 0.0) -> onnx.ModelProto:
    """The logistic map, which doubles an error in each of 60 steps; the product is taken in one order or the other, and
    a fault is added to the factor of step 30."""
    steps = [
        f"left{step} = Sub(one, x{step}) "
        + (f"p{step} = Mul({factor}, x{step}) x{step + 1} = Mul(p{step}, left{step})" if order[0] == "four" else
           f"p{step} = Mul(x{step}, left{step}) x{step + 1} = Mul({factor}, p{step})")
        for step in range(60) for factor in ["wrong" if step == 30 else "four"]
    ]  # fmt: skip
    body = "x0 = Sigmoid(x) " + " ".join(steps) + " y = Identity(x60)"
    made: onnx.ModelProto = model(
        body, "float[2, 64] x) => (float[2, 64] y", one=np.float32(1), four=np.float32(3.99),
        wrong=np.float32(3.99 + fault),
    )  # fmt: skip
    return made


@pytest.mark.parametrize("fault, verdict", [(0.0, Verdict.NOISE), (0.01, Verdict.BROKEN)])
def test_a_part_that_differs_is_told_where_rounding_moves_what_follows(
    fault: float, verdict: Verdict, tmp_path: Path
) -> None:
    report = verified(tmp_path, chaos(), chaos(order=("left", "four"), fault=fault))
    assert (report.verdict.differs, report.ok) == (verdict.differs, verdict.passes), str(report)
    assert all(cause.name in ("x31", "p30") for cause in report.causes)


def test_what_optimisations_alone_make_is_a_difference(tmp_path: Path) -> None:
    """onnxruntime takes parts that are almost a LayerNormalization for one, in the very same file."""
    onnx.save(normalized(exchanged=True), tmp_path / "model.onnx")
    report = graphir.verify(tmp_path / "model.onnx", tmp_path / "model.onnx")
    assert report.verdict is Verdict.BROKEN, str(report)
