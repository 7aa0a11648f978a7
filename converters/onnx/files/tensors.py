"""TensorProto to Tensor: elements stay in their file wherever they lie there as they are."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.onnx.dtypes import BY_CODE
from graphir.converters.onnx.files.wire import MARK
from graphir.errors import FormatError
from graphir.files.paths import resolve_beside
from graphir.files.regions import Stamp
from graphir.safety.limits import check_expansion
from graphir.tensor import Tensor, byte_size, unpacked, why_unheld
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


LONGEST_NUMBER = 20
_WIDE = {DType.INT64: "int64_data", DType.FLOAT64: "double_data", DType.FLOAT32: "float_data"}


@dataclass
class TensorSource:
    """Where the bytes of a model's tensors lie: the model's file (None: in memory) and the regions cut out of it.
    `stamp` is the file's when it was opened."""

    path: Path | None = None
    regions: list[tuple[int, int]] = field(default_factory=list)
    stamp: Stamp | None = None

    def tensor(self, proto: Any, what: str) -> Tensor:
        """Return the tensor of a TensorProto; `what` names it in errors. Raises FormatError."""
        dtype = BY_CODE.get(proto.data_type)
        if dtype is None:
            raise FormatError(f"{what}: unknown element type {proto.data_type}", path=self.path)
        shape = tuple(proto.dims)
        if any(dim < 0 for dim in shape):
            raise FormatError(f"{what}: negative size in {list(shape)}", path=self.path)
        reason = why_unheld(dtype, shape)
        if reason:
            raise FormatError(f"{what}: {dtype}{list(shape)} {reason}", path=self.path)
        entries = {entry.key: entry.value for entry in proto.external_data}
        if any(isinstance(text, bytes) for entry in entries.items() for text in entry):
            raise FormatError(f"{what}: a text of its external data is not UTF-8", path=self.path)
        if MARK in entries:
            return self._region(entries[MARK], dtype, shape, what)
        if proto.data_location == proto.EXTERNAL:
            return self._external_tensor(entries, dtype, shape, what)
        if proto.HasField("raw_data"):
            return self._raw(proto.raw_data, dtype, shape, what)
        return self._typed_elements(proto, dtype, shape, what)

    def _region(self, mark: str, dtype: DType, shape: tuple[int, ...], what: str) -> Tensor:
        numbered = mark.isascii() and mark.isdigit() and len(mark) <= LONGEST_NUMBER
        if self.path is None or not numbered or int(mark) >= len(self.regions):
            raise FormatError(f"{what}: an external_data entry {MARK!r} is not ONNX", path=self.path)
        offset, length = self.regions[int(mark)]
        self._check_size(length, dtype, shape, what, offset)
        return Tensor.at(self.path, offset, dtype, shape, self.stamp)

    def _check_size(self, length: int, dtype: DType, shape: tuple[int, ...], what: str, offset: int | None) -> None:
        if dtype is DType.STRING:
            raise FormatError(f"{what}: strings cannot be stored as raw data", path=self.path)
        wanted = byte_size(dtype, shape)
        if length != wanted:
            raise FormatError(
                f"{what}: {length} bytes of elements, but {dtype}{list(shape)} takes {wanted}",
                path=self.path,
                offset=offset,
            )

    def _external_tensor(self, entries: dict[str, str], dtype: DType, shape: tuple[int, ...], what: str) -> Tensor:
        if self.path is None:
            location = entries.get("location")
            raise FormatError(f"{what}: its elements lie in the file {location!r}; give the path of the model")
        path = external_place(self.path, entries.get("location", ""), what)
        offset = self._number(entries, "offset", 0, what)
        if dtype is DType.STRING:
            raise FormatError(f"{what}: strings cannot be stored as external data", path=self.path)
        size = byte_size(dtype, shape)
        length = self._number(entries, "length", size, what)
        if length != size:
            raise FormatError(f"{what}: length {length}, but {dtype}{list(shape)} takes {size} bytes", path=self.path)
        try:
            file_size = path.stat().st_size
        except OSError as error:
            reason = error.strerror
            raise FormatError(f"{what}: its elements should lie in {path}: {reason}", path=self.path) from error
        if offset + size > file_size:
            raise FormatError(
                f"{what}: its elements should end at byte {offset + size} of {path}, which has {file_size} bytes",
                path=self.path,
            )
        return Tensor.at(path, offset, dtype, shape)

    def _number(self, entries: dict[str, str], key: str, default: int, what: str) -> int:
        text = entries.get(key, str(default))
        if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
            raise FormatError(
                f"{what}: the {key} of its external data is {text[:80]!r}, expected a number of at most "
                f"{LONGEST_NUMBER} digits",
                path=self.path,
            )
        return int(text)

    def _raw(self, raw: bytes, dtype: DType, shape: tuple[int, ...], what: str) -> Tensor:
        self._check_size(len(raw), dtype, shape, what, None)
        return Tensor.of(unpacked(np.frombuffer(raw, np.uint8), dtype, shape), dtype)

    def _typed_elements(self, proto: Any, dtype: DType, shape: tuple[int, ...], what: str) -> Tensor:
        """Elements in the field of their kind; narrow types are stored in int32_data, as bits where they are floats."""
        if dtype is DType.STRING:
            texts = [text.decode("utf-8", "surrogateescape") for text in proto.string_data]
            self._check_count(len(texts), shape, what)
            array = np.empty(len(texts), object)
            array[:] = texts
            return Tensor(dtype, shape, array=array.reshape(shape))
        if dtype in (DType.COMPLEX64, DType.COMPLEX128):
            parts = np.array(proto.float_data if dtype is DType.COMPLEX64 else proto.double_data, np.float64)
            self._check_count(len(parts) // 2, shape, what)
            whole = (parts[0::2] + 1j * parts[1::2]).astype(dtype.numpy())
            return Tensor(dtype, shape, array=whole.reshape(shape))
        if dtype in _WIDE:
            stored = np.array(getattr(proto, _WIDE[dtype]), dtype.numpy())
        elif dtype in (DType.UINT32, DType.UINT64):
            stored = np.array(proto.uint64_data, np.uint64).astype(dtype.numpy())
        elif dtype.bits < 8:
            packed = np.array(proto.int32_data, np.int64).astype(np.uint8)
            if len(packed) != byte_size(dtype, shape):
                self._check_count(len(packed) * (8 // dtype.bits), shape, what)
            return Tensor.of(unpacked(packed, dtype, shape), dtype)
        elif dtype.is_float:
            bits = np.array(proto.int32_data, np.int64).astype(np.uint16 if dtype.bits == 16 else np.uint8)
            stored = bits.view(dtype.numpy())
        else:
            stored = np.array(proto.int32_data, np.int64).astype(dtype.numpy())
        self._check_count(len(stored), shape, what)
        return Tensor(dtype, shape, array=stored.reshape(shape))

    def _check_count(self, count: int, shape: tuple[int, ...], what: str) -> None:
        wanted = 1
        for dim in shape:
            wanted *= dim
        if count != wanted:
            raise FormatError(f"{what}: {count} elements for {list(shape)}, expected {wanted}", path=self.path)


def external_place(model: Path, location: str, what: str) -> Path:
    """Return the file that an external-data location of a model means.

    A location is relative and is looked up beside the model's path as it was given, links not followed, so that a cache
    whose folder of names links into a folder of contents works. After following links the file must lie in the folder
    of the model's path or in the folder that the model's own file lies in. Raises FormatError for an absolute path, one
    that climbs with `..`, one that is no plain file, and one that leaves both folders.
    """
    parts = Path(location).parts
    if not location or "\0" in location or Path(location).is_absolute() or location[:1] in "/\\" or ":" in location[:3]:
        raise FormatError(
            f"{what}: external data at {location!r}: only a path relative to the model is read", path=model
        )
    if ".." in parts or ".." in location.replace("\\", "/").split("/"):
        raise FormatError(f"{what}: external data at {location!r} climbs out of the model's folder", path=model)
    path = Path(os.path.abspath(model)).parent / location
    return resolve_beside(model, path, f"{what}: external data at {location[:200]!r}")
