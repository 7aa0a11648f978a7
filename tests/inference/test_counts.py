"""Sizes that only a run can tell have names of their own: distinct, readable, and never taken to be above 0."""

from __future__ import annotations

import onnx
import pytest

from graphir.converters.onnx import from_model
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.inference.constraints import find_constraints
from graphir.ops.counts import name_new_sizes
from graphir.ops.elementwise import Add, Greater
from graphir.ops.indexing import Compress, Gather, NonZero, Unique
from graphir.ops.shape import Shape, Transpose
from graphir.ops.shape_parts import Concat
from graphir.symbolic.dims import lower_bound
from graphir.types import DType, TensorType, parse_shape, symbol
from tests.typed import present, untyped


def found() -> Graph:
    """The places of two tensors' elements that are not 0, turned around and joined."""
    graph = Graph("found")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (symbol("N"), 4)))
    first = graph.add(Transpose(), graph.add(NonZero(), x, name="first"))
    second = graph.add(Transpose(), graph.add(NonZero(), graph.add(Add(), x, x), name="second/places"))
    joined = graph.add(Concat(0), first, second, name="joined")
    graph.add(Shape(), joined, name="shape")
    graph.set_outputs([joined])
    return graph


def test_each_node_has_its_own() -> None:
    graph = found()
    assert str(graph["first"].type) == "int64[2, first:count]"
    assert graph["second/places"].type != graph["first"].type
    assert str(present(graph["second/places"].shape)[1]).startswith("second_places_")
    assert graph["joined"].shape == (present(graph["first"].shape)[1] + present(graph["second/places"].shape)[1], 2)
    assert {value.name: value.type for value in graph.values} == infer_types(graph)
    assert [str(element) for element in present(graph["shape"].known).elements] == [str(graph["joined"].shape[0]), "2"]


def test_names_of_one_kind_stay_apart() -> None:
    shape = (symbol("new:count"),)
    spellings = ("a/b", "a_b", "a.b", "a b", "1", "_1")
    names = {str(name_new_sizes((TensorType(None, shape),), name)[0]) for name in spellings}
    assert len(names) == 6


def test_results_of_one_node_share_it() -> None:
    graph = Graph("unique")
    made = graph.add_node(Unique(), [graph.add_input("x", TensorType(DType.FLOAT32, (7,)))], name="u")
    assert [str(value.type) for value in made.outputs] == [
        "float32[u_0:count]", "int64[u_0:count]", "int64[7]", "int64[u_0:count]",
    ]  # fmt: skip


def test_it_may_be_0() -> None:
    graph = Graph("empty")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (7,)))
    kept = graph.add(Compress(0), x, graph.add_input("which", TensorType(DType.BOOL, (7,))), name="kept")
    count = graph.add(Gather(), graph.add(Shape(), kept), graph.constant(0, DType.INT64), name="count")
    some = graph.add(Greater(), count, graph.constant(0, DType.INT64), name="some")
    assert str(present(count.known).elements[0]) == "kept:count"
    assert lower_bound(untyped(present(count.known).elements[0])) == 0
    assert some.known is None


def test_a_declared_number_is_no_demand_on_the_inputs() -> None:
    graph = found()
    graph.refine(graph["joined"], TensorType(DType.INT64, (9, 2)))
    assert find_constraints(graph) == []


def test_text_and_back() -> None:
    assert str(parse_shape("first:count, 2")[0]) == "first:count"


LOOP = """<ir_version: 9, opset_import: ["" : 21]>
agraph (int64 n, bool go, float[4] x) => (float[] last, float[] all) {
    last, all = Loop (n, go, x) <body = body (int64 i, bool c, float[] held) => (bool c2, float[] next, float[] out) {
        c2 = Identity (c)
        zero = Constant <value_float = 0.0> ()
        which = Greater (held, zero)
        next = Compress <axis = 0> (held, which)
        out = ReduceSum <keepdims = 0> (next)
    }>
}"""


@pytest.mark.parametrize(("name", "expected"), [("last", "float32[?]"), ("all", "float32[?]")])
def test_what_a_body_finds_differs_from_run_to_run(name: str, expected: str) -> None:
    model = onnx.parser.parse_model(LOOP)
    for info in [*model.graph.output, *model.graph.node[0].attribute[0].g.output]:
        info.ClearField("type")
    body = model.graph.node[0].attribute[0].g
    body.input[2].ClearField("type")
    graph = from_model(model)
    assert str(infer_types(graph)[name]) == expected
