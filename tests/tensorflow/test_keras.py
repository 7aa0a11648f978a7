"""Keras's files, which live Keras writes, against what it computes of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import graphir
from graphir.cli import main
from graphir.errors import FormatError, UnsupportedOpError
from tests.requirements import missing
from tests.tensorflow.written import write_models

pytestmark = pytest.mark.live

WRITER = Path(__file__).with_name("keras_models.py")
NAMES = ["sequential.keras", "sequential.h5", "functional.keras", "functional.h5", "mobile.keras"]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live Keras."""
    if importlib.util.find_spec("h5py") is None:
        missing("TensorFlow", "there is no h5py, which Keras's files need")
    return write_models(WRITER, tmp_path_factory.mktemp("keras"))


@pytest.mark.parametrize("name", NAMES)
def test_converted_model_equals_keras(models: Path, tmp_path: Path, name: str) -> None:
    report = graphir.convert(models / name, tmp_path / "model.onnx", verify=True, against="live")
    assert report.framework.startswith("Keras 3")
    assert report.verification is not None
    assert all(one.verdict.passes for one in report.verification.outputs)
    # An untrained MobileNet gives a seventh for each class, whatever is fed.
    assert report.verification.ok or (name == "mobile.keras" and "does not react" in report.verification.unproven[0])
    assert report.verification.reference.startswith("TensorFlow 2")


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_unknown_layers_are_all_listed(models: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnsupportedOpError) as raised:
        graphir.load(models / f"unknown.{suffix}")
    assert [gap.operator for gap in raised.value.gaps] == ["ConvLSTM1D", "UpSampling2D"]
    assert main(["summary", str(models / f"unknown.{suffix}")]) == 1
    assert "model.export" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_cut_file_is_refused(models: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model.{suffix}"
    path.write_bytes((models / f"functional.{suffix}").read_bytes()[:3000])
    with pytest.raises(FormatError, match="damaged"):
        graphir.load(path)


def test_weights_of_h5_stay_in_the_file(models: Path) -> None:
    graph = graphir.load(models / "sequential.h5")
    from_file = [value for value in graph.parameters if value.tensor is not None and value.tensor.region is not None]
    assert from_file
