"""Layers of TensorFlow's and Keras's models are compared one by one, and what is not compared is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphir
from graphir.verification.verdict import Verdict
from tests.tensorflow.written import write_models

pytestmark = [pytest.mark.live, pytest.mark.rotates(4)]

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
