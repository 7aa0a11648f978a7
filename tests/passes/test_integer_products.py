"""Products of quantized numbers as products of floats: exactly the same numbers in onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from graphir.converters.onnx import from_model, to_model
from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.passes.inline import GraphNames
from graphir.passes.integer_products import INTEGER_PRODUCTS, write_in_floats
from tests.building import list_operators
from tests.passes.written import graph_of, model_of, run

CONV = "uint8[2,3,6,5] x, uint8[4,3,3,2] w"
ONE = "float s = {0.25}, uint8 z = {1}, uint8 u = {2}"
FILTERS = "float[4] f = {0.25, 0.5, 0.125, 1.0}, uint8[4] v = {2, 2, 2, 2}"
ROWS = [
    f"g ({CONV}) => (int32[2,4,4,4] y) {{ y = ConvInteger(x, w) }}",
    f"g ({CONV}) => (int32[2,4,4,4] y) <{ONE}> {{ y = ConvInteger(x, w, z, u) }}",
    f"g ({CONV}, uint8 p) => (int32[2,4,3,3] y) {{ y = ConvInteger<pads = [1,1,1,1], strides = [2,2]>(x, w, p) }}",
    f"g ({CONV}) => (uint8[2,4,4,4] y) <{ONE}> {{ y = QLinearConv(x, s, z, w, s, u, s, u) }}",
    f"g ({CONV}, int32[4] b) => (uint8[2,4,4,4] y) <{ONE}, {FILTERS}> {{ y = QLinearConv(x, s, z, w, f, v, s, u, b) }}",
    "g (uint8[2,3,4] a, uint8[4,5] b) => (int32[2,3,5] y) { y = MatMulInteger(a, b) }",
    f"g (uint8[3,4] a, int8[4,5] b, uint8 p) => (int32[3,5] y) <{ONE}, int8[5] q = {{1, 0, 2, 1, 3}}> "
    "{ y = MatMulInteger(a, b, p, q) }",
    f"g (uint8[2,3,4] a, uint8[4,5] b) => (uint8[2,3,5] y) <{ONE}> {{ y = QLinearMatMul(a, s, z, b, s, u, s, u) }}",
    f"g (int8[3,4] a, int8[4,5] b) => (int8[3,5] y) <{ONE}, int8 i = {{1}}, "
    "float[5] t = {0.25, 0.5, 0.125, 1.0, 2.0}, int8[5] q = {1, 0, 2, 1, 3}> "
    "{ y = QLinearMatMul(a, s, i, b, t, q, s, i) }",
]  # fmt: skip
FLOAT8 = """g (float8e4m3fn[3,4] a, float8e4m3fn[4,5] b) => (float8e4m3fn[3,5] y) <float s = {1.0}>
    { z = Cast<to = 17>(s) y = QLinearMatMul(a, s, z, b, s, z, s, z) }"""


def changed(graph: Graph) -> str:
    """The operators after the last node became a product of floats."""
    write_in_floats(graph, list(graph.nodes)[-1], GraphNames(graph))
    graph.check()
    return list_operators(graph)


@pytest.mark.parametrize("text", ROWS)
def test_the_numbers_are_the_same(text: str) -> None:
    model = model_of(text)
    graph = from_model(model)
    types = [str(value.type) for value in graph.outputs]
    assert not {op.__name__ for op in INTEGER_PRODUCTS} & set(changed(graph).split())
    assert [str(value.type) for value in graph.outputs] == types
    np.testing.assert_equal(run(to_model(graph, opset=21)), run(model))


@pytest.mark.parametrize(("terms", "kind"), [(257, "float32"), (301, "float64")])
def test_sums_are_exact(terms: int, kind: str) -> None:
    held = [
        numpy_helper.from_array(np.full(shape, 255, np.uint8), name)
        for name, shape in (("a", (1, terms)), ("b", (terms, 1)))
    ]
    result = helper.make_tensor_value_info("y", onnx.TensorProto.INT32, (1, 1))
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    made = helper.make_graph([node], "sums", [], [result], held)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    graph = from_model(model)
    changed(graph)
    assert f"Cast(to={kind})" in {str(node.op) for node in graph.nodes}
    assert run(to_model(graph, opset=21))["y"].item() == terms * 255 * 255


def test_what_has_no_such_form_stays() -> None:
    graph = graph_of(FLOAT8)
    shown = str(graph)
    with pytest.raises(GraphirError, match="its result is float8e4m3fn"):
        changed(graph)
    assert str(graph) == shown
