"""The list of NDArrays that MXNet 0.7 to 2.0 writes as `.params` (`src/ndarray/ndarray.cc`).

    u64 0x112, u64 0, u64 n, n arrays, u64 m (0 or n), m names (u64 length, UTF-8 bytes)

Each array begins with a magic number of its version (V1, V2, V3); any other number is the ndim of a V0 array. Numbers
are little endian and nothing is aligned. Only headers are read: arrays become regions of the file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import IO, NoReturn

from graphir.converters.mxnet.files.arrays import CSR, ROW_SPARSE, ParamsEntry, SparseArray
from graphir.converters.mxnet.schema.values import TYPE_FLAGS
from graphir.errors import ExportFailure, FormatError
from graphir.tensor import Tensor, byte_size, why_unheld
from graphir.types import DType

LIST_MAGIC = 0x112
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_VERSIONS = {_V1: "V1", _V2: "V2", _V3: "V3"}
_STORAGE_AUX = {0: 0, 1: 1, 2: 2}
_DTYPES = {flag: DType(name) for flag, name in TYPE_FLAGS.items()}
_FLAGS = {dtype: flag for flag, dtype in _DTYPES.items()}
_MAX_NDIM = 32
_MAX_NAME = 1 << 16
_WINDOW = 1024
_STRUCTS: dict[str, struct.Struct] = {}
_U64 = struct.Struct("<Q")


class ListReader:
    """Reads the headers of one file. `file` is opened unbuffered or not; its position does not matter."""

    def __init__(self, file: IO[bytes], path: str, size: int) -> None:
        self.file = file
        self.path = path
        self.size = size
        self.descriptor = file.fileno()
        self.offset = 0
        self.versions: dict[str, None] = {}
        self.what = "the header"
        self._window = b""
        self._start = 0

    def read(self) -> tuple[list[ParamsEntry], list[str], bool]:
        """Return the arrays, the names of the empty ones, and whether the file names them; else names are "0", "1",
        ..."""
        _, _, count = self._unpack("QQQ")
        if count > self.size // 4:
            self._fail(f"the header promises {count} arrays, more than a file of {self.size} bytes can hold", 16)
        arrays: list[Tensor | SparseArray | None] = []
        for slot in range(count):
            self.what = f"array {slot} of {count}"
            arrays.append(self._array())
        names = self._names(count)
        named = bool(names)
        if not named:
            names = [str(slot) for slot in range(count)]
        entries, empty = [], []
        for name, array in zip(names, arrays, strict=True):
            if array is None:
                empty.append(name)
            elif isinstance(array, SparseArray):
                entries.append(ParamsEntry(name, array.densify(), array))
            else:
                entries.append(ParamsEntry(name, array))
        return entries, empty, named

    def _fail(self, message: str, offset: int | None = None) -> NoReturn:
        raise FormatError(message, path=self.path, offset=self.offset if offset is None else offset)

    def _unpack(self, layout: str) -> tuple[int, ...]:
        """Return the next numbers; the position moves past them."""
        numbers = _STRUCTS.get(layout)
        if numbers is None:
            numbers = _STRUCTS[layout] = struct.Struct("<" + layout)
        size = numbers.size
        begin = self.offset - self._start
        if begin < 0 or begin + size > len(self._window):
            if self.offset + size > self.size:
                self._truncated(size)
            self._window = os.pread(self.descriptor, max(_WINDOW, size), self.offset)
            self._start, begin = self.offset, 0
        self.offset += size
        return numbers.unpack_from(self._window, begin)

    def _truncated(self, needed: int) -> NoReturn:
        missing = self.offset + needed - self.size
        self._fail(
            f"the file is cut short: {self.what} needs {needed} bytes here, {missing} of them are missing; "
            f"the file ends at byte {self.size}"
        )

    def _array(self) -> Tensor | SparseArray | None:
        magic = self._unpack("I")[0]
        version = _VERSIONS.get(magic, "V0")
        self.versions[version] = None
        if version == "V0":
            return self._dense(self._dims(magic, "I"), empty_scalar=True)
        if version == "V1":
            return self._dense(self._dims(self._unpack("I")[0], "q"), empty_scalar=True)
        storage = self._unpack("i")[0]
        if storage not in _STORAGE_AUX or (version == "V3" and storage != 0):
            self._fail(f"{self.what} has the storage type {storage}, expected 0, or in V2 also 1 or 2", self.offset - 4)
        if storage:
            return self._sparse(storage)
        return self._dense(self._shape(), empty_scalar=version == "V2")

    def _shape(self) -> tuple[int, ...] | None:
        return self._dims(self._unpack("i")[0], "q")

    def _dims(self, ndim: int, kind: str) -> tuple[int, ...] | None:
        """Return the dimensions; None for a shape that is unknown."""
        if ndim == -1:
            return None
        if not 0 <= ndim <= _MAX_NDIM:
            self._fail(f"{self.what} has {ndim} dimensions; no version of MXNet wrote that", self.offset - 4)
        dims = self._unpack(f"{ndim}{kind}")
        if -1 in dims:
            return None
        if dims and min(dims) < 0:
            self._fail(f"{self.what} has the shape {dims}")
        return dims

    def _dtype(self) -> DType:
        flag = self._unpack("i")[0]
        dtype = _DTYPES.get(flag)
        if dtype is None:
            self._fail(f"{self.what} has the element type {flag}, expected 0 to 12", self.offset - 4)
        return dtype

    def _blob(self, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        """Return the elements at the position, which moves past them."""
        needed = byte_size(dtype, shape)
        if needed > self.size - self.offset:
            if needed >= 1 << 63:
                self._fail(f"{self.what} has the shape {shape}, whose size no file can have")
            self._truncated(needed)
        reason = why_unheld(dtype, shape)
        if reason:
            self._fail(f"{self.what} has the shape {shape}, which {reason}")
        tensor = Tensor.at(self.path, self.offset, dtype, shape)
        self.offset += needed
        return tensor

    def _dense(self, shape: tuple[int, ...] | None, *, empty_scalar: bool) -> Tensor | None:
        """Return an array from its device on. Without dimensions it is empty before np_shape and a scalar after it."""
        if shape is None or (empty_scalar and not shape):
            return None
        self._unpack("ii")
        return self._blob(self._dtype(), shape)

    def _sparse(self, storage: int) -> SparseArray | None:
        stored = self._shape()
        shape = self._shape()
        if not shape:
            return None
        self._unpack("ii")
        dtype = self._dtype()
        aux = [(self._dtype(), self._shape() or ()) for _ in range(_STORAGE_AUX[storage])]
        data = self._blob(dtype, stored or ())
        tensors = [self._blob(*entry) for entry in aux]
        rows = tensors[-1].shape[:1]
        if stored is None or stored[:1] != rows or (storage == 2 and (len(shape) != 2 or len(stored) != 1)):
            self._fail(f"{self.what} is sparse with {rows} indices for data of shape {stored}, dense shape {shape}")
        if storage == 1:
            if stored[1:] != shape[1:]:
                self._fail(f"{self.what} has rows of shape {stored[1:]} in a dense shape {shape}")
            return SparseArray(ROW_SPARSE, dtype, shape, data, tensors[0])
        if tensors[0].shape != (shape[0] + 1,):
            self._fail(f"{self.what} has row starts of shape {tensors[0].shape} for a dense shape {shape}")
        return SparseArray(CSR, dtype, shape, data, tensors[1], tensors[0])

    def _names(self, count: int) -> list[str]:
        self.what = "the list of names"
        named = self._unpack("Q")[0]
        if named not in (0, count):
            self._fail(f"{count} arrays and {named} names, expected as many or none", self.offset - 8)
        self.file.seek(self.offset)
        names: dict[str, None] = {}
        for slot in range(named):
            self.what = f"name {slot} of {count}"
            header = self.file.read(8)
            length = _U64.unpack(header)[0] if len(header) == 8 else 0
            if length > _MAX_NAME:
                self._fail(f"{self.what} is {length} bytes long")
            raw = self.file.read(length)
            if len(header) + len(raw) != 8 + length:
                self._truncated(8 + length)
            try:
                name = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise FormatError(f"{self.what} is not UTF-8", path=self.path, offset=self.offset + 8) from error
            if name in names:
                self._fail(f"two arrays are named {name!r}")
            names[name] = None
            self.offset += 8 + length
        return list(names)


def write_list(file: IO[bytes], arrays: Mapping[str, Tensor], *, np_shape: bool, named: bool = True) -> None:
    """Write the container with arrays of the layout V2, under `np_shape` V3.

    Without `named` the file holds a list, in the mapping's order. Raises ExportFailure before anything is written.
    """
    for name, tensor in arrays.items():
        if tensor.dtype not in _FLAGS:
            known = ", ".join(str(dtype) for dtype in _FLAGS)
            raise ExportFailure(f"array {name!r} is {tensor.type}; a .params file holds only {known}")
        if not np_shape and 0 in (tensor.shape or (0,)):
            raise ExportFailure(f"array {name!r} is {tensor.type}: scalars and empty arrays need np_shape=True")
    file.write(struct.pack("<QQQ", LIST_MAGIC, 0, len(arrays)))
    for tensor in arrays.values():
        file.write(_header(_V3 if np_shape else _V2, tensor))
        tensor.write_to(file)
    file.write(_U64.pack(len(arrays) if named else 0))
    for name in arrays if named else ():
        raw = name.encode("utf-8")
        file.write(_U64.pack(len(raw)) + raw)


def _header(magic: int, tensor: Tensor) -> bytes:
    """Return what stands before an array's elements: its layout, shape, device (the first CPU) and element type."""
    ndim = len(tensor.shape)
    return struct.pack(f"<Iii{ndim}qiii", magic, 0, ndim, *tensor.shape, 1, 0, _FLAGS[tensor.dtype])
