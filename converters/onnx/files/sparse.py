"""SparseTensorProto to a dense tensor, made when it is needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphir.converters.onnx.files.tensors import TensorSource
from graphir.errors import FormatError
from graphir.safety.limits import check_expansion
from graphir.tensor import Tensor, why_unheld
from graphir.types import DType


def dense(source: TensorSource, proto: Any, what: str) -> Tensor:
    """Return the dense tensor: zeros, but for the values at the indices (flat, or one row of coordinates each).

    Raises FormatError for texts, negative sizes, and indices of another type or shape, out of range or there twice.
    """
    values = source.tensor(proto.values, what)
    indices = source.tensor(proto.indices, f"indices of {what}")
    shape = tuple(proto.dims)
    is_odd = values.dtype is DType.STRING or indices.dtype is not DType.INT64 or any(size < 0 for size in shape)
    is_odd = is_odd or indices.shape not in (values.shape, (*values.shape, len(shape)))
    if is_odd or len(values.shape) != 1 or why_unheld(values.dtype, shape):
        raise FormatError(f"{what}: {indices.type} indices for {values.type} values of {list(shape)}", path=source.path)
    check_expansion(math.prod(shape), values.size, f"{what} of {list(shape)}")
    coordinates = indices.numpy()
    sizes = np.asarray(shape, np.int64)
    limit = sizes if coordinates.ndim == 2 else np.prod(sizes, dtype=np.int64)
    if coordinates.size and (coordinates.min() < 0 or np.any(coordinates >= limit)):
        raise FormatError(f"{what}: an index lies outside of {list(shape)}", path=source.path)
    flat = coordinates
    if coordinates.ndim == 2 and coordinates.size:
        flat = np.ravel_multi_index(tuple(coordinates.T), shape)
    if values.size > math.prod(shape) or np.unique(flat).size != flat.size:
        raise FormatError(f"{what}: an index is there twice, with two values for one element", path=source.path)

    def fill() -> np.ndarray[Any, Any]:
        array = np.zeros(shape, values.dtype.numpy())
        if coordinates.ndim == 2:
            array[tuple(coordinates.T)] = values.numpy()
        else:
            array.reshape(-1)[coordinates] = values.numpy()
        return array

    return Tensor.computed(values.dtype, shape, fill)
