"""Operators of other domains in a narrow model: they stay float32 between Casts, and the file runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphir
from graphir.errors import UnsupportedOpError
from tests.building import make_model, run_model, save_model

RANDOM = np.random.default_rng(0)
VERSIONS = {"": 17, "com.microsoft": 1, "ai.onnx.ml": 3, "my.own": 1}
TREE: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0], "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
    "target_weights": [1.0, 2.0], "n_targets": 1,
}  # fmt: skip
WEIGHTS = {
    "w": RANDOM.normal(size=(8, 16)), "square": RANDOM.normal(size=(16, 16)), "gamma": RANDOM.normal(size=16),
    "beta": RANDOM.normal(size=16), "scales": RANDOM.normal(size=16), "filter": RANDOM.normal(size=(8, 2, 2, 2)),
    "bias": RANDOM.normal(size=8), "two": np.array([2.0]),
}  # fmt: skip
BYTES = {"packed": RANDOM.integers(0, 255, (16, 1, 16)).astype(np.uint8)}


def model(path: Path, text: str, **attributes: Any) -> Path:
    """A model of nodes, one a line as in `y = domain::Operator(x, w)`; the attributes are those of the only node of
    another domain."""
    nodes = []
    for line in text.split("; "):
        outputs, _, call = line.partition(" = ")
        name, _, operands = call.rstrip(")").partition("(")
        domain, _, op_type = name.rpartition("::")
        stated = attributes if domain else {"axis": 1} if op_type == "Flatten" else {}
        inputs = operands.split(", ")
        nodes.append(helper.make_node(op_type, inputs, outputs.split(", "), domain=domain, **stated))
    used = {name for node in nodes for name in node.input}
    kept = {name: array.astype(np.float32) for name, array in WEIGHTS.items()} | BYTES
    shape = [1, 2, 6, 6] if "filter" in used else [4, 8]
    weights = {name: array for name, array in kept.items() if name in used}
    versions = {domain: version for domain, version in VERSIONS.items() if domain}
    return save_model(path, make_model(nodes, {"x": shape}, {"y": None}, weights, opset=VERSIONS[""], domains=versions))


ROWS: list[tuple[str, dict[str, Any]]] = [
    ("c = com.microsoft::FusedConv(x, filter, bias); r = Relu(c); y = Conv(r, deep)", {"activation": "Relu"}),
    ("c = com.microsoft::FusedConv(x, filter, bias); y = Relu(c)", {"activation": "Relu"}),
    ("a = MatMul(x, w); b = com.microsoft::FusedMatMul(a, square); y = MatMul(b, square)", {"transB": 1}),
    ("a = MatMul(x, w); b = com.microsoft::Gelu(a); y = MatMul(b, square)", {}),
    ("a = MatMul(x, w); b = com.microsoft::MatMulNBits(a, packed, scales); y = Relu(b)",
     {"K": 16, "N": 16, "bits": 4, "block_size": 32}),
    ("a = MatMul(x, w); b, , , s = com.microsoft::SkipLayerNormalization(a, a, gamma, beta); c = MatMul(s, square); "
     "y = Add(b, c)", {}),
    ("a = MatMul(x, w); t = ai.onnx.ml::TreeEnsembleRegressor(a); y = Mul(t, two)", TREE),
    ("s = ai.onnx.ml::Scaler(x); y = MatMul(s, w)", {"offset": [0.5] * 8, "scale": [2.0] * 8}),
    ("a = MatMul(x, w); n = ai.onnx.ml::Normalizer(a); y = Mul(n, a)", {"norm": "L2"}),
]  # fmt: skip
WEIGHTS["deep"] = RANDOM.normal(size=(4, 8, 2, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("text, attributes", ROWS, ids=[text for text, _ in ROWS])
def test_foreign_operators_stay_float32(tmp_path: Path, text: str, attributes: dict[str, Any], dtype: str) -> None:
    source = model(tmp_path / "m.onnx", text, **attributes)
    graphir.convert(source, tmp_path / "half.onnx", dtype=dtype)
    shape = (1, 2, 6, 6) if "filter" in text else (4, 8)
    feeds = {"x": RANDOM.normal(size=shape).astype(np.float32)}
    expected, found = (
        run_model(path, feeds)["y"] for path in (source, tmp_path / "half.onnx")
    )
    tolerance = 0.02 if dtype == "float16" else 0.15
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    widths = {tensor.data_type for tensor in onnx.load(tmp_path / "half.onnx").graph.initializer}
    stated = getattr(TensorProto, dtype.upper())
    assert stated in widths or not {"MatMul", "Mul"} & set(text.replace("(", " ").split())


def test_an_unknown_type_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    source = model(tmp_path / "m.onnx", "a = MatMul(x, w); b = my.own::Nothing(a); c = Relu(b); y = MatMul(c, square)")
    with pytest.raises(UnsupportedOpError, match="the dtype of b is unknown"):
        graphir.convert(source, tmp_path / "half.onnx", dtype="float16")
    assert not (tmp_path / "half.onnx").exists()
