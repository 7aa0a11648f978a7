"""Resize of some axes behind a Transpose: what onnxruntime's optimisations do not break, in as few operators."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.resize import Coordinates, Resize, ResizeMode
from graphir.ops.shape import Transpose
from graphir.types import DType, TensorType
from graphir.verification.running.references import RuntimeReference
from tests.equivalence.test_onnx import run_model


def network(batch: int | str, given: str, wanted: tuple[int, int], axes: tuple[int, ...] = (2, 3)) -> Graph:
    """A resize in NCHW between inputs and outputs in NHWC."""
    graph = Graph("resized")
    x = graph.add_input("x", TensorType(DType.FLOAT32, graphir.types.parse_shape(f"{batch},5,4,3")))
    first = graph.add(Relu(), graph.add(Transpose((0, 3, 1, 2)), x))
    factors = (wanted[0] / 5, wanted[1] / 4) if given == "factors" else ()
    sizes = None
    if given == "sizes":
        sizes = graph.constant(list(wanted), DType.INT64)
    if given == "computed":
        sizes = graph.add_input("sizes", TensorType(DType.INT64, (2,)))
    op = Resize(ResizeMode.LINEAR, Coordinates.HALF_PIXEL, factors=factors, axes=axes)
    resized = graph.add(op, first, None, None, sizes)
    graph.set_outputs([graph.add(Transpose((0, 2, 3, 1)), resized, name="y")])
    return graph


ROWS = [
    (2, "sizes", (8, 6), 0),
    ("N", "sizes", (8, 6), 0),
    ("N", "sizes", (7, 3), 0),
    (2, "factors", (10, 6), 0),
    ("N", "factors", (10, 6), 0),
    (2, "computed", (8, 6), 3),
    ("N", "computed", (8, 6), 3),
]


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize(("batch", "given", "wanted", "more"), ROWS)
def test_resize_behind_a_transpose_runs(
    batch: int | str, given: str, wanted: tuple[int, int], more: int, opset: int
) -> None:
    graph = network(batch, given, wanted)
    model = to_model(graph, opset=opset)
    counts = Counter(node.op_type for node in model.graph.node)
    assert sum(counts.values()) == len(graph) + more
    feeds: dict[str, NDArray[Any]] = {"x": np.random.default_rng(1).normal(size=(2, 5, 4, 3)).astype(np.float32)}
    if given == "computed":
        feeds["sizes"] = np.array(wanted, np.int64)
    (found,) = run_model(model, feeds)
    (expected,) = RuntimeReference(graph).run(feeds).values()
    assert found.shape == (2, *wanted, 3)
    assert np.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("old", range(1, 40, 3))
def test_factors_of_sizes_give_those_sizes(old: int) -> None:
    graph = Graph("resized")
    x = graph.add_input("x", TensorType(DType.FLOAT32, graphir.types.parse_shape(f"N,2,{old}")))
    outputs = [
        graph.add(Resize(ResizeMode.LINEAR, axes=(2,)), x, None, None, sizes, name=f"y{new}")
        for new, sizes in ((new, graph.constant([new], DType.INT64)) for new in range(1, 60))
    ]
    graph.set_outputs(outputs)
    found = graphir.Session(graph).run({"x": np.ones((1, 2, old), np.float32)})
    assert {name: array.shape for name, array in found.items()} == {f"y{new}": (1, 2, new) for new in range(1, 60)}
