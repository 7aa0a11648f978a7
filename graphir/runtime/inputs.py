"""Arrays made to fit a model's inputs: what can be said in the input's dtype is, what would change is refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphir.arrays import Array
from graphir.errors import ShapeError, VerificationError
from graphir.types import DType

ONNXRUNTIME_NAMES = {"float": "float32", "double": "float64"}


def dtype_of(type_text: str) -> DType | None:
    """Return the dtype behind onnxruntime's name of a type; None for what is no tensor.

    >>> str(dtype_of("tensor(float)")), dtype_of("seq(tensor(float))")
    ('float32', None)
    """
    if not type_text.startswith("tensor("):
        return None
    inner = type_text.removeprefix("tensor(").removesuffix(")")
    try:
        return DType.of(ONNXRUNTIME_NAMES.get(inner, inner))
    except ShapeError:
        return None


def fitted(name: str, value: object, dtype: DType, shape: Sequence[object]) -> Array:
    """Return the value as an array of that dtype whose sizes fit `shape` (integers are fixed, all else is open).

    Floating point numbers may be rounded; integers and booleans must come out as they went in, and no finite number
    may become infinite. Raises VerificationError that names the input, what was found and what is expected.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise VerificationError(f"input {name} is no array: {error}") from error
    _check_shape(name, array, shape)
    if dtype is DType.STRING:
        return _texts(name, array)
    target = dtype.numpy()
    if array.dtype == target:
        return array
    return _convert_array(name, array, dtype)


def _check_shape(name: str, array: Array, shape: Sequence[object]) -> None:
    fits = array.ndim == len(shape) and all(
        not isinstance(wanted, int) or size == wanted for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("?" if size is None else str(size) for size in shape)
        raise VerificationError(f"input {name} is [{wanted}], found an array of {list(array.shape)}")


def _texts(name: str, array: Array) -> Array:
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.reshape(-1)):
        return array
    raise VerificationError(f"input {name} takes texts, found {array.dtype}")


def _convert_array(name: str, array: Array, dtype: DType) -> Array:
    target = dtype.numpy()
    source = array.dtype.kind
    if dtype.value.startswith("complex") and source in "fiubc":
        return array.astype(target)
    if source not in "fiubV":
        raise VerificationError(f"input {name} takes {dtype}, found {array.dtype}")
    with np.errstate(all="ignore"):
        result: Array = array.astype(target)
        if dtype.is_float and source in "fV":
            kept = ~np.isfinite(array.astype(np.float64)) | np.isfinite(result.astype(np.float64))
        elif dtype.is_float or source == "f":
            kept = result.astype(array.dtype) == array
            if source == "f":
                kept &= np.isfinite(array)
        else:
            kept = (result.astype(array.dtype) == array) & ((result < 0) == (array < 0))
    if not bool(np.all(kept)):
        bad = array.reshape(-1)[int(np.argmin(np.reshape(kept, -1)))]
        raise VerificationError(
            f"input {name} takes {dtype}, found {array.dtype} with values that it cannot hold, such as {bad}"
        )
    return result
