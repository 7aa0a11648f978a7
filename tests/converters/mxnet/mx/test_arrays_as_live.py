"""What `mx.nd` computes and refuses, call by call beside live MXNet."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx as ours

Call = Callable[[Any], Any]
pytestmark = pytest.mark.live

ELEMENTS = {
    "float32": [0, -1.5, 2.25, 7, -3.5, 0.1],
    "float64": [0, -1.5, 2.25, 7, -3.5, 0.1],
    "float16": [0, -1.5, 2.25, 7, -3.5, 0.1],
    "int64": [0, -5, 7, 2**60 + 1, -(2**40), 13],
    "int32": [0, -5, 7, 2**30 + 1, -(2**20), 13],
    "int8": [0, -1, 7, -100, 127, 3],
    "uint8": [0, 1, 7, 200, 255, 3],
    "bool": [0, 1, 1, 0, 1, 0],
}
PYTHON = ("add", "sub", "mul", "truediv", "mod", "pow", "eq", "ne", "gt", "ge", "lt", "le")
FUNCTIONS = (
    "add", "subtract", "multiply", "divide", "modulo", "power", "maximum", "minimum", "equal", "not_equal", "greater",
    "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
DIVIDES = ("truediv", "mod", "divide", "modulo")


def plain(found: Any) -> Any:
    """Elements, dtypes and shapes of what a call gives, also within lists."""
    if isinstance(found, list | tuple):
        return [plain(part) for part in found]
    if hasattr(found, "asnumpy"):
        elements = found.asnumpy()
        return str(elements.dtype), elements.shape, elements.ravel().tolist()
    return found


def outcome(frame: Any, call: Call) -> Any:
    """What the call gives, or the kinds of the error that it raises."""
    try:
        return plain(call(frame))
    except Exception as error:
        kinds = (frame.MXNetError, IndexError, ValueError, TypeError)
        return {kind.__name__ for kind in kinds if isinstance(error, kind)}


def divisor(dtype: str) -> list[float]:
    return [1.5, -2, 4, 3, 2.5, -0.3] if dtype.startswith("float") else [3, 2, 4, 2, 7, 9]


def numbers(dtype: str, name: str) -> list[Any]:
    """Numbers beside an array; integers are divided by none that is 0 in their dtype."""
    found = [2, 1.5, 7, np.float32(2.5), np.int64(3), True]
    return found if dtype == "uint8" else [*found, -3]


def operands(frame: Any, dtype: str) -> tuple[Any, Any]:
    pair = (np.array(values).astype(dtype) for values in (ELEMENTS[dtype], divisor(dtype)))
    first, second = (frame.nd.array(values, dtype=dtype) for values in pair)
    return first, second


def same(one: Any, other: Any) -> bool:
    return bool(repr(one) == repr(other))  # NaN is NaN


def same_but_for_the_last_bit(one: Any, other: Any) -> bool:
    """As `same`, but for the last bit of a power: in NumPy it is that of the processor, in MXNet of the C
    library.
    """
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_but_for_the_last_bit, one, other))
    if isinstance(one, tuple) and one and one[0] in ("float32", "float64"):
        unit = float(np.finfo(one[0]).eps)
        return same(one[:2], other[:2]) and np.allclose(one[2], other[2], rtol=2 * unit, atol=0, equal_nan=True)
    return same(one, other)


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("name", PYTHON)
def test_operators_of_python(dtype: str, name: str, mxnet: ModuleType) -> None:
    if dtype == "bool" and name in DIVIDES:
        pytest.skip("MXNet's own process ends by a division by zero")
    compute = getattr(operator, name)
    turned = not (name in DIVIDES and "int" in dtype)  # integers have a 0 among them
    rows: list[Any] = []
    for frame in (ours, mxnet):
        first, second = operands(frame, dtype)
        rows.append([
            outcome(frame, lambda _, a=first, b=second: compute(a, b)),  # type: ignore[misc]
            *(outcome(frame, lambda _, a=first, s=s: compute(a, s)) for s in numbers(dtype, name)),  # type: ignore[misc]
            *(outcome(frame, lambda _, a=first, s=s: compute(s, a)) for s in numbers(dtype, name) if turned),  # type: ignore[misc]
        ])  # fmt: skip
    assert (same_but_for_the_last_bit if name == "pow" else same)(*rows)


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_two(dtype: str, name: str, mxnet: ModuleType) -> None:
    if dtype == "bool" and name in DIVIDES:
        pytest.skip("MXNet's own process ends by a division by zero")
    rows: list[Any] = []
    for frame in (ours, mxnet):
        first, second = operands(frame, dtype)
        compute = getattr(frame.nd, name)
        rows.append([
            outcome(frame, lambda _, a=first, b=second, c=compute: c(a, b)),  # type: ignore[misc]
            outcome(frame, lambda _, a=first, c=compute: c(a, 2.5)),  # type: ignore[misc]
            outcome(frame, lambda _, b=second, c=compute: c(20.7, b)),  # type: ignore[misc]
            compute(7, 2), compute(7.5, 2), type(compute(7.5, 2)),
        ])  # fmt: skip
    assert (same_but_for_the_last_bit if name == "power" else same)(*rows)


@pytest.mark.parametrize("dtype", [name for name in ELEMENTS if name != "bool"])
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "imod"])
def test_operators_in_place(dtype: str, name: str, mxnet: ModuleType) -> None:
    rows: list[Any] = []
    for frame in (ours, mxnet):
        first, second = operands(frame, dtype)
        written = getattr(operator, name)(getattr(operator, name)(first, second), 2.5)
        rows.append((written is first, plain(first), outcome(frame, lambda f, a=first: abs(-a))))  # type: ignore[misc]
    assert same(*rows)


RANGES = [(1.3, 456.6, 1.3), (5,), (0, 10, 3), (0, 1, 0.1), (-3, 4, 0.7), (10, 0, -1.5), (2, 9, 2, 3), (0, 1000, 0.3)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "int8"])
@pytest.mark.parametrize("sizes", RANGES, ids=str)
def test_ranges_of_arrays_and_symbols(sizes: tuple[float, ...], dtype: str, mxnet: ModuleType) -> None:
    expected = plain(mxnet.nd.arange(*sizes, dtype=dtype))
    assert plain(ours.nd.arange(*sizes, dtype=dtype)) == expected
    assert plain(ours.sym.arange(*sizes, dtype=dtype).eval()[0]) == expected


def ones(frame: Any, *shape: int) -> Any:
    return frame.nd.ones(shape)


def count_up(frame: Any, given: Call) -> Any:
    """Three of three steps of a loop, with what the body gives as its output."""
    step = lambda i: (given(i), [i + 1])  # noqa: E731
    return frame.nd.contrib.while_loop(lambda i: i < 3, step, [frame.nd.array([0])], 3)


def split_apart(frame: Any) -> Any:
    """An executor whose outputs have no axes."""
    apart = frame.sym.split_v2(frame.sym.var("x"), 3, squeeze_axis=True)
    return apart.bind(frame.cpu(), {"x": frame.nd.arange(3)})


def written_whole(frame: Any) -> Any:
    """An array without axes that all of is written to."""
    with frame.np_shape():
        array = frame.nd.ones(())
        array[:] = 3
        return array.asnumpy().tolist()


GIVEN: dict[str, Call] = {
    "an array without axes, written": written_whole,
    "while_loop, one output": lambda m: count_up(m, lambda i: i),
    "while_loop, a list": lambda m: count_up(m, lambda i: [i]),
    "while_loop, no output": lambda m: count_up(m, lambda i: None),
    "histogram of bins": lambda m: m.nd.histogram(m.nd.array([1.0, 2, 3, 4]), bins=2, range=(0, 4)),
    "histogram without a range": lambda m: m.nd.histogram(m.nd.array([1.0, 2, 3, 4]), bins=3),
    "histogram of edges": lambda m: m.nd.histogram(m.nd.array([1.0, 2, 3, 4]), bins=m.nd.array([0, 2.5, 4])),
    "multi_sum_sq": lambda m: m.nd.multi_sum_sq(ones(m, 2), m.nd.array([3.0]), num_arrays=2),
    "multi_all_finite": lambda m: m.nd.multi_all_finite(ones(m, 2), m.nd.array([np.inf]), num_arrays=2),
    "names of arrays": lambda m: m.sym.multi_sum_sq(num_arrays=2, name="s").list_arguments(),
    "broadcast_to an array": lambda m: ones(m, 1, 2).broadcast_to(np.array([3, 2])),
    "broadcast_to more axes": lambda m: m.nd.array([1, 2]).broadcast_to((3, 2)),
    "expand_dims inplace": lambda m: ones(m, 2).expand_dims(0, inplace=True),
    "flatten inplace": lambda m: ones(m, 2, 3, 1).flatten(inplace=True),
    "squeeze inplace": lambda m: ones(m, 2, 1).squeeze(axis=1, inplace=True),
    "1-D pooling, 3 pads": lambda m: m.nd.Pooling(m.nd.arange(8).reshape((1, 1, 8)), kernel=(2,), pad=(1, 1, 1)),
    "1-D pooling, 2 strides": lambda m: m.nd.Pooling(m.nd.arange(8).reshape((1, 1, 8)), kernel=(2,), stride=(2, 3)),
    "2-D pooling, 3 pads": lambda m: m.nd.Pooling(
        m.nd.arange(16).reshape((1, 1, 4, 4)), kernel=(2, 2), pad=(1, 0, 1), pool_type="avg"
    ),
    "2**60 + 1 modulo 7": lambda m: m.nd.array(np.array([2**60 + 1]), dtype="int64") % 7,
    "7**9 of int32": lambda m: m.nd.array([7], dtype="int32") ** 9,
    "gather_nd, last": lambda m: m.nd.gather_nd(m.nd.arange(6).reshape((2, 3)), m.nd.array([[0, -1], [0, 0]])),
    "split_v2": lambda m: m.nd.split_v2(m.nd.arange(6), 3),
    "take, mode raise": lambda m: m.nd.take(ones(m, 3, 2), m.nd.array([2, 0]), mode="raise"),
    "take, mode wrap": lambda m: m.nd.take(m.nd.arange(3), m.nd.array([-1, -4]), mode="wrap"),
    "a split without axes": lambda m: split_apart(m).forward(),
    "nothing, numpy's shapes": lambda m: m.use_np_shape(m.nd.zeros)((2, 0)),
    "no axes, numpy's shapes": lambda m: m.use_np_shape(m.nd.ones)(()),
    "nothing, drawn": lambda m: m.use_np_shape(m.nd.random.uniform)(shape=(2, 0)),
    "nothing, filled": lambda m: m.nd.full((2, 0), 3),
    "random, equal ends": lambda m: m.nd.random.uniform(2, 2, shape=(2,)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_gives_what_live_mxnet_gives(name: str, mxnet: ModuleType) -> None:
    assert outcome(ours, GIVEN[name]) == outcome(mxnet, GIVEN[name])


def matrix(frame: Any) -> Any:
    return frame.nd.arange(6).reshape((2, 3))


REFUSED: dict[str, Call] = {
    "normal, scale below 0": lambda m: plain(m.nd.random.normal(0, -1)),
    "normal, scale 0": lambda m: plain(m.nd.random.normal(0, 0)),
    "normal of integers": lambda m: plain(m.nd.random.normal(0, 1, dtype="int32")),
    "uniform, high below low": lambda m: plain(m.nd.random.uniform(3, 1)),
    "randint, high below low": lambda m: plain(m.nd.random.randint(3, 1)),
    "randint of floats": lambda m: plain(m.nd.random.randint(0, 3, dtype="float32")),
    "poisson below 0": lambda m: plain(m.nd.random.poisson(-1)),
    "gamma below 0": lambda m: plain(m.nd.random.gamma(-1, 1)),
    "exponential below 0": lambda m: plain(m.nd.random.exponential(-1)),
    "mx.random": lambda m: plain(m.random.normal(0, -1)),
    "tile": lambda m: m.nd.tile(ones(m, 2, 3), reps=(-1,)),
    "where": lambda m: m.nd.where(ones(m, 2, 3), ones(m, 2, 2), ones(m, 2, 3)),
    "depth_to_space, channels": lambda m: m.nd.depth_to_space(ones(m, 1, 3, 2, 2), 2),
    "depth_to_space, block 0": lambda m: m.nd.depth_to_space(ones(m, 1, 4, 2, 2), 0),
    "depth_to_space, 3 axes": lambda m: m.nd.depth_to_space(ones(m, 4, 2, 2), 2),
    "space_to_depth": lambda m: m.nd.space_to_depth(ones(m, 1, 3, 3, 2), 2),
    "gather_nd, too large": lambda m: plain(m.nd.gather_nd(matrix(m), m.nd.array([[0, 5], [0, 0]]))),
    "gather_nd, too small": lambda m: plain(m.nd.gather_nd(matrix(m), m.nd.array([[0, -9], [0, 0]]))),
    "gather_nd, too many": lambda m: m.nd.gather_nd(ones(m, 2), ones(m, 3, 2)),
    "take, mode raise": lambda m: plain(m.nd.take(ones(m, 3, 2), m.nd.array([5]), mode="raise")),
    "take, mode raise, below 0": lambda m: plain(m.nd.take(ones(m, 3, 2), m.nd.array([-1]), mode="raise")),
    "zeros, a size unknown": lambda m: m.nd.zeros((2, 0)),
    "ones, a size unknown": lambda m: m.nd.ones(0),
    "zeros, a rank unknown": lambda m: m.nd.zeros(()),
    "uniform, a size unknown": lambda m: m.nd.random.uniform(shape=(0, 1)),
    "mx.random, a size unknown": lambda m: m.random.normal(0, 1, (0,)),
    "randint, a rank unknown": lambda m: m.nd.random.randint(0, 3, shape=()),
    "batch_take": lambda m: m.nd.batch_take(ones(m, 3, 2), m.nd.zeros((2,), dtype="int32")),
    "diag, one axis twice": lambda m: m.nd.diag(ones(m, 2, 3, 4), axis1=0, axis2=0),
    "diag, empty": lambda m: m.nd.diag(ones(m, 2, 3), k=5),
    "diag, no such axis": lambda m: m.nd.diag(ones(m, 2, 3, 4), axis1=4),
    "shapes": lambda m: ones(m, 2, 3) + ones(m, 2, 2),
    "dtypes": lambda m: ones(m, 2) + m.nd.ones((2,), dtype="int32"),
    "two arrays of bool": lambda m: m.nd.ones((2,), dtype="bool") + m.nd.ones((2,), dtype="bool"),
    "text": lambda m: ones(m, 2) + "a",
    "reshape": lambda m: ones(m, 2, 3).reshape((4, 2)),
    "reshape, two open": lambda m: ones(m, 2, 3).reshape((-1, -1)),
    "broadcast_to, method": lambda m: ones(m, 2, 3).broadcast_to((3, 3)),
    "broadcast_like, method": lambda m: ones(m, 2, 3).broadcast_like(ones(m, 4, 3)),
    "broadcast_to, function": lambda m: m.nd.broadcast_to(ones(m, 2, 3), shape=(3, 3)),
    "negative size": lambda m: m.nd.zeros((-1, 2)),
    "linspace": lambda m: m.nd.linspace(0, 1, -1),
    "arange, step 0": lambda m: m.nd.arange(0, 10, 0),
    "arange, nothing": lambda m: m.nd.arange(5, 1),
    "sparse": lambda m: ones(m, 2).tostype("foo"),
    "save": lambda m: m.nd.save("/no/such/folder/x.params", [ones(m, 2)]),
    "save of a symbol": lambda m: m.sym.var("a").save("/no/such/folder/x.json"),
    "load": lambda m: m.nd.load("/no/such/folder/x.params"),
    "index": lambda m: ones(m, 2)[5],
    "index by name": lambda m: ones(m, 2)["a"],
    "no dtype": lambda m: ones(m, 2).astype("foo"),
    "split_v2, unequal": lambda m: m.nd.split_v2(ones(m, 5), 2),
    "histogram, range": lambda m: m.nd.histogram(ones(m, 3), bins=2, range=(1, 0)),
    "histogram, bins": lambda m: m.nd.histogram(ones(m, 3), bins="a"),
    "while_loop, other count": lambda m: m.nd.contrib.while_loop(
        lambda i: i < 3, lambda i: (i, [i, i]), [ones(m, 1)], 4
    ),
    "while_loop, no variables": lambda m: m.nd.contrib.while_loop(lambda: 1, lambda: (1, []), [], 4),
    "weights": lambda m: m.nd.FullyConnected(ones(m, 2, 3), ones(m, 4, 5), ones(m, 4), num_hidden=4),
    "kernel": lambda m: m.nd.Convolution(
        ones(m, 1, 3, 2, 2), ones(m, 4, 3, 3, 3), kernel=(3, 3), num_filter=4, no_bias=True
    ),
    "pads of a convolution": lambda m: m.nd.Convolution(
        ones(m, 1, 1, 8), ones(m, 1, 1, 2), kernel=(2,), pad=(1, 1), num_filter=1, no_bias=True
    ),
    "concat": lambda m: m.nd.concat(ones(m, 2, 3), ones(m, 3, 3), dim=1),
    "dot": lambda m: m.nd.dot(ones(m, 2, 3), ones(m, 2, 3)),
    "axis": lambda m: m.nd.sum(ones(m, 2, 3), axis=5),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_with_the_error_of_live_mxnet(name: str, mxnet: ModuleType) -> None:
    found, expected = outcome(ours, REFUSED[name]), outcome(mxnet, REFUSED[name])
    assert isinstance(expected, set)
    assert expected
    assert expected <= found


def test_an_index_error_is_both() -> None:
    with pytest.raises(ours.MXNetError) as caught:
        ours.nd.gather_nd(matrix(ours), ours.nd.array([[9], [0]]))
    assert isinstance(caught.value, IndexError)
