"""Weights as lazy tensors: regions of files, arrays in memory, or arrays computed when they are needed.

A `Tensor` knows its dtype and shape without its bytes. `numpy()` gives the elements (a read-only view of a memory map
where that is possible), `write_to` streams the bytes to a file without holding them in anonymous memory, `region` names
the place on disk when the bytes lie there as they are. Elements are in C order, little endian; 4-bit and 2-bit types
are packed, the first element in the low bits, as ONNX packs them.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from .errors import FormatError, GraphError
from .types import DType, TensorType

CHUNK = 4 << 20


@dataclass(frozen=True)
class FileRegion:
    """`nbytes` bytes of the file `path`, from `offset` on."""

    path: str
    offset: int
    nbytes: int


class Tensor:
    """An immutable tensor of known dtype and shape whose elements may not have been read yet."""

    __slots__ = ("_array", "_compute", "dtype", "region", "shape")

    def __init__(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        *,
        array: np.ndarray[Any, Any] | None = None,
        region: FileRegion | None = None,
        compute: Callable[[], np.ndarray[Any, Any]] | None = None,
    ) -> None:
        if (array is not None) + (region is not None) + (compute is not None) != 1:
            raise GraphError("a Tensor has exactly one of array, region and compute")
        self.dtype = dtype
        self.shape = shape
        self.region = region
        self._array = array
        self._compute = compute

    @staticmethod
    def of(value: object, dtype: DType | None = None) -> Tensor:
        """A tensor of an array, a number or a nested list, or `value` itself if it is a Tensor."""
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value, dtype=None if dtype is None else dtype.numpy())
        if array.dtype.kind in "US":
            array = array.astype(object)
        return Tensor(DType.of(array.dtype), tuple(array.shape), array=array)

    @staticmethod
    def at(path: str | os.PathLike[str], offset: int, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        """The tensor whose bytes lie in a file. The caller has checked that they do."""
        return Tensor(dtype, shape, region=FileRegion(os.fspath(path), offset, byte_size(dtype, shape)))

    @staticmethod
    def computed(dtype: DType, shape: tuple[int, ...], compute: Callable[[], np.ndarray[Any, Any]]) -> Tensor:
        """A tensor whose elements `compute` gives each time they are needed; it must give the same each time."""
        return Tensor(dtype, shape, compute=compute)

    @property
    def type(self) -> TensorType:
        """The tensor's type."""
        return TensorType(self.dtype, self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    @property
    def nbytes(self) -> int:
        """The number of bytes that the elements take in a file."""
        return byte_size(self.dtype, self.shape)

    def __repr__(self) -> str:
        source = "region" if self.region else "computed" if self._compute else "array"
        return f"Tensor({self.type}, {source})"

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as an array of `shape`, not to be written to. 4-bit types come unpacked, one byte an element."""
        if self._array is not None:
            return self._array
        if self._compute is not None:
            array = self._compute()
            if tuple(array.shape) != self.shape or DType.of(array.dtype) is not self.dtype:
                raise GraphError(f"a computed tensor gave {array.dtype}{list(array.shape)}, expected {self.type}")
            return array
        assert self.region is not None
        return _unpacked(_mapped(self.region), self.dtype, self.shape)

    def chunks(self) -> Iterator[memoryview | bytes]:
        """The bytes of the elements, in pieces of a few MB."""
        if self.region is not None:
            view = memoryview(_mapped(self.region))
        else:
            view = memoryview(_packed(self.numpy(), self.dtype))
        for start in range(0, len(view), CHUNK):
            yield view[start : start + CHUNK]

    def write_to(self, file: IO[bytes]) -> int:
        """Write the bytes at the file's position, which moves past them; returns how many.

        From file to file the kernel copies them, so that no page of either enters this process.
        """
        if self.region is not None and self.region.nbytes >= 1 << 16:
            file.flush()
            return _copy_region(self.region, file)
        written = 0
        for chunk in self.chunks():
            file.write(chunk)
            written += len(chunk)
        return written

    def sha256(self) -> str:
        """The SHA-256 of the bytes, as 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        return digest.hexdigest()


def byte_size(dtype: DType, shape: tuple[int, ...]) -> int:
    """Bytes that a tensor takes in a file; packed types round up to a whole byte. Raises GraphError for strings."""
    if dtype is DType.STRING:
        raise GraphError("strings have no fixed size; their tensor is not written as raw bytes")
    count = 1
    for dim in shape:
        count *= dim
    return (count * dtype.bits + 7) // 8


def _mapped(region: FileRegion) -> np.ndarray[Any, Any]:
    """The bytes of a region as a read-only uint8 view of a private map that lives as long as the view."""
    if region.nbytes == 0:
        return np.zeros(0, np.uint8)
    start = region.offset - region.offset % mmap.ALLOCATIONGRANULARITY
    lead = region.offset - start
    try:
        with open(region.path, "rb") as file:
            view = mmap.mmap(file.fileno(), region.nbytes + lead, access=mmap.ACCESS_READ, offset=start)
    except (OSError, ValueError) as error:
        raise FormatError(
            f"cannot map {region.nbytes} bytes of weights: {error}; was the file moved or cut short since it was opened?",
            path=region.path,
            offset=region.offset,
        ) from error
    return np.frombuffer(view, np.uint8, region.nbytes, lead)


def _unpacked(raw: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if dtype.bits >= 8:
        return raw.view(dtype.numpy()).reshape(shape)
    per_byte = 8 // dtype.bits
    mask = (1 << dtype.bits) - 1
    count = int(np.prod(shape, dtype=np.int64))
    codes = np.stack([(raw >> (dtype.bits * slot)) & mask for slot in range(per_byte)], axis=1).reshape(-1)[:count]
    if dtype.value.startswith("int"):
        codes = ((codes.astype(np.int8) ^ (1 << (dtype.bits - 1))) - (1 << (dtype.bits - 1))).astype(np.int8)
        return codes.astype(dtype.numpy()).reshape(shape)
    if dtype.value.startswith("uint"):
        return codes.astype(dtype.numpy()).reshape(shape)
    return codes.view(dtype.numpy()).reshape(shape)


def _packed(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The bytes of an array as a flat uint8 array, without a copy where it is contiguous and little endian."""
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.bits >= 8:
        return flat.view(np.uint8)
    per_byte = 8 // dtype.bits
    mask = (1 << dtype.bits) - 1
    codes = flat.view(np.uint8) if dtype.is_float else flat.astype(np.int8).view(np.uint8)
    codes = np.concatenate([codes & mask, np.zeros(-len(codes) % per_byte, np.uint8)]).reshape(-1, per_byte)
    packed = np.zeros(len(codes), np.uint8)
    for slot in range(per_byte):
        packed |= codes[:, slot] << (dtype.bits * slot)
    return packed


def _copy_region(region: FileRegion, file: IO[bytes]) -> int:
    target = file.fileno()
    left, offset = region.nbytes, region.offset
    with open(region.path, "rb") as source:
        while left:
            moved = _copy_once(source.fileno(), target, offset, min(left, 1 << 30))
            if moved == 0:
                raise FormatError(
                    f"weights end {left} bytes early; was the file cut short since it was opened?",
                    path=region.path,
                    offset=offset,
                )
            left -= moved
            offset += moved
    file.seek(0, os.SEEK_CUR)
    return region.nbytes


def _copy_once(source: int, target: int, offset: int, count: int) -> int:
    """Copy up to `count` bytes to the target's position; falls back to read and write where the kernel cannot."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, count, offset)
        except OSError:
            pass  # different file systems, or one that cannot: the portable way below works for all
    os.lseek(source, offset, os.SEEK_SET)
    data = os.read(source, min(count, CHUNK))
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
    return len(data)


__all__ = ["CHUNK", "FileRegion", "Tensor", "byte_size"]
