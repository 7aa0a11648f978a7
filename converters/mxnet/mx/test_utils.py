"""`mx.test_utils`: arrays drawn for tests, and comparisons with tolerances by dtype."""

from __future__ import annotations

import functools
import os
import random as _random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.testing as npt

from graphir.arrays import Array
from graphir.converters.mxnet.mx import context
from graphir.converters.mxnet.mx.context import Context, current_context
from graphir.converters.mxnet.mx.gluon import utils
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.ndarray import array as nd_array
from graphir.converters.mxnet.mx.refusals import refused_name

DOWNLOADS = (
    "download_model get_bz2_data get_cifar10 get_mnist get_mnist_iterator get_mnist_pkl get_mnist_ubyte get_zip_data"
)
TRAINING = (
    "check_consistency check_gluon_hybridize_consistency check_numeric_gradient check_speed check_symbolic_backward "
    "chi_square_check compare_optimizer gen_buckets_probs_with_ppf mean_check numeric_grad "
    "rand_sparse_ndarray var_check verify_generator"
)
RTOLS = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
ATOLS = {"float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
_defaults: dict[str, Any] = {}


def default_context() -> Context:
    """Return the context of tests, which MXNET_TEST_DEFAULT_CTX or `set_default_context` states."""
    stated = os.environ.get("MXNET_TEST_DEFAULT_CTX")
    device: Context = _defaults.get("context") or (_device(stated) if stated else current_context())
    return device


def _device(text: str) -> Context:
    kind, _, number = text.partition("(")
    return Context(kind, int(number.rstrip(")") or 0))


def set_default_context(ctx: Context) -> None:
    """Make a context that of tests."""
    _defaults["context"] = ctx


def default_dtype() -> type:
    """Return float32."""
    return np.float32


def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """Return a relative tolerance, by default that of a dtype."""
    return RTOLS.get(np.dtype(dtype).name, 0) if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """Return an absolute tolerance, by default that of a dtype."""
    return ATOLS.get(np.dtype(dtype).name, 0) if atol is None else atol


def get_tols(x: Any, y: Any, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """Return the tolerances for two arrays: those of the coarser dtype."""
    dtypes = [np.dtype(getattr(operand, "dtype", np.float64)) for operand in (x, y)]
    return max(get_rtol(rtol, dtype) for dtype in dtypes), max(get_atol(atol, dtype) for dtype in dtypes)


def _elements(value: Any) -> Array:
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def same(a: Any, b: Any) -> bool:
    """Return whether all elements are equal."""
    return np.array_equal(_elements(a), _elements(b))


def almost_equal(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:  # fmt: skip
    """Return whether all elements are equal within tolerances."""
    left, right = _elements(a), _elements(b)
    rtol, atol = get_tols(left, right, rtol, atol)
    if not use_broadcast and left.shape != right.shape:
        raise AssertionError(f"the shapes are {left.shape} and {right.shape}")
    return bool(np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan))


def assert_almost_equal(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False, use_broadcast: bool = True, mismatches: Any = (10, 10),
) -> None:  # fmt: skip
    """Raise AssertionError unless all elements are equal within tolerances; it names the worst element."""
    left, right = _elements(a), _elements(b)
    rtol, atol = get_tols(left, right, rtol, atol)
    if almost_equal(left, right, rtol, atol, equal_nan, use_broadcast):
        return
    left, right = (value.astype(np.float64) for value in np.broadcast_arrays(left, right))
    with np.errstate(invalid="ignore"):
        excess = np.abs(left - right) / (atol + rtol * np.abs(right))
    excess = np.where(np.isnan(excess), np.inf, excess)
    place = tuple(int(index) for index in np.unravel_index(np.argmax(excess), excess.shape))
    share = np.mean(excess > 1)
    raise AssertionError(
        f"\nItems are not equal:\nError {excess[place]:f} exceeds tolerance rtol={rtol:e}, atol={atol:e} (mismatch "
        f"{share:%}).\nLocation of maximum error: {place}, {names[0]}={left[place]:.8f}, {names[1]}={right[place]:.8f}"
    )


def almost_equal_ignore_nan(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Return whether the elements that are NaN in neither are equal within tolerances."""
    left, right = np.copy(_elements(a)), np.copy(_elements(b))
    either = np.isnan(left) | np.isnan(right)
    left[either] = right[either] = 0
    return almost_equal(left, right, rtol, atol)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, names: Sequence[str] = ("a", "b")
) -> None:
    """Raise AssertionError unless the elements that are NaN in neither are equal within tolerances."""
    left, right = np.copy(_elements(a)), np.copy(_elements(b))
    either = np.isnan(left) | np.isnan(right)
    left[either] = right[either] = 0
    assert_almost_equal(left, right, rtol, atol, names)


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """Raise AssertionError unless all elements are equal within NumPy's tolerances."""
    npt.assert_allclose(_elements(a), _elements(b), rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any) -> None:
    """Raise AssertionError unless a call raises an exception of a type."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"Did not raise {exception_type.__name__}")


def random_arrays(*shapes: Any) -> Any:
    """Return normally distributed numpy arrays, one alone or a list."""
    arrays: list[Any] = [np.array(np.random.randn(*shape), dtype=default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """Return k elements in their order."""
    return [population[index] for index in sorted(_random.sample(range(len(population)), k))]


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a shape with sizes up to `dim`."""
    return tuple(int(size) for size in np.random.randint(0 if allow_zero_size else 1, dim + 1, size=num_dim))


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """Return a shape of two axes."""
    low = 0 if allow_zero_size else 1
    return np.random.randint(low, dim0 + 1), np.random.randint(low, dim1 + 1)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a shape of three axes."""
    low = 0 if allow_zero_size else 1
    return tuple(np.random.randint(low, dim + 1) for dim in (dim0, dim1, dim2))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Return two coordinates."""
    return np.random.randint(x_low, x_high), np.random.randint(y_low, y_high)


def rand_ndarray(
    shape: Sequence[int], stype: str = "default", density: float | None = None, dtype: Any = None,
    modifier_func: Any = None, shuffle_csr_indices: bool = False, distribution: Any = None, ctx: Any = None,
) -> NDArray:  # fmt: skip
    """Return an array of numbers from -1 to 1. Raises WrongValue for a sparse type: all arrays are dense here."""
    return nd_array(np.random.uniform(-1, 1, size=tuple(shape)), ctx=ctx, dtype=dtype or default_dtype()).tostype(stype)


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """Return the numbers from 0."""
    return nd_array(np.arange(size), dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """Return rows of their own number."""
    return nd_array(np.repeat(np.arange(rows)[:, None], columns, axis=1), dtype=dtype)


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Return whether what is written into one array is seen in the other."""
    array1[:] += 1
    if not same(array1, array2):
        array1[:] -= 1
        return False
    array1[:] -= 1
    return same(array1, array2)


def np_reduce(dat: Array, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Array]) -> Array:
    """Return a reduction over some axes, one after the other."""
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    result = dat
    for reduced_axis in sorted((index % dat.ndim for index in axes), reverse=True):
        result = numpy_reduce_func(result, axis=reduced_axis)
    if keepdims:
        reduced = {index % dat.ndim for index in axes}
        result = result.reshape([1 if index in reduced else size for index, size in enumerate(dat.shape)])
    return result


def simple_forward(sym: Any, ctx: Any = None, is_train: bool = False, **inputs: Any) -> Any:
    """Return the outputs of a symbol for numpy arrays, one alone or a list."""
    executor = sym.bind(ctx or default_context(), args={name: nd_array(value) for name, value in inputs.items()})
    executor.forward(is_train=is_train)
    outputs = [output.asnumpy() for output in executor.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym: Any, location: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
    aux_states: Any = None, ctx: Any = None, equal_nan: bool = False, dtype: Any = np.float32,
) -> list[NDArray]:  # fmt: skip
    """Raise AssertionError unless a symbol's outputs are equal to arrays within tolerances; return the outputs."""

    def arrays(given: Any, names: list[str]) -> dict[str, NDArray]:
        named: Any = given if isinstance(given, dict) else dict(zip(names, given or (), strict=True))
        return {name: nd_array(value, dtype=getattr(value, "dtype", dtype)) for name, value in named.items()}

    states = sym.list_auxiliary_states()
    executor = sym.bind(
        ctx or default_context(), args=arrays(location, sym.list_arguments()),
        aux_states=arrays(aux_states, states if aux_states else []),
    )  # fmt: skip
    outputs = executor.forward(is_train=False)
    wanted = [expected[name] for name in sym.list_outputs()] if isinstance(expected, dict) else expected
    for name, output, value in zip(sym.list_outputs(), outputs, wanted, strict=True):
        assert_almost_equal(value, output, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan)
    return list(outputs)


def list_gpus() -> list[int]:
    """Return the numbers of the GPUs that onnxruntime can use."""
    return list(range(context.num_gpus()))


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that runs a test again, n times in all, where it fails."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def repeated(*args: Any, **kwargs: Any) -> Any:
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError as error:
                    print(error)
            return test(*args, **kwargs)

        return repeated

    return decorate


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """Set environment variables within a `with`: a name and a value, or a dict of them; None removes one."""
    wanted = dict([args]) if len(args) == 2 else dict(args[0])
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set(wanted)
        yield
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


class DummyIter:
    """The first batch of an iterator, again and again."""

    def __init__(self, real_iter: Any) -> None:
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def __next__(self) -> Any:
        return self.the_batch

    next = __next__

    def reset(self) -> None:
        """Do nothing: each batch is the first."""


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Return the file of a URL that is on the disk already. Raises MXNetError if it is not: nothing is downloaded."""
    return utils.download(url, os.path.join(dirname or "", fname or url.split("/")[-1]))


def get_im2rec_path(home_env: str = "MXNET_HOME") -> str:
    """Return the path of im2rec.py below the folder that a variable names. Raises OSError where it is not."""
    home = os.environ.get(home_env, os.path.dirname(__file__))
    for folder in ((), ("..", "..")):
        path = os.path.join(home, *folder, "tools", "im2rec.py")
        if os.path.isfile(path):
            return path
    raise OSError("Could not find path to tools/im2rec.py")


def __getattr__(name: str) -> Any:
    if name in DOWNLOADS.split():
        hint = "nothing is downloaded here: put the file on the disk and read it"
        return refused_name(f"mx.test_utils.{name}", hint, training=False)
    if name in TRAINING.split():
        return refused_name(f"mx.test_utils.{name}")
    raise AttributeError(f"mx.test_utils.{name} is not here; there are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*__all__, *DOWNLOADS.split(), *TRAINING.split()})


__all__ = [
    "DummyIter",
    "almost_equal",
    "almost_equal_ignore_nan",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_exception",
    "check_symbolic_forward",
    "create_2d_tensor",
    "create_vector",
    "default_context",
    "default_dtype",
    "download",
    "environment",
    "get_atol",
    "get_im2rec_path",
    "get_rtol",
    "get_tols",
    "list_gpus",
    "np_reduce",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "retry",
    "same",
    "same_array",
    "set_default_context",
    "simple_forward",
]  # fmt: skip
