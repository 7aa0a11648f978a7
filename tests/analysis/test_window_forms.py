"""Windows that a target is made of several nodes for are found again as one: a model agrees with what became of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from numpy.typing import NDArray

from graphir import load, save
from graphir.analysis.padding_audit import audit_graphs
from graphir.analysis.windows import find_windows
from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.onnx import from_model, to_model
from graphir.converters.table import fixes_of
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.elementwise import Div
from graphir.ops.pooling import AveragePool, GlobalAveragePool, GlobalMaxPool, LpPool, MaxPool
from graphir.ops.shape import Flatten, Pad, PadMode, Transpose
from graphir.ops.slicing import Slice
from graphir.padding import Explicit, Padding, Same, SameMode, symmetric
from graphir.types import DType, TensorType
from tests.analysis.windowed import Model, is_sound, variants
from tests.passes.test_explicit_padding import window_graph
from tests.typed import present


def through_mxnet(graph: Graph, shape: tuple[int, ...]) -> Graph:
    text, params = to_symbol(graph)
    return from_symbol(text, params, shapes={graph.inputs[0].name: shape})


SAME, LOWER = Same(), Same(SameMode.LOWER)
FORMS = [
    Model("conv", (8, 9), (3, 3), (2, 2), SAME),
    Model("conv", (9,), (2,), (1,), SAME),
    Model("conv", (9,), (3,), (1,), Explicit(((2, 0),))),
    Model("conv", (8, 9, 5), (3, 2, 3), (2, 1, 2), LOWER),
    Model("max", (8, 9), (3, 3), (2, 2), SAME),
    Model("max", (9,), (2,), (1,), LOWER),
    Model("max", (8, 9), (2, 2), (2, 2), ceil=True),
    Model("average", (8, 9), (3, 3), (2, 2), SAME),
    Model("average", (8, 9), (3, 2), (1, 1), SAME),
    Model("average", (8, 9), (3, 2), (1, 1), Explicit(((0, 1), (1, 0))), include=True),
    Model("average", (9,), (2,), (1,), SAME),
    Model("average", (6, 6), (7, 7), (1, 1), Explicit(((0, 1), (0, 1)))),
    Model("lp", (8, 9), (3, 3), (2, 2), SAME),
    Model("transposed", (5, 6), (3, 3), (2, 2), SAME),
    Model("transposed", (5, 6), (3, 4), (2, 1), SAME),
    Model("transposed", (5,), (3,), (2,), SAME),
    Model("transposed", (5, 6), (3, 3), (2, 2), symmetric((1, 1)), extra=(1, 1)),
]


@pytest.mark.parametrize("model", FORMS, ids=lambda model: f"{model.kind}-{model.sizes}-{model.kernel}")
def test_a_model_agrees_with_what_became_of_it_in_mxnet(model: Model) -> None:
    graph = model.graph()
    found = audit_graphs(graph, through_mxnet(graph, (1, 2, *model.sizes)), fixes_of("mxnet"))
    assert [text for pair in found.pairs for text in pair.disagreements] == []
    assert len(found.pairs) == 1


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(variants())
def test_a_model_agrees_with_what_became_of_it_in_onnx(pair: tuple[Model, ...]) -> None:
    model = pair[0]
    assume(is_sound(model))
    graph = model.graph()
    assert audit_graphs(graph, from_model(to_model(graph)), fixes_of("onnx")).agrees
    assert audit_graphs(from_model(to_model(graph)), graph).agrees


@pytest.mark.parametrize("opset", [17, 18, 23])
@pytest.mark.parametrize("padding", [SAME, symmetric((0,))], ids=["same", "valid"])
@pytest.mark.parametrize("kind", ["max", "average"])
def test_a_pad_that_a_runtime_must_not_fuse_is_in_front_again(kind: str, padding: Padding, opset: int) -> None:
    model = Model(kind, (3,), (2,), (1,), padding, front=(PadMode.CONSTANT, 0.0, ((0, 2),)))
    graph = from_model(to_model(model.graph(), opset=opset))
    assert audit_graphs(model.graph(), graph, fixes_of("onnx")).agrees
    assert [window.pad_node for window in find_windows(graph)] == ["front"]


OPEN = [
    Conv((3, 3), strides=(2, 2), dilations=(2, 2), padding=SAME),
    Conv((1, 1), strides=(3, 3), padding=LOWER),
    Conv((3, 2), strides=(2, 3), dilations=(1, 2), padding=LOWER),
    MaxPool((1, 2), (2, 3), padding=SAME),
    AveragePool((1, 2), (2, 3), padding=SAME),
    AveragePool((2, 2), (3, 3), padding=LOWER, count_include_pad=True),
    LpPool((2, 1), (3, 2), padding=SAME),
]


@pytest.mark.parametrize("op", OPEN, ids=lambda op: type(op).__name__)
@pytest.mark.parametrize("sizes", [("H", "W"), (7, 8)], ids=str)
def test_padding_that_is_computed_from_the_shape_is_the_policy_again(
    op: Operator, sizes: tuple[int | str, ...], tmp_path: Path
) -> None:
    graph = window_graph(op, ("H", "W"))
    assert any(node.op_type == "Pad" for node in to_model(graph).graph.node)
    save(graph, tmp_path / "open.onnx")
    (found,) = find_windows(load(tmp_path / "open.onnx", shapes={"x": (1, 2, *sizes)}))
    (wanted,) = find_windows(window_graph(op, sizes))
    assert (found.pads, found.divisor) == (wanted.pads, wanted.divisor)
    assert "H" not in sizes or found.policy == wanted.policy


def graph_with(
    op: Operator,
    behind: tuple[Flatten, ...] = (),
    *,
    shape: tuple[int, ...] = (1, 3, 6, 6),
    weight: NDArray[Any] | None = None,
) -> Graph:
    graph = Graph("net")
    x = graph.add_input("x", TensorType(DType.FLOAT32, shape))
    operands = [] if weight is None else [graph.constant(weight, name="weight")]
    value = graph.add_node(op, [x, *operands], name="layer").outputs[0]
    for step in behind:
        value = graph.add_node(step, [value], name=type(step).__name__).outputs[0]
    graph.set_outputs([value])
    return graph


WHOLE = [
    (AveragePool((6, 6)), GlobalAveragePool(), True),
    (AveragePool((6, 6), (2, 2)), GlobalAveragePool(), True),
    (MaxPool((6, 6)), GlobalMaxPool(), True),
    (AveragePool((5, 5)), GlobalAveragePool(), False),
    (AveragePool((7, 7), padding=Explicit(((0, 1), (0, 1)))), GlobalAveragePool(), False),
    (MaxPool((6, 6)), GlobalAveragePool(), False),
]


@pytest.mark.parametrize(("window", "other", "agrees"), WHOLE)
def test_a_window_over_all_data_is_what_always_reads_all(window: Operator, other: Operator, agrees: bool) -> None:
    behind = (Flatten(),)
    graphs = graph_with(window, behind), graph_with(other, behind)
    assert audit_graphs(*graphs).agrees == agrees
    assert audit_graphs(graphs[1], graphs[0]).agrees == agrees


SLICES = [
    # begin, end, axes, steps, whether it is a crop
    ((1, 0), (10, 11), (2, 3), None, True),
    ((0, 1), (-1, 2**62), (2, 3), None, True),
    ((0, 0), (-1, -1), (-2, -1), (1, 1), True),
    ((0, 0), (9, 9), (2, 3), (2, 1), False),
    ((1,), (3,), (1,), None, False),
]


@pytest.mark.parametrize(("begin", "end", "axes", "steps", "is_crop"), SLICES)
def test_a_slice_behind_a_transposed_convolution_is_its_crop(
    begin: tuple[int, ...], end: tuple[int, ...], axes: tuple[int, ...], steps: tuple[int, ...] | None, is_crop: bool
) -> None:
    graph = Graph("crop")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 3, 5, 5)))
    weight = graph.constant(np.ones((3, 4, 3, 3), np.float32), name="weight")
    whole = graph.add(ConvTranspose((3, 3), strides=(2, 2)), x, weight, name="layer")
    bounds = [graph.constant(np.array(numbers, np.int64)) for numbers in (begin, end, axes, steps) if numbers]
    cut = graph.add(Slice(), whole, *bounds, name="cut")
    graph.set_outputs([cut])
    (found,) = find_windows(graph)
    sizes = tuple(11 - before - after for before, after in present(found.pads))
    assert (found.pads != ((0, 0), (0, 0))) == is_crop
    assert found.results == (sizes if is_crop else (11, 11))
    assert found.name == "layer"


def test_a_divisor_that_is_something_else_stays() -> None:
    graph = window_graph(AveragePool((3, 3), padding=symmetric((1, 1)), count_include_pad=True), (6, 7))
    mean = graph.outputs[0]
    divisor = np.full((1, 1, 6, 7), 0.5, np.float32)
    graph.set_outputs([graph.add(Div(), mean, graph.constant(divisor, name="divisor"), name="half")])
    assert [window.divisor for window in find_windows(graph)] == ["data and padding"]


@pytest.mark.parametrize("order", [(), (0, 3, 1, 2)])
def test_a_pad_that_fills_with_something_else_is_seen(order: tuple[int, ...]) -> None:
    graph = Graph("front")
    last = bool(order)
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 6, 7, 2) if last else (1, 2, 6, 7)))
    amounts = (0, 1, 0, 0, 0, 0, 2, 0) if last else (0, 0, 1, 0, 0, 0, 0, 2)
    rest = graph.constant(np.array(amounts, np.int64)), graph.constant(np.float32(2))
    value = graph.add(Pad(), x, *rest, name="front")
    value = graph.add(Transpose(order), value) if last else value
    graph.set_outputs(graph.add_node(MaxPool((3, 3)), (value,), name="layer").outputs[:1])
    (found,) = find_windows(graph)
    assert (found.pads, found.fill, found.sizes) == (((1, 0), (0, 2)), "2", (6, 7))
    assert (found.flags, found.pad_node) == (("asymmetric", "fill"), "front")


def test_windows_over_one_axis_are_windows_over_two() -> None:
    weight = np.random.default_rng(0).standard_normal((4, 3, 3)).astype(np.float32)
    lone = graph_with(Conv((3,), padding=symmetric((1,))), shape=(1, 3, 9), weight=weight)
    wide = graph_with(Conv((1, 3), padding=symmetric((0, 1))), shape=(1, 3, 1, 9), weight=weight[:, :, None])
    wrong = graph_with(Conv((1, 3)), shape=(1, 3, 1, 9), weight=weight[:, :, None])
    assert audit_graphs(lone, wide).agrees
    assert not audit_graphs(lone, wrong).agrees


def test_other_sizes_and_other_networks_are_noted() -> None:
    one = Model("conv", (8, 9), (3, 3), (2, 2), SAME)
    assert audit_graphs(one.graph(), one.graph()).notes == ()
    (note,) = audit_graphs(one.graph(), replace(one, sizes=(9, 9)).graph()).notes
    assert note.startswith("the inputs have other sizes: 1x2x8x9 in the first model, 1x2x9x9 in the second")
    (note,) = audit_graphs(one.graph(), Model("max", (8, 9), (2, 2), (1, 1)).graph()).notes
    assert note.startswith("only 0 of 2 windows have a counterpart of the same kind")
    (note,) = audit_graphs(graph_with(Flatten()), graph_with(Flatten())).notes
    assert "nothing to compare" in note
