"""`graphir.cost`: parameters, multiply-accumulates, FLOPs and activations of whole models."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.analysis.counting import UNSIZED
from graphir.converters.mxnet import from_symbol
from graphir.graph import Graph
from graphir.ops.activation import Relu, Softmax
from graphir.ops.control import If, Loop
from graphir.ops.convolution import Conv
from graphir.ops.foreign import Foreign
from graphir.ops.indexing import Gather
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.normalization import BatchNormalization
from graphir.ops.reduction import TopK
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, DType, TensorType, symbol
from tests.growth import is_near_linear

N = symbol("N")
ZOO = [
    "resnet18_v1@224", "resnet18_v1@256", "resnet18_v2@224", "resnet50_v1@224", "resnet50_v1@256", "resnet50_v2@224",
    "resnet152_v1@224", "mobilenet1.0@224", "mobilenet1.0@256", "mobilenetv2_1.0@224", "squeezenet1.0@224",
    "squeezenet1.1@224", "alexnet@224", "vgg16@224", "densenet121@224", "inceptionv3@299",
]  # fmt: skip
SYMBOLS = [
    ("resnet18_v2_symbol.json", "symbol_resnet18@224"),
    ("irv2_apache_example_symbol.json", "symbol_inception_resnet_v2@299"),
]


def typed(*shape: Any, dtype: DType = DType.FLOAT32) -> TensorType:
    return TensorType(dtype, shape)


def weight(graph: Graph, name: str, *shape: int) -> Any:
    value = graph.add_parameter(name, Tensor.of(np.ones(shape, np.float32)))
    value.sources = (name,)
    return value


def held_to(graph: Graph, net: dict[str, Any]) -> None:
    """Compare a graph's cost with the golden figures of its network."""
    found = graphir.cost(graph)
    macs = {layer.name: layer.macs for layer in found.layers if layer.macs}
    assert macs == {layer[0]: layer[4] for layer in net["exact"]["layers"]}
    assert found.macs == net["exact"]["conv_macs"] + net["exact"]["fc_macs"]
    assert found.trainable == net["params"]["arguments"] - net["params"]["of_which_fixed_gamma"]
    assert found.auxiliary == net["params"]["aux"]
    assert found.uncounted == ()


def golden(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "golden" / "flops.json").read_text())["nets"]


@pytest.mark.one_of(8)
@pytest.mark.live
@pytest.mark.parametrize("name", ZOO)
def test_golden_figures_of_the_model_zoo(shared: Path, mxnet: ModuleType, name: str) -> None:
    net = golden(shared)[name]
    model = mxnet.gluon.model_zoo.vision.get_model(name.partition("@")[0], prefix="net_")
    symbol_text = model(mxnet.sym.Variable("data")).tojson()
    held_to(from_symbol(symbol_text, shapes={"data": tuple(net["input"])}), net)


@pytest.mark.parametrize(("file", "name"), SYMBOLS)
def test_golden_figures_of_symbols(shared: Path, file: str, name: str) -> None:
    net = golden(shared)[name]
    held_to(graphir.load(shared / "golden" / file, shapes={"data": tuple(net["input"])}), net)


def test_kernels_that_are_not_square_and_groups(shared: Path) -> None:
    net = golden(shared)["explicit_attrs_small@256"]
    graph = Graph("small")
    value = graph.add_input("data", typed(*net["input"]))
    for name, operator, shape, result, _, bias in net["exact"]["layers"]:
        kernel = weight(graph, f"{name}_weight", *shape)
        extra = [weight(graph, f"{name}_bias", shape[0])] if bias else []
        if operator == "FullyConnected":
            flat = graph.add_input("flat", typed(1, shape[1]))
            value = graph.add(Gemm(transB=True), flat, kernel, *extra, name=name)
            continue
        pads = tuple((size // 2, size // 2) for size in shape[2:])
        stride = value.shape[2] // result[2]  # type: ignore[index]
        op = Conv(
            kernel_shape=tuple(shape[2:]), strides=(stride, stride), group=value.shape[1] // shape[1],  # type: ignore[index]
            padding=graphir_pads(pads),
        )  # fmt: skip
        value = graph.add(op, value, kernel, *extra, name=name)
        assert list(value.shape or ()) == result
    graph.set_outputs([value])
    found = graphir.cost(graph)
    assert found.macs == net["exact"]["conv_macs"] + net["exact"]["fc_macs"]
    assert found.parameters == net["params"]["arguments"]


def graphir_pads(pads: Any) -> Any:
    from graphir.padding import Explicit

    return Explicit(pads)


def test_what_layers_and_operators_cost() -> None:
    graph = Graph("g")
    x = graph.add_input("x", typed(N, 3, 4, 4))
    kernel, bias = weight(graph, "w", 8, 3, 3, 3), weight(graph, "b", 8)
    conv = graph.add(Conv(kernel_shape=(3, 3)), x, kernel, bias, name="conv")
    norm = graph.add(BatchNormalization(), conv, *[weight(graph, name, 8) for name in "gomv"], name="norm")
    graph.set_outputs([graph.add(Relu(), norm, name="act")])
    found = graphir.cost(graph)
    assert [(layer.name, layer.macs, layer.flops, layer.activation_bytes) for layer in found.layers] == [
        ("conv", 864 * N, 1760 * N, 128 * N), ("norm", 0, 64 * N, 128 * N), ("act", 0, 32 * N, 128 * N),
    ]  # fmt: skip
    assert (found.macs, found.flops, found.activation_bytes) == (864 * N, 1856 * N, 384 * N)
    assert (found.parameters, found.trainable, found.auxiliary) == (216 + 8 + 32, 216 + 8 + 16, 16)
    assert [(row.operator, row.nodes, row.flops) for row in found.operators] == [
        ("Conv", 1, 1760 * N), ("BatchNormalization", 1, 64 * N), ("Relu", 1, 32 * N),
    ]  # fmt: skip


def test_a_shared_weight_counts_once() -> None:
    graph = Graph("g")
    x, shared_weight = graph.add_input("x", typed(2, 4)), weight(graph, "w", 4, 4)
    first = graph.add(MatMul(), x, shared_weight, name="a")
    graph.set_outputs([graph.add(MatMul(), first, shared_weight, name="b")])
    found = graphir.cost(graph)
    assert (found.parameters, found.macs) == (16, 2 * 32)
    assert [(layer.parameters, layer.shared) for layer in found.layers] == [(16, 0), (0, 16)]


def test_what_is_not_counted_is_said() -> None:
    graph = Graph("g")
    x, k = graph.add_input("x", typed(9)), graph.constant([2])
    top = graph.add_node(TopK(), [x, k], name="top").outputs[0]
    open_ = graph.add(Relu(), graph.add_input("y", typed(UNKNOWN)), name="open")
    strange = graph.add_node(Foreign("x", "Strange", (), 1), [top], name="strange").output
    graph.set_outputs([top, open_, strange])
    found = graphir.cost(graph)
    said = {layer.name: layer.why for layer in found.uncounted}
    assert said["top"].startswith("how many comparisons")
    assert said["open"] == UNSIZED
    assert said["strange"].startswith("graphir does not know")
    assert found.flops == 0


def loop(trips: Any) -> Graph:
    graph = Graph("g")
    x, weights = graph.add_input("x", typed(2, 3)), weight(graph, "w", 3, 3)
    count = graph.add_input("n", typed(dtype=DType.INT64)) if trips is None else graph.constant(trips, DType.INT64)
    body = Graph("body", parent=graph)
    body.add_input("i", typed(dtype=DType.INT64))
    going, state = body.add_input("c", typed(dtype=DType.BOOL)), body.add_input("s", typed(2, 3))
    body.set_outputs([going, body.add(Relu(), body.add(MatMul(), state, weights, name="m"), name="r")])
    node = graph.add_node(Loop(1), [count, None, x], name="loop", subgraphs=[body])
    graph.set_outputs(node.outputs)
    return graph


@pytest.mark.parametrize(("trips", "times", "open_loops"), [(5, 5, 0), (None, 1, 1), (0, 0, 0)])
def test_loops_count_as_often_as_they_run(trips: int | None, times: int, open_loops: int) -> None:
    found = graphir.cost(loop(trips))
    assert (found.macs, found.flops) == (18 * times, (36 + 6) * times)
    assert len(found.open_loops) == open_loops
    by_operator = {row.operator: row.flops for row in found.operators}
    assert (by_operator["MatMul"], by_operator["Relu"], by_operator["Loop"]) == (36 * times, 6 * times, 0)
    assert found.layers[0].flops == 42 * times
    assert found.parameters == 9


def choice(widths: tuple[Any, Any]) -> Graph:
    graph = Graph("g")
    condition, x = graph.add_input("c", typed(dtype=DType.BOOL)), graph.add_input("x", typed(N, 4))
    branches = []
    for number, width in enumerate(widths):
        branch = Graph(f"b{number}", parent=graph)
        kernel = branch.add_parameter("w", None, typed(4, width))
        hidden = branch.add(MatMul(), x, kernel, name="m")
        branch.set_outputs([branch.add(Softmax() if number else Relu(), hidden, name="y")])
        branches.append(branch)
    node = graph.add_node(If(1), [condition], name="if", subgraphs=branches)
    graph.set_outputs(node.outputs)
    return graph


def test_of_an_if_the_branch_with_the_most_counts() -> None:
    graph = choice((3, 5))
    for value in graph.inputs:
        value.graph.retype(value, typed(2, 4) if value.name == "x" else value.type)
    from graphir.inference.engine import fix_types

    fix_types(graph, {"x": (2, 4)}, None)
    found = graphir.cost(graph)
    assert (found.macs, found.flops) == (40, 80 + 50)
    assert {row.operator: row.flops for row in found.operators} == {"MatMul": 80, "Softmax": 50, "Relu": 0, "If": 0}


def test_of_an_if_with_open_sizes_the_larger_expression_counts() -> None:
    graph = choice((symbol("A"), symbol("B")))
    found = graphir.cost(graph)
    assert "max" in str(found.macs)
    assert {row.operator: row.flops for row in found.operators if row.operator != "If"} == {
        "MatMul": 0, "Softmax": 0, "Relu": 0,
    }  # fmt: skip
    (own,) = [row for row in found.operators if row.operator == "If"]
    assert own.flops == found.flops


def test_tables_of_words_compute_nothing() -> None:
    graph = Graph("g")
    table, rows = weight(graph, "table", 100, 8), graph.add_input("rows", typed(N, 5, dtype=DType.INT64))
    graph.set_outputs([graph.add(Gather(), table, rows, name="words")])
    found = graphir.cost(graph)
    assert (found.parameters, found.macs, found.flops, found.activation_bytes) == (800, 0, 0, 160 * N)


def test_a_long_graph_takes_linear_time() -> None:
    def long(count: int) -> Graph:
        graph = Graph("long")
        value = graph.add_input("x", typed(N, 8))
        for number in range(count):
            value = graph.add(Relu(), value, name=f"n{number}")
        graph.set_outputs([value])
        return graph

    graphs = {count: long(count) for count in (1_000, 10_000)}
    assert graphir.cost(graphs[10_000]).flops == 80_000 * N
    assert is_near_linear(lambda count: graphir.cost(graphs[count]), *graphs)


def test_only_graphs_have_a_cost() -> None:
    with pytest.raises(graphir.GraphirError, match=r"as graphir\.load gives it"):
        graphir.cost("model.onnx")  # type: ignore[arg-type]
