"""TensorFlow's checkpoints (`prefix.index`, `prefix.data-00000-of-00001` and so on): tensors by name.

The index is a table (`sstable`): under the empty key a BundleHeaderProto, under each tensor's name a BundleEntryProto
that says where its bytes lie. A tensor that was saved in parts has an entry without bytes, which lists the slices, and
an entry for each slice. Numeric tensors stay in their files as views. Source: TensorFlow's
core/protobuf/tensor_bundle.proto, core/util/tensor_bundle and core/util/saved_tensor_slice_util.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.kernel.protobuf import read_varint
from graphir.converters.tensorflow.dtypes import data_type
from graphir.converters.tensorflow.files.sstable import read_table
from graphir.converters.tensorflow.files.tensors import text_of
from graphir.converters.tensorflow.files.wire import Message, decode
from graphir.errors import FormatError, ImportFailure
from graphir.files.paths import resolve_beside
from graphir.files.reading import open_plain
from graphir.tensor import Tensor, byte_size, why_unheld
from graphir.types import DType

HEADER = b""
# What TensorFlow keeps in a byte each, or packs otherwise than here.
_NARROW = 8
Slice = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class BundleEntry:
    """One tensor: its dtype (TensorFlow's name where it is none of ours), its shape, and where its bytes lie.

    A slice has a start and a size for each axis; the size -1 stands for the whole axis, if it was saved so.
    """

    dtype: DType | str
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    slices: tuple[Slice, ...]


class Bundle:
    """A checkpoint by its prefix (`folder/variables`). `files` are those that hold something that was asked for.

    `model` is the file of the model that it belongs to, in whose folder its files must lie, links followed.
    """

    def __init__(self, prefix: str | os.PathLike[str], model: Path | None = None) -> None:
        """Open a checkpoint. Raises ImportFailure for one that is not there and FormatError for a broken index."""
        self.prefix = Path(prefix)
        self.index = self.prefix.with_name(f"{self.prefix.name}.index")
        self._model = model
        self._check_place(self.index)
        data = _map_file(self.index)
        self._table = read_table(data, self.index)
        if HEADER not in self._table:
            raise FormatError("the checkpoint's index has no header", path=self.index)
        header = self._decode_entry("BundleHeaderProto", HEADER)
        if header.get("endianness", 0):
            raise FormatError("a checkpoint of a big-endian machine is not supported", path=self.index)
        self.shards: int = header.get("num_shards", 0)
        self._sizes: dict[int, int] = {}

    @property
    def names(self) -> list[str]:
        """Return the names of all tensors, in order."""
        return [key.decode("utf-8", "replace") for key in self._table if key and not key.startswith(b"\0")]

    @property
    def files(self) -> list[str]:
        """Return the files that were needed."""
        return [str(self.index), *(str(self._data_file(shard)) for shard in sorted(self._sizes))]

    def __contains__(self, name: str) -> bool:
        return bool(name) and name.encode() in self._table

    def entry(self, name: str) -> BundleEntry:
        """Return what the index says of a tensor. Raises ImportFailure if it is not there, FormatError for nonsense."""
        if name not in self:
            shown = ", ".join(self.names[:8]) or "nothing"
            raise ImportFailure(f"{self.index}: the checkpoint has no tensor {name!r}; it has {shown}")
        return self._read_entry(name.encode(), name)

    def tensor(self, name: str, part: str = "") -> Tensor:
        """Return a tensor, or the part of it that a slice specification (`10 3 0,4:-`) names.

        Raises ImportFailure and FormatError as `entry`, and for a data file that is missing or cut short.
        """
        entry = self.entry(name)
        if part:
            shape, wanted = parse_slice(part, name, self.index)
            if shape != entry.shape:
                raise FormatError(f"{name} has the shape {list(entry.shape)}, expected {list(shape)}", path=self.index)
            for stored_slice in entry.slices:
                if _resolve_slice(stored_slice, shape) == wanted:
                    return self._read_stored(self._read_entry(slice_key(name, stored_slice), name), name)
            whole = self.tensor(name)
            sizes = tuple(size for _, size in wanted)
            if sizes == whole.shape:
                return whole
            cut = _to_region(wanted)
            return Tensor.computed(whole.dtype, sizes, lambda: np.ascontiguousarray(whole.numpy()[cut]))
        if not entry.slices:
            return self._read_stored(entry, name)
        return self._join_slices(entry, name)

    def _join_slices(self, entry: BundleEntry, name: str) -> Tensor:
        """Return a tensor of several slices, put together when it is needed."""
        dtype = self._dtype_of(entry, name)
        resolved = [_resolve_slice(part, entry.shape) for part in entry.slices]
        if not _is_tiling(resolved, entry.shape):
            raise FormatError(f"{name}: its slices do not make up its shape {list(entry.shape)}", path=self.index)
        parts = []
        for part, stated in zip(resolved, entry.slices, strict=True):
            piece = self._read_stored(self._read_entry(slice_key(name, stated), name), name)
            sizes = tuple(size for _, size in part)
            if (piece.dtype, piece.shape) != (dtype, sizes):
                raise FormatError(f"{name}: a slice of {dtype}{list(sizes)} is {piece.type}", path=self.index)
            parts.append((part, piece))

        def compute() -> NDArray[Any]:
            whole = np.empty(entry.shape, dtype.numpy())
            for part, tensor in parts:
                whole[_to_region(part)] = tensor.numpy()
            return whole

        return Tensor.computed(dtype, entry.shape, compute)

    def _read_stored(self, entry: BundleEntry, name: str) -> Tensor:
        """Return a tensor whose bytes are contiguous."""
        dtype = self._dtype_of(entry, name)
        path = self._data_file(entry.shard)
        if entry.offset + entry.size > self._file_size(entry.shard):
            raise FormatError(
                f"{name} takes {entry.size} bytes, but the file ends at byte {self._file_size(entry.shard)}: it is cut "
                "short",
                path=path,
                offset=entry.offset,
            )
        if dtype is DType.STRING:
            return self._read_strings(entry, name, path)
        wanted = byte_size(dtype, entry.shape) if dtype.bits >= _NARROW else math.prod(entry.shape)
        if entry.size != wanted:
            raise FormatError(
                f"{name} has {entry.size} bytes, but {dtype}{list(entry.shape)} takes {wanted}",
                path=path,
                offset=entry.offset,
            )
        if dtype.bits >= _NARROW:
            return Tensor.at(path, entry.offset, dtype, entry.shape)
        raw = np.frombuffer(_map_file(path)[entry.offset : entry.offset + entry.size], dtype.numpy())
        return Tensor.of(raw.reshape(entry.shape))

    def _read_strings(self, entry: BundleEntry, name: str, path: Path) -> Tensor:
        """Read texts: lengths as varints, their checksum, then the texts one behind the other."""
        data, end = _map_file(path), entry.offset + entry.size
        position, count = entry.offset, math.prod(entry.shape)
        lengths = []
        try:
            for _ in range(count):
                length, position = read_varint(data, position, end)
                lengths.append(length)
        except FormatError as error:
            raise FormatError(f"{name}: the lengths of its texts are broken", path=path, offset=error.offset) from error
        position += 4
        if position + sum(lengths) != end:
            raise FormatError(
                f"{name}: texts of {sum(lengths)} bytes in a place for {end - position}", path=path, offset=entry.offset
            )
        texts = np.empty(count, object)
        for index, length in enumerate(lengths):
            texts[index] = text_of(bytes(data[position : position + length]))
            position += length
        return Tensor.of(texts.reshape(entry.shape))

    def _dtype_of(self, entry: BundleEntry, name: str) -> DType:
        if isinstance(entry.dtype, DType):
            return entry.dtype
        raise FormatError(f"{name}: elements of type {entry.dtype or 'none'} cannot be read", path=self.index)

    def _read_entry(self, key: bytes, name: str) -> BundleEntry:
        if key not in self._table:
            raise FormatError(f"the checkpoint's index lacks a slice of {name}", path=self.index)
        message = self._decode_entry("BundleEntryProto", key)
        shape = tuple(dim.get("size", 0) for dim in message.get("shape", {}).get("dim", ()))
        shard, offset, size = (int(message.get(field, 0)) for field in ("shard_id", "offset", "size"))
        if any(number < 0 for number in (*shape, shard, offset, size)):
            raise FormatError(f"{name}: a negative size or place in the checkpoint's index", path=self.index)
        parts = tuple(
            tuple((extent.get("start", 0), extent.get("length", -1)) for extent in part.get("extent", ()))
            for part in message.get("slices", ())
        )
        dtype = data_type(message.get("dtype", 0))
        reason = why_unheld(dtype if isinstance(dtype, DType) else DType.UINT8, shape)
        if reason:
            raise FormatError(f"{name}: a tensor of the shape {list(shape)}, which {reason}", path=self.index)
        if any(len(part) != len(shape) for part in parts):
            raise FormatError(f"{name}: a slice with another number of axes than {list(shape)}", path=self.index)
        return BundleEntry(dtype, shape, shard, offset, size, parts)

    def _decode_entry(self, message: str, key: bytes) -> Message:
        try:
            return decode(memoryview(self._table[key]), message)
        except FormatError as error:
            shown = key.decode("utf-8", "replace") or "the header"
            raise FormatError(f"the entry of {shown}: {error}", path=self.index) from error

    def _data_file(self, shard: int) -> Path:
        return self.prefix.with_name(f"{self.prefix.name}.data-{shard:05d}-of-{self.shards:05d}")

    def _check_place(self, path: Path) -> None:
        if self._model is not None:
            resolve_beside(self._model, path, f"the checkpoint's file {path.name}")

    def _file_size(self, shard: int) -> int:
        if shard not in self._sizes:
            path = self._data_file(shard)
            if shard >= self.shards:
                raise FormatError(f"the index names shard {shard} of {self.shards}", path=self.index)
            self._check_place(path)
            try:
                self._sizes[shard] = path.stat().st_size
            except OSError as error:
                raise ImportFailure(
                    f"cannot read {path}: {error.strerror or error}; {self.index.name} wants {self.shards} data file(s)"
                ) from error
        return self._sizes[shard]


def parse_slice(text: str, name: str, path: Path) -> tuple[tuple[int, ...], Slice]:
    """Return the whole's shape and the slice of `10 3 0,4:-`: start and size on each axis, `-` for all of it."""
    try:
        *sizes, ranges = text.split()
        shape = tuple(map(int, sizes))
        part = tuple(
            (0, size) if given == "-" else (int(given.split(",")[0]), int(given.split(",")[1]))
            for given, size in zip(ranges.split(":"), shape, strict=True)
        )
    except (ValueError, IndexError):
        raise FormatError(f"{name}: the slice {text[:80]!r} cannot be read", path=path) from None
    if any(start < 0 or size < 0 or start + size > whole for (start, size), whole in zip(part, shape, strict=True)):
        raise FormatError(f"{name}: the slice {text[:80]!r} leaves its tensor", path=path)
    return shape, part


def _resolve_slice(part: Slice, shape: tuple[int, ...]) -> Slice:
    """Return the slice with the sizes of whole axes."""
    return tuple((start, whole if size < 0 else size) for (start, size), whole in zip(part, shape, strict=True))


def _is_tiling(parts: Sequence[Slice], shape: tuple[int, ...]) -> bool:
    """Return whether slices that are cut along one axis, or one alone, make up the whole without gap or overlap."""
    whole = [(0, size) for size in shape]
    cut = {axis for part in parts for axis, extent in enumerate(part) if extent != whole[axis]}
    if len(cut) > 1:
        return False
    if not cut:
        return len(parts) == 1
    (axis,) = cut
    end = 0
    for start, size in sorted(part[axis] for part in parts):
        if start != end or size < 0:
            return False
        end += size
    return end == shape[axis]


def _to_region(part: Slice) -> tuple[slice, ...]:
    return tuple(slice(start, start + size) for start, size in part)


def slice_key(name: str, part: Slice) -> bytes:
    """Return the key of a slice's entry.

    >>> slice_key("w", ((0, 2), (0, -1)))
    b'\\x00w\\x00\\x01\\x01\\x02\\x80\\x82\\x80\\x7f'
    """
    key = _read_ordered_number(0) + _read_ordered_text(name.encode()) + _read_ordered_number(len(part))
    return key + b"".join(_read_ordered_signed(start) + _read_ordered_signed(size) for start, size in part)


def _read_ordered_number(number: int) -> bytes:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _read_ordered_text(data: bytes) -> bytes:
    escaped = {0: b"\0\xff", 255: b"\xff\0"}
    return b"".join(escaped.get(byte, bytes([byte])) for byte in data) + b"\0\1"


def _read_ordered_signed(number: int) -> bytes:
    """Return a number of 7n-1 bits in n bytes: as many leading bits as bytes mark the length, turned round for
    negatives."""
    magnitude = ~number if number < 0 else number
    width = max(1, -(-(magnitude.bit_length() + 1) // 7))
    marks = ((1 << width) - 1) << (8 * width - width)
    return ((number & (1 << 8 * width) - 1) ^ marks).to_bytes(width, "big")


def _map_file(path: Path) -> memoryview:
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise FormatError("the file is empty", path=path, offset=0)
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ImportFailure(f"cannot read {path}: {error.strerror or error}") from error
