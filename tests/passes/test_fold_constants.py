"""Folding: what is computed from constants becomes one, with the same numbers; what is not, stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.errors import ProviderError
from graphir.graph import Graph
from graphir.ops.elementwise import Add, Identity, Neg
from graphir.ops.shape import Shape
from graphir.passes.fold_constants import evaluated, fold_known
from graphir.passes.pipelines import smallest
from graphir.runtime import evaluate
from graphir.tensor import Tensor
from graphir.types import DType
from tests.building import list_operators
from tests.ops.rule import tensor
from tests.passes.written import EVALUATOR, fold, graph_of, lowered, model_of, run, unchanged

FOLDED = [
    # text, operators left, decisions
    ("g (float[2,3] x) => (int64[2] y) { y = Shape(x) }", "Identity", 0),
    ("g (float[2,3] x) => (int64 y) { n = Size(x) m = Identity(n) y = Neg(m) }", "Identity", 0),
    ("g (float[2,3] x) => (float[6] y) { s = Size(x) a = Constant<value = int64[1] {0}>() v = Unsqueeze(s, a) "
     "y = Reshape(x, v) }", "Reshape", 0),
    ("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}, float k = {3.0}> { a = Mul(w, k) b = Exp(a) "
     "y = Add(x, b) }", "Add", 1),
    ("g (float[2] x) => (float[2] y, float[2] z) <float[2] w = {1.0, 2.0}> { z = Exp(w) y = Add(x, z) }",
     "Identity Add", 1),
    ("g (float[2] x) => (float[2] y) <float[4] w = {4.0, 2.0, 3.0, 1.0}, int64[1] k = {2}> { v, i = TopK(w, k) "
     "f = Cast<to = 1>(i) a = Add(f, v) y = Add(x, a) }", "Add", 1),
    ("g (int64[2] x) => (int64[2] y, bool[2] b) <int64[2] w = {1, 2}, int64[2] u = {2, 1}> { a = Max(w, u) "
     "b = Less(w, u) y = Add(x, a) }", "Identity Add", 0),
    ("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { h = Cast<to = 10>(w) e = Exp(h) f = Cast<to = 1>(e) "
     "y = Add(x, f) }", "Add", 1),
    # used inside a branch
    ("g (float[2] x, bool c) => (float[2] y) <float[2] w = {1.0, 2.0}> { e = Exp(w) y = If (c) "
     "<then_branch = one () => (float[2] t) { t = Add(x, e) }, else_branch = two () => (float[2] f) { f = Neg(x) }> }",
     "If", 1),
]  # fmt: skip
STAYS = [
    "g (float[2] x) => (float[2] y) { y = Exp(x) }",
    "g (float[N] x) => (int64[1] y) { y = Shape(x) }",
    "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Identity(w) }",
    "g (float[2] x) => (float[2] y) { r = RandomNormal<shape = [2]>() y = Add(x, r) }",
    "g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { r = RandomNormalLike(w) y = Add(x, r) }",
    "g (float[2] x) => (float[300,300] y) <float[1] w = {1.0}, int64[2] n = {300, 300}> { y = Expand(w, n) }",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "decisions"), FOLDED)
def test_constants_are_computed(text: str, expected: str, decisions: int) -> None:
    graph = lowered(text, fold)
    assert list_operators(graph) == expected
    assert [decision.kind for decision in graph.decisions] == ["constants computed"] * decisions


@pytest.mark.parametrize("text", STAYS)
def test_the_rest_stays(text: str) -> None:
    unchanged(text, fold)


def test_results_keep_their_names_and_sources() -> None:
    graph = graph_of("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { b = Exp(w) y = Add(x, b) }")
    assert fold(graph)
    assert [(value.name, value.sources) for value in graph.parameters] == [("b", ("b",))]


def test_weights_beyond_the_limit_are_not_read() -> None:
    def explode() -> NDArray[Any]:
        raise AssertionError("the weights were read")

    graph = Graph("large")
    weight = graph.add_parameter("w", Tensor.computed(DType.FLOAT32, (300, 300), explode))
    graph.set_outputs([graph.add(Add(), graph.add_input("x", tensor("float32[300, 300]")), graph.add(Neg(), weight))])
    assert not fold(graph)


FILLS = """g (float[300,300] x, bool c) => (float[300,300] y, float[300,300] z)
    <int64[2] n = {300, 300}, int64[2] m = {700, 300}, int64[1] front = {0}, int64[1] end = {300}> {
    small = ConstantOfShape(n)  large = ConstantOfShape(m)  a = Add(x, small)
    b = MatMul(large, a)  s = Slice(b, front, end)  y = Add(s, small)
    z = If (c) <then_branch = one () => (float[300,300] t) { f = ConstantOfShape(n) t = Add(x, f) },
    else_branch = two () => (float[300,300] u) { u = Neg(x) }> }"""
BYTES = 4 * 300 * 300


@pytest.mark.parametrize(
    ("growth", "fills", "in_branch"),
    [(0, 2, 1), (BYTES - 1, 2, 1), (BYTES, 2, 0), (2 * BYTES, 1, 0), (4 * BYTES, 1, 0), (5 * BYTES, 0, 0)],
)
def test_large_results_share_one_budget_and_the_smallest_come_first(growth: int, fills: int, in_branch: int) -> None:
    graph, before = graph_of(FILLS), run(model_of(FILLS))
    smallest(EVALUATOR, growth=growth).run(graph, check=True)
    inner = [node.op.name for node in graph.nodes for part in node.subgraphs for node in part.nodes]
    counts = (list_operators(graph).split().count("ConstantOfShape"), inner.count("ConstantOfShape"))
    assert counts == (fills, in_branch)
    np.testing.assert_equal(run(to_model(graph)), before)


def test_a_node_without_kernel_stays_and_the_rest_is_folded() -> None:
    graph = graph_of("""g (float[2] x) => (float[2] y, bfloat16[2] z) <float[2] w = {1.0, 2.0}> {
        a = Exp(w)  h = Cast<to = 16>(a)  s = Sinh(h)  z = Neg(s)  b = Neg(a)  c = Sin(b)  d = Add(b, c)  y = Add(x, d)
    }""")
    assert fold(graph)
    graph.check()
    assert list_operators(graph) == "Sinh Neg Add"
    text = str(graph)
    assert not fold(graph)
    assert str(graph) == text


def test_without_onnxruntime_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ProviderError("onnxruntime is not installed; pip install")

    monkeypatch.setattr(evaluate, "import_onnxruntime", missing)
    graph = graph_of("""g (float[2] x) => (float[2] y, int64[1] s) <float[2] w = {1.0, 2.0}>
        { b = Exp(w) y = Add(x, b) s = Shape(x) }""")
    with pytest.raises(ProviderError, match="not installed"):
        fold(graph)
    graph.check()
    assert not fold_known(graph)


def test_known_integers_need_no_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "import_onnxruntime", None)
    graph = graph_of("g (float[2,3] x) => (int64[2] y) { y = Shape(x) }")
    assert fold(graph)
    assert list_operators(graph) == "Identity"


def test_single_values_can_be_asked_for() -> None:
    graph = graph_of("""g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { b = Neg(w) c = Add(b, x)
        d = Abs(b) y = Add(c, d) }""")
    found = evaluated(graph, [graph["c"], graph["d"]], EVALUATOR)
    assert list(found) == [graph["d"]]
    np.testing.assert_array_equal(found[graph["d"]], np.array([1, 2], np.float32))
    assert list_operators(graph) == "Neg Add Abs Add"


def test_an_output_of_a_shape_of_a_parameter() -> None:
    graph = Graph("parameter")
    weight = graph.add_parameter("w", Tensor.of(np.zeros((2, 3), np.float32)))
    graph.set_outputs([graph.add(Shape(), weight, output="s")])
    assert fold(graph)
    assert [type(node.op) for node in graph.nodes] == [Identity]
    assert graph.outputs[0].name == "s"
