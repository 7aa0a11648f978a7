"""Operators replaced by their definitions: the same numbers, for each kind of definition; others stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.kernel.terms import NoExpansion
from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporting.expansion import expand
from graphir.graph import Graph
from graphir.ops.detection import BoxNMS
from graphir.passes.inline import GraphNames
from graphir.types import DType, TensorType
from tests.building import list_operators
from tests.passes.written import graph_of, model_of, run

EXPANDED = [
    # stated as a fixed body
    ("g (float[2,3] x) => (float[2,3] y) { y = Mish(x) }", "Softplus Tanh Mul"),
    ("g (float[2,3] x) => (float[2,3] y) { y = LeakyRelu<alpha = 0.3>(x) }", "CastLike CastLike Less Mul Where"),
    ("g (float[2,3] x) => (float[2,3] y) { y = HardSigmoid(x) }", None),
    ("g (float[2,3] x, float[3] w) => (float[2,3] y) { y = PRelu(x, w) }", None),
    ("g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceL2(x, a) }", None),
    ("g (float[2,3,4] x) => (float[2,3,4] y) { y = MeanVarianceNormalization<axes = [0, 2]>(x) }", None),
    ("g (float[2,3] x) => (uint8[2,3] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Celu<alpha = 0.3>(x) }", "CastLike Div Elu Mul"),
    ("g (float[2,3] x) => (float[2,3] y) { y = Elu<alpha = 0.3>(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Selu<alpha = 0.3, gamma = 2.0>(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Shrink<bias = 0.3, lambd = 0.4>(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Softplus(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Softsign(x) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = ThresholdedRelu<alpha = 0.3>(x) }", None),
    ("g (int64[2,3] x, int64[3] k) => (bool[2,3] y) { y = GreaterOrEqual(x, k) }", "Greater Equal Or"),
    ("g (int64[2,3] x, int64[3] k) => (bool[2,3] y) { y = LessOrEqual(x, k) }", "Less Equal Or"),
    *((f"g (float[2,3,4] x) => (float[2,1,4] y) <int64[1] a = {{1}}> {{ s = Exp(x) y = {reduce}(s, a) }}", None)
      for reduce in ("ReduceLogSum", "ReduceLogSumExp")),
    # stated for the operands at hand
    ("g (float[2,3] x) => (float[2,3] y) { y = Clip(x) }", "Identity"),
    ("g (float[2,3] x) => (float[2,3] y) <float k = {0.2}> { y = Clip(x, , k) }", None),
    ("g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y, float[2,3,1] m) "
     "{ y, m = LayerNormalization(x, s, b) }", None),
    ("g (float[2,3,4] x, float[3,4] s) => (float[2,3,4] y, float[2,1,1] m, float[2,1,1] i) "
     "{ y, m, i = LayerNormalization<axis = 1, epsilon = 0.1>(x, s) }", None),
    ("g (float[2,4,3] x, float[4] s, float[4] b) => (float[2,4,3] y) "
     "{ y = GroupNormalization<num_groups = 2>(x, s, b) }", None),
    ("g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 0>(x) }", None),
    ("g (float[2,3,5] x) => (float[2,3,5] y) { y = LogSoftmax(x) }", None),
    ("g (float[3,5] x, int64[3] t) => (float y) { y = NegativeLogLikelihoodLoss(x, t) }", None),
    ("g (float[3,5,2] x, int64[3,2] t, float[5] w) => (float[3,2] y) "
     "{ y = NegativeLogLikelihoodLoss<reduction = \"none\", ignore_index = 1>(x, t, w) }", None),
    ("g (float[3,5] x, int64[3] t) => (float y, float[3,5] p) "
     "{ y, p = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, t) }", None),
    ("g (float[3,5] x) => (float[3,7] y) <int64[1] n = {7}> { y = CenterCropPad<axes = [1]>(x, n) }", None),
    ("g (float[3,5] x, double k) => (double[3,5] y) { y = CastLike(x, k) }", "Cast"),
    ("g (float[2,2,3] t) => (float[2,2,3,2] y) <int64[4] n = {2, 1, 2, 3}> { y = AffineGrid<align_corners = 1>(t, n) }",
     None),
    ("g () => (float[6] y) <int32 n = {6}> { y = HannWindow<periodic = 0>(n) }", None),
    ("g (float a, float b, float d) => (float[N] y) { y = Range(a, b, d) }", None),
    # written otherwise for old opsets
    ("g (float[2,3] x) => (float[2,3] y) { y = Gelu<approximate = \"tanh\">(x) }", None),
    ("g (float[2,2,4,6] x) => (float[2,8,2,3] y) { y = SpaceToDepth<blocksize = 2>(x) }", None),
    ("g (float[2,8,3,3] x) => (float[2,2,6,6] y) { y = DepthToSpace<blocksize = 2, mode = \"CRD\">(x) }", None),
]  # fmt: skip
WITHOUT = [
    "g (float[2,3] x) => (float[2,3] y) { y = Exp(x) }",
    "g (float[2,3] x, float[3,2] w) => (float[2,2] y) { y = MatMul(x, w) }",
    "g (float[2,3] x, bool c) => (float[2,3] y) { y = If (c) <then_branch = a () => (float[2,3] t) { t = Exp(x) }, "
    "else_branch = b () => (float[2,3] e) { e = Neg(x) }> }",
]  # fmt: skip


def expanded(graph: Graph) -> list[str]:
    """The operators that the last node becomes."""
    node = list(graph.nodes)[-1]
    return [made.op.name for made in expand(graph, node, GraphNames(graph))]


@pytest.mark.parametrize(("text", "expected"), EXPANDED)
def test_definitions_compute_the_same(text: str, expected: str | None) -> None:
    model = model_of(text)
    graph = from_model(model)
    before = [(value.name, value.sources, str(value.type)) for value in graph.outputs]
    *kept, name = list_operators(graph).split()
    made = expanded(graph)
    graph.check()
    assert [(value.name, value.sources, str(value.type)) for value in graph.outputs] == before
    assert name not in list_operators(graph).split()
    assert [*kept, *made] == list_operators(graph).split()
    assert expected in (None, " ".join(made))
    wanted, found = run(model), run(to_model(graph, opset=21))
    assert list(found) == list(wanted)
    for one, other in zip(found.values(), wanted.values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("text", WITHOUT)
def test_without_a_definition_nothing_changes(text: str) -> None:
    graph = graph_of(text)
    shown = str(graph)
    with pytest.raises(NoExpansion) as caught:
        expanded(graph)
    assert caught.value.undefined
    assert str(graph) == shown
    graph.check()


def test_known_elements_reach_the_definition() -> None:
    graph = graph_of("""g (float[2,3,5] x) => (float[4,3,5] y) { s = Shape<start = 0, end = 1>(x)
        d = Add(s, s) y = CenterCropPad<axes = [0]>(x, d) }""")
    (node,) = [node for node in graph.nodes if node.op.name == "CenterCropPad"]
    expand(graph, node, GraphNames(graph))
    graph.check()
    assert str(graph["y"].type) == "float32[4, 3, 5]"


def test_new_nodes_know_what_they_were_made_for() -> None:
    graph = graph_of("g (float[2,3] x) => (float[2,3] y) { y = Mish(x) }")
    (node,) = graph.nodes
    names = GraphNames(graph)
    made = expand(graph, node, names)
    assert {names.ancestors[new] for new in made} == {node}


def test_what_is_certain_happens() -> None:
    model = model_of("g () => (float[4] y) <float[4] chances = {0.0, 1.0, 1.0, 0.0}> { y = Bernoulli(chances) }")
    graph = from_model(model)
    assert expanded(graph) == ["RandomUniformLike", "Less", "Cast"]
    np.testing.assert_equal(run(to_model(graph, opset=21))["y"], np.array([0, 1, 1, 0], np.float32))


def test_operators_of_other_frameworks_become_what_onnx_writes_for_them() -> None:
    graph = Graph("boxes")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 8, 6)))
    graph.set_outputs([graph.add(BoxNMS(overlap_thresh=0.4), x, name="kept")])
    assert "BoxNMS" not in expanded(graph)
    graph.check()
    assert str(graph.outputs[0].type) == "float32[1, 8, 6]"
