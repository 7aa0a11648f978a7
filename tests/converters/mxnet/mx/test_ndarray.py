"""`mx.nd` and `mx.model`: arrays and checkpoints, to and from MXNet's files."""

from __future__ import annotations

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
    assert repr(mx.nd.array([[1, 2]], ctx=mx.gpu(1))) == "\n[[1. 2.]]\n<NDArray 1x2 @gpu(1)>"
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
    assert array.copyto(mx.gpu(1)).context == mx.gpu(1)
    with pytest.raises(TypeError, match="copyto does not support"):
        array.copyto(untyped(array))
