"""Models made by others never differ from themselves and their conversions.

Those that take a second or less run always; `GRAPHIR_ALL_FAULTS=1` runs all that stand in the folder `shared`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.shared_models import real_model, real_models
from tests.requirements import shared_folder

SMALL = (
    *("mxnet/go-test-linear", "mxnet/mtcnn-det1-pnet", "mxnet/toy-lenet-miraclewkf", "onnx/burn-mnist", "onnx/dtln-1"),
    *("onnx/magika-v3_3", "onnx/tract-bidi-lstm", "onnx/xdl-blaze-dnn", "tf/facialrecog", "tf/tf2onnx-ae0"),
    *("tf/tf2onnx-lstm",),
)
UNREADABLE = {
    "onnx/mms-mnist": "a bad file on purpose: it has no opset_import",
    "mxnet/bmxnet-mnist-32": "operators that MXNet itself does not know",
}


def chosen() -> list[str]:
    shared = shared_folder()
    everything = list(real_models(shared)) if shared is not None and os.environ.get("GRAPHIR_ALL_FAULTS") else SMALL
    return [name for name in everything if name not in UNREADABLE]


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", chosen())
def test_a_model_does_not_differ_from_itself(shared: Path, name: str) -> None:
    report = real_model(shared, name).against_itself()
    assert not report.verdict.differs, str(report)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", chosen())
def test_a_model_does_not_differ_from_its_conversion(shared: Path, name: str, tmp_path: Path) -> None:
    report = real_model(shared, name).against_conversion(tmp_path)
    assert not report.verdict.differs, str(report)
