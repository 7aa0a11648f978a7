"""Inference over graphs: forwards, backwards, partial, symbolic, and what it says of contradictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.errors import GraphError, ShapeError
from graphir.graph import Graph, Value
from graphir.inference import infer_graph, infer_types
from graphir.inference.constraints import Constraint, find_constraints, fits
from graphir.inference.engine import parse_dims
from graphir.ops.activation import Relu, Sigmoid
from graphir.ops.base import Known, Operator
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Cast, Div, Identity, Mul, Neg, Sub
from graphir.ops.indexing import Gather
from graphir.ops.linear import Gemm
from graphir.ops.normalization import BatchNormalization
from graphir.ops.shape import Flatten, Reshape, Shape, Size, Transpose
from graphir.ops.shape_parts import Concat
from graphir.padding import symmetric
from graphir.symbolic.dims import UNKNOWN, symbol
from graphir.symbolic.expression import Sym
from graphir.tensor import Tensor
from graphir.types import ANYTHING, Dim, DType, OptionalType, SequenceType, TensorType, Type
from tests.growth import is_near_linear
from tests.ops.rule import tensor
from tests.typed import present, untyped

SAME = Add(same_shape=True)


def unread(text: str) -> Tensor:
    """A tensor of this type whose elements cannot be read."""
    type_ = tensor(text)

    def compute() -> NDArray[Any]:
        raise AssertionError("inference read a weight")

    return Tensor.computed(present(type_.dtype), untyped(type_.shape), compute)


def perceptron() -> Graph:
    """data -> fc1 (10) -> relu -> fc2 (3), as MXNet's importer writes it: the weights' rows are known."""
    graph = Graph("mlp")
    value = graph.add_input("data", tensor("float32[...]"))
    for name, rows in (("fc1", 10), ("fc2", 3)):
        weight = graph.add_parameter(f"{name}_weight", None, tensor(f"?[{rows}, ?]"))
        bias = graph.add_parameter(f"{name}_bias", None, tensor(f"?[{rows}]"))
        value = graph.add(Relu(), graph.add(Gemm(transB=True), value, weight, bias, name=name), name=f"{name}_relu")
    graph.set_outputs([value])
    return graph


def convolution() -> Graph:
    graph = Graph("conv")
    data = graph.add_input("data", tensor("float32[...]"))
    weight = graph.add_parameter("weight", None, tensor("?[8, ?, ?, ?]"))
    value = graph.add(Conv((3, 3), (2, 2), (), symmetric((1, 1))), data, weight, name="conv")
    scales = [graph.add_parameter(f"bn_{name}") for name in ("gamma", "beta", "mean", "var")]
    value = graph.add(BatchNormalization(), value, *scales, name="bn")
    graph.set_outputs([graph.add(SAME, value, graph.add_input("skip"), name="sum")])
    return graph


FOLLOWS = [
    # graph, given shapes, what follows
    (perceptron, {"data": (100, 100)}, {"fc1_weight": "float32[10, 100]", "fc1_bias": "float32[10]",
                                        "fc2_weight": "float32[3, 10]", "fc2_relu": "float32[100, 3]"}),
    (perceptron, {"data": "N,100"}, {"fc1_weight": "float32[10, 100]", "fc2_relu": "float32[N, 3]"}),
    (perceptron, {"data": (None, 100)}, {"fc1_weight": "float32[10, 100]", "fc2_relu": "float32[?, 3]"}),
    (perceptron, {"fc1_weight": (10, 7)}, {"data": "float32[?, 7]", "fc1": "float32[?, 10]"}),
    (perceptron, {"fc2_relu": (5, None)}, {"data": "float32[5, ?]", "fc1_relu": "float32[5, 10]"}),
    (perceptron, {}, {"data": "float32[?, ?]", "fc1_weight": "float32[10, ?]", "fc2_weight": "float32[3, 10]"}),
    (convolution, {"data": (1, 3, 32, 32)}, {"weight": "float32[8, 3, 3, 3]", "bn_gamma": "?[8]",
                                             "sum": "float32[1, 8, 16, 16]", "skip": "float32[1, 8, 16, 16]"}),
    (convolution, {"data": "N,C,H,32"}, {"weight": "float32[8, C, 3, 3]", "skip": "float32[N, 8, (H+1)//2, 16]"}),
    (convolution, {"weight": (8, 4, 3, 3)}, {"data": "float32[?, 4, ?, ?]", "sum": "float32[?, 8, ?, ?]"}),
    (convolution, {"skip": (2, 8, 5, 6)}, {"sum": "float32[2, 8, 5, 6]", "data": "float32[2, ?, ?, ?]"}),
    (convolution, {}, {"weight": "float32[8, ?, 3, 3]", "skip": "float32[?, 8, ?, ?]"}),
]  # fmt: skip


@pytest.mark.parametrize(("build", "given", "expected"), FOLLOWS)
def test_what_follows(build: Callable[..., Any], given: dict[str, Any], expected: dict[str, str]) -> None:
    found = infer_types(build(), given)
    assert {name: str(found[name]) for name in expected} == expected


CONTRADICTIONS = [
    (perceptron, {"data": (100, 100), "fc1_weight": (10, 99)}, ["node fc1", r"100, 100\]", r"10, 99\]"]),
    (perceptron, {"fc1_relu": (5, 11)}, ["fc1", "10", "11"]),
    (perceptron, {"data": (100, 100), "fc1_bias": (11,)}, ["node fc1", r"\[11\]", r"\[100, 10\]"]),
    (perceptron, {"data": (1, 2, 3)}, ["node fc1", r"data: float32\[1, 2, 3\]"]),
    (convolution, {"data": (1, 3, 32, 32), "skip": (1, 8, 15, 16)}, ["node sum", "16, 16", "15, 16"]),
    (convolution, {"data": (1, 3, 32, 32), "weight": (8, 4, 3, 3)}, ["node conv", "3 channels", r"\[8, 4, 3, 3\]"]),
]


@pytest.mark.parametrize(("build", "given", "texts"), CONTRADICTIONS)
@pytest.mark.parametrize("slot", range(3))
def test_contradictions_name_both_sides(
    build: Callable[..., Any], given: dict[str, tuple[int, ...]], texts: list[str], slot: int
) -> None:
    with pytest.raises(ShapeError, match=texts[min(slot, len(texts) - 1)]):
        infer_types(build(), given)


def test_contradictions_name_both_nodes() -> None:
    """A parameter that two layers share, each of which wants another size of it."""
    graph = Graph("shared")
    weight = graph.add_parameter("weight", None, tensor("float32[10, ?]"))
    graph.add(Gemm(transB=True), graph.add_input("a", tensor("float32[1, 5]")), weight, name="first")
    graph.add(Gemm(transB=True), graph.add_input("b", tensor("float32[1, 6]")), weight, name="second")
    with pytest.raises(ShapeError) as caught:
        infer_types(graph)
    assert [word in str(caught.value) for word in ("weight", "first", "second", "[1, 5]", "[10, 6]")] == [True] * 5


def test_what_is_wanted_of_a_result_is_named_with_its_node() -> None:
    graph = Graph("between")
    x = graph.add_input("x", tensor("float32[...]"))
    middle = graph.add(Relu(), x, name="middle")
    graph.add(SAME, middle, graph.add_input("left", tensor("float32[2, 3]")), name="one")
    graph.add(SAME, middle, graph.add_input("right", tensor("float32[2, 4]")), name="two")
    with pytest.raises(ShapeError) as caught:
        infer_types(graph)
    assert [word in str(caught.value) for word in ("middle", "one", "two", "[2, 3]", "[2, 4]")] == [True] * 5


def test_knowledge_travels_along_long_chains_both_ways() -> None:
    graph = Graph("long")
    x = first = graph.add_input("x")
    last = first
    for _ in range(500):
        last = graph.add(Sigmoid(), graph.add(SAME, last, graph.add_input(graph.fresh_name("side"))))
    graph.set_outputs([last])
    assert set(map(str, infer_types(graph, {last.name: "2,N"}, {"side_250": "float16"}).values())) == {"float16[2, N]"}
    assert set(map(str, infer_types(graph, {x.name: (4, 4)}).values())) == {"?[4, 4]"}


def reshaped(start: str) -> tuple[Graph, Value]:
    """x reshaped to (its first size, -1), the shape computed by Shape, Gather and Concat."""
    graph = Graph("reshaped")
    x = graph.add_input("x", tensor(start))
    first = graph.add(Gather(), graph.add(Shape(), x, name="shape"), graph.constant([0]), name="first")
    wanted = graph.add(Concat(0), first, graph.constant([-1]), name="wanted")
    return graph, graph.add(Reshape(), x, wanted, name="y")


@pytest.mark.parametrize(("start", "expected"), [
    ("float32[2, 3, 4]", "float32[2, 12]"), ("float32[N, 3, 4]", "float32[N, 12]"),
    ("float32[N, C, 4]", "float32[N, 4*C]"),
    ("float32[?, 3, 4]", "float32[?, ?]"), ("float32[2, ?]", "float32[2, ?]"), ("float32[...]", "float32[?, ?]"),
])  # fmt: skip
def test_sizes_that_are_computed(start: str, expected: str) -> None:
    graph, y = reshaped(start)
    assert str(y.type) == expected
    assert str(infer_types(graph)["y"]) == expected
    assert str(infer_types(graph, {"x": (6, 5, 2)})["y"]) == "float32[6, 10]"
    assert str(infer_types(graph, {"x": ("M", 5, 2)})["y"]) == "float32[M, 10]"


@pytest.mark.parametrize(("operators", "expected"), [
    ([(Mul(), 2), (Add(), 1), (Sub(), 3)], "2*N-2"), ([(Div(), 2)], "N//2"), ([(Cast(DType.INT32), None)], "N"),
    ([(Add(), 1), (Add(), 1), (Div(), 2), (Mul(), 4)], "4*(N//2)+4"), ([(Cast(DType.FLOAT32), None)], "N"),
])  # fmt: skip
def test_arithmetic_on_sizes(operators: list[tuple[Operator, int | None]], expected: str) -> None:
    graph = Graph("arithmetic")
    value = graph.add(Size(), graph.add_input("x", tensor("float32[N]")))
    for op, number in operators:
        value = graph.add(op, value, *([] if number is None else [graph.constant(number)]))
    assert (None if value.known is None else str(value.known.elements[0])) == expected


@pytest.mark.parametrize(("dtype", "start", "factor", "known"), [
    (DType.INT64, 1 << 40, 1 << 10, (1 << 50,)), (DType.INT64, 1 << 40, 1 << 30, None),
    (DType.INT32, 1 << 20, 1 << 12, None), (DType.UINT8, 100, 2, (200,)), (DType.UINT8, 200, 2, None),
    (DType.INT8, 100, 2, None), (DType.INT8, -64, 2, (-128,)),
    (DType.UINT64, 1 << 62, 2, (1 << 63,)),
])  # fmt: skip
def test_numbers_that_would_wrap_around_are_not_known(
    dtype: DType, start: int, factor: int, known: tuple[int, ...] | None
) -> None:
    graph = Graph("wrap")
    value = graph.add(Mul(), graph.constant([start], dtype), graph.constant([factor], dtype))
    assert (None if value.known is None else value.known.elements) == known


def test_repeated_squares_do_not_grow() -> None:
    graph = Graph("squares")
    value = graph.constant([3])
    for _ in range(80):
        value = graph.add(Mul(), value, value)
    assert value.known is None


def snapshot(graph: Graph) -> list[object]:
    return [(value.name, value.type, value.declared, value.known) for value in graph.values]


def test_infer_types_leaves_the_graph_alone() -> None:
    graph = convolution()
    before = snapshot(graph)
    infer_types(graph, {"data": (1, 3, 32, 32)}, {"data": "float16"})
    with pytest.raises(ShapeError):
        infer_types(graph, {"data": (1,)})
    assert snapshot(graph) == before
    assert infer_graph(graph)
    assert snapshot(graph) != before
    assert not infer_graph(graph)


@pytest.mark.parametrize(("shapes", "dtypes", "expected"), [
    ({"data": (4, 3, 8, 8)}, None, "float32[4, 8, 4, 4]"), ({"data": "M,3,8,W"}, None, "float32[M, 8, 4, (W+1)//2]"),
    ({"data": (1, 5, 8, 8)}, {"data": "float16"}, "float16[1, 8, 4, 4]"),
    (None, {"data": np.float64}, "float64[?, 8, ?, ?]"),
    (None, None, "float32[?, 8, ?, ?]"), ({"data": None}, None, "float32[?, 8, ?, ?]"),
])  # fmt: skip
def test_other_shapes_than_the_graph_was_inferred_with(
    shapes: dict[str, Any] | None, dtypes: dict[str, Any] | None, expected: str
) -> None:
    """What an earlier inference stored does not bind a later one; what the source declared does."""
    graph = convolution()
    graph.refine(graph["data"], tensor("float32[1, 3, 32, 32]"))
    infer_graph(graph)
    assert str(graph["sum"].type) == "float32[1, 8, 16, 16]"
    assert str(infer_types(graph, shapes, dtypes)["sum"]) == expected


def test_a_stored_dtype_does_not_bind() -> None:
    graph = Graph("open")
    graph.set_outputs([graph.add(SAME, graph.add_input("a", ANYTHING), graph.add_input("b", ANYTHING), name="c")])
    graph.refine(graph["a"], tensor("float32[2]"))
    infer_graph(graph)
    assert str(infer_types(graph, {"a": (3,)}, {"b": "float16"})["c"]) == "float16[3]"


def test_parameters_with_elements_cannot_be_overridden() -> None:
    graph = Graph("fixed")
    graph.add(Gemm(), graph.add_input("x"), graph.add_parameter("w", unread("float32[3, 4]")), name="y")
    assert str(infer_types(graph)["x"]) == "float32[?, 3]"
    with pytest.raises(ShapeError, match=r"w is float32\[3, 4\] in the model, but was given as"):
        infer_types(graph, {"w": (3, 5)})


def test_weights_are_not_read() -> None:
    graph = Graph("weights")
    x = graph.add_input("x", tensor("float32[N, 3, 8, 8]"))
    y = graph.add(Conv(), x, graph.add_parameter("w", unread("float32[4, 3, 3, 3]")), name="y")
    indices = graph.add_parameter("big", unread("int64[1000]"))
    graph.add(Gather(), graph.add(Flatten(), y), indices, name="z")
    infer_graph(graph)
    assert str(infer_types(graph, {"x": (2, 3, 9, 9)})["z"]) == "float32[1000, 196]"


@pytest.mark.parametrize(("given", "error", "text"), [
    ({"nothing": (1,)}, GraphError, "no value 'nothing'; the inputs are: data"),
    ({"data": (1, -1)}, ShapeError, "size -1 is negative"), ({"data": (1.5,)}, ShapeError, "not a shape"),
    ({"data": 3}, ShapeError, "not a shape: 3"), ({"data": "1,x+"}, ShapeError, "not a shape: '1,x[+]'"),
    ({"data": ("1+",)}, ShapeError, "not a shape"), ({"data": ("N H",)}, ShapeError, "not a shape"),
    ({"data": ([1],)}, ShapeError, "not a shape"),
])  # fmt: skip
def test_shapes_that_are_none(given: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        infer_types(perceptron(), given)


def test_dtypes_that_are_none() -> None:
    with pytest.raises(ShapeError, match="no such dtype: 'float33'"):
        infer_types(perceptron(), None, {"data": "float33"})


@pytest.mark.parametrize(("shape", "expected"), [
    ((1, "N", None), (1, symbol("N"), UNKNOWN)), ([np.int64(3), np.array(4)], (3, 4)),
    (("2*N", symbol("H") + 1, UNKNOWN), (2 * symbol("N"), symbol("H") + 1, UNKNOWN)), (None, None), ((), ()),
    ("1,N,?", (1, symbol("N"), UNKNOWN)), ((0,), (0,)),
])  # fmt: skip
def test_shapes_from_outside(
    shape: list[np.generic | NDArray[Any]] | str | tuple[Any, ...] | None, expected: tuple[Dim, ...] | None
) -> None:
    assert parse_dims(shape) == expected


def test_values_that_are_no_tensors() -> None:
    graph = Graph("sequence")
    sequence = SequenceType(tensor("float32[2]"))
    graph.set_outputs([graph.add(Identity(), graph.add_input("x", sequence), name="y")])
    assert infer_types(graph)["y"] == sequence


def bound() -> Graph:
    """A layer behind a pooled image whose weight fixes the image's size."""
    graph = Graph("bound")
    data = graph.add_input("data", tensor("float32[1, 3, H, W]"))
    value = graph.add(Conv((3, 3), (2, 2)), data, graph.add_parameter("w", unread("float32[2, 3, 3, 3]")), name="conv")
    weight = graph.add_parameter("fc_weight", unread("float32[5, 50]"))
    graph.set_outputs([graph.add(Gemm(transB=True), graph.add(Flatten(), value, name="flat"), weight, name="fc")])
    infer_graph(graph)
    return graph


def test_sizes_that_weights_bind() -> None:
    found = find_constraints(bound())
    assert [(constraint.node, constraint.number) for constraint in found] == [("flat", 50)]
    assert list(fits(found, {"H", "W"})) == [(11, 12)]


H = symbol("H")


@pytest.mark.parametrize(("sizes", "expected"), [
    ([(H, 7)], [(7, 7)]), ([(H // 2, 3), (H // 3, 2)], [(6, 7)]), ([(2 * H, 7)], []), ([(H // 8192, 0)], [(1, 4096)]),
    ([(H * symbol("W"), 49)], [(7, 7)]), ([(7 // (H - 3), 7)], [(4, 4)]),
    ([(H % 2000, 1)], [(1, 1), (2001, 2001), (4001, 4001)]),
])  # fmt: skip
def test_numbers_that_fit(sizes: list[tuple[Sym, int]], expected: list[tuple[int, ...]]) -> None:
    assert list(fits([Constraint("node", size, number) for size, number in sizes], {"H", "W"})) == expected


def test_known_elements_as_integers() -> None:
    assert Known.vector((1, 2)).integers() == (1, 2)
    assert Known.scalar(H).integers() is None


def network(count: int) -> Graph:
    """Blocks of convolution, normalisation, activation and addition over shared weights, with a symbolic batch."""
    graph = Graph("network")
    value = graph.add_input("data", tensor("float32[N, 8, 8, 8]"))
    weight = graph.add_parameter("w", unread("float32[8, 8, 1, 1]"))
    scales = [graph.add_parameter(f"bn{index}", unread("float32[8]")) for index in range(4)]
    conv, norm, swap = Conv((1, 1)), BatchNormalization(), Transpose((0, 1, 3, 2))
    for _ in range(count // 5):
        start = value
        value = graph.add(norm, graph.add(conv, value, weight, name="c"), *scales, name="b")
        value = graph.add(Relu(), value, name="r")
        value = graph.add(Add(), graph.add(swap, value, name="t"), start, name="a")
    graph.set_outputs([value])
    return graph


def test_the_cost_is_linear() -> None:
    graphs = {count: network(count) for count in (2_000, 40_000)}
    assert is_near_linear(lambda count: infer_types(graphs[count], {"data": "M,8,8,8"}), 2_000, 40_000)


def test_types_inside_subgraphs() -> None:
    """A subgraph reads the types of the graph around it."""
    graph = Graph("outer")
    x = graph.add_input("x", tensor("float32[N]"))
    inner = Graph("inner", parent=graph)
    inner.set_outputs([inner.add(Neg(), x, name="y")])
    assert str(infer_types(inner)["y"]) == "float32[N]"


@pytest.mark.parametrize("type_", [SequenceType(TensorType(DType.FLOAT32, (2,))), OptionalType(TensorType())], ids=str)
def test_a_rule_of_tensors_refuses_other_types(type_: Type) -> None:
    graph = Graph("other")
    x = graph.add_input("x", type_)
    with pytest.raises(ShapeError, match=r"Sigmoid takes tensors, found (sequence|optional)"):
        graph.add(Sigmoid(), x)
