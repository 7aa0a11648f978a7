"""Scales and shifts that go into weights, and what is computed twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.elementwise import Add, Div, Mul, Sub
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.normalization import BatchNormalization
from graphir.ops.random import RandomNormalLike
from graphir.ops.shape import Transpose
from graphir.ops.shape_parts import Concat
from graphir.passes.common_subexpressions import merge_equal_nodes
from graphir.passes.fold_scales import KIND, fold_scales
from graphir.types import DType, TensorType
from tests.inference.running import outputs_of
from tests.typed import present

RANDOM = np.random.default_rng(7)


def floats(*shape: int) -> NDArray[Any]:
    return RANDOM.uniform(0.5, 2, shape).astype(np.float32)


SCALE, SHIFT = floats(4, 1, 1), floats(1, 4, 1, 1)
NORM = tuple(floats(4) for _ in range(4))
CONV = (Conv((2, 2)), (1, 3, 5, 6), (floats(4, 3, 2, 2),))
BIASED = (Conv((2, 2)), (1, 3, 5, 6), (floats(4, 3, 2, 2), floats(4)))
GROUPED = (Conv((2, 2), group=2), (1, 4, 5, 6), (floats(4, 2, 2, 2),))
BACK = (ConvTranspose((2, 2), strides=(2, 2)), (1, 3, 5, 6), (floats(3, 4, 2, 2), floats(4)))
GEMM = (Gemm(transB=True, beta=0.5), (2, 3), (floats(4, 3), floats(4)))
PRODUCT = (MatMul(), (2, 3), (floats(3, 4),))
FOLDED = [
    (CONV, [(Mul(), SCALE)], Conv),
    (CONV, [(Mul(), SCALE), (Add(), SHIFT)], Conv),
    (BIASED, [(Mul(), SCALE), (Add(), SHIFT)], Conv),
    (BIASED, [(Sub(), SHIFT), (Div(), SCALE), (Add(), SHIFT), (Mul(), np.float32(3))], Conv),
    (GROUPED, [(Mul(), SCALE), (Add(), SHIFT)], Conv),
    (BACK, [(Mul(), SCALE), (Sub(), SHIFT)], ConvTranspose),
    (CONV, [(BatchNormalization(epsilon=1e-3), *NORM)], Conv),
    (BIASED, [(Add(), SHIFT), (BatchNormalization(epsilon=1e-2), *NORM)], Conv),
    (GEMM, [(Mul(), floats(4)), (Add(), floats(1, 4))], Gemm),
    (PRODUCT, [(Add(), floats(4))], Gemm),
    (PRODUCT, [(Mul(), floats(1, 4)), (Add(), floats(4))], Gemm),
]
TURNED = [
    (CONV, [(Transpose((0, 2, 3, 1)),), (Add(), floats(4))]),
    (BIASED, [(Transpose((0, 2, 3, 1)),), (Mul(), floats(1, 1, 4)), (Add(), floats(4))]),
    (BIASED, [(Transpose((0, 1, 3, 2)),), (BatchNormalization(), *NORM)]),
    (GEMM, [(Transpose((1, 0)),), (Mul(), floats(4, 1))]),
]
KEPT = [
    (CONV, [(Mul(), floats(1, 1, 4, 5))]),
    (CONV, [(Add(), floats(4, 4, 5))]),
    (PRODUCT, [(Add(), floats(2, 4))]),
    (GEMM, [(Mul(), floats(2, 1))]),
    (CONV, [(Relu(),)]),
    (CONV, [(Transpose((0, 2, 3, 1)),), (Add(), floats(4, 5, 1))]),
    ((MatMul(), (2, 2, 3), (floats(3, 4),)), [(Add(), floats(4))]),
]


def network(
    layer: tuple[Operator, tuple[int, ...], tuple[NDArray[Any], ...]],
    steps: list[tuple[Any, ...]],
    *,
    second_use: str = "",
) -> Graph:
    """A layer over x and what follows it; `second_use` of the layer's result or weights."""
    op, shape, weights = layer
    graph = Graph("scaled")
    x = graph.add_input("x", TensorType(DType.FLOAT32, shape))
    parameters = [graph.constant(array, name=f"p{index}") for index, array in enumerate(weights)]
    value = first = graph.add(op, x, *parameters, name="layer")
    for index, (step, *constants) in enumerate(steps):
        operands = [graph.constant(array, name=f"c{index}_{place}") for place, array in enumerate(constants)]
        value = graph.add(step, value, *operands, name=f"step{index}")
    outputs = [value]
    if second_use == "result":
        outputs.append(graph.add(Relu(), first, name="other"))
    if second_use == "weights":
        outputs.append(graph.add(op, x, *parameters, name="other"))
    if second_use == "output":
        outputs.append(first)
    graph.set_outputs(outputs)
    return graph


@pytest.mark.parametrize(("layer", "steps", "kind"), FOLDED)
def test_scales_and_shifts_go_into_the_layer(
    layer: tuple[Operator, tuple[int, ...], tuple[NDArray[Any], ...]],
    steps: list[tuple[Any, ...]],
    kind: type[Operator],
) -> None:
    graph = network(layer, steps)
    before = outputs_of(graph)
    assert fold_scales(graph)
    graph.check()
    (node,) = graph.nodes
    assert isinstance(node.op, kind)
    after = outputs_of(graph)
    assert after.keys() == before.keys()
    assert all(np.allclose(after[name], before[name], rtol=2e-6, atol=1e-6) for name in before)
    assert [(found.kind, found.node) for found in graph.decisions] == [(KIND, "layer")]
    assert "behind 1 layer " in graph.decisions[0].text
    assert not fold_scales(graph)


@pytest.mark.parametrize(("layer", "steps"), TURNED)
def test_a_transpose_between_stays_behind(
    layer: tuple[Operator, tuple[int, ...], tuple[NDArray[Any], ...]], steps: list[tuple[Operator | NDArray[Any], ...]]
) -> None:
    graph = network(layer, steps)
    for value in graph.values:
        value.sources = (f"source_{value.name}",)
    (name, before), = outputs_of(graph).items()
    assert fold_scales(graph)
    graph.check()
    (first, last) = graph.nodes
    assert isinstance(last.op, Transpose)
    assert [value.name for value in graph.outputs] == [name]
    assert np.allclose(outputs_of(graph)[name], before, rtol=2e-6, atol=1e-6)
    assert {first.output.sources, last.output.sources} == {(f"source_{name}",)}


@pytest.mark.parametrize(("layer", "steps", "kind"), FOLDED)
def test_only_the_last_source_is_what_is_computed(
    layer: tuple[Operator, tuple[int, ...], tuple[NDArray[Any], ...]],
    steps: list[tuple[Any, ...]],
    kind: type[Operator],
) -> None:
    graph = network(layer, steps)
    for value in graph.values:
        value.sources = (f"source_{value.name}",)
    fold_scales(graph)
    assert graph.outputs[0].sources == (f"source_step{len(steps) - 1}",)


@pytest.mark.parametrize(("layer", "steps"), KEPT)
def test_what_is_no_scale_of_channels_stays(
    layer: tuple[Operator, tuple[int, ...], tuple[NDArray[Any], ...]], steps: list[tuple[Operator | NDArray[Any], ...]]
) -> None:
    graph = network(layer, steps)
    parameters = list(graph.parameters)
    assert not fold_scales(graph)
    assert list(graph.parameters) == parameters
    assert len(graph) == 1 + len(steps)
    assert not graph.decisions


@pytest.mark.parametrize("second_use", ["result", "weights", "output"])
def test_what_others_read_stays(second_use: str) -> None:
    graph = network(CONV, [(Mul(), SCALE)], second_use=second_use)
    before = outputs_of(graph)
    assert not fold_scales(graph)
    assert all(np.array_equal(array, before[name]) for name, array in outputs_of(graph).items())


def test_parameters_keep_their_names_and_are_read_late() -> None:
    graph = network(BIASED, [(Mul(), SCALE), (Add(), SHIFT)])
    fold_scales(graph)
    assert [value.name for value in graph.parameters if value.uses] == ["p0", "p1"]
    assert "computed" in repr(graph["p0"].tensor)


def twins() -> Graph:
    graph = Graph("twins")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    left, right = (graph.add(Relu(), x, name=f"relu{side}") for side in "ab")
    pair = graph.add(Concat(0), graph.add(Add(), left, right), graph.add(Concat(-2), x, right, name="inner"), name="y")
    graph.set_outputs([pair, graph.add(Relu(), x, name="named")])
    return graph


def test_equal_nodes_are_one_and_concats_are_joined() -> None:
    graph = twins()
    before = outputs_of(graph)
    assert merge_equal_nodes(graph)
    graph.check()
    assert sum(isinstance(node.op, Relu) for node in graph.nodes) == 2
    (joined,) = [node for node in graph.nodes if isinstance(node.op, Concat)]
    assert [present(value).name for value in joined.inputs] == ["Add", "x", "relua"]
    after = outputs_of(graph)
    assert list(after) == list(before)
    assert all(np.array_equal(after[name], before[name]) for name in before)
    assert not merge_equal_nodes(graph)


def test_random_nodes_stay_apart() -> None:
    graph = Graph("noise")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    noise = [graph.add(RandomNormalLike(), x, name=f"noise{side}") for side in "ab"]
    graph.set_outputs([graph.add(Add(), *noise, name="y")])
    assert not merge_equal_nodes(graph)
