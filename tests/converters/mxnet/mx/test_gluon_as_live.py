"""Hooks of blocks, loops in layers that are called twice, and sequences of unequal lengths, beside live MXNet."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx as ours

pytestmark = pytest.mark.live


def calls_of_hooks(frame: Any) -> list[str]:
    layer = frame.gluon.nn.Dense(2, in_units=3)
    layer.initialize()
    calls: list[str] = []

    def before(block: Any, inputs: Any) -> None:
        calls.append(f"before {inputs[0].shape}")

    def after(block: Any, inputs: Any, output: Any) -> None:
        calls.append(f"after {output.shape}")

    handle = layer.register_forward_hook(after)
    layer.register_forward_hook(after)
    with layer.register_forward_pre_hook(before):
        layer(frame.nd.ones((1, 3)))
    layer(frame.nd.ones((2, 3)))
    handle.detach()
    layer(frame.nd.ones((3, 3)))
    handle.detach()
    return calls


def test_hooks_are_called_until_they_are_detached(mxnet: ModuleType) -> None:
    assert calls_of_hooks(ours) == calls_of_hooks(mxnet) == ["before (1, 3)", "after (1, 2)", "after (2, 2)"]


def looped_twice(frame: Any, hybrid: bool) -> tuple[list[Any], list[str]]:
    """A layer with a loop, called twice in one network."""

    class Loop(frame.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.dense = frame.gluon.nn.Dense(3, in_units=3, flatten=False)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            body = lambda part, state: (self.dense(part) + state, part + state)  # noqa: E731
            return F.contrib.foreach(body, x, F.zeros((1, 3)))[0]

    class Twice(frame.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.loop = Loop(prefix="loop_")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.loop(self.loop(x))

    net = Twice(prefix="twice_")
    net.initialize(frame.init.One())
    if hybrid:
        net.hybridize()
    data = frame.nd.array(np.arange(6).reshape((2, 1, 3)))
    return [net(data).asnumpy().tolist() for _ in range(2)], net(frame.sym.var("data")).list_arguments()


@pytest.mark.parametrize("hybrid", [False, True], ids=["by arrays", "hybridized"])
def test_a_layer_with_a_loop_is_called_twice(hybrid: bool, mxnet: ModuleType) -> None:
    found = looped_twice(ours, hybrid)
    assert found == looped_twice(mxnet, hybrid)
    assert found[1][1:3] == ["twice_loop_dense0_weight", "twice_loop_dense0_bias"]


def unrolled(frame: Any, cell: str, hybrid: bool) -> list[Any]:
    rnn = frame.gluon.rnn

    class Unrolled(frame.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                made = [getattr(rnn, f"{cell}Cell")(4) for _ in range(2)]
                self.cell = rnn.BidirectionalCell(*made)

        def hybrid_forward(self, F: Any, x: Any, lengths: Any) -> Any:
            return self.cell.unroll(5, x, valid_length=lengths, layout="NTC", merge_outputs=True)

    net = Unrolled()
    net.initialize(frame.init.One())
    if hybrid:
        net.hybridize()
    output, states = net(frame.nd.array(np.arange(60).reshape((4, 5, 3)) / 50), frame.nd.array([5, 1, 3, 4]))
    return [held.asnumpy() for held in (output, *states)]


@pytest.mark.parametrize("hybrid", [False, True], ids=["by arrays", "hybridized"])
@pytest.mark.parametrize("cell", ["LSTM", "GRU", "RNN"])
def test_both_directions_with_lengths(cell: str, hybrid: bool, mxnet: ModuleType) -> None:
    found, expected = unrolled(ours, cell, hybrid), unrolled(mxnet, cell, hybrid)
    assert [held.shape for held in found] == [held.shape for held in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_zeros_without_a_dtype_have_that_of_their_readers(mxnet: ModuleType) -> None:
    found = []
    for frame in (ours, mxnet):
        zeros = frame.sym._internal._zeros_without_dtype(shape=(2,))
        whole = zeros + frame.sym.var("x")
        answers = zeros.infer_type(), zeros.infer_type_partial(), whole.infer_type(), whole.infer_type(x="float16")
        found.append(answers)
    assert found[0] == found[1]
