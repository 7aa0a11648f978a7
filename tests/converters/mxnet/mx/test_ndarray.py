"""`mx.nd` and `mx.model`: arrays and checkpoints, to and from MXNet's files."""

from __future__ import annotations

import pickle
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from graphir.errors import FormatError, GraphirError
from tests.typed import untyped

GIVEN = np.array([[1.5, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("made", "dtype", "shape"),
    [
        pytest.param(mx.nd.array(GIVEN), np.float32, (2, 3), id="of numpy"),
        pytest.param(mx.nd.array([1, 2]), np.float32, (2,), id="of a list"),
        pytest.param(mx.nd.array(GIVEN, dtype="int8"), np.int8, (2, 3), id="dtype"),
        pytest.param(mx.nd.array(mx.nd.array(GIVEN, dtype=np.float64)), np.float64, (2, 3), id="of an NDArray"),
        pytest.param(mx.nd.zeros((4,), dtype=np.int32), np.int32, (4,), id="zeros"),
        pytest.param(mx.nd.ones((1, 2)), np.float32, (1, 2), id="ones"),
        pytest.param(mx.nd.array(GIVEN).astype(np.float16), np.float16, (2, 3), id="astype"),
        pytest.param(mx.nd.array(GIVEN).reshape((3, -1)), np.float32, (3, 2), id="reshape"),
        pytest.param(mx.nd.array(GIVEN).reshape(-1), np.float32, (6,), id="reshape by numbers"),
        pytest.param(mx.nd.array(GIVEN)[1], np.float32, (3,), id="row"),
        pytest.param(mx.nd.array(GIVEN) == 4, np.float32, (2, 3), id="equal"),
    ],
)
def test_made_as_in_mxnet(made: Any, dtype: type, shape: tuple[int, ...]) -> None:
    assert made.dtype is dtype
    assert (made.shape, made.size, made.ndim) == (shape, int(np.prod(shape)), len(shape))
    assert made.asnumpy().dtype == dtype


def test_comparisons_give_numbers() -> None:
    held = mx.nd.array([1, 2, 3])
    assert (held == mx.nd.array([1, 0, 3])).asnumpy().tolist() == [1, 0, 1]
    assert (held != 2).asnumpy().tolist() == [1, 0, 1]
    assert bool(mx.nd.array([2]) == 2)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(held)
    assert len({held, held}) == 1


def test_elements_are_safe() -> None:
    held = mx.nd.array([1, 2])
    held.asnumpy()[0] = 9
    assert held.asnumpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(held)[0] = 9
    assert np.asarray(held, dtype="int64").dtype == np.int64


def test_text() -> None:
    assert repr(mx.nd.array([[1, 2]], ctx=mx.cpu(1))) == "\n[[1. 2.]]\n<NDArray 1x2 @cpu(1)>"
    assert str(mx.nd.zeros(1).as_in_context(mx.cpu()).context) == "cpu(0)"
    assert (len(mx.nd.zeros((3, 1))), mx.nd.array([7]).asscalar()) == (3, 7)


@pytest.mark.parametrize(
    ("held", "call"), [(mx.nd.zeros((2,)), mx.nd.NDArray.asscalar), (mx.nd.array(5.0), len)], ids=["asscalar", "len"]
)
def test_refused(held: Any, call: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        call(held)


def arrays() -> dict[str, Any]:
    return {"arg:w": mx.nd.array(GIVEN), "aux:m": mx.nd.array([1, 2], dtype="int64")}


@pytest.mark.parametrize("data", [arrays(), list(arrays().values()), arrays()["arg:w"]], ids=["names", "list", "one"])
def test_saved_is_loaded(data: Any, tmp_path: Path) -> None:
    mx.nd.save(tmp_path / "m.params", data)
    found = mx.nd.load(tmp_path / "m.params")
    assert type(found) is (dict if isinstance(data, dict) else list)
    expected = data if isinstance(data, list | dict) else [data]
    assert list(found) == list(expected) if isinstance(data, dict) else len(found) == len(expected)
    read, written = ((held.values() if isinstance(held, dict) else held) for held in (found, expected))
    assert [held.tensor.sha256() for held in read] == [held.tensor.sha256() for held in written]


@pytest.mark.live
@pytest.mark.parametrize("data", [arrays(), list(arrays().values())], ids=["names", "list"])
def test_live_mxnet_loads_what_was_saved(data: Any, tmp_path: Path, mxnet: ModuleType) -> None:
    path = str(tmp_path / "m.params")
    mx.nd.save(path, data)
    found = mxnet.nd.load(path)
    assert type(found) is type(data)
    held = list(found.values()) if isinstance(found, dict) else found
    assert [one.asnumpy().tolist() for one in held] == [one.asnumpy().tolist() for one in arrays().values()]
    assert [repr(one) for one in held] == [repr(one) for one in arrays().values()]


def test_checkpoint_comes_back(shared: Path, tmp_path: Path) -> None:
    prefix = str(shared / "models" / "mxnet" / "gluoncv-cifar-resnet20-v1" / "model")
    symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, 0)
    assert set(arg_params) <= set(symbol.list_arguments())
    assert set(aux_params) == set(symbol.list_auxiliary_states())
    mx.model.save_checkpoint(str(tmp_path / "again"), 12, symbol, arg_params, aux_params)
    again = mx.model.load_checkpoint(str(tmp_path / "again"), 12)
    assert again[0].tojson() == symbol.tojson()
    assert [again[1][name].tensor.sha256() for name in arg_params] == [a.tensor.sha256() for a in arg_params.values()]


def test_checkpoint_without_names_is_refused(tmp_path: Path) -> None:
    mx.nd.save(tmp_path / "m-0001.params", [mx.nd.zeros(1)])
    with pytest.raises(FormatError, match="no names"):
        mx.model.load_params(str(tmp_path / "m"), 1)


def test_no_array_is_refused() -> None:
    with pytest.raises((GraphirError, ValueError)):
        mx.nd.array([[1, 2], [3]])


def test_names_of_older_scripts() -> None:
    array = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    assert array.T.asnumpy().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert array.copyto(mx.cpu(1)).context == mx.cpu(1)
    with pytest.raises(TypeError, match="copyto does not support"):
        array.copyto(untyped(5))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("i / 2", [0, 1, 1]),
        ("i + 1.5", [2, 3, 4]),
        ("1.5 / i", [1, 0, 0]),
        ("i ** -1", [1, 0, 0]),
        ("-7 % i", [0, 1, 2]),
        ("i > 1.5", [0, 1, 1]),
        ("f % 0", [0, 0, 0]),
        ("2 % f", [0, 2, -1]),
        ("f / 0", [np.inf, np.inf, -np.inf]),
        ("1 - f", [0, -1.5, 4]),
        ("abs(-f)", [1, 2.5, 3]),
        ("h * h", [1, 6.25, 9]),
        ("u - 2", [255, 0, 1]),
        ("f + m", [[2, 3.5, -2], [2, 3.5, -2]]),
        ("f[0]", [1]),
        ("f[-1]", [-3]),
        ("m[0, 1]", [1]),
        ("m[:, 1]", [1, 1]),
        ("m[:, None]", [[[1, 1, 1]], [[1, 1, 1]]]),
        ("f[[0, 2]]", [1, -3]),
        ("f[u[:2]]", [2.5, -3]),
        ("m.reshape((-3,))", [1, 1, 1, 1, 1, 1]),
        ("f.reshape((0, 1))", [[1], [2.5], [-3]]),
        ("m.reshape((-4, 1, 2, -2))", [[[1, 1, 1], [1, 1, 1]]]),
        ("nd.arange(2, 10, 2, repeat=2)", [2, 2, 4, 4, 6, 6, 8, 8]),
        ("nd.arange(3)", [0, 1, 2]),
        ("nd.full((2,), 3, dtype='int8')", [3, 3]),
        ("nd.eye(2)", [[1, 0], [0, 1]]),
        ("nd.concatenate([f, f])", [1, 2.5, -3, 1, 2.5, -3]),
        ("f + True", [2, 3.5, -2]),
    ],
)
@pytest.mark.parametrize("live", [False, pytest.param(True, marks=pytest.mark.live)], ids=["ours", "MXNet"])
def test_computed_as_in_mxnet(
    expression: str, expected: list[object], live: bool, request: pytest.FixtureRequest
) -> None:
    nd = request.getfixturevalue("mxnet").nd if live else mx.nd
    held = {
        "nd": nd,
        "i": nd.array([1, 2, 3], dtype="int32"),
        "u": nd.array([1, 2, 3], dtype="uint8"),
        "f": nd.array([1, 2.5, -3]),
        "h": nd.array([1, 2.5, -3], dtype="float16"),
        "m": nd.ones((2, 3)),
    }
    found = eval(expression, held).asnumpy()
    dtypes = {"i": "int32", "u": "uint8", "h": "float16"}
    wanted = "int8" if "int8" in expression else dtypes.get(expression.lstrip("-7 1.5%/")[0], "float32")
    assert (found.tolist(), str(found.dtype)) == (expected, wanted)


WRITES = """
b = a[0]; b[:] = 5
c = a.reshape((3, 2)); c[0] = 7
d = a[:, 1]; d[:] = 9
a += 1
a[:] = [1, 2, 3]
a[0, :] = 2.5
a[[0, 1], [1, 2]] = 8
a[0][1] = 77
a += nd.ones((3,))
a[1] = nd.array([1, 2, 3], dtype='int32')
i[:] = 2.7
nd.ones((2, 3)).copyto(a)
a[:] = np.arange(6).reshape((2, 3))
a[1, 2] = nd.array([4])
a[0:1] = np.array([[1, 2, 3]])
a -= 1
a /= 2
"""


@pytest.mark.live
def test_written_as_in_mxnet(mxnet: ModuleType) -> None:
    shown: dict[str, list[object]] = {}
    for name, nd in (("ours", mx.nd), ("MXNet", mxnet.nd)):
        held: dict[str, Any] = {"nd": nd, "np": np, "a": nd.zeros((2, 3)), "i": nd.zeros((2,), dtype="int32")}
        for statement in WRITES.strip().splitlines():
            exec(statement, held)
            shown.setdefault(name, []).append((held["a"].asnumpy().tolist(), held["i"].asnumpy().tolist()))
    assert shown["ours"] == shown["MXNet"]


def test_what_was_loaded_is_not_written_to(tmp_path: Path) -> None:
    mx.nd.save(tmp_path / "m.params", arrays())
    held, copy = (dict(untyped(mx.nd.load(tmp_path / "m.params")))["arg:w"] for _ in range(2))
    kept = held.copy()
    held[:] = 0
    assert held.version == 1
    assert held.asnumpy().sum() == 0
    assert kept.asnumpy().tolist() == copy.asnumpy().tolist() == GIVEN.tolist()


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("f[5]", IndexError),
        ("f['a']", ValueError),
        ("f[1.0]", ValueError),
        ("f.reshape((4,))", ValueError),
        ("f + np.ones(3)", TypeError),
        ("np.ones(3) + f", TypeError),
        ("f == None", TypeError),
        ("f + h", mx.MXNetError),
        ("f + nd.ones((2,))", mx.MXNetError),
        ("f.__iadd__(nd.ones((2, 3)))", mx.MXNetError),
        ("f.copyto(nd.ones((2,)))", mx.MXNetError),
        ("f.__setitem__(slice(None), np.ones(2))", ValueError),
        ("nd.save('x', 5)", ValueError),
        ("nd.save('x', [1])", TypeError),
        ("nd.save('x', {1: f})", TypeError),
        ("mx.Context('tpu')", KeyError),
        ("f.astype('uint16')", mx.MXNetError),
        ("nd.load('/nonexistent')", mx.MXNetError),
        ("f.tostype('coo')", ValueError),
        ("f.attach_grad()", NotImplementedError),
        ("f.backward()", NotImplementedError),
    ],
)
def test_refused_with_mxnets_kind(expression: str, error: type[Exception]) -> None:
    held = {"f": mx.nd.ones((3,)), "h": mx.nd.ones((3,), dtype="float16"), "nd": mx.nd, "mx": mx, "np": np}
    with pytest.raises(error):
        eval(expression, held)


def test_context_of_a_block() -> None:
    with mx.cpu(2):
        assert mx.nd.zeros((1,)).context == mx.Context(mx.cpu(2))
        with mx.cpu(1):
            assert mx.nd.zeros((1,)).context == mx.cpu(1)
    assert mx.nd.zeros((1,)).context == mx.cpu() == mx.current_context()


def test_pickled_and_copied() -> None:
    held = mx.nd.array([1, 2], ctx=mx.cpu(1), dtype="bfloat16")
    for again in (pickle.loads(pickle.dumps(held)), deepcopy(held)):
        assert (again.context, again.dtype, again.asnumpy().tolist()) == (held.context, held.dtype, [1, 2])


OPERATORS = """
nd.relu(f)
nd.concat(f, f, dim=0)
nd.split(f, num_outputs=3, axis=1)
nd.split_v2(f, 3, axis=1)
nd.stack(f, f)
nd.dot(f, f.T)
nd.FullyConnected(f, nd.ones((2, 3)), nd.ones((2,)), num_hidden=2)
nd.Convolution(nd.ones((1, 2, 4, 4)), nd.ones((3, 2, 3, 3)), num_filter=3, kernel=(3, 3), no_bias=True)
nd.contrib.BilinearResize2D(nd.ones((1, 1, 2, 2)), height=3, width=3)
nd.linalg.gemm2(f, f.T)
nd.where(f > 0, f, f * 2)
nd.one_hot(nd.array([1, 0]), 3)
nd.zeros_like(f)
nd.take(f.T, nd.array([2, 0]))
nd.topk(f, k=2, ret_typ='both')
nd.cast(f, dtype='int32')
nd.broadcast_add(f, nd.ones((2, 1)))
nd.add(f, 1)
nd.subtract(1, f)
nd.maximum(2, f)
nd.power(2, f)
nd.modulo(f, 2)
nd.lesser_equal(f, 1)
nd.logical_and(f > 0, f > 2)
f.sum()
f.mean(axis=1, keepdims=True)
f.argmax(axis=1)
f.transpose()
f.expand_dims(0)
f.clip(0, 1)
f.softmax()
f.norm()
f.broadcast_to((2, 3))
f.slice_axis(axis=1, begin=0, end=2)
f.flatten()
f.squeeze()
f.abs().sqrt()
f.tile((2, 1))
nd.relu(f, out=g)
nd.contrib.foreach(lambda x, s: (x + s, x * s), f.T, nd.ones((1,)))
nd.contrib.foreach(lambda x, s: ([x[0], x[1]], [s[0] + 1]), [f.T, f.T], [nd.ones((1,))])[0]
nd.contrib.while_loop(lambda i, s: i <= 3, lambda i, s: ([i + s], [i + 1, s + i]), [nd.ones(1), nd.zeros(1)], 3)[1]
nd.contrib.cond(f.sum() > 0, lambda: f * 2, lambda: f)
g.exp()
""".strip().splitlines()


@pytest.mark.live
@pytest.mark.parametrize("expression", OPERATORS)
def test_operators_are_live_mxnets(expression: str, mxnet: ModuleType) -> None:
    found = []
    for nd in (mx.nd, mxnet.nd):
        held = {"nd": nd, "f": nd.array([[1, 2.5, -3]]), "g": nd.zeros((1, 3))}
        result = eval(expression, held)
        found.append([held["g"], *(result if isinstance(result, list | tuple) else [result])])
    assert len(found[0]) == len(found[1])
    for one, other in zip(*found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("expression", "error", "text"),
    [
        ("nd.FullyConnected(f, nd.ones((2, 3)), num_hidden=2)", mx.MXNetError, "needs the array bias"),
        ("nd.relu(sym.var('a'))", AssertionError, "mx.sym composes"),
        ("nd.nosuch(f)", AttributeError, "nosuch"),
        ("f.nosuch()", AttributeError, "nosuch"),
        ("nd.FullyConnected(f, nd.ones((2, 4)), nd.ones((2,)), num_hidden=2)", GraphirError, "4"),
    ],
)
def test_operators_refuse(expression: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        eval(expression, {"nd": mx.nd, "sym": mx.sym, "f": mx.nd.array([[1, 2.5, -3]])})


def test_random_arrays_repeat() -> None:
    drawn = []
    for _ in range(2):
        mx.random.seed(11)
        made = [mx.nd.random.uniform(0, 2, shape=(50, 40)), mx.random.normal(1, 2, (50, 40))]
        drawn.append([held.asnumpy() for held in (*made, mx.random.randint(0, 5, 9))])
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(one, other)
    uniform, normal, integers = drawn[0]
    assert 0 <= uniform.min() < uniform.max() < 2
    assert abs(normal.mean() - 1) < 0.2
    assert integers.dtype == np.int32
