"""What TensorFlow's optimizer fuses for devices at which no test can run it: the same graph as of the parts."""

from __future__ import annotations

from typing import Any

import pytest

from graphir.converters.tensorflow import load
from tests.tensorflow.graphdef import const, graph_def, node, placeholder

FLOAT = {"T": "float32"}
HELD = [
    placeholder("x", "float32", (2, 5, 6, 3)), placeholder("z", "float32", (2, 5, 6, 3)),
    placeholder("v", "float32", (2, 4, 5, 6, 3)), const("w", [[[[0.5] * 2] * 3] * 2] * 2, "float32"),
    const("k", [[[[[0.5] * 2] * 3] * 2] * 2] * 2, "float32"), const("b", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "float32"),
    const("c", [1.0, 2.0], "float32"),
    *(const(name, [1.0, 2.0, 0.5], "float32") for name in ("scale", "offset", "mean", "variance")),
]  # fmt: skip
NORM = ["x", "scale", "offset", "mean", "variance"]
STATED = {"U": "float32", "epsilon": 0.25, "is_training": False, **FLOAT}
STEPS = {"strides": (1, 2, 2, 1), "padding": "SAME", **FLOAT}
PARTS = ["BiasAdd", "Relu6"]
DEEP = {"strides": (1, 2, 2, 1, 1), "padding": "SAME", **FLOAT}

ROWS: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
    (
        [node("_FusedBatchNormEx", "y", [*NORM, "z"], activation_mode="Relu", num_side_inputs=1, **STATED)],
        [node("FusedBatchNormV3", "n", NORM, **STATED), node("AddV2", "a", ["n", "z"], **FLOAT),
         node("Relu", "y", ["a"], **FLOAT)],
    ),
    (
        [node("_FusedBatchNormEx", "y", NORM, num_side_inputs=0, **STATED)],
        [node("FusedBatchNormV3", "y", NORM, **STATED)],
    ),
    (
        [node("_FusedDepthwiseConv2dNative", "y", ["x", "w", "b"], fused_ops=PARTS, num_args=1, **STEPS)],
        [node("DepthwiseConv2dNative", "d", ["x", "w"], **STEPS), node("BiasAdd", "a", ["d", "b"], **FLOAT),
         node("Relu6", "y", ["a"], **FLOAT)],
    ),
    (
        [node("_FusedConv3D", "y", ["v", "k", "c"], fused_ops=["BiasAdd", "Elu"], num_args=1, **DEEP)],
        [node("Conv3D", "d", ["v", "k"], **DEEP), node("BiasAdd", "a", ["d", "c"], **FLOAT),
         node("Elu", "y", ["a"], **FLOAT)],
    ),
    (
        [node("_FusedConv2D", "y", ["x", "w", "c", "half"], fused_ops=["BiasAdd", "Add", "Relu"], num_args=2, **STEPS),
         const("half", 0.5, "float32")],
        [node("Conv2D", "d", ["x", "w"], **STEPS), node("BiasAdd", "a", ["d", "c"], **FLOAT),
         const("half", 0.5, "float32"), node("AddV2", "e", ["a", "half"], **FLOAT), node("Relu", "y", ["e"], **FLOAT)],
    ),
]  # fmt: skip


def _described(nodes: list[dict[str, Any]]) -> list[tuple[str, list[list[Any] | None], list[str]]]:
    """Operators and their operands: elements of parameters, types of others."""
    graph = load(graph_def(*HELD, *nodes), outputs=["y"])
    return [
        (
            str(node.op),
            [None if value is None or value.tensor is None else value.tensor.numpy().tolist() for value in node.inputs],
            [str(value.type) for value in node.outputs],
        )
        for node in graph.nodes
    ]


@pytest.mark.parametrize(("fused", "parts"), ROWS)
def test_fused_node_is_its_parts(fused: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    assert _described(fused) == _described(parts)
