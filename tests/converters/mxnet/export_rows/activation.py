"""Activations, softmax and Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Row, normal


def unary(op: str, variant: str, *shape: int, dtype: str = "float32", **options: Any) -> Row:
    """One activation of normal numbers; options of Row by name, all others are attributes."""
    known = {"opset", "computes", "tolerance", "evaluator"}
    attrs = {key: value for key, value in options.items() if key not in known}
    rest = {key: value for key, value in options.items() if key in known}
    return Row(f"{op}-{variant}", op, attrs, {"x": normal(*shape, dtype=dtype)}, **rest)


TIES = np.array([[1.0, 3.0, 3.0, -1.0], [2.0, 2.0, 2.0, 2.0], [-5.0, -7.0, -5.0, -6.0]], np.float32)
PARTS: dict[str, Any] = {"data": {"x": normal(2, 3, 5)}, "opset": 16}
BATCHES = dict.fromkeys(("Hardmax", "Shrink", "Gelu", "PRelu", "Softmax"), ("x",))

ROWS = (
    unary("Celu", "one", 3, 5),
    unary("Celu", "alpha", 2, 3, 5, alpha=2.5, computes=("LeakyReLU",)),
    unary("Celu", "negative", 7, alpha=-1.5),
    unary("Selu", "usual", 3, 5, computes=("LeakyReLU",)),
    unary("Selu", "other", 3, 5, alpha=2.0, gamma=3.0),
    unary("Selu", "half", 3, 5, dtype="float16", alpha=2.0, gamma=3.0),
    unary("Elu", "alpha", 3, 5, alpha=2.0),
    unary("ThresholdedRelu", "one", 3, 5),
    unary("ThresholdedRelu", "negative", 2, 3, 5, alpha=-0.5),
    Row("ThresholdedRelu-infinite", "ThresholdedRelu", {"alpha": 0.5}, {"x": np.array([-np.inf, np.inf], np.float32)}),
    unary("Shrink", "hard", 3, 5, lambd=1.5),
    unary("Shrink", "soft", 3, 5, lambd=1.5, bias=1.5),
    unary("Shrink", "double", 3, 5, lambd=0.5, bias=-0.25, dtype="float64", tolerance=1e-7),
    Row("Shrink-fraction", "Shrink", {"lambd": 1.5, "bias": 0.5}, {"x": normal(4, 5, dtype="int32")}),
    unary("Shrink", "integers", 3, 5, lambd=2.0, bias=1.0, dtype="int32"),
    unary("Gelu", "exact", 3, 5, computes=("LeakyReLU",)),
    unary("Gelu", "tanh", 3, 5, approximate="tanh"),
    unary("Gelu", "tanh_double", 3, 5, approximate="tanh", dtype="float64", evaluator=True, tolerance=1e-7),
    unary("HardSwish", "plain", 3, 5),
    unary("HardSigmoid", "stated", 3, 5, alpha=0.3, beta=0.4),
    unary("Mish", "plain", 3, 5),
    unary("Softplus", "plain", 3, 5),
    unary("Softsign", "plain", 2, 3, 5),
    unary("Swish", "alpha", 3, 5, alpha=1.5, opset=24, evaluator=True),
    Row("SwiGLU", "SwiGLU", {"alpha": 1.5}, {"a": normal(3, 5), "b": normal(3, 5)}, opset=28, evaluator=True),
    unary("Hardmax", "vector", 5),
    unary("Hardmax", "last", 3, 5, computes=("one_hot", "argmax")),
    unary("Hardmax", "first", 3, 5, axis=0),
    unary("Hardmax", "middle", 2, 3, 4, 5, axis=-3),
    unary("Hardmax", "flattened", 2, 3, 5, opset=11),
    unary("Hardmax", "double", 2, 5, 3, axis=1, dtype="float64"),
    Row("Hardmax-ties", "Hardmax", {}, {"x": TIES}),
    unary("Softmax", "flattened", 2, 3, 5, opset=11),
    unary("Softmax", "axis", 2, 3, 5, axis=1),
    unary("LogSoftmax", "axis", 2, 3, 5, axis=0),
    Row("PRelu-channel", "PRelu", {}, {"x": normal(2, 3, 4, 5)}, {"s": normal(3, 1, 1)}, computes=("LeakyReLU",)),
    Row("PRelu-channel_of_4", "PRelu", {}, {"x": normal(2, 3, 4, 5)}, {"s": normal(1, 3, 1, 1)},
        computes=("LeakyReLU",)),
    Row("PRelu-one_of_3", "PRelu", {}, {"x": normal(2, 3, 4)}, {"s": normal(1, 1, 1)}, computes=("LeakyReLU",)),
    Row("PRelu-vector", "PRelu", {}, {"x": normal(5)}, {"s": normal(5)}, computes=("LeakyReLU",)),
    Row("PRelu-one", "PRelu", {}, {"x": normal(2, 3, 5)}, {"s": normal(1)}, computes=("LeakyReLU",)),
    Row("PRelu-scalar", "PRelu", {}, {"x": normal(2, 3, 5)}, {"s": np.array(0.25, np.float32)}),
    Row("PRelu-last", "PRelu", {}, {"x": normal(2, 3, 5)}, {"s": normal(5)}),
    Row("PRelu-whole", "PRelu", {}, {"x": normal(2, 3, 5)}, {"s": normal(3, 5)}),
    Row("PRelu-computed", "PRelu", {}, {"x": normal(2, 3, 5), "s": normal(2, 1, 5)}),
    Row("PRelu-integers", "PRelu", {}, {"x": normal(2, 3, dtype="int32")}, {"s": normal(3, dtype="int32")}),
    Row("Dropout", "Dropout", {}, {"x": normal(2, 3)}),
    Row("Dropout-mask", "Dropout", {}, {"x": normal(2, 3)}, {"r": np.array(0.3, np.float32)}, outputs=2),
    Row("Dropout-kept", "Dropout", {}, {"x": normal(2, 3)},
        {"r": np.array(0, np.float32), "t": np.array(True)}, outputs=2),
)  # fmt: skip
REFUSED = (
    (Row("Dropout-random", "Dropout", {}, {"x": normal(2, 3)}, {"r": np.array(0.5, np.float32), "t": np.array(True)}),
     "dropped at random"),
)  # fmt: skip
KEPT_CLOSED = ("Hardmax-vector", "Hardmax-first")
