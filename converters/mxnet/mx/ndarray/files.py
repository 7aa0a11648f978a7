"""Arrays to and from MXNet's files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from graphir.converters.mxnet.files.params import open_params, write_params
from graphir.converters.mxnet.mx.base import MXNetError, mxnet_errors
from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.errors import FormatError
from graphir.tensor import Tensor


class ArrayFileError(FormatError, MXNetError):
    """A file holds no arrays that can be read."""


def load(fname: str | os.PathLike[str]) -> dict[str, NDArray] | list[NDArray]:
    """Return the arrays of a file: by name, or in order where the file has no names. Raises ArrayFileError."""
    try:
        opened = open_params(fname)
    except FormatError as error:
        found = ArrayFileError(str(error))
        found.path, found.offset, found.json_path = error.path, error.offset, error.json_path
        raise found from error
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
        arrays, is_named = {name: _only_array(held) for name, held in data.items()}, True
    elif isinstance(data, NDArray | list | tuple):
        held = [data] if isinstance(data, NDArray) else data
        arrays, is_named = {str(slot): _only_array(found) for slot, found in enumerate(held)}, False
    else:
        raise ValueError(f"save takes an NDArray, a list of them or a dict of them by name, found {type(data)}")
    with mxnet_errors():
        write_params(fname, arrays, named=is_named)


def _only_array(held: object) -> Tensor:
    if not isinstance(held, NDArray) and not hasattr(held, "asnumpy"):
        raise TypeError(f"save takes NDArrays, found {type(held)}")
    return tensor_of(held)


def tensor_of(held: object) -> Tensor:
    """Return the elements of an NDArray, of MXNet's own, or of anything that numpy takes."""
    if isinstance(held, NDArray):
        return held.tensor
    asnumpy = getattr(held, "asnumpy", None)
    return Tensor.of(held if asnumpy is None else asnumpy())


__all__ = ["ArrayFileError", "load", "save", "tensor_of"]
