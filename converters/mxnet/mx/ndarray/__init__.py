"""`mx.nd`: arrays in main memory under MXNet's names."""

from __future__ import annotations

from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.converters.mxnet.mx.ndarray.creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_numpy,
    full,
    linspace,
    moveaxis,
    ones,
    ones_like,
    waitall,
    zeros,
    zeros_like,
)
from graphir.converters.mxnet.mx.ndarray.files import load, save, tensor_of

__all__ = [
    "NDArray",
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "from_numpy",
    "full",
    "linspace",
    "load",
    "moveaxis",
    "ones",
    "ones_like",
    "save",
    "tensor_of",
    "waitall",
    "zeros",
    "zeros_like",
]
