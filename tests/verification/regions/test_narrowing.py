"""A candidate that computes in a narrower type than the reference passes, and the verdict's line names the type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphir
from graphir.report.verification import verdict_line, verification_json

DOUBLE, FLOAT, HALF = TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.FLOAT16
WEIGHTS = np.random.default_rng(0).standard_normal((2, 6, 6)) / 3
SAID = "computed in float32 where the reference computes in float64"


def network(inside: int, outside: int, *, weights: bool = True) -> onnx.ModelProto:
    """Two layers that compute in the type `inside`, between Casts where inputs and outputs have another one."""
    dtype = helper.tensor_dtype_to_np_dtype(inside)
    held = [numpy_helper.from_array(each.astype(dtype), f"w{index}") for index, each in enumerate(WEIGHTS)]
    read, nodes = "x", []
    if inside != outside:
        nodes, read = [helper.make_node("Cast", ["x"], ["begun"], to=inside)], "begun"
    for index in range(2):
        operands = [read, f"w{index}"] if weights else [read, read]
        nodes.append(helper.make_node("MatMul" if weights else "Add", operands, [f"p{index}"], name=f"p{index}"))
        nodes.append(helper.make_node("Tanh", [f"p{index}"], [f"t{index}"], name=f"t{index}"))
        read = f"t{index}"
    last = helper.make_node("Cast", [read], ["y"], to=outside) if inside != outside else helper.make_node(
        "Identity", [read], ["y"])  # fmt: skip
    ends = [helper.make_tensor_value_info(name, outside, ["N", 6]) for name in ("x", "y")]
    graph = helper.make_graph([*nodes, last], "m", ends[:1], ends[1:], held if weights else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("first, second, said", [
    (network(DOUBLE, DOUBLE), network(FLOAT, DOUBLE), True),
    (network(DOUBLE, DOUBLE), network(FLOAT, FLOAT), True),
    (network(DOUBLE, DOUBLE, weights=False), network(FLOAT, DOUBLE, weights=False), True),
    (network(FLOAT, DOUBLE), network(DOUBLE, DOUBLE), False),
    (network(FLOAT, FLOAT), network(FLOAT, DOUBLE), False),  # a Cast there and back loses nothing
    (network(FLOAT, FLOAT), network(DOUBLE, FLOAT), False),
])  # fmt: skip
def test_a_narrower_type_is_in_the_verdicts_line(
    tmp_path: Path, first: onnx.ModelProto, second: onnx.ModelProto, said: bool
) -> None:
    paths = tmp_path / "first.onnx", tmp_path / "second.onnx"
    for path, proto in zip(paths, (first, second), strict=True):
        onnx.save(proto, path)
    report = graphir.verify(*paths)
    assert report.ok, str(report)
    assert (SAID in verdict_line(report)) == said
    assert verification_json(report)["narrower"] == (SAID if said else "")


def test_a_difference_says_nothing_of_types(tmp_path: Path) -> None:
    paths = tmp_path / "first.onnx", tmp_path / "second.onnx"
    onnx.save(network(FLOAT, FLOAT), paths[0])
    onnx.save(network(HALF, FLOAT), paths[1])
    assert graphir.verify(*paths).narrower == ""
    assert "computed in float16 where the reference computes in float32" in str(graphir.verify(*paths, rtol=0.01))
