"""Layers of TensorFlow's and Keras's models are compared one by one, and what is not compared is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphir
from graphir.verification.verdict import Verdict
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

WRITER = Path(__file__).with_name("layered_models.py")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(WRITER, tmp_path_factory.mktemp("layered"))


@pytest.mark.parametrize(("source", "names", "missing"), [
    ("model.keras", ["conv/", "norm/", "inner/point/", "sum/", "memory/"], "the reference does not give"),
    ("saved", ["conv_1/Relu", "norm_1/", "point_1/", "sum_1/", "head_1/BiasAdd"], ""),
])  # fmt: skip
def test_layers_are_compared_by_the_names_of_the_import(
    models: Path, tmp_path: Path, source: str, names: list[str], missing: str
) -> None:
    graphir.convert(models / source, tmp_path / "model.onnx")
    report = graphir.verify(models / source, tmp_path / "model.onnx", per_layer=True)
    assert report.verdict in (Verdict.IDENTICAL, Verdict.NOISE)
    layers = [layer.name for layer in report.layers]
    assert [name for name in names if not any(name in layer for layer in layers)] == []
    notes = [note for note in report.notes if "layers compared" in note]
    assert [missing in note for note in notes] == [True] * bool(missing)


@pytest.mark.parametrize("per_layer", [False, True], ids=["outputs", "layers"])
def test_saturated_ties_of_a_detector_are_no_reason_to_doubt_it(models: Path, tmp_path: Path, per_layer: bool) -> None:
    """Scores that are 1 up to a unit in the last place order otherwise elsewhere, and rounding moves that too."""
    graphir.convert(models / "detector", tmp_path / "model.onnx")
    for seed in (0, 1, 2):
        report = graphir.verify(models / "detector", tmp_path / "model.onnx", per_layer=per_layer, seed=seed)
        assert report.verdict in (Verdict.IDENTICAL, Verdict.NOISE), report
