"""Every hostile file ends in time, within its memory, with nothing destroyed."""

from __future__ import annotations

import pytest

from tests.attacks import (
    graphir_rows,
    keras_rows,
    mxnet_body_rows,
    mxnet_rows,
    onnx_constant_rows,
    onnx_made_rows,
    onnx_rows,
    onnx_tensor_rows,
    tensorflow_rows,
)
from tests.attacks.attack import Attack, judge
from tests.fuzz.driver import Worker

FILES = (mxnet_rows, mxnet_body_rows, onnx_rows, onnx_constant_rows, onnx_made_rows, onnx_tensor_rows, graphir_rows,
         tensorflow_rows, keras_rows)  # fmt: skip
ROWS = tuple(row for file in FILES for row in file.ROWS)


@pytest.mark.parametrize("attack", ROWS, ids=lambda attack: attack.name)
def test_attack_is_harmless(attack: Attack, worker: Worker) -> None:
    judge(attack, attack.run(worker))
