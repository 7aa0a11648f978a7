"""Arrays of element types that numpy lacks, to onnxruntime and back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError
from graphir.types import DType

# ONNX's numbers for the element types that numpy lacks, as onnxruntime takes them.
ELEMENT_TYPES = {
    DType.BFLOAT16: 16,
    DType.FLOAT8E4M3FN: 17,
    DType.FLOAT8E4M3FNUZ: 18,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 20,
    DType.FLOAT8E8M0: 24,
}


def is_foreign(dtype: DType | None) -> bool:
    """Return whether numpy has no such type, so that onnxruntime takes and gives its bytes with a number."""
    return dtype is not None and dtype is not DType.STRING and dtype.numpy().kind == "V"


def ort_value(value: Any, array: NDArray[Any], dtype: DType | None) -> Any:
    """Return an array as the OrtValue (the class `value`) of a dtype. Raises VerificationError for one of 4 bits."""
    if dtype is None or not is_foreign(dtype):
        return value.ortvalue_from_numpy(array)
    if dtype.bits < 8:
        raise VerificationError(f"inputs of {dtype} cannot be handed to onnxruntime from Python")
    flat = np.ascontiguousarray(array).reshape(array.shape).view(f"uint{dtype.bits}")  # which makes a scalar a vector
    return value.ortvalue_from_numpy_with_onnx_type(flat, ELEMENT_TYPES[dtype])


def array_of(result: Any, dtype: DType | None) -> Any:
    """Return an OrtValue of a dtype as an array. Raises VerificationError for one of 4 bits."""
    if dtype is None or not is_foreign(dtype):
        return result.numpy()
    shape = tuple(result.shape())
    if dtype.bits < 8:
        raise VerificationError(f"outputs of {dtype} cannot be taken from onnxruntime in Python")
    count = int(np.prod(shape, dtype=np.int64)) * dtype.bits // 8
    raw = ctypes.string_at(result.data_ptr(), count) if count else b""
    return np.frombuffer(raw, dtype.numpy()).reshape(shape)
