"""Several nodes together: layouts that meet, shapes that are computed, functions."""

from __future__ import annotations

from typing import Any

from tests.tensorflow import dilated
from tests.tensorflow.case import Case, Input, Network, data, ints, param
from tests.tensorflow.graphdef import node


def network(title: str, *nodes: dict[str, Any], inputs: tuple[Input, ...], **more: Any) -> Network:
    """Nodes on inputs; the last is called y."""
    return Network(title, inputs, {}, nodes=nodes, **more)


def _conv(name: str, source: str, weight: str) -> dict[str, Any]:
    """A convolution that keeps sizes."""
    return node("Conv2D", name, [source, weight], T="float32", strides=(1, 1, 1, 1), padding="SAME")


FLATTEN = (
    node("Shape", "shape", ["x"], T="float32"),
    node("StridedSlice", "batch", ["shape", "zero", "one", "one"], T="int32", Index="int32", shrink_axis_mask=1),
    node("Pack", "sizes", ["batch", "rest"], T="int32", N=2),
    node("Reshape", "y", ["x", "sizes"], T="float32"),
)
AXES = (ints(0, name="zero"), ints(1, name="one"), ints(-1, name="rest", shape=()))

CASES: tuple[Case, ...] = (
    network(
        "conv-bias-relu-pool", _conv("c", "x", "w"), node("BiasAdd", "b", ["c", "v"], T="float32"),
        node("Relu", "r", ["b"], T="float32"),
        node("AvgPool", "y", ["r"], T="float32", ksize=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME"),
        inputs=(data(2, 7, 9, 3, name="x"), param("w", 3, 3, 3, 4), param("v", 4)),
    ),
    network(
        "residual-concat", _conv("c", "x", "w"), node("AddV2", "a", ["c", "x"], T="float32"),
        node("ConcatV2", "k", ["a", "x", "axis"], T="float32", N=2), _conv("d", "k", "u"),
        node("Mean", "y", ["d", "axes"], T="float32", keep_dims=False),
        inputs=(data(2, 5, 6, 3, name="x"), param("w", 3, 3, 3, 3), param("u", 1, 1, 6, 2),
                ints(3, name="axis", shape=()), ints(1, 2, name="axes")),
    ),
    network(
        "pad-conv-softmax", node("Pad", "p", ["x", "pads"], T="float32"), _conv("c", "p", "w"),
        node("Softmax", "y", ["c"], T="float32"),
        inputs=(data(1, 5, 6, 3, name="x"), ints(0, 0, 1, 2, 0, 1, 0, 0, name="pads", shape=(4, 2)),
                param("w", 2, 2, 3, 4)),
    ),
    *dilated.CASES,
    network("flatten", *FLATTEN, inputs=(data(2, 3, 4, name="x"), *AXES)),
)  # fmt: skip
REFUSED: tuple[Case, ...] = ()
