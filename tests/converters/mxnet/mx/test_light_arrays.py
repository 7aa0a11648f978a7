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
    monkeypatch.setattr(operators, "LIGHT", -1)
    for one, other in zip(light, elements(CALLS[name](data)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_small_arrays_make_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(operators, "Network", lambda *args, **kwargs: made.append(args))
    assert mx.nd.relu(mx.nd.array([-1, 2])).asnumpy().tolist() == [0, 2]
    assert not made
    with pytest.raises(AttributeError):
        mx.nd.relu(mx.nd.zeros((operators.LIGHT + 1,)))
    assert len(made) == 1


def test_what_is_composed_once_depends_on_all_arguments() -> None:
    data = mx.nd.array([[1, 2], [3, 4]])
    assert [mx.nd.sum(data, axis=axis).asnumpy().tolist() for axis in (0, 1, 0)] == [[4, 6], [3, 7], [4, 6]]
    assert mx.nd.clip(data, 2, 3).asnumpy().tolist() == [[2, 2], [3, 3]]
    assert mx.nd.clip(data, a_max=3, a_min=2).asnumpy().tolist() == [[2, 2], [3, 3]]
    assert mx.nd.cast(data, dtype="int32").dtype is np.int32
    assert mx.nd.cast(data, dtype="int8").dtype is np.int8
    assert mx.nd.dot(data, mx.nd.ones((2, 1))).shape == (2, 1)
    assert mx.nd.dot(data, mx.nd.ones((2,))).shape == (2,)


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
