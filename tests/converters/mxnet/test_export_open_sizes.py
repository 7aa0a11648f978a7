"""Operators on data whose sizes are not all known until the written symbol runs."""

from __future__ import annotations

import onnx
import pytest

from graphir.converters.mxnet import to_symbol
from graphir.converters.onnx import from_model
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.indexing import GatherND
from graphir.ops.linear import Einsum, MatMul
from graphir.ops.reduction import TopK
from graphir.types import UNKNOWN, Dim, DType, TensorType, symbol
from tests.building import parse_model
from tests.converters.mxnet.exporting import difference, mxnet_outputs, normal, onnxruntime_outputs, operators
from tests.equivalence.live import Live


def open_model(nodes: str, outputs: str) -> onnx.ModelProto:
    """Nodes on an input `x` whose sizes N and T are open."""
    return parse_model(f"g (float[N, T, 4] x) => ({outputs}) {{ {nodes} }}", opset=21)


LAST = "s = Shape(x)\n one = Constant <value_ints = [1]> ()\n size = Gather(s, one)\n count = Squeeze(size)\n"
BOUNDS = "zero = Constant <value_int = 0> ()\n step = Constant <value_int = 1> ()\n"
NODES = (
    ("filled", "s = Shape(x)\n y = ConstantOfShape <value = float[1] {2.5}> (s)", "float[N, T, 4] y",
     ("ones_like", "_mul_scalar")),
    ("zeros of int64", "s = Shape(x)\n y = ConstantOfShape <value = int64[1] {0}> (s)", "int64[N, T, 4] y",
     ("Cast", "zeros_like")),
    ("filled beside a number", "s = Shape <end = 2> (x)\n d = Constant <value_ints = [3]> ()\n"
     "t = Concat <axis = 0> (d, s)\n y = ConstantOfShape <value = float[1] {2.5}> (t)", "float[3, N, T] y",
     ("_full", "_contrib_arange_like", "zeros_like", "Reshape", "broadcast_add",
      "_contrib_arange_like", "zeros_like", "Reshape", "broadcast_add")),
    ("filled as what was computed", "r = Constant <value_ints = [-1, 2]> ()\n h = Reshape(x, r)\n"
     "s = Shape <end = 1> (h)\n y = ConstantOfShape <value = int64[1] {7}> (s)", "int64[M] y", None),
    ("positions", f"{LAST}{BOUNDS}y = Range(zero, count, step)", "int64[T] y", ("_contrib_arange_like", "Cast")),
    ("reshaped", "s = Constant <value_ints = [0, -1, 2, 2]> ()\n y = Reshape(x, s)", "float[N, T, 2, 2] y",
     ("Reshape",)),
    ("expanded", "s = Shape(x)\n c = Constant <value_float = 1.5> ()\n e = Expand(c, s)\n y = Add(x, e)",
     "float[N, T, 4] y", ("ones_like", "_mul_scalar", "broadcast_add")),
    ("expanded row", "s = Shape(x)\n c = Constant <value_floats = [1.5, 2.0, 3.0, 4.0]> ()\n y = Expand(c, s)",
     "float[N, T, 4] y", ("Reshape", "broadcast_like")),
    ("sliced beyond", "b = Constant <value_ints = [1]> ()\n e = Constant <value_ints = [9]> ()\n"
     "y = Slice(x, b, e, b)", "float[N, M, 4] y", ("slice",)),
    ("sliced from beyond", "b = Constant <value_ints = [-9]> ()\n e = Constant <value_ints = [2]> ()\n"
     "a = Constant <value_ints = [1]> ()\n y = Slice(x, b, e, a)", "float[N, M, 4] y", ("slice",)),
    ("sliced off", "b = Constant <value_ints = [0]> ()\n e = Constant <value_ints = [-1]> ()\n"
     "a = Constant <value_ints = [1]> ()\n y = Slice(x, b, e, a)", "float[N, M, 4] y", ("slice_axis",)),
    ("sliced", "b = Constant <value_ints = [1]> ()\n e = Constant <value_ints = [9223372036854775807]> ()\n"
     "a = Constant <value_ints = [1]> ()\n y = Slice(x, b, e, a)", "float[N, M, 4] y", None),
    ("chosen", "z = Constant <value_floats = [0.0]> ()\n c = Greater(x, z)\n y = Where(c, x, z)", "float[N, T, 4] y",
     None),
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("sizes", [(2, 3, 4), (5, 7, 4)], ids=str)
@pytest.mark.parametrize(("nodes", "outputs", "computes"), [row[1:] for row in NODES], ids=[row[0] for row in NODES])
def test_live_mxnet_computes_the_same(
    nodes: str, outputs: str, computes: tuple[str, ...] | None, sizes: tuple[int, ...], live: Live
) -> None:
    model = open_model(nodes, outputs)
    text, params = to_symbol(from_model(model.SerializeToString()))
    held = {name.partition(":")[2]: array for name, array in params.items()}
    feeds = {"x": normal(*sizes)}
    assert not difference(mxnet_outputs(live, text, held, feeds), onnxruntime_outputs(model, feeds))
    assert computes is None or tuple(operators(text)) == computes


def open_graph(op: Operator, *shapes: tuple[Dim, ...]) -> Graph:
    """One operator on inputs whose sizes are not all known."""
    graph = Graph()
    values = [graph.add_input(f"x{slot}", TensorType(DType.FLOAT32, shape)) for slot, shape in enumerate(shapes)]
    graph.set_outputs([graph.add(op, *values, output="y")])
    return graph


N = symbol("N")
GRAPHS: tuple[tuple[str, Graph, list[str]], ...] = (
    ("product", open_graph(MatMul(), (UNKNOWN, 3, 4), (UNKNOWN, 4, 5)), ["batch_dot"]),
    ("rows", open_graph(MatMul(), (UNKNOWN, 3, 4), (4, 5)), ["dot"]),
    ("broadcast", open_graph(MatMul(), (UNKNOWN, 2, 3, 4), (1, 2, 4, 5)), ["broadcast_like", "batch_dot"]),
    ("an open size beside a number", open_graph(MatMul(), (N, 4, 3, 6), (1, symbol("M"), 6, 2)),
     ["slice_axis", "slice_axis", "zeros_like", "broadcast_add", "batch_dot"]),
    ("batches", open_graph(Einsum("bhid,bhjd->bhij"), (N, 2, 3, 5), (N, 2, 4, 5)), ["batch_dot"]),
    ("moved", open_graph(Einsum("bij,bjk->ibk"), (N, 3, 4), (N, 4, 5)), ["batch_dot", "transpose"]),
    ("one label", open_graph(Einsum("bij,jk->bik"), (UNKNOWN, 3, 4), (4, 5)), ["dot"]),
)


@pytest.mark.live
@pytest.mark.parametrize("left, right", [((2, 4), (1, 4)), ((1, 4), (3, 1)), ((2, 1), (2, 4)), ((2, 4), (2, 4))])
def test_open_batches_are_one_or_equal(left: tuple[int, int], right: tuple[int, int], live: Live) -> None:
    graph = open_graph(MatMul(), (N, symbol("K"), 3, 6), (symbol("M"), symbol("L"), 6, 2))
    text, _ = to_symbol(graph)
    feeds = {"x0": normal(*left, 3, 6), "x1": normal(*right, 6, 2)}
    assert difference(mxnet_outputs(live, text, {}, feeds), [feeds["x0"] @ feeds["x1"]]) == ""


@pytest.mark.live
@pytest.mark.parametrize("condition, left, right", [
    ("N, 1", "1, M", "1"), ("N, M", "M", "1, 1"), ("N, 1, M", "K, 1", "4"), ("1", "N, K", "M, 1, 1"),
    ("M", "N, M", "1"),
])  # fmt: skip
def test_choices_of_open_sizes(condition: str, left: str, right: str, live: Live) -> None:
    inputs = f"bool[{condition}] c, float[{left}] a, float[{right}] b"
    model = parse_model(f"g ({inputs}) => (float[X, Y] y) {{ y = Where(c, a, b) }}", opset=21)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    sizes = {"N": 3, "M": 4, "K": 2}
    shapes = [tuple(int(sizes.get(size, size)) for size in given.split(", ")) for given in (condition, left, right)]
    feeds = {"c": normal(*shapes[0]) > 0, "a": normal(*shapes[1]), "b": normal(*shapes[2])}
    symbol, params = to_symbol(from_model(model.SerializeToString()))
    held = {name.partition(":")[2]: array for name, array in params.items()}
    assert difference(mxnet_outputs(live, symbol, held, feeds), onnxruntime_outputs(model, feeds)) == ""


@pytest.mark.parametrize("graph, wanted", [entry[1:] for entry in GRAPHS], ids=[entry[0] for entry in GRAPHS])
def test_what_is_written(graph: Graph, wanted: list[str]) -> None:
    assert operators(to_symbol(graph)[0]) == wanted


def test_open_sizes_of_a_reshaped_product() -> None:
    with pytest.raises(UnsupportedOpError, match="state the inputs' shapes"):
        to_symbol(open_graph(Einsum("bija,bjk->baik"), (N, symbol("M"), 4, symbol("K")), (N, 4, 5)))


def test_an_index_vector_of_open_length_is_refused() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (3, 4)))
    vector = graph.add_input("i", TensorType(DType.INT64, (N,)))
    graph.set_outputs([graph.add(GatherND(), data, vector, output="y")])
    with pytest.raises(UnsupportedOpError, match="the length of its index vector is open"):
        to_symbol(graph)


def test_values_alone_need_no_order() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (3, 50)))
    found = graph.add_node(TopK(), (data, graph.constant([7], DType.INT64)), name="top").outputs[0]
    graph.set_outputs([found])
    assert operators(to_symbol(graph)[0]) == ["topk"]


def test_an_open_axis_is_a_decision() -> None:
    graph = Graph()
    data = graph.add_input("x", TensorType(DType.FLOAT32, (3, UNKNOWN)))
    graph.set_outputs(graph.add_node(TopK(), (data, graph.constant([7], DType.INT64)), name="top").outputs)
    assert operators(to_symbol(graph)[0]) == ["topk"]
    assert [decision.kind for decision in graph.decisions] == ["order of equal elements"]
