"""Weights as lazy tensors: regions of files, arrays in memory, or arrays computed when they are needed.

A `Tensor` knows its dtype and shape without its bytes. `numpy()` gives the elements (a read-only view of a memory map
where that is possible), `write_to` streams the bytes to a file without holding them in anonymous memory, `region` names
the place on disk when the bytes lie there as they are. Elements are in C order, little endian; 4-bit and 2-bit types
are packed, the first element in the low bits, as ONNX packs them.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import IO, Any

import numpy as np

from .errors import GraphError
from .files.regions import CHUNK, FileRegion, SourceFiles, Stamp, mapped, stamp_of, unchanged
from .safety.arguments import expect, expect_items
from .types import DType, TensorType

WHOLE = (int, np.integer)
PIECE = 1 << 19  # elements that are converted at a time: they fit into a cache
MOST_AXES = 32
"""What an array of numpy 1 can have."""


class Tensor:
    """An immutable tensor of known dtype and shape whose elements may not have been read yet."""

    __slots__ = ("_array", "_compute", "_source", "dtype", "region", "shape")

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
        expect(dtype, DType, "the dtype of a Tensor")
        shape = expect_items(shape, WHOLE, "the shape of a Tensor")
        reason = why_unheld(dtype, shape)
        if reason:
            raise GraphError(f"a tensor {dtype}{list(shape)} {reason}")
        if array is not None:
            expect(array, np.ndarray, "the elements of a Tensor")
            if array.shape != shape or DType.of(array.dtype) is not dtype:
                raise GraphError(f"found an array {array.dtype}{list(array.shape)} for a tensor {dtype}{list(shape)}")
            array = array.view()
            array.flags.writeable = False
        self.dtype = dtype
        self.shape = shape
        self.region = region
        self._array = array
        self._compute = compute
        self._source: Tensor | None = None  # of which the elements are converted one by one

    @staticmethod
    def of(value: object, dtype: DType | None = None) -> Tensor:
        """Return a tensor of an array, a number or a nested list, or `value` itself if it is a Tensor.

        An array is not copied; it must not be written to afterwards. Raises GraphError for what is no array of one
        dtype and for a Tensor of another dtype.
        """
        if isinstance(value, Tensor):
            if dtype not in (None, value.dtype):
                raise GraphError(f"{value!r} is no tensor of {dtype}")
            return value
        expect(dtype, (DType, type(None)), "the dtype of a Tensor")
        try:
            with np.errstate(over="ignore"):  # a number beyond a float dtype is its infinity, as frameworks have it
                array = np.asarray(value) if dtype is None or dtype.is_integer else np.asarray(value, dtype.numpy())
            if dtype is not None and dtype.is_integer:
                array = _as_integers(array, dtype)
        except (TypeError, ValueError, OverflowError) as error:
            wanted = "" if dtype is None else f" of {dtype}"
            raise GraphError(f"no tensor{wanted} can be made of this: {error}") from error
        if array.dtype.kind in "US":
            array = array.astype(object)
        if array.dtype.kind == "O" and not all(isinstance(element, str | bytes) for element in array.flat):
            raise GraphError("a tensor of objects holds strings only")
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("="))
        return Tensor(DType.of(array.dtype), tuple(array.shape), array=array)

    @staticmethod
    def at(
        path: str | os.PathLike[str],
        offset: int,
        dtype: DType,
        shape: tuple[int, ...],
        stamp: Stamp | None = None,
    ) -> Tensor:
        """Return the tensor whose bytes lie in a file. The caller has checked that they do.

        `stamp` is the file's when it was opened, without it what it is now: bytes of a file that was changed since then
        are never read as this tensor.
        """
        if stamp is None:
            try:
                stamp = stamp_of(os.stat(path))
            except OSError:
                stamp = None  # whoever reads it says that it is not there
        return Tensor(dtype, shape, region=FileRegion(os.fspath(path), offset, byte_size(dtype, shape), stamp))

    @staticmethod
    def computed(dtype: DType, shape: tuple[int, ...], compute: Callable[[], np.ndarray[Any, Any]]) -> Tensor:
        """Return a tensor whose elements `compute` gives each time they are needed; it must give the same each time."""
        return Tensor(dtype, shape, compute=compute)

    def converted(self, dtype: DType) -> Tensor:
        """Return the elements rounded to a floating dtype when they are needed; those beyond it are infinite. Writing
        them converts a piece at a time."""
        result = Tensor.computed(dtype, self.shape, lambda: _as_floats(self.numpy(), dtype))
        result._source = self
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return the elements, for numpy's functions: as they are, not to be written to, unless `dtype` or `copy` ask
        for more."""
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise GraphError(f"{self.type} is not {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def type(self) -> TensorType:
        """The tensor's type."""
        return TensorType(self.dtype, self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the elements take in a file."""
        return byte_size(self.dtype, self.shape)

    @property
    def place(self) -> tuple[FileRegion, Stamp] | None:
        """Where the bytes lie, and in which file they were meant to: the same for tensors that hold the same bytes of
        one file. None where they lie in none, or nothing is known of it."""
        return None if self.region is None or self.region.stamp is None else (self.region, self.region.stamp)

    def __repr__(self) -> str:
        source = "region" if self.region else "computed" if self._compute else "array"
        return f"Tensor({self.type}, {source})"

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the elements as an array of `shape`, not to be written to. 4-bit types come unpacked, one byte an
        element."""
        if self._array is not None:
            return self._array
        if self._compute is not None:
            array = self._compute()
            if tuple(array.shape) != self.shape or DType.of(array.dtype) is not self.dtype:
                raise GraphError(f"a computed tensor gave {array.dtype}{list(array.shape)}, expected {self.type}")
            return array
        assert self.region is not None
        return unpacked(mapped(self.region), self.dtype, self.shape)

    def chunks(self, sources: SourceFiles | None = None) -> Iterator[memoryview | bytes]:
        """Yield the elements' bytes in pieces, in C order and little-endian. Raises GraphError for strings.

        `sources` keeps the files of many tensors open from one to the next.
        """
        if self.dtype is DType.STRING:
            raise GraphError("strings have no fixed size; their tensor is not written as raw bytes")
        if self.region is not None:
            with SourceFiles() if sources is None else nullcontext(sources) as files:
                yield from files.pieces(self.region)
            return
        if self._source is not None:
            elements = self._source.numpy().reshape(-1)
            for start in range(0, self.size, PIECE):
                yield memoryview(_pack(_as_floats(elements[start : start + PIECE], self.dtype), self.dtype))  # type: ignore[arg-type]
            return
        view = memoryview(_pack(self.numpy(), self.dtype))  # type: ignore[arg-type]
        for start in range(0, len(view), CHUNK):
            yield view[start : start + CHUNK]

    def write_to(self, file: IO[bytes], sources: SourceFiles | None = None) -> int:
        """Write the bytes at the file's position, which moves past them; returns how many.

        From file to file the kernel copies what is large, so that no page of it enters this process. `sources` keeps
        the files of many tensors open from one to the next.
        """
        if self.region is not None:
            if sources is not None:
                return sources.copy(self.region, file)
            with SourceFiles() as files:
                return files.copy(self.region, file)
        written = 0
        with unchanged() if self._array is None else nullcontext():
            for chunk in self.chunks():
                file.write(chunk)
                written += len(chunk)
        return written

    def reshaped(self, shape: tuple[int, ...]) -> Tensor:
        """Return the same elements with another shape of as many, without reading them. Raises GraphError."""
        shape = expect_items(shape, WHOLE, "the new shape")
        if math.prod(shape) != self.size or any(dim < 0 for dim in shape):
            raise GraphError(f"{self.size} elements of {self.type} do not make the shape {list(shape)}")
        if self.region is not None:
            return Tensor(self.dtype, shape, region=self.region)
        if self._array is not None:
            return Tensor(self.dtype, shape, array=self._array.reshape(shape))
        return Tensor.computed(self.dtype, shape, lambda: self.numpy().reshape(shape))

    def transposed(self, perm: tuple[int, ...]) -> Tensor:
        """Return the elements with their axes in another order, read when they are needed: axis i is axis perm[i] of
        this one.

        Where only axes of size 1 move, the bytes stay as they are, and a region stays a region. Raises GraphError.
        """
        perm = expect_items(perm, WHOLE, "the order of the axes")
        if sorted(perm) != list(range(len(self.shape))):
            raise GraphError(f"{list(perm)} is no order of the axes of {self.type}")
        shape = tuple(self.shape[axis] for axis in perm)
        moved = [axis for axis in perm if self.shape[axis] != 1]
        if moved == sorted(moved):
            return self.reshaped(shape)
        return Tensor.computed(self.dtype, shape, lambda: self.numpy().transpose(perm))

    def rows(self, start: int, stop: int) -> Tensor:
        """Return the slice [start, stop) of the first axis, still a region of the file if this is one. Raises
        GraphError."""
        start, stop = expect(start, WHOLE, "the first row"), expect(stop, WHOLE, "the end of the rows")
        if not self.shape or not 0 <= start <= stop <= self.shape[0]:
            raise GraphError(f"{self.type} has no rows {start} to {stop}")
        shape = (stop - start, *self.shape[1:])
        if self.region is not None and self.dtype.bits >= 8:
            width = byte_size(self.dtype, self.shape[1:])
            offset = self.region.offset + start * width
            return Tensor.at(self.region.path, offset, self.dtype, shape, self.region.stamp)
        return Tensor.computed(self.dtype, shape, lambda: self.numpy()[start:stop])

    def sha256(self) -> str:
        """Return the SHA-256 of the bytes, as 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        return digest.hexdigest()


def _as_integers(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Return the array in an integer dtype. Raises OverflowError or ValueError for numbers outside, which numpy would
    wrap."""
    if array.dtype == dtype.numpy():
        return array
    if array.size and array.dtype.kind in "iufO":
        least = 0 if dtype.value.startswith("u") else -(1 << dtype.bits - 1)
        for extreme in (array.min(), array.max()):
            if not 0 <= int(extreme) - least < 1 << dtype.bits:
                raise OverflowError(f"{extreme} is too large or too small for {dtype}")
    return array.astype(dtype.numpy())


def why_unheld(dtype: DType, shape: tuple[int, ...]) -> str:
    """Return what keeps an array from having this shape, "" if nothing does; sizes of 0 do not make the others smaller.

    >>> why_unheld(DType.FLOAT32, (0, 3)), why_unheld(DType.FLOAT32, (0, 1 << 62))
    ('', 'has more elements than memory has addresses')
    """
    if len(shape) > MOST_AXES:
        return f"has {len(shape)} axes, of which at most {MOST_AXES} can be held"
    if math.prod(dim for dim in shape if dim) * max(dtype.bits, 64) >= 1 << 66:
        return "has more elements than memory has addresses"
    return ""


def byte_size(dtype: DType, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor in a file; packed types round up to a whole byte. Raises GraphError for strings."""
    if dtype is DType.STRING:
        raise GraphError("strings have no fixed size; their tensor is not written as raw bytes")
    return (math.prod(shape) * dtype.bits + 7) // 8


def unpacked(raw: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the elements that packed little-endian bytes hold: a view of them, or a copy where a byte holds
    several."""
    if dtype.bits >= 8:
        return raw.view(dtype.numpy()).reshape(shape)
    per_byte = 8 // dtype.bits
    mask = (1 << dtype.bits) - 1
    count = int(np.prod(shape, dtype=np.int64))
    codes = np.stack([(raw >> (dtype.bits * slot)) & mask for slot in range(per_byte)], axis=1).reshape(-1)[:count]
    if dtype.value.startswith("int"):
        codes = ((codes.astype(np.int8) ^ (1 << (dtype.bits - 1))) - (1 << (dtype.bits - 1))).astype(np.int8)
    array: np.ndarray[Any, Any] = codes.astype(dtype.numpy()) if dtype.is_integer else codes.view(dtype.numpy())
    return array.reshape(shape)


def _as_floats(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return array.astype(dtype.numpy())


def _pack(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Return the bytes of an array as a flat uint8 array, without a copy where it is contiguous and little endian."""
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
