"""Arrays made of numbers and of files: `mx.nd.array`, `zeros`, `arange`, `load` and their kin."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.files.params import open_params, write_params
from graphir.converters.mxnet.mx.base import MXNetError, mxnet_errors
from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.ndarray import sparse_arrays
from graphir.converters.mxnet.mx.ndarray.array import NDArray, numpy_dtype
from graphir.converters.mxnet.mx.util import is_np_shape
from graphir.converters.mxnet.reference.indexing import OPERATORS
from graphir.errors import ArgumentError, FormatError
from graphir.tensor import Tensor

Shape = int | Sequence[int]


def array(source_array: object, ctx: Context | None = None, dtype: object = None) -> NDArray:
    """Return an array of what is given, copied. Without a `dtype` it is float32, or the NDArray's own.

    Raises ArgumentError, a TypeError, for what is no array.
    """
    if getattr(source_array, "stype", "default") != "default" or hasattr(source_array, "tocsr"):
        return sparse_arrays.array(source_array, ctx, dtype)
    elements: Any = source_array.asnumpy() if hasattr(source_array, "asnumpy") else source_array
    wanted = dtype or (elements.dtype if isinstance(source_array, NDArray) else np.float32)
    try:
        return NDArray(np.array(elements, dtype=numpy_dtype(wanted)), ctx)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the array must be like an array of numbers: {error}") from error


def known(shape: Shape) -> Shape:
    """Return the shape. Raises MXNetError for () and for sizes of 0, which are unknown unless the shapes are
    numpy's."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if is_np_shape() or (sizes and 0 not in sizes):
        return shape
    raise MXNetError(
        f"the shape {shape} is not known: {'a size of 0' if sizes else 'no size'} stands for an unknown one; "
        "mx.nd.empty makes such an array, and mx.np_shape() gives shapes numpy's meaning"
    )


def zeros(shape: Shape, ctx: Context | None = None, dtype: object = None, **kwargs: Any) -> NDArray:
    """Return an array of zeros, float32 without a `dtype`; with a `stype` a sparse one."""
    if kwargs.get("stype") not in (None, "default"):
        return sparse_arrays.zeros(kwargs["stype"], (shape,) if isinstance(shape, int) else shape, ctx, dtype)
    return full(known(shape), 0, ctx, dtype, **kwargs)


def ones(shape: Shape, ctx: Context | None = None, dtype: object = None, **kwargs: Any) -> NDArray:
    """Return an array of ones, float32 without a `dtype`."""
    return full(known(shape), 1, ctx, dtype, **kwargs)


def empty(shape: Shape, ctx: Context | None = None, dtype: object = None) -> NDArray:
    """Return an array to be written to, float32 without a `dtype`. Its elements are zeros until then."""
    return full(shape, 0, ctx, dtype)


def full(
    shape: Shape,
    val: float,
    ctx: Context | None = None,
    dtype: object = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Return an array of one number, float32 without a `dtype`; written into `out` if that is given.

    What symbols take besides (`name`, `__layout__`) is passed over. Raises ValueError for anything else.
    """
    kwargs = {key: value for key, value in kwargs.items() if key != "name" and not key.startswith("__")}
    if kwargs.pop("stype", "default") not in (None, "default") or kwargs:
        raise ValueError(f"arrays are dense here; not known: {', '.join(kwargs) or 'stype'}")
    if out is not None:
        out[:] = val
        return out
    if min((shape,) if isinstance(shape, int) else shape, default=0) < 0:
        raise MXNetError(f"the shape {shape} has a negative size")
    wanted = numpy_dtype(dtype or np.float32)
    is_plain_zero = isinstance(val, int) and val == 0  # of which the system gives whole pages when they are read
    return NDArray(np.zeros(shape, wanted) if is_plain_zero else np.full(shape, val, wanted), ctx)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Context | None = None,
    dtype: object = np.float32,
) -> NDArray:
    """Return the numbers from `start` (0 if it comes alone) to below `stop`, each `repeat` times.

    Raises MXNetError for a step of 0 and for no numbers at all.
    """
    sizes = {"start": start, "stop": stop, "step": step, "repeat": repeat, "dtype": numpy_dtype(dtype).name}
    try:
        return NDArray(OPERATORS["_arange"](sizes), ctx)
    except ValueError as error:
        raise MXNetError(f"arange: {error}") from error


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Context | None = None, dtype: object = np.float32
) -> NDArray:
    """`num` numbers from `start` to `stop` with the same step. Raises MXNetError for a negative number of them."""
    if num < 0:
        raise MXNetError(f"linspace: num is {num}, expected 0 or more")
    return NDArray(np.linspace(start, stop, num, endpoint).astype(numpy_dtype(dtype)), ctx)


def eye(N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: object = None, **kwargs: Any) -> NDArray:
    """Ones on the `k`-th diagonal of N rows and M columns (N without M)."""
    return NDArray(np.eye(N, M or None, k, numpy_dtype(dtype or np.float32)), ctx)


def from_numpy(ndarray: object, zero_copy: bool = True) -> NDArray:
    """Return an array of numpy's with its dtype. It is copied when one of them is written to through this one."""
    return NDArray(np.asarray(ndarray) if zero_copy else np.array(ndarray))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays behind each other along an axis; the only one itself unless `always_copy`."""
    if not arrays:
        raise ValueError("there is nothing to concatenate")
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return NDArray(np.concatenate([array.asnumpy() for array in arrays], axis), arrays[0].context)


def moveaxis(tensor: NDArray, source: int | Sequence[int], destination: int | Sequence[int]) -> NDArray:
    """Return the elements with axes moved to other places."""
    return NDArray(np.ascontiguousarray(np.moveaxis(tensor.asnumpy(), source, destination)), tensor.context)


def waitall() -> None:
    """Nothing: all is done."""


class ArrayFileError(FormatError, MXNetError):
    """A file holds no arrays that can be read."""


def load(fname: str | os.PathLike[str]) -> dict[str, NDArray] | list[NDArray]:
    """Return the arrays of a file: by name, or in order where the file has no names. Raises ArrayFileError."""
    try:
        opened = open_params(fname)
    except FormatError as error:
        refusal = ArrayFileError(str(error))
        refusal.path, refusal.offset, refusal.json_path = error.path, error.offset, error.json_path
        raise refusal from error
    if opened.named:
        return {entry.name: NDArray(entry.tensor) for entry in opened.entries}
    return [NDArray(entry.tensor) for entry in opened.entries]


def save(fname: str | os.PathLike[str], data: NDArray | Mapping[str, NDArray] | Sequence[NDArray]) -> None:
    """Write arrays by name, or without names where they come in a sequence or alone.

    The file appears under its name when it is complete. Raises TypeError for what is no array and for names that are no
    texts, and MXNetError for a file that cannot be written.
    """
    if isinstance(data, Mapping):
        if not all(isinstance(name, str) for name in data):
            raise TypeError("save takes arrays by names that are texts")
        arrays, is_named = {name: _only_array(listed) for name, listed in data.items()}, True
    elif isinstance(data, NDArray | list | tuple):
        listed = [data] if isinstance(data, NDArray) else data
        arrays, is_named = {str(slot): _only_array(array) for slot, array in enumerate(listed)}, False
    else:
        raise ValueError(f"save takes an NDArray, a list of them or a dict of them by name, found {type(data)}")
    with mxnet_errors():
        write_params(fname, arrays, named=is_named)


def _only_array(value: object) -> Tensor:
    if not isinstance(value, NDArray) and not hasattr(value, "asnumpy"):
        raise TypeError(f"save takes NDArrays, found {type(value)}")
    return tensor_of(value)


def tensor_of(value: object) -> Tensor:
    """Return the elements of an NDArray, of MXNet's own, or of anything that numpy takes."""
    if isinstance(value, NDArray):
        return value.tensor
    asnumpy = getattr(value, "asnumpy", None)
    return Tensor.of(value if asnumpy is None else asnumpy())

__all__ = [
    "arange", "array", "concatenate", "empty", "eye", "from_numpy", "full", "linspace", "load", "moveaxis", "ones",
    "save", "tensor_of", "waitall", "zeros",
]  # fmt: skip
