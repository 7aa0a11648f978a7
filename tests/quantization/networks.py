"""Small networks to quantize, and data for them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tests.building import add_weights, parse_model, save_model
from tests.requirements import missing

DIGITS = Path("models/digits")
LABELLED = DIGITS / "digits-test.npz"


def need_onnx_ir() -> None:
    """Skip the test where the package that int4 needs is missing."""
    if importlib.util.find_spec("onnx_ir") is None:
        missing("onnx-ir", "onnx-ir is not installed, without which onnxruntime quantizes no weights to int4")


def write(path: Path, text: str, **weights: Any) -> Path:
    """Write a model in ONNX's text form, with these weights."""
    model = add_weights(parse_model(text), **{name: np.asarray(array, np.float32) for name, array in weights.items()})
    onnx.checker.check_model(model, full_check=True)
    return save_model(path, model)


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
