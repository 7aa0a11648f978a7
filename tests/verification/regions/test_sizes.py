"""Sizes that two models take of other tensors: what reads them shows whether they are right."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

import graphir
from graphir.verification.verdict import Verdict

HEAD = """<ir_version: 8, opset_import: ["" : 13]> g (float[L, N, 4] x) => (float[M, 4] y)
    <int64 first = {0}, int64[1] front = {0}, int64[1] four = {4}, int64[3] turn = {1, 0, 2}> """
REFERENCE = "{ a = Relu(x) t = Transpose<perm = [1, 0, 2]>(a) sizes = Shape(t) n = Gather(sizes, first) "
# as onnxruntime's optimiser writes it: the Shape keeps its node's name, its result has another meaning
TURNED = "{ a = Relu(x) old = Shape(a) sizes = Gather(old, turn) n = Gather(sizes, first) "
UNTURNED = "{ a = Relu(x) sizes = Shape(a) n = Gather(sizes, first) "
REST = """column = Unsqueeze(n, front) shape = Concat<axis = 0>(column, four) z = ConstantOfShape(shape)
    m = ReduceMean<axes = [0, 1], keepdims = 0>(a) y = Add(z, m) }"""


@pytest.mark.parametrize("candidate, is_same", [(TURNED, True), (UNTURNED, False)], ids=["turned", "unturned"])
def test_sizes_of_a_transposed_tensor(tmp_path: Path, candidate: str, is_same: bool) -> None:
    paths = [tmp_path / "reference.onnx", tmp_path / "candidate.onnx"]
    for path, text in zip(paths, (REFERENCE, candidate), strict=True):
        model = onnx.parser.parse_model(HEAD + text + REST)
        for node in model.graph.node:
            node.name = "Shape_14" if node.op_type == "Shape" else f"{node.op_type}_{node.output[0]}"
        onnx.save(model, path)
    verdict = graphir.verify(*paths).verdict
    assert (verdict is Verdict.BROKEN) is not is_same
    assert (verdict in (Verdict.IDENTICAL, Verdict.NOISE)) is is_same
