"""Small networks to quantize, and data for them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser

from tests.requirements import missing

DIGITS = Path("models/digits")
LABELLED = DIGITS / "digits-test.npz"


def need_onnx_ir() -> None:
    """Skip the test where the package that int4 needs is missing."""
    if importlib.util.find_spec("onnx_ir") is None:
        missing("onnx-ir", "onnx-ir is not installed, without which onnxruntime quantizes no weights to int4")


def write(path: Path, text: str, **weights: Any) -> Path:
    """Write a model in ONNX's text form, with these weights."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')
    for name, array in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array, np.float32), name))
    onnx.checker.check_model(model, full_check=True)
    onnx.save_model(model, str(path))
    return path


def two_products(path: Path) -> Path:
    """A perceptron of two products."""
    generator = np.random.default_rng(0)
    return write(
        path,
        """perceptron (float[N, 32] x) => (float[N, 16] y) {
            first = MatMul(x, w1)
            biased = Add(first, b1)
            hidden = Tanh(biased)
            y = MatMul(hidden, w2)
        }""",
        w1=generator.normal(size=(32, 64)), b1=np.zeros(64), w2=generator.normal(size=(64, 16)),
    )  # fmt: skip


def rows(count: int = 40, width: int = 32) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Samples of a normal distribution."""
    return np.random.default_rng(1).normal(size=(count, width)).astype(np.float32)
