"""Types from node to node are those of the whole graph's inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.mx import executor
from graphir.converters.mxnet.mx.symbol import Symbol, inference, node_types
from graphir.converters.mxnet.mx.symbol.node import post_order, variable_names
from tests.equivalence.case import Case
from tests.equivalence.table import CASES, thinned
from tests.fuzz.networks.draw import draw

NETWORKS = 120


def answer(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def bound_types(symbol: Any, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]) -> object:
    order = post_order(symbol.entries)
    _, states = variable_names(order)
    types = executor._types(symbol, order, states, shapes, dtypes)
    return types.arguments, types.outputs, types.auxiliary


def check_both(
    monkeypatch: pytest.MonkeyPatch, text: str, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]
) -> None:
    """Each way to infer gives what it gives without what is kept of nodes, with all inputs given and with some."""
    symbol = Symbol.of(read_symbol(text.encode()))
    some = {name: shape for index, (name, shape) in enumerate(sorted(shapes.items())) if index % 3 != 1}
    calls = (
        lambda: symbol.infer_shape(**shapes),
        lambda: symbol.infer_shape_partial(**some),
        lambda: symbol.infer_type(**dtypes),
        lambda: symbol.infer_type_partial(**{name: dtypes[name] for name in some}),
        symbol.infer_type_partial,
        lambda: bound_types(symbol, some, dtypes),
        lambda: bound_types(symbol, shapes, {}),
    )
    quick = [answer(call) for call in calls]
    again = [answer(call) for call in calls]
    for module in (inference, executor):
        monkeypatch.setattr(module, "infer_nodes", lambda *args: None)
    whole = [answer(call) for call in calls]
    assert quick == whole
    assert again == whole


@pytest.mark.filterwarnings("ignore:Cannot decide")
@pytest.mark.parametrize("case", thinned(CASES))
def test_operators(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = {case.variable(source): source.shape for source in case.inputs}
    dtypes = {case.variable(source): source.dtype for source in case.inputs}
    check_both(monkeypatch, case.symbol_json(), shapes, dtypes)


@pytest.mark.filterwarnings("ignore:Cannot decide")
@pytest.mark.parametrize("index", [pytest.param(index, marks=pytest.mark.one_of(8)) for index in range(NETWORKS)])
def test_networks(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(3, index)
    shapes = {name: tuple(array.shape) for name, array in drawn.arrays.items()}
    dtypes = {name: str(array.dtype) for name, array in drawn.arrays.items()}
    check_both(monkeypatch, drawn.symbol, shapes, dtypes)


def test_attributes_and_shapes_are_read_again() -> None:
    data = mx.sym.Variable("data")
    layer = mx.sym.FullyConnected(data, num_hidden=4, name="layer")
    assert layer.infer_shape(data=(2, 3))[1] == [(2, 4)]
    layer._set_attr(num_hidden="5")
    assert layer.infer_shape(data=(2, 3))[1] == [(2, 5)]
    assert layer.infer_shape(data=(7, 3))[0] == [(7, 3), (5, 3), (5,)]


def test_nodes_alike_are_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    symbol = mx.sym.Variable("data")
    for _ in range(30):
        symbol = mx.sym.Activation(mx.sym.FullyConnected(symbol, num_hidden=13), act_type="relu")
    infer_node = Mock(wraps=node_types._infer_node)
    monkeypatch.setattr(node_types, "_infer_node", infer_node)
    symbol.infer_shape(data=(91, 13))
    assert infer_node.call_count == 2
