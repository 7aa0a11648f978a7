"""What is told of images where MXNet leaves elements undefined."""

from __future__ import annotations

import pytest

from graphir.converters.mxnet import from_symbol, mx
from graphir.decisions import DecisionKind


@pytest.mark.parametrize(("channels", "dtype", "told"), [
    (3, "uint8", ""), (4, "uint8", ""), (5, "uint8", "from 4 on"), (6, "uint8", ""), (7, "uint8", "from 4 on"),
    (8, "uint8", ""), (11, "uint8", "from 8 on"), (5, "float32", ""),
])  # fmt: skip
def test_bytes_that_a_resize_leaves_out_are_told(channels: int, dtype: str, told: str) -> None:
    symbol = mx.sym.image.resize(mx.sym.Variable("data"), size=(4, 5), interp=0)
    graph = from_symbol(symbol, None, {"data": (12, 9, channels)}, dtypes={"data": dtype})
    found = [decision.text for decision in graph.decisions if decision.kind is DecisionKind.UNDEFINED_ELEMENTS]
    assert len(found) == bool(told)
    assert told in "".join(found)


@pytest.mark.parametrize(("values", "told"), [((1.5,), 1), ((1.5, 2.0), 1), ((1.0, 2.0, 3.0), 0), (None, 0)])
def test_borders_without_a_value_are_told(values: tuple[float, ...] | None, told: int) -> None:
    stated = {} if values is None else {"values": values}
    symbol = mx.sym._internal._cvcopyMakeBorder(data=mx.sym.Variable("data"), top=1, bot=0, left=0, right=1, **stated)
    graph = from_symbol(symbol, None, {"data": (4, 5, 3)})
    found = [decision for decision in graph.decisions if decision.kind is DecisionKind.UNDEFINED_ELEMENTS]
    assert len(found) == told
