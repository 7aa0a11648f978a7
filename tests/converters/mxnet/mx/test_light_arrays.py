"""Operators on arrays: small ones and float64 by the reference evaluator, others by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.mx.ndarray import operators

CALLS: dict[str, Callable[[Any], Any]] = {
    "relu": mx.nd.relu,
    "sum": lambda a: mx.nd.sum(a, axis=1),
    "softmax": mx.nd.softmax,
    "split": lambda a: mx.nd.split(a, num_outputs=2, axis=1),
    "topk": lambda a: mx.nd.topk(a, k=2, ret_typ="both"),
    "concat": lambda a: mx.nd.concat(a, a, dim=0),
    "FullyConnected": lambda a: mx.nd.FullyConnected(a, mx.nd.ones((3, 6)), mx.nd.ones((3,)), num_hidden=3),
    "SoftmaxOutput": lambda a: mx.nd.SoftmaxOutput(a, mx.nd.zeros((4,))),
    "a dtype": lambda a: mx.nd.cast(a, dtype=np.float16),
    "numbers as a tuple": lambda a: mx.nd.reshape(a, shape=(0, 3, -1)),
    "a method": lambda a: a.expand_dims(axis=0),
}


def elements(found: Any) -> list[Any]:
    return [part.asnumpy() for part in (found if isinstance(found, list) else [found])]


@pytest.mark.parametrize("name", CALLS)
def test_both_ways_give_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = mx.nd.array(np.random.default_rng(1).normal(size=(4, 6)))
    light = elements(CALLS[name](data))
    for limit in ("LIGHT", "MANY"):
        monkeypatch.setattr(operators, limit, -1)
    for one, other in zip(light, elements(CALLS[name](data)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_small_arrays_make_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(operators, "BoundSymbol", lambda *args, **kwargs: made.append(args))
    assert mx.nd.relu(mx.nd.array([-1, 2])).asnumpy().tolist() == [0, 2]
    assert not made
    with pytest.raises(AttributeError):
        mx.nd.L2Normalization(mx.nd.zeros((1, operators.LIGHT + 1)))
    assert len(made) == 1
    assert mx.nd.relu(mx.nd.zeros((operators.LIGHT + 1,))).shape == (operators.LIGHT + 1,)
    assert len(made) == 1
    with pytest.raises(AttributeError):
        mx.nd.relu(mx.nd.zeros((operators.MANY + 1,)))
    assert len(made) == 2


EXACT: dict[str, Callable[[Any], Any]] = {
    "relu": mx.nd.relu,
    "transpose": lambda a: mx.nd.transpose(a, axes=(2, 0, 1)),
    "broadcast_mul": lambda a: mx.nd.broadcast_mul(a, a),
    "broadcast_div": lambda a: mx.nd.broadcast_div(a, a * a + 1),
    "slice_axis": lambda a: mx.nd.slice_axis(a, axis=1, begin=1, end=-1),
    "max": lambda a: mx.nd.max(a, axis=2),
    "argmax": lambda a: mx.nd.argmax(a, axis=1),
    "clip": lambda a: mx.nd.clip(a, -0.5, 0.5),
    "concat": lambda a: mx.nd.concat(a, a, dim=1),
    "where": lambda a: mx.nd.where(a > 0, a, -a),
    "take": lambda a: mx.nd.take(a, mx.nd.array([2, 0])),
    "tile": lambda a: mx.nd.tile(a, reps=(1, 2, 1)),
    "sqrt": lambda a: mx.nd.sqrt(mx.nd.abs(a)),
    "floor": mx.nd.floor,
}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_operators_give_the_bits_of_onnxruntime(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(size=(8, 48, 56)) * (1 if dtype == "float32" else 50)
    data = mx.nd.array(values, dtype=dtype)
    by_numpy = elements(EXACT[name](data))
    for limit in ("LIGHT", "MANY"):
        monkeypatch.setattr(operators, limit, -1)
    for one, other in zip(by_numpy, elements(EXACT[name](data)), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_what_is_composed_once_depends_on_all_arguments() -> None:
    data = mx.nd.array([[1, 2], [3, 4]])
    assert [mx.nd.sum(data, axis=axis).asnumpy().tolist() for axis in (0, 1, 0)] == [[4, 6], [3, 7], [4, 6]]
    assert mx.nd.clip(data, 2, 3).asnumpy().tolist() == [[2, 2], [3, 3]]
    assert mx.nd.clip(data, a_max=3, a_min=2).asnumpy().tolist() == [[2, 2], [3, 3]]
    assert mx.nd.cast(data, dtype="int32").dtype is np.int32
    assert mx.nd.cast(data, dtype="int8").dtype is np.int8
    assert mx.nd.dot(data, mx.nd.ones((2, 1))).shape == (2, 1)
    assert mx.nd.dot(data, mx.nd.ones((2,))).shape == (2,)


def test_results_take_the_memory_that_numpy_made() -> None:
    data = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    result = mx.nd.relu(data)
    elements = result._home.array
    assert elements is not None
    result[0] = 7
    assert result._home.array is elements
    assert mx.nd.relu(data).asnumpy().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_other_shapes_of_a_result_are_views() -> None:
    turned = mx.nd.transpose(mx.nd.array([[1, 2, 3], [4, 5, 6]]))
    turned.reshape((-1,))[0:3] = 7
    assert turned.asnumpy().tolist() == [[7, 7], [7, 5], [3, 6]]


OWN = (mx.nd.identity, mx.nd.BlockGrad, mx.nd.flatten, lambda a: mx.nd.reshape(a, shape=(4,)))


@pytest.mark.parametrize("call", OWN)
def test_results_are_arrays_of_their_own(call: Callable[[Any], Any]) -> None:
    data = mx.nd.array([[1, 2], [3, 4]])
    data[0, 0] = 5
    found = call(data)
    data[:] = 9
    assert found.asnumpy().ravel().tolist() == [5, 2, 3, 4]
    found[:] = 7
    assert data.asnumpy().ravel().tolist() == [9, 9, 9, 9]


@pytest.mark.parametrize("name", ["normal", "exponential", "poisson", "gamma"])
def test_seeds_repeat_every_distribution(name: str) -> None:
    drawn = []
    for _ in range(2):
        mx.random.seed(7)
        drawn += [getattr(mx.nd.random, name)(shape=(20,)).asnumpy() for _ in range(2)]
    np.testing.assert_array_equal(drawn[0], drawn[2])
    np.testing.assert_array_equal(drawn[1], drawn[3])
    assert drawn[0].tobytes() != drawn[1].tobytes()


WIDE = ("erf", "arctanh", "arcsinh", "arcsin", "arccos", "arctan", "sinh", "expm1", "log1p", "tanh")


@pytest.mark.live
@pytest.mark.parametrize("name", WIDE)
def test_float64_is_computed_in_float64(name: str, mxnet: ModuleType) -> None:
    values = np.concatenate([np.linspace(-0.999, 0.999, 40), [1e-3, 1e-7, -1e-12]])
    expected = getattr(mxnet.nd, name)(mxnet.nd.array(values, dtype="float64")).asnumpy()
    given = mx.nd.array(values, dtype="float64")
    by_symbol = getattr(mx.sym, name)(mx.sym.var("x")).eval(x=given)[0]
    for found in (getattr(mx.nd, name)(given), by_symbol):
        assert found.dtype is np.float64
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=4e-16)


@pytest.mark.live
def test_networks_of_float64(mxnet: ModuleType) -> None:
    found = []
    for frame in (mx, mxnet):
        net = frame.sym.Convolution(frame.sym.var("data"), kernel=(3, 3), num_filter=2, name="c")
        net = frame.sym.FullyConnected(frame.sym.erf(net), num_hidden=3, name="f")
        executor = net.simple_bind(frame.cpu(), grad_req="null", data=(2, 1, 5, 5), type_dict={"data": "float64"})
        for place, array in enumerate(executor.arg_arrays):
            array[:] = np.random.default_rng(place).normal(size=array.shape)
        found.append([held.asnumpy() for held in executor.forward()])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-13)
