"""Totals and nodes of small networks of our own against live MXNet: with and without gradients and marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from graphir.analysis.memory.blocks import plan_blocks
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.memory.plan import Planned, from_environment
from graphir.converters.mxnet.mx import memonger

pytestmark = pytest.mark.live
ROWS = {"a": (512, 1024), "b": (512, 1024)}  # 2 MB each


def marked(value: Any) -> Any:
    """The value's node, marked to run twice."""
    value._set_attr(force_mirroring="True")
    return value


def chain(sym: Any, mark: bool) -> Any:
    """Twelve layers, three of four marked."""
    net = sym.Variable("a")
    for layer in range(12):
        net = sym.Activation(sym.FullyConnected(net, num_hidden=1024, name=f"f{layer}"), act_type="tanh")
        net = marked(net) if mark and layer % 4 else net
    return net


def equal_parts(sym: Any) -> Any:
    """The same function three times, once with another attribute."""
    a = sym.Variable("a")
    return sym.relu(a * 3) + sym.relu(a * 3) * 2 + sym.relu(a * 4)


def same_gradient(sym: Any) -> Any:
    """Two arguments that get one gradient, and one that gets none."""
    return sym.Variable("a") + sym.Variable("b") + sym.BlockGrad(sym.Variable("c"))


def many_readers(sym: Any) -> Any:
    """A value with nine readers, whose gradients are summed two by two."""
    shared = sym.tanh(sym.Variable("a"))
    return sym.Group([sym.exp(shared * number) for number in range(1, 10)])


def zeros_arrive(sym: Any) -> Any:
    """A branch without gradients before one with them."""
    first = sym.tanh(sym.Variable("a"))
    return sym.Group([sym.BlockGrad(sym.relu(first) * 2), first * 3])


def dropped(sym: Any) -> Any:
    """Dropout, which is never computed twice, between what is."""
    net = marked(sym.tanh(sym.Variable("a")))
    return marked(sym.exp(marked(sym.Dropout(net, p=0.5)))) * 2


def untouched(sym: Any) -> Any:
    """An output that is an argument, and one that is read too."""
    first = sym.sqrt(sym.Variable("a"))
    return sym.Group([sym.Variable("b"), first, first * 2])


NETS: dict[str, Callable[[Any], Any]] = {
    "chain": lambda sym: chain(sym, mark=False),
    "chain_marked": lambda sym: chain(sym, mark=True),
    **{net.__name__: net for net in (equal_parts, same_gradient, many_readers, zeros_arrive, dropped, untouched)},
}


@pytest.mark.parametrize("req", ["null", "write"])
@pytest.mark.parametrize("name", NETS)
def test_as_mxnet(name: str, req: str, mxnet: ModuleType) -> None:
    net = NETS[name](mxnet.sym)
    shapes: dict[str, Any] = {name: ROWS["a"] for name in ("a", "b", "c") if name in net.list_arguments()}
    text = net.simple_bind(mxnet.cpu(), grad_req=req, **shapes).debug_str()
    switches = replace(from_environment({}), training=req == "write")
    program = Planned(read_symbol(net), shapes).program(switches)
    found = re.search(r"Total (\d+) MB allocated", text)
    assert found is not None
    assert [step.operator for step in program.steps] == re.findall(r"^Op:(.*), Name=", text, re.MULTILINE)
    assert plan_blocks(program, switches.sharing).total >> 20 == int(found[1])


def test_get_cost_reads_the_environment(mxnet: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    net = chain(mxnet.sym, mark=False)
    plain = memonger.get_cost(net, a=ROWS["a"])
    monkeypatch.setenv("NNVM_EXEC_MATCH_RANGE", "0")
    assert memonger.get_cost(net, a=ROWS["a"]) > plain


def test_symbols_that_differ_in_sizes_only(mxnet: ModuleType) -> None:
    net = chain(mxnet.sym, mark=False)
    half = memonger.get_cost(net, a=(256, 1024))
    assert memonger.get_cost(net, a=(512, 1024)) == 2 * half


def test_two_byte_elements_take_half(mxnet: ModuleType) -> None:
    net = chain(mxnet.sym, mark=False)
    shapes: dict[str, Any] = {"a": ROWS["a"]}
    switches = replace(from_environment({}), sharing=replace(from_environment({}).sharing, element_bytes=None))
    totals = [
        Planned(read_symbol(net), shapes, {"a": dtype}).blocks(switches).total for dtype in ("float16", "float32")
    ]
    assert totals[0] * 2 == totals[1]
