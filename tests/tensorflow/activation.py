"""Activation functions and softmax."""

from __future__ import annotations

from tests.tensorflow.case import case, data

PLAIN = ("Elu", "LeakyRelu", "Relu", "Relu6", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh")

CASES = (
    *(case(op, "default", data(2, 3, 4, kind="scale:4")) for op in PLAIN),
    *(case(op, "scalar", data()) for op in PLAIN),
    *(case(op, "float64", data(2, 3, dtype="float64", kind="scale:4")) for op in PLAIN
      if op not in ("Selu", "LeakyRelu")),
    # ONNX and MXNet have their numbers as 32-bit floats
    case("LeakyRelu", "float64", data(2, 3, dtype="float64", kind="scale:4"), tolerance=1e-7),
    case("Selu", "float64", data(2, 3, dtype="float64", kind="scale:4"), tolerance=1e-7),
    case("LeakyRelu", "alpha", data(2, 3), alpha=0.3),
    case("Relu", "int32", data(2, 3, dtype="int32")),
    case("Softmax", "rank_2", data(2, 5)),
    case("Softmax", "rank_4", data(2, 3, 2, 5)),
    case("LogSoftmax", "rank_2", data(2, 5)),
    case("LogSoftmax", "rank_3", data(2, 3, 5)),
)
REFUSED = ()
