"""`Block.summary`, byte for byte what live MXNet 1.9.1 prints, and how blocks of symbols show themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx

Made = tuple[Any, tuple[Any, ...]]


def plain(m: Any) -> Made:
    nn = m.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten(), nn.Dense(3))
    return net, (m.nd.ones((1, 3, 8, 8)),)


def shared(m: Any) -> Made:
    nn = m.gluon.nn
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, in_units=4))
        net.add(nn.Dense(4, in_units=4, params=net[0].params))
    net.collect_params(".*bias").setattr("grad_req", "null")
    return net, (m.nd.ones((2, 4)),)


def nested(m: Any) -> Made:
    class Branch(m.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(prefix="branch_")
            with self.name_scope():
                self.first = m.gluon.nn.Dense(2)
                self.scale = self.params.get("scale", shape=(1, 2), init=m.init.One())

        def hybrid_forward(self, F: Any, x: Any, y: Any, scale: Any) -> Any:
            return [F.broadcast_mul(self.first(x), scale), (y, x)]

    return Branch(), (m.nd.ones((2, 3)), m.nd.ones((4,)))


def recurrent(m: Any) -> Made:
    net = m.gluon.rnn.LSTMCell(5, prefix="lstm_")
    return net, (m.nd.ones((2, 4)), [m.nd.zeros((2, 5)), m.nd.zeros((2, 5))])


@pytest.mark.live
@pytest.mark.parametrize("build", [plain, shared, nested, recurrent])
def test_summary_is_mxnets(
    mxnet: ModuleType, build: Callable[[Any], Made], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for m in (mx, mxnet):
        net, inputs = build(m)
        net.initialize()
        net.summary(*inputs)
        net.summary(*inputs)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_summary_leaves_no_hook_and_refuses_what_is_hybridized() -> None:
    net, inputs = plain(mx)
    net.initialize()
    with pytest.raises(Exception, match=r"Conv|shape|dimension"):
        net.summary(mx.nd.ones((2,)))
    net.summary(*inputs)
    assert not any(block._forward_hooks for block in net)
    net.hybridize()
    with pytest.raises(AssertionError, match="is hybridized"):
        net.summary(*inputs)


@pytest.mark.live
def test_a_block_of_a_symbol_shows_it(mxnet: ModuleType) -> None:
    def shown(m: Any) -> str:
        outputs = m.sym.FullyConnected(m.sym.var("data"), num_hidden=2, name="fc")
        return repr(m.gluon.SymbolBlock(outputs, m.sym.var("data")))

    assert shown(mx) == shown(mxnet)
