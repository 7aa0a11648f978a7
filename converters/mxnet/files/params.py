"""Parameters: MXNet's `.params` files of every version, opened without reading the weights, and written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, overload

import numpy as np

from graphir.converters.mxnet.files.arrays import NPY_MAGIC, ZIP_MAGICS
from graphir.converters.mxnet.files.arrays import ParamsEntry as ParamsEntry
from graphir.converters.mxnet.files.arrays import SparseArray as SparseArray
from graphir.converters.mxnet.files.ndarray_list import LIST_MAGIC, ListReader, write_list
from graphir.errors import FormatError
from graphir.files.reading import open_plain
from graphir.files.writing import replacing
from graphir.safety.limits import bounded
from graphir.structure.record import record
from graphir.tensor import Tensor

_Array = TypeVar("_Array")

# What stands in place of a .params file now and then, by its first bytes.
_IMPOSTORS = (
    (b"version https://git-lfs", "a Git LFS pointer; `git lfs pull` fetches the file itself"),
    (b"<", "an HTML or XML page; was a download answered with an error page?"),
    (b"{", "JSON text; is it the symbol.json?"),
    (b"\x1f\x8b", "gzip data; unpack it first"),
    (b"\x80\x02", "a Python pickle, which graphir does not run"),
    (b"\x80\x03", "a Python pickle, which graphir does not run"),
    (b"\x80\x04", "a Python pickle, which graphir does not run"),
    (b"\x80\x05", "a Python pickle, which graphir does not run"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\xc8\xfa\x93\xf9", "a single NDArray without the list around it"),
    (b"\xc9\xfa\x93\xf9", "a single NDArray without the list around it"),
    (b"\xca\xfa\x93\xf9", "a single NDArray without the list around it"),
    (LIST_MAGIC.to_bytes(8, "big"), "a list written on a big-endian machine, which MXNet itself cannot move"),
)


@record
class ParamsFile:
    """An opened file: its arrays in the file's order, their weights still on disk.

    `container` names the versions found (`V2`, `V0+V2`, `npz`, `npy`), `nbytes` the file's size, `empty` the names of
    arrays without a shape, which hold nothing, `trailing` the bytes after the last name, which MXNet ignores too.
    `named` is False for a list saved without names; its arrays are then called "0", "1", ... in their order.
    """

    path: str
    entries: tuple[ParamsEntry, ...]
    container: str
    nbytes: int
    empty: tuple[str, ...] = ()
    trailing: int = 0
    named: bool = True

    def tensors(self) -> dict[str, Tensor]:
        """Return every array by its name in the file, sparse ones densified when they are read."""
        return {entry.name: entry.tensor for entry in self.entries}


@bounded
def open_params(path: str | os.PathLike[str]) -> ParamsFile:
    """Open a `.params` file of any version. Reads headers only; cost is linear in the number of arrays.

    Raises FormatError, with the byte, for what is not such a file, is cut short, or contradicts itself.
    """
    name = os.fspath(path)
    try:
        with open_plain(name) as file:
            size = os.fstat(file.fileno()).st_size
            begin = file.read(64)
            if begin[:4] in ZIP_MAGICS:
                from graphir.converters.mxnet.files.npz import read_npz

                return ParamsFile(name, tuple(read_npz(file, name, size)), "npz", size)
            if begin[:6] == NPY_MAGIC:
                from graphir.converters.mxnet.files.npz import read_npy

                return ParamsFile(name, (read_npy(file, name, size),), "npy", size, named=False)
            _check_magic(begin, size, name)
            reader = ListReader(file, name, size)
            entries, empty, named = reader.read()
            container = "+".join(sorted(reader.versions)) or "V2"
            trailing = size - reader.offset
            return ParamsFile(name, tuple(entries), container, size, tuple(empty), trailing, named)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", path=name) from error


def _check_magic(begin: bytes, size: int, path: str) -> None:
    if begin[:8] == LIST_MAGIC.to_bytes(8, "little"):
        return
    if not begin:
        raise FormatError("the file is empty, expected MXNet parameters", path=path)
    for magic, what in _IMPOSTORS:
        if begin.startswith(magic):
            raise FormatError(f"not MXNet parameters but {what}", path=path, offset=0)
    if begin[8:9] == b"{" and int.from_bytes(begin[:8], "little") < size:
        raise FormatError("not MXNet parameters but a safetensors file", path=path, offset=0)
    raise FormatError(
        f"not MXNet parameters: begins with {begin[:8].hex(' ')}, expected "
        f"{LIST_MAGIC.to_bytes(8, 'little').hex(' ')}, a zip archive or an .npy file",
        path=path,
        offset=0,
    )


@overload
def read_params(path: str | os.PathLike[str]) -> dict[str, Tensor]: ...
@overload
def read_params(path: str | os.PathLike[str], *, sparse: Literal["dense"]) -> dict[str, Tensor]: ...
@overload
def read_params(path: str | os.PathLike[str], *, sparse: Literal["keep"]) -> dict[str, Tensor | SparseArray]: ...
def read_params(path: str | os.PathLike[str], *, sparse: str = "dense") -> Mapping[str, Tensor | SparseArray]:
    """Return the arrays of a file under their names in it (`arg:fc1_weight`), in its order, all lazy.

    `sparse="keep"` leaves sparse arrays as `SparseArray`. Raises FormatError as `open_params` does.
    """
    opened = open_params(path)
    if sparse == "keep":
        return {entry.name: entry.sparse or entry.tensor for entry in opened.entries}
    if sparse != "dense":
        raise ValueError(f"sparse is {sparse!r}, expected 'dense' or 'keep'")
    return opened.tensors()


def split_prefixes(
    params: Mapping[str, _Array],
) -> tuple[dict[str, _Array], dict[str, _Array], dict[str, _Array]]:
    """Arguments, auxiliary states (both without their prefix) and what has no prefix.

    >>> split_prefixes({"arg:w": 1, "aux:m": 2, "features.0.weight": 3})
    ({'w': 1}, {'m': 2}, {'features.0.weight': 3})
    """
    split: dict[str, dict[str, _Array]] = {"arg:": {}, "aux:": {}}
    bare: dict[str, _Array] = {}
    for name, array in params.items():
        if name[:4] in split:
            split[name[:4]][name[4:]] = array
        else:
            bare[name] = array
    return split["arg:"], split["aux:"], bare


def write_params(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray[Any, Any] | Tensor],
    *,
    np_shape: bool = False,
    named: bool = True,
) -> None:
    """Write arrays as MXNet 1.9.1's `mx.nd.save` does, names as given (`arg:`/`aux:` included by the caller).

    `np_shape` writes V3 arrays, which may be scalars or empty; MXNet reads them only with np_shape on. Without `named`
    the file holds a list. Weights are streamed; the file appears under its name when it is complete. Raises
    ExportFailure for element types that the format lacks, for scalars and empty arrays without `np_shape`, and when the
    file cannot be written.
    """
    tensors = {name: Tensor.of(array) for name, array in arrays.items()}
    with replacing(path) as (file,):
        write_list(file, tensors, np_shape=np_shape, named=named)
