"""The import takes time in proportion to the layers, however many of them share a parameter."""

from __future__ import annotations

import numpy as np
import pytest

from graphir.converters.tensorflow import load
from tests.growth import is_near_linear
from tests.tensorflow.graphdef import const, graph_def, node, placeholder

FLOAT = {"T": "float32"}
ONES = np.ones((1, 1, 4, 4), np.float32)


def chain(layers: int, *, shared: bool) -> bytes:
    """Convolutions with bias in NHWC, one behind the other; the weights are one parameter or each layer's own."""
    nodes = [placeholder("x", "float32", (1, 4, 4, 4)), const("w", ONES), const("b", ONES[0, 0, 0])]
    before = "x"
    for layer in range(layers):
        weight = "w" if shared else f"w{layer}"
        nodes += [] if shared else [const(weight, ONES)]
        nodes += [
            node("Conv2D", f"c{layer}", [before, weight], strides=(1, 1, 1, 1), padding="SAME", **FLOAT),
            node("BiasAdd", f"a{layer}", [f"c{layer}", "b"], **FLOAT),
            node("Relu", f"r{layer}", [f"a{layer}"], **FLOAT),
        ]
        before = f"r{layer}"
    return graph_def(*nodes)


@pytest.mark.parametrize("shared", [True, False])
def test_cost_is_linear_in_layers(shared: bool) -> None:
    models = {layers: chain(layers, shared=shared) for layers in (60, 600)}
    assert is_near_linear(lambda layers: load(models[layers]), 60, 600)
