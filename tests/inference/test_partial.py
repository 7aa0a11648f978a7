"""What stays unknown: partial answers, full ones, and dtypes that nothing states."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import graphir
from graphir.errors import ShapeError
from graphir.graph import Graph
from graphir.inference import infer_types
from graphir.inference.engine import fix_types, is_complete
from graphir.ops.elementwise import Add, Cast, Equal, Identity, Where
from graphir.ops.linear import Gemm
from graphir.ops.quantization import DequantizeLinear, QuantizeLinear
from graphir.ops.shape import Flatten, Reshape, Squeeze, Transpose, Unsqueeze
from graphir.types import ANYTHING, DType, SequenceType, Type
from tests.inference.test_engine import convolution, perceptron, snapshot
from tests.ops.rule import tensor
from tests.typed import tensor_type

SAME = Add(same_shape=True)


def test_full_answers_are_the_partial_ones() -> None:
    given = {"data": "N,100"}
    assert graphir.infer_types(perceptron(), given, partial=False) == infer_types(perceptron(), given)


def test_everything_that_stays_unknown_is_one_error() -> None:
    with pytest.raises(ShapeError) as caught:
        infer_types(perceptron(), {"data": (None, 100)}, partial=False)
    assert str(caught.value).splitlines() == [
        "5 of 9 values are not fully known; give what is missing of data:",
        "  data: float32[?, 100] (input)",
        "  fc1: float32[?, 10] by node fc1 (Gemm)",
        "  fc1_relu: float32[?, 10] by node fc1_relu (Relu)",
        "  fc2: float32[?, 3] by node fc2 (Gemm)",
        "  fc2_relu: float32[?, 3] by node fc2_relu (Relu)",
    ]


@pytest.mark.parametrize(("build", "given", "dtypes"), [
    (convolution, {"data": (1, 3, 8, 8)}, None), (convolution, {"data": "N,3,H,W"}, None),
    (perceptron, {}, None), (perceptron, {"data": None}, {"data": "float16"}),
])  # fmt: skip
def test_full_or_not_the_graph_stays(
    build: Callable[..., Any], given: dict[str, Any], dtypes: dict[str, str] | None
) -> None:
    graph = build()
    before = snapshot(graph)
    infer_types(graph, given, dtypes)
    with suppress(ShapeError):
        infer_types(graph, given, dtypes, partial=False)
    assert snapshot(graph) == before


@pytest.mark.parametrize(("type_", "complete"), [
    (tensor("float32[2]"), True), (tensor("float32[N]"), True), (tensor("float32[]"), True), (ANYTHING, False),
    (tensor("float32[?]"), False), (tensor("float32[...]"), False), (tensor("?[2]"), False),
    (SequenceType(tensor("float32[2]")), True), (SequenceType(ANYTHING), False),
])  # fmt: skip
def test_complete(type_: Type, complete: bool) -> None:
    assert is_complete(type_) == complete


def dense() -> Graph:
    """An open dtype everywhere: x, turned, through a layer, compared and chosen, then added to a cast."""
    graph = Graph("dense")
    x = graph.add_input("x")
    turned = graph.add(Transpose((1, 0)), x, name="turned")
    out = graph.add(Gemm(), turned, graph.add_parameter("w"), graph.add_parameter("b"), name="fc")
    other = graph.add_input("other")
    condition = graph.add(Equal(), out, other, name="same")
    chosen = graph.add(Where(), condition, out, other, name="chosen")
    cast = graph.add(Cast(DType.FLOAT16), graph.add_input("free"), name="cast")
    graph.set_outputs([chosen, cast])
    return graph


NAMES = ("x", "turned", "w", "b", "fc", "other", "chosen")


@pytest.mark.parametrize("hinted", NAMES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "float32"])
def test_dtypes_flow_both_ways(hinted: str, dtype: str) -> None:
    found = infer_types(dense(), None, {hinted: dtype})
    assert {tensor_type(found[name]).dtype for name in NAMES} == {DType(dtype)}
    assert (tensor_type(found["same"]).dtype, tensor_type(found["cast"]).dtype, tensor_type(found["free"]).dtype) == (
        DType.BOOL,
        DType.FLOAT16,
        None,
    )


@pytest.mark.parametrize(("first", "second", "words"), [
    ("x", "w", ["node fc", "turned: float16", "w: float32"]), ("chosen", "b", ["float16", "float32"]),
    ("cast", "cast", ["node cast", "what was given", "float32", "float16"]),
])  # fmt: skip
def test_dtypes_that_contradict(first: str, second: str, words: list[str]) -> None:
    with pytest.raises(ShapeError) as caught:
        infer_types(dense(), None, {first: "float16", second: "float32"})
    assert [word for word in words if word not in str(caught.value)] == []


def assumed() -> Graph:
    """x has a stored dtype that its source did not state, y none."""
    graph = Graph("assumed")
    x, y = graph.add_input("x"), graph.add_input("y")
    x.graph.retype(x, tensor("float32[...]"))
    graph.set_outputs([graph.add(SAME, x, y, name="sum")])
    return graph


@pytest.mark.parametrize(("dtypes", "expected"), [
    (None, DType.FLOAT32), ({"x": "float16"}, DType.FLOAT16), ({"y": "float64"}, DType.FLOAT64),
    ({"sum": "bfloat16"}, DType.BFLOAT16),
])  # fmt: skip
def test_what_was_assumed_yields_to_what_is_known(dtypes: dict[str, str] | None, expected: DType) -> None:
    assert {tensor_type(type_).dtype for type_ in infer_types(assumed(), None, dtypes).values()} == {expected}


def test_types_fixed_for_good() -> None:
    """They take the place of what was stored, and bind later inference as what the source declares does."""
    graph = convolution()
    fix_types(graph, {"data": (1, 3, 32, 32)}, None)
    assert str(graph["sum"].type) == "float32[1, 8, 16, 16]"
    fix_types(graph, {"data": "N,3,8,8"}, {"data": "float16"})
    assert [str(graph[name].type) for name in ("sum", "weight")] == ["float16[N, 8, 4, 4]", "float16[8, 3, 3, 3]"]
    assert str(infer_types(graph)["skip"]) == "float16[N, 8, 4, 4]"
    before = snapshot(graph)
    with pytest.raises(ShapeError):
        fix_types(graph, {"data": (1,)}, None)
    assert snapshot(graph) == before


NARROW = [
    *("float16", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"),
    *("float4e2m1", "int2", "uint2", "int4", "uint4"),
]


@pytest.mark.parametrize("name", ["first", "moved", "last"])
@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_dtypes_move_through_what_moves_elements(dtype: str, name: str) -> None:
    graph = Graph("moves")
    x = graph.add_input("first", tensor("?[2, 6]"))
    value = graph.add(Reshape(), graph.add(Transpose((1, 0)), x), graph.constant([6, 1, 2]), name="moved")
    value = graph.add(Flatten(), graph.add(Squeeze(), value, graph.constant([1])))
    graph.set_outputs([graph.add(Identity(), graph.add(Unsqueeze(), value, graph.constant([1])), name="last")])
    found = infer_types(graph, None, {name: dtype})
    assert str(found["last"]) == f"{dtype}[6, 1, 2]"
    assert {str(tensor_type(type_).dtype) for type_ in found.values()} == {dtype, "int64"}


@pytest.mark.parametrize("dtype", ["float8e4m3fn", "float8e5m2", "int4", "uint4", "int8", "uint8"])
def test_narrow_dtypes_of_quantized_tensors(dtype: str) -> None:
    graph = Graph("quantized")
    x, scale = graph.add_input("x", tensor("float32[N, 4]")), graph.add_input("scale", tensor("float32[]"))
    zero = graph.add_input("zero", tensor("?[]"))
    quantized = graph.add(QuantizeLinear(), x, scale, zero, name="quantized")
    graph.set_outputs([graph.add(DequantizeLinear(), quantized, scale, zero, name="back")])
    found = infer_types(graph, None, {"zero": dtype})
    assert [str(found[name]) for name in ("quantized", "back")] == [f"{dtype}[N, 4]", "float32[N, 4]"]
