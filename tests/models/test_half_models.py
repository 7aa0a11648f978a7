"""Models made by others, in float16 and bfloat16: verified against float32, and half as large."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphir.passes.half import HALF
from tests.models.half_rows import ALL, half_row

# Weights that are computed, or of which there are few.
WITHOUT_WEIGHTS = ("mxnet/go-test-linear", "onnx/onnxpkg-light-inception-v1", "onnx/onnxpkg-light-shufflenet")
LARGE = ("mxnet-mkldnn-model1", "resnet110", "resnet-18", "vgg16", "wideresnet", "lightened", "lstm-ptb")
SMALL = [model for model in ALL if not any(part in model for part in LARGE)]


@pytest.mark.one_of(8)
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("model", SMALL)
def test_a_model_in_half_precision(shared: Path, model: str, dtype: str, tmp_path: Path) -> None:
    row = half_row(shared, model, dtype, tmp_path)
    assert row.ok, row
    assert row.after <= row.before * (1.3 if model in WITHOUT_WEIGHTS else 0.62)
