"""SAME as numbers: TensorFlow's own cases, sizes that are open, and what is recorded."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.errors import ShapeError, UnsupportedOpError
from graphir.graph import Graph
from graphir.node import Value
from graphir.ops.activation import Relu
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.elementwise import Add
from graphir.ops.pooling import AveragePool, LpPool, MaxPool
from graphir.ops.shape import Pad, PadMode, Transpose
from graphir.padding import Explicit, Same, SameMode, symmetric
from graphir.passes.explicit_padding import make_padding_explicit
from graphir.passes.fold_pad import fold_pads
from graphir.symbolic.dims import symbol
from graphir.types import DType, TensorType
from tests.building import run_model
from tests.inference.running import outputs_of
from tests.requirements import missing
from tests.typed import present, untyped

DATA = next(iter(Path(__file__).resolve().parents[3].glob("shared/golden/padding_golden.json")), None)
FORBIDDEN = ("p0460", "p0467")  # TensorFlow's documentation forbids stride 2 with dilation 2


@functools.cache
def golden() -> dict[str, dict[str, Any]]:
    """The cases that TensorFlow computes, by their numbers; none without the folder of golden data."""
    if DATA is None:
        return {}
    cases = json.loads(DATA.read_text())["cases"]
    return {case["id"]: case for case in cases if case["id"] not in FORBIDDEN and "tf_output_shape" in case}


def pieces() -> list[str]:
    return sorted({name[:4] for name in golden()}) or ["none"]


def some(piece: str) -> list[dict[str, Any]]:
    """The cases whose number begins so."""
    if piece == "none":
        missing("shared", "no folder `shared` with golden data beside the repository")
    return [case for name, case in golden().items() if name.startswith(piece)]


def graph_of(case: dict[str, Any], data: NDArray[Any] | None = None, weight: NDArray[Any] | None = None) -> Graph:
    """A case as a graph over `x` (N, C, spatial...) with the padding as a policy."""
    rank = len(case["kernel"])
    graph = Graph(case["id"])
    shape = case["input_shape"]
    x = graph.add_input("x", TensorType(DType.FLOAT32, (shape[0], shape[-1], *shape[1:-1])))
    same = case["padding"] == "SAME"
    stated = {
        "strides": tuple(case["stride"]),
        "padding": Same() if same else Explicit(),
    }
    kernel, dilations = tuple(case["kernel"]), tuple(case["dilation"])
    if case["op"].startswith("max_pool"):
        node = graph.add_node(MaxPool(kernel, dilations=dilations, **untyped(stated)), (x,))
    elif case["op"].startswith("avg_pool"):
        node = graph.add_node(AveragePool(kernel, dilations=dilations, **untyped(stated)), (x,))
    else:
        held = np.zeros(case["weight_shape"], np.float32) if weight is None else weight
        if case["op"].startswith("depthwise"):
            held = held.reshape(*kernel, 1, -1)
        elif case["op"].endswith("transpose"):
            output = tuple(case["output_shape_argument"][1:-1])
            order = (rank + 1, rank, *range(rank))
            w = graph.constant(np.ascontiguousarray(held.transpose(order)), name="w")
            node = graph.add_node(ConvTranspose(kernel, output_shape=output, **untyped(stated)), (x, w))
            graph.set_outputs(node.outputs[:1])
            return graph
        w = graph.constant(np.ascontiguousarray(held.transpose(rank + 1, rank, *range(rank))), name="w")
        group = shape[-1] // held.shape[-2]
        node = graph.add_node(Conv(kernel, dilations=dilations, group=group, **untyped(stated)), (x, w))
    graph.set_outputs(node.outputs[:1])
    return graph


def found_in(case: dict[str, Any]) -> tuple[object, ...]:
    """Shape, pads and output padding of a case; "refused" where no window fits."""
    try:
        graph = graph_of(case)
    except ShapeError:
        return ("refused",)
    make_padding_explicit(graph)
    graph.check()
    (node,) = graph.nodes
    batch, channels, *spatial = present(graph.outputs[0].shape)
    pads = untyped(node.op).padding.pads or ((0, 0),) * len(case["kernel"])
    extra = list(getattr(node.op, "output_padding", ())) or [0] * len(case["kernel"])
    return [batch, *spatial, channels], [list(pair) for pair in pads], extra


def wanted_of(case: dict[str, Any]) -> tuple[object, ...]:
    """TensorFlow's; it gives an empty tensor where no window fits, which no convolution of ONNX or MXNet does."""
    if 0 in case["tf_output_shape"]:
        return ("refused",)
    extra = case.get("output_padding", [0] * len(case["kernel"]))
    return case["tf_output_shape"], case["explicit_pads"], extra


@pytest.mark.parametrize("piece", pieces())
def test_shapes_and_pads_are_tensorflows(piece: str) -> None:
    cases = some(piece)
    assert {case["id"]: found_in(case) for case in cases} == {case["id"]: wanted_of(case) for case in cases}


def difference(case: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> float:
    """How far onnxruntime is from TensorFlow, of the result's scale."""
    x, weight, y = (arrays.get(f"{case['id']}_{name}") for name in "xwy")
    graph = graph_of(case, x, weight)
    make_padding_explicit(graph)
    place = graph.inputs[0]
    held = graph.constant(np.ascontiguousarray(np.moveaxis(present(x), -1, 1)), name="held")
    graph.replace_uses(place, held)
    (found,) = outputs_of(graph).values()
    return float(np.abs(np.moveaxis(found, 1, -1) - y).max() / max(np.abs(present(y)).max(), 1))


def test_numbers_are_tensorflows(shared: Path) -> None:
    with np.load(shared / "golden" / "padding_golden.npz") as file:
        arrays = {name: file[name] for name in file.files}
    cases = [case for case in golden().values() if case.get("tensors") and 0 not in case["tf_output_shape"]]
    far = {case["id"]: difference(case, arrays) for case in cases}
    assert len(far) > 100
    assert {name: error for name, error in far.items() if error > 1e-5} == {}


POLICIES = [pytest.param(Same(mode), id=mode.value) for mode in SameMode]
WINDOWS = [
    pytest.param(MaxPool((1, 2), strides=(2, 3)), id="MaxPool-narrow"),
    pytest.param(MaxPool((3, 2), strides=(2, 1)), id="MaxPool"),
    pytest.param(AveragePool((1, 2), strides=(2, 3)), id="AveragePool-narrow"),
    pytest.param(AveragePool((2, 2), strides=(3, 3), count_include_pad=True), id="AveragePool-narrow-include"),
    pytest.param(AveragePool((3, 3), strides=(2, 2)), id="AveragePool"),
    pytest.param(LpPool((2, 1), strides=(3, 2)), id="LpPool-narrow"),
    pytest.param(Conv((3, 2), strides=(2, 3), dilations=(2, 1)), id="Conv-dilated"),
    pytest.param(Conv((3, 2), dilations=(2, 3)), id="Conv-dilated-stride-1"),
    pytest.param(Conv((1, 2), strides=(2, 3)), id="Conv-narrow"),
    pytest.param(Conv((1, 2), strides=(4, 5)), id="Conv-narrow-by-3"),
    pytest.param(ConvTranspose((3, 2), strides=(2, 3)), id="ConvTranspose"),
    pytest.param(ConvTranspose((1, 2), strides=(2, 3)), id="ConvTranspose-narrow"),
]


def dims(sizes: str | tuple[int | str, ...]) -> list[Any]:
    return [symbol(size) if isinstance(size, str) else size for size in sizes]


def window_graph(op: Operator, sizes: tuple[int | str, ...]) -> Graph:
    graph = Graph("windows")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, *dims(sizes))))
    operands = [x]
    if isinstance(op, Conv | ConvTranspose):
        weight = np.cos(np.arange(2 * 2 * np.prod(op.kernel_shape))).reshape(2, 2, *op.kernel_shape)
        operands.append(graph.constant(weight.astype(np.float32), name="w"))
    graph.set_outputs(graph.add_node(op, operands, name="y").outputs[:1])
    return graph


def op_with(op: Operator, padding: Same) -> Operator:
    return cast("Operator", replace(untyped(op), padding=padding))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("op", WINDOWS)
@pytest.mark.parametrize("sizes", [(7, 8), (4, 9), (5, 5), (6, 10), (8, 11)], ids=str)
def test_open_sizes_give_what_known_sizes_give(op: Operator, policy: Same, sizes: tuple[int, ...]) -> None:
    open_graph = window_graph(op_with(op, policy), ("H", "W"))
    given = np.sin(np.arange(2 * np.prod(sizes), dtype=np.float32)).reshape(1, 2, *sizes) - 2
    known_graph = window_graph(op_with(op, policy), sizes)
    assert make_padding_explicit(known_graph)
    known_graph.check()
    found = run(open_graph, given)
    np.testing.assert_allclose(found, run(known_graph, given), rtol=1e-5, atol=1e-6)
    assert found.shape == known_graph.outputs[0].shape


def run(graph: Graph, x: NDArray[Any]) -> NDArray[Any]:
    (result,) = run_model(graph, {"x": x}).values()
    return result


DECISIONS = [
    (Conv((3, 3), strides=(2, 2), padding=Same()), (224, 225),
     ["SAME_UPPER on 224x225, kernel 3x3, stride 2x2: pads (0, 1), (1, 1) (before, after) of each axis"]),
    (Conv((3, 3), padding=Same()), (224, 225), []),
    (Conv((2, 2), padding=Same(SameMode.LOWER)), ("H", "W"),
     ["SAME_LOWER, kernel 2x2, stride 1x1: pads (1, 0), (1, 0) (before, after) of each axis"]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "sizes", "texts"), DECISIONS)
def test_what_depends_on_the_size_or_has_sides_is_recorded(
    op: Conv, sizes: tuple[int | str, ...], texts: list[str]
) -> None:
    graph = window_graph(op, sizes)
    assert make_padding_explicit(graph)
    assert [decision.text for decision in graph.decisions] == texts
    assert not make_padding_explicit(graph)


@pytest.mark.parametrize("op", [Conv((3, 3), strides=(2, 2), padding=Same()), MaxPool((2, 2), (2, 2), padding=Same())])
def test_what_needs_an_open_size_stays(op: Operator) -> None:
    graph = window_graph(op, ("H", 8))
    assert not make_padding_explicit(graph)
    assert graph.nodes[0].op == op


def test_indices_of_a_dilated_same_need_the_size() -> None:
    graph = Graph("indices")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, *dims("HW"))))
    graph.set_outputs(graph.add_node(MaxPool((2, 2), (2, 2), (2, 2), padding=Same()), (x,)).outputs)
    with pytest.raises(UnsupportedOpError, match="state the inputs' shapes"):
        run(graph, np.zeros((1, 2, 4, 4), np.float32))


def padded_graph(
    op: Operator,
    *,
    fill: float | None = None,
    mode: PadMode = PadMode.CONSTANT,
    pads: tuple[int, ...] = (0, 0, 1, 0, 0, 0, 1, 2),
    relu: bool = False,
    shared_use: bool = False,
) -> Graph:
    graph = Graph("padded")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, 6, 7)))
    data = graph.add(Relu(), x) if relu else x
    operands = [data, graph.constant(np.array(pads, np.int64), name="pads")]
    if fill is not None:
        operands.append(graph.constant(np.float32(fill), name="fill"))
    padded = graph.add(Pad(mode), *operands, name="padded")
    rest: tuple[Value, ...] = ()
    if isinstance(op, Conv):
        weight = np.cos(np.arange(4 * np.prod(op.kernel_shape))).reshape(2, 2, *op.kernel_shape).astype(np.float32)
        rest = (graph.constant(weight, name="w"),)
    result = graph.add_node(op, (padded, *rest), name="y").outputs[0]
    outputs = [result]
    if shared_use:
        outputs.append(graph.add(Add(), padded, padded, name="z"))
    graph.set_outputs(outputs)
    return graph


MERGED = [
    ({"op": Conv((3, 3))}, Explicit(((1, 1), (0, 2)))),
    ({"op": Conv((3, 3), padding=symmetric((1, 2)))}, Explicit(((2, 2), (2, 4)))),
    ({"op": Conv((3, 3), strides=(2, 2)), "shared_use": True}, Explicit(((1, 1), (0, 2)))),
    ({"op": AveragePool((3, 3))}, Explicit(((1, 1), (0, 2)))),
    ({"op": AveragePool((3, 3), padding=symmetric((1, 0)), count_include_pad=True)}, Explicit(((2, 2), (0, 2)))),
    ({"op": MaxPool((3, 3)), "fill": -np.inf}, Explicit(((1, 1), (0, 2)))),
    ({"op": MaxPool((3, 3)), "relu": True}, Explicit(((1, 1), (0, 2)))),
]
KEPT = [
    {"op": Conv((3, 3)), "fill": 1.0},
    {"op": Conv((3, 3)), "mode": PadMode.EDGE},
    {"op": Conv((3, 3)), "pads": (0, 1, 1, 0, 0, -1, 1, 2)},
    {"op": Conv((3, 3)), "pads": (0, 0, -1, 0, 0, 0, 1, 2)},
    {"op": Conv((3, 3), padding=Same())},
    {"op": AveragePool((3, 3), padding=symmetric((1, 0)))},
    {"op": AveragePool((3, 3), ceil_mode=True)},
    {"op": MaxPool((3, 3))},
    {"op": MaxPool((2, 2)), "relu": True},
    {"op": MaxPool((3, 3), ceil_mode=True), "fill": -np.inf},
]


@pytest.mark.parametrize(("case", "padding"), MERGED)
def test_a_pad_joins_the_window_behind_it(case: dict[str, Any], padding: Explicit) -> None:
    graph = padded_graph(**case)
    before = outputs_of(graph)
    assert fold_pads(graph)
    graph.check()
    (node,) = [node for node in graph.nodes if isinstance(node.op, type(case["op"]))]
    assert untyped(node.op).padding == padding
    assert any(isinstance(node.op, Pad) for node in graph.nodes) == case.get("shared_use", False)
    after = outputs_of(graph)
    assert after.keys() == before.keys()
    assert all(np.allclose(after[name], before[name], rtol=1e-5, atol=1e-6) for name in before)
    assert not fold_pads(graph)


def last_graph(
    *, users: int = 1, pads: tuple[int, ...] = (0, 1, 0, 0, 0, 1, 2, 0), padded_output: bool = False
) -> Graph:
    """A Pad of channels that stand last, a Transpose and convolutions behind it."""
    graph = Graph("last")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 6, 7, 2)))
    padded = graph.add(Pad(), x, graph.constant(np.array(pads, np.int64), name="pads"), name="padded")
    turned = graph.add(Transpose((0, 3, 1, 2)), padded, name="turned")
    weight = graph.constant(np.cos(np.arange(36)).reshape(2, 2, 3, 3).astype(np.float32), name="w")
    made = [graph.add(Conv((3, 3)), turned, weight, name=f"y{index}") for index in range(users)]
    graph.set_outputs([*made, *([padded] if padded_output else [])])
    return graph


TURNED = [({}, True, 0), ({"padded_output": True}, True, 1), ({"users": 2}, False, 1),
          ({"pads": (0, 0, 0, 1, 0, 0, 0, -1)}, False, 1)]  # fmt: skip


@pytest.mark.parametrize(("case", "changed", "left"), TURNED)
def test_a_pad_joins_the_window_behind_a_transpose(case: dict[str, Any], changed: bool, left: int) -> None:
    graph = last_graph(**case)
    before = outputs_of(graph)
    assert fold_pads(graph).changed == changed
    graph.check()
    assert [type(node.op) for node in graph.nodes].count(Pad) == left
    if changed:
        assert untyped(present(graph["y0"].producer).op).padding == Explicit(((1, 1), (0, 2)))
        assert present(present(graph["y0"].producer).inputs[0]).name == "turned"
    after = outputs_of(graph)
    assert all(np.allclose(after[name], before[name], rtol=1e-5, atol=1e-6) for name in before)


@pytest.mark.parametrize("case", KEPT)
def test_a_pad_that_means_something_else_stays(case: dict[str, Any]) -> None:
    graph = padded_graph(**case)
    assert not fold_pads(graph)
    assert any(isinstance(node.op, Pad) for node in graph.nodes)


@pytest.mark.parametrize("opset", [13, 17, 18, 23])
@pytest.mark.parametrize("fill", [None, 0.0, -3.0])
@pytest.mark.parametrize("axes", [False, True])
def test_onnxruntime_does_not_make_zeros_the_padding_of_a_max_pool(opset: int, fill: float | None, axes: bool) -> None:
    """Its fusion would lose the zeros, which are larger than the negative numbers here."""
    from graphir.converters.onnx import to_model

    graph = Graph("fusion")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 2, 6, 7)))
    amounts = (1, 0, 1, 2) if axes else (0, 0, 1, 0, 0, 0, 1, 2)
    operands: list[Value | None] = [x, graph.constant(np.array(amounts, np.int64))]
    operands += [None if fill is None else graph.constant(np.float32(fill))]
    if axes:
        operands.append(graph.constant(np.array([2, 3], np.int64)))
    padded = graph.add_node(Pad(), operands).outputs[0]
    graph.set_outputs(graph.add_node(MaxPool((3, 3)), (padded,), name="y").outputs[:1])
    given = -1 - np.random.default_rng(0).random((1, 2, 6, 7), np.float32)
    (found,) = run_model(to_model(graph, opset=opset), {"x": given}).values()
    wide = np.pad(given, ((0, 0), (0, 0), (1, 1), (0, 2)), constant_values=fill or 0.0)
    wanted = untyped(np.lib.stride_tricks.sliding_window_view)(wide, (3, 3), (2, 3)).max((-2, -1))
    assert np.array_equal(found, wanted)


REFUSED = [
    (AveragePool((1, 1)), (0, 1, 0, 0)),
    (AveragePool((2, 2), padding=symmetric((1, 1)), count_include_pad=True), (1, 1, 1, 1)),
    (AveragePool((1, 1), strides=(2, 2), padding=Same()), (0, 1, 0, 1)),
    (AveragePool((3, 3), strides=(2, 2), ceil_mode=True, count_include_pad=True), (0, 1, 0, 0)),
]


@pytest.mark.parametrize("opset", [17, 18, 23])
@pytest.mark.parametrize(("op", "pads"), REFUSED)
def test_onnxruntime_does_not_make_zeros_the_padding_of_an_average_that_has_no_room(
    op: AveragePool, pads: tuple[int, ...], opset: int
) -> None:
    """Its fusion would make a model of it that onnxruntime refuses, or with ceil mode other divisors."""
    from graphir.converters.onnx import to_model

    graph = padded_graph(op, pads=(0, 0, *pads[:2], 0, 0, *pads[2:]))
    given = np.random.default_rng(0).random((1, 2, 6, 7), np.float32)
    model = to_model(graph, opset=opset)
    found, wanted = (run_model(model, {"x": given}, optimize=optimize)["y"] for optimize in (True, False))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
