"""Shapes that follow from the parameters alone, as far as MXNet infers them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet.source import open_source
from graphir.tensor import Tensor
from graphir.types import Shape


def residual(sym: Any) -> Any:
    """A trainable offset fixes what it is added to, and so what comes before and after."""
    data, offset = sym.Variable("data"), sym.Variable("offset")
    return sym.elemwise_mul(sym.tanh(sym.elemwise_add(sym.relu(data), offset)), data)


def factors(sym: Any) -> Any:
    """Two parameters multiplied, then a layer behind them."""
    product = sym.dot(sym.Variable("left"), sym.Variable("right"))
    return sym.softmax(sym.FullyConnected(product, num_hidden=3, name="fc"))


def stacked(sym: Any) -> Any:
    """Parameters rearranged."""
    left, right = sym.Variable("left"), sym.Variable("right")
    return sym.Reshape(sym.transpose(sym.Concat(left, right, dim=0)), shape=(-1, 2))


CASES: dict[str, tuple[Callable[[Any], Any], dict[str, tuple[int, ...]]]] = {
    "residual": (residual, {"offset": (4, 5)}),
    "factors": (factors, {"left": (2, 6), "right": (6, 4), "fc_weight": (3, 4), "fc_bias": (3,)}),
    "stacked": (stacked, {"left": (2, 3), "right": (4, 3)}),
}


@pytest.mark.live
@pytest.mark.parametrize("name", CASES)
def test_equal_to_live_mxnet(mxnet: ModuleType, name: str) -> None:
    build, shapes = CASES[name]
    symbol = build(mxnet.sym)
    internals = symbol.get_internals()
    _, inferred, _ = internals.infer_shape_partial(**shapes)
    expected = {name: tuple(shape) for name, shape in zip(internals.list_outputs(), inferred, strict=True) if shape}
    source = open_source(symbol, {name: Tensor.of(np.zeros(shape, np.float32)) for name, shape in shapes.items()})
    found: dict[str, Shape | None] = {}
    for value in source.to_graph(simplified=False).values:
        found |= dict.fromkeys((value.name, *value.sources), value.shape)
    assert {name: found.get(name) for name in expected} == expected
    assert len(expected) > len(shapes)
