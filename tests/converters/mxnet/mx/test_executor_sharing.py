"""Outputs of executors: their dtypes before the first forward, and what reshaped executors share, beside live MXNet."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx as ours

pytestmark = pytest.mark.live

OUTPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "shape_array": lambda sym, x: sym.shape_array(x),
    "size_array": lambda sym, x: sym.size_array(x),
    "cast": lambda sym, x: sym.cast(x, "int64"),
    "argsort": lambda sym, x: sym.argsort(x, dtype="int64"),
    "topk of both": lambda sym, x: sym.topk(x, k=2, ret_typ="both", dtype="int64"),
    "one_hot": lambda sym, x: sym.one_hot(x, depth=3, dtype="int64"),
    "sum of shapes": lambda sym, x: sym.shape_array(x) + sym.shape_array(x),
    "index_array": lambda sym, x: sym.contrib.index_array(x),
    "zeros_like": lambda sym, x: sym.zeros_like(sym.cast(x, "int64")),
    "group": lambda sym, x: sym.Group([sym.shape_array(x), x * 2]),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_before_the_first_forward(name: str, mxnet: ModuleType) -> None:
    found = []
    for frame in (ours, mxnet):
        symbol = OUTPUTS[name](frame.sym, frame.sym.var("data"))
        for executor in (symbol.simple_bind(frame.cpu(), grad_req="null", data=(2, 3)),
                         symbol.bind(frame.cpu(), {"data": frame.nd.ones((2, 3))})):  # fmt: skip
            before = [(output.dtype, output.shape) for output in executor.outputs]
            executor.forward()
            found.append((before, [(output.dtype, output.shape) for output in executor.outputs]))
    assert found[:2] == found[2:]
    assert found[0][0] == found[0][1]


@pytest.mark.parametrize(("shape", "may_grow"), [((4, 3), False), ((2, 3), False), ((6, 3), True)], ids=str)
def test_reshaped_executors_share_outputs(shape: tuple[int, int], may_grow: bool, mxnet: ModuleType) -> None:
    found = []
    for frame in (ours, mxnet):
        symbol = frame.sym.FullyConnected(frame.sym.var("data"), num_hidden=4, name="fc")
        first = symbol.simple_bind(frame.cpu(), data=(4, 3))
        for name, value in (("data", 1), ("fc_weight", 1), ("fc_bias", 0)):
            first.arg_dict[name][:] = value
        first.forward()
        second = first.reshape(allow_up_sizing=may_grow, data=shape)
        shared = None if may_grow else second.outputs[0].asnumpy().tolist()
        second.arg_dict["data"][:] = 2
        second.forward()
        found.append((shared, second.outputs[0].asnumpy().tolist(), first.outputs[0].asnumpy().tolist()))
    assert found[0] == found[1]
