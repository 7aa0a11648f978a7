"""Regions that a choice leaves out are not pooled, and what is pooled stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.ops.detection import RoiAlign
from graphir.ops.elementwise import Where
from graphir.tensor import Tensor
from graphir.types import DType, TensorType
from tests.building import Arrays, run_model

BOXES = [[0, 0, 4, 4], [1, 2, 7, 7], [2, 2, 3, 8], [0, 1, 5, 2]]


def chosen(
    *, is_kept: bool = False, fill: float = 0.0, is_read: bool = False, count: int | str = "R", levels: int = 2
) -> Graph:
    """Regions of an image of which a condition keeps some, or leaves some out, at each level."""
    graph = Graph("level")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (1, 2, 8, 8)))
    boxes = graph.add_input("boxes", TensorType(DType.FLOAT32, (count, 4)))
    images = graph.add_input("images", TensorType(DType.INT64, (count,)))
    condition = graph.add_input("condition", TensorType(DType.BOOL, (count, 1, 1, 1)))
    number = graph.add_parameter("fill", Tensor.of(np.float32(fill)))
    outputs = []
    for level in range(levels):
        pooled = graph.add(RoiAlign(2 + level, 3, 2), data, boxes, images, output=f"pooled{level}")
        choices = (pooled, number) if is_kept else (number, pooled)
        outputs += [graph.add(Where(), condition, *choices, output=f"level{level}"), *([pooled] if is_read else [])]
    graph.set_outputs(outputs)
    return graph


def fed(*condition: bool) -> Arrays:
    return {
        "data": np.random.default_rng(0).normal(size=(1, 2, 8, 8)).astype(np.float32),
        "boxes": np.array(BOXES, np.float32),
        "images": np.zeros(4, np.int64),
        "condition": np.array(condition).reshape(4, 1, 1, 1),
    }


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("fill", [0.0, -3.5])
@pytest.mark.parametrize("condition", [(True, False, False, True), (True,) * 4, (False,) * 4])
@pytest.mark.parametrize("count", ["R", 4])
def test_what_is_chosen_is_the_same(
    is_kept: bool, fill: float, condition: tuple[bool, ...], count: int | str
) -> None:
    graph = chosen(is_kept=is_kept, fill=fill, count=count)
    assert "NonZero" in {node.op_type for node in to_model(graph).graph.node}
    assert [type(node.op) for node in graph.nodes] == [RoiAlign, Where] * 2
    every = run_model(chosen(is_kept=is_kept, fill=fill, is_read=True, count=count), fed(*condition))
    results = run_model(graph, fed(*condition))
    assert all((results[name] == every[name]).all() for name in ("level0", "level1"))


def test_regions_that_are_read_are_pooled() -> None:
    assert "NonZero" not in {node.op_type for node in to_model(chosen(is_read=True)).graph.node}


def test_a_single_pooling_keeps_sizes_that_are_known_before_the_run() -> None:
    assert "NonZero" not in {node.op_type for node in to_model(chosen(levels=1)).graph.node}
