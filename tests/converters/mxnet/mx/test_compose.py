"""Composing with `mx.sym`: names, attributes, parts, refusals. Live MXNet judges the rest in test_registry."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx

data, other = mx.sym.Variable("data"), mx.sym.Variable("other")


def test_names_are_numbered_by_kind() -> None:
    with mx.name.NameManager():
        made = [data + other, data + 1, mx.sym.FullyConnected(data, num_hidden=2), data + other, mx.sym.flatten(data)]
    assert [symbol.name for symbol in made] == ["_plus0", "_plusscalar0", "fullyconnected0", "_plus1", "flatten0"]


def test_a_prefix_stands_before_all_names() -> None:
    with mx.name.Prefix("net_"):
        symbol = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    assert symbol.list_arguments() == ["data", "net_fc_weight", "net_fc_bias"]


def test_a_scope_ends_with_its_thread() -> None:
    found: list[Any] = []
    with mx.AttrScope(ctx_group="a"), mx.name.Prefix("p_"):
        thread = threading.Thread(target=lambda: found.append(mx.sym.relu(data, name="r")))
        thread.start()
        thread.join()
    assert (found[0].name, found[0].list_attr()) == ("r", {})


def test_inner_scopes_win() -> None:
    with mx.AttrScope(ctx_group="a", __own__="1"), mx.AttrScope(ctx_group="b"):
        symbol = mx.sym.Variable("v", attr={"__own__": "2"})
    assert symbol.list_attr() == {"ctx_group": "b", "__ctx_group__": "b", "__own__": "2"}


def test_symbols_share_nodes_and_copies_do_not() -> None:
    symbol = mx.sym.relu(mx.sym.Variable("x"), name="r")
    twin, read = copy.deepcopy(symbol), pickle.loads(pickle.dumps(symbol))
    symbol.get_internals()["x"]._set_attr(__mood__="angry")
    assert symbol.attr_dict() == {"x": {"__mood__": "angry"}}
    assert twin.attr_dict() == read.attr_dict() == {}


def test_composing_leaves_the_symbol_as_it_was() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    text = symbol.tojson()
    assert symbol(x=other, name="again").list_arguments() == ["other", "fc_weight", "fc_bias"]
    assert symbol(data, other).list_arguments() == ["data", "other", "fc_bias"]
    assert symbol.tojson() == text


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    symbol = mx.sym.Reshape(data, shape=(np.int64(3), -1)) * np.float32(0.5)
    assert [node["attrs"] for node in symbol.attr_dict().values() for node in [{"attrs": node}]] == [
        {"shape": "(3, -1)"}, {"scalar": "0.5"}
    ]  # fmt: skip


REFUSED = [
    pytest.param(lambda: mx.sym.FullyConnected(data), "num_hidden is missing", id="required"),
    pytest.param(lambda: mx.sym.FullyConnected(data, num_hidden=0), "num_hidden is 0, expected at least 1", id="bound"),
    pytest.param(lambda: mx.sym.FullyConnected(data, num_hidden="x"), "num_hidden is 'x', expected int", id="type"),
    pytest.param(lambda: mx.sym.Activation(data, act_type="swish"), "act_type is 'swish', expected", id="enum"),
    pytest.param(lambda: mx.sym.FullyConnected(data, num_hidden=1, foo=1), "cannot find argument 'foo'", id="unknown"),
    pytest.param(lambda: mx.sym.Concat(), "num_args is 0, expected at least 1", id="none"),
    pytest.param(lambda: mx.sym.relu(mx.sym.Group([data, other])), "data has 2 outputs", id="several outputs"),
    pytest.param(lambda: mx.sym.relu(data, q=other), "argument name q not found", id="no such input"),
    pytest.param(lambda: (data + other)(q=other), "argument name q not found", id="no such variable"),
    pytest.param(lambda: mx.sym.BatchNorm(data, moving_mean=other + 1), "must be a variable", id="state"),
    pytest.param(lambda: mx.sym.relu(data, weight_lr_mult=2), "is deprecated", id="old attribute"),
    pytest.param(lambda: mx.sym.sgd_update(data, other, lr=1), "not enough argument", id="training"),
    pytest.param(lambda: bool(data), "the truth of a symbol", id="truth"),
    pytest.param(lambda: data.asnumpy(), "asnumpy is not there for symbols", id="elements"),
    pytest.param(lambda: (data + mx.sym.Variable("data"))(data=other), "several variables are named", id="twice"),
    pytest.param(lambda: mx.sym.load_json("{}"), "the list 'nodes' is missing", id="no symbol"),
    pytest.param(
        lambda: mx.sym.load_json('{"class": "a.Net"}'), "missing; it names the Python class 'a.Net'", id="a block"
    ),
    pytest.param(lambda: data.infer_shape(x=(1,)), "argument name x not found", id="no such argument"),
]


@pytest.mark.parametrize(("make", "text"), REFUSED)
def test_refused_as_mxnet_refuses(make: Any, text: str) -> None:
    with pytest.raises(mx.MXNetError, match=text):
        make()


WRONG = [
    pytest.param(lambda: mx.sym.relu(3), AssertionError, id="no symbol"),
    pytest.param(lambda: mx.sym.Concat(data, 3), AssertionError, id="no symbol among many"),
    pytest.param(lambda: mx.sym.relu(data, data=other), TypeError, id="twice"),
    pytest.param(lambda: mx.sym.Concat(data, arg0=other), TypeError, id="both ways"),
    pytest.param(lambda: data + "x", TypeError, id="text"),
    pytest.param(lambda: data @ other, TypeError, id="matmul"),
    pytest.param(lambda: hash(data), TypeError, id="hash"),
    pytest.param(lambda: mx.sym.Variable(3), TypeError, id="name"),
    pytest.param(lambda: mx.sym.Variable("v", foo=1), ValueError, id="attribute"),
    pytest.param(lambda: mx.AttrScope(x=1), ValueError, id="scope"),
    pytest.param(lambda: data.infer_shape(data=[1, 2]), TypeError, id="list"),
    pytest.param(lambda: mx.sym.NoSuchOperator, AttributeError, id="operator"),
]


@pytest.mark.parametrize(("make", "error"), WRONG)
def test_wrong_arguments(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_numpy_symbols_broadcast_and_index() -> None:
    with mx.name.NameManager():
        x, y = (mx.sym.var(name).as_np_ndarray() for name in "xy")
        made = [x + y, 2 - x, x @ y, x[1], x[:, 0], mx.sym.np.mean(x, axis=1), mx.sym.npx.relu(x), -x, x < 2]
    operators = [symbol.name for symbol in made]
    assert operators == [
        "add0", "rsubtract_scalar0", "matmul0", "reshape0", "reshape1", "mean0", "relu0", "multiply_scalar0",
        "less_scalar0",
    ]  # fmt: skip
    assert all(type(symbol) is mx.sym.np._Symbol for symbol in made)


def test_names_complete() -> None:
    assert {"FullyConnected", "Convolution", "Variable", "contrib", "np", "zeros"} <= set(dir(mx.sym))
    assert {"box_nms", "foreach", "MultiBoxPrior"} <= set(dir(mx.sym.contrib))
    assert {"gemm", "svd"} - set(dir(mx.sym.linalg)) == {"svd"}
    assert {"sym", "nd", "AttrScope", "name"} <= set(dir(mx))
