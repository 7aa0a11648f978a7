"""The weights file: the safetensors layout, written as a stream and read as places.

Layout: the header's length (8 bytes, little endian), the header (JSON, padded with blanks), then the tensors' bytes
without a hole. Source: the format section of the safetensors documentation. Tensors are written in descending order of
their alignment, so that each begins at a multiple of its element's size although nothing may lie between them.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from graphir.errors import ExportFailure, FormatError
from graphir.files.reading import open_plain
from graphir.files.regions import SourceFiles
from graphir.tensor import Tensor, byte_size
from graphir.types import DType

from .notation import (
    MOST_AXES,
    MOST_ELEMENTS,
    Json,
    Unencodable,
    bytes_from_json,
    bytes_to_json,
    parse_json,
    text_to_json,
)

_text = json.JSONEncoder().encode
LARGEST_HEADER = 100_000_000
INLINE_ELEMENTS = 64
ALIGNMENT = 64

# Only names that every release of safetensors since 0.4.3 knows: an unknown name makes the whole file unreadable to it.
NAMES = {
    DType.FLOAT64: "F64",
    DType.FLOAT32: "F32",
    DType.FLOAT16: "F16",
    DType.BFLOAT16: "BF16",
    DType.FLOAT8E4M3FN: "F8_E4M3",
    DType.FLOAT8E5M2: "F8_E5M2",
    DType.INT64: "I64",
    DType.INT32: "I32",
    DType.INT16: "I16",
    DType.INT8: "I8",
    DType.UINT64: "U64",
    DType.UINT32: "U32",
    DType.UINT16: "U16",
    DType.UINT8: "U8",
    DType.BOOL: "BOOL",
}
RAW = "U8"
BYTES = {name: dtype.bits // 8 for dtype, name in NAMES.items()}


def stored_form(dtype: DType, shape: tuple[int, ...]) -> tuple[str, list[int]]:
    """Return the dtype name and shape in the header; types that safetensors has no name for are bytes there."""
    name = NAMES.get(dtype)
    return (RAW, [byte_size(dtype, shape)]) if name is None else (name, list(shape))


class Store:
    """The tensors of a graph on their way to a file: what goes into the JSON, and under which name the rest lies.

    Equal regions of one file, and one tensor used twice, are stored once. `tensors` are stored by their names as they
    are, `form` is what the file's metadata call its format.
    """

    def __init__(
        self, tensors: Mapping[str, Tensor] | None = None, *, form: str = "graphir", hashes: bool = False
    ) -> None:
        self.tensors: dict[str, Tensor] = dict(tensors or {})
        self._form = form
        self.offsets: dict[str, int] = {}
        self._hashes = hashes
        self._places: dict[object, dict[str, Json]] = {}
        self._next: dict[str, int] = {}

    def place(self, tensor: Tensor, wanted: str) -> dict[str, Json]:
        """Return where the elements of `tensor` are, as fields of the JSON. Raises Unencodable for elements that are
        none."""
        if tensor.size == 0:
            return {"data": []}
        if tensor.dtype is DType.STRING or (tensor.size <= INLINE_ELEMENTS and _is_inline(tensor.dtype)):
            return {"data": _elements(tensor)}
        identity: object = (tensor.region, tensor.dtype, tensor.shape) if tensor.region else id(tensor)
        placed = self._places.get(identity)
        if placed is None:
            key = self._free(text_to_json(wanted))
            self.tensors[key] = tensor
            placed = self._places[identity] = {"stored": key}
            if self._hashes:
                placed["sha256"] = tensor.sha256()
        return placed

    def _free(self, wanted: str) -> str:
        if wanted not in self.tensors and wanted != "__metadata__":
            return wanted
        number = self._next.get(wanted, 2)
        while f"{wanted}#{number}" in self.tensors:
            number += 1
        self._next[wanted] = number + 1
        return f"{wanted}#{number}"

    def header(self) -> bytes:
        """Return the file up to the first tensor. Fixes `offsets`, the place of each tensor in the file."""
        order = sorted(self.tensors.items(), key=lambda item: -max(1, item[1].dtype.bits // 8))
        parts, offsets, end = [f'"__metadata__":{{"format":{json.dumps(self._form)}}}'], [], 0
        for key, tensor in order:
            start, (text, size) = end, _entry_form(tensor.dtype, tensor.shape)
            end += size
            offsets.append(start)
            parts.append(f"{_text(key)}:{text}[{start},{end}]}}")
        header = f"{{{','.join(parts)}}}".encode("ascii")
        header += b" " * (-(8 + len(header)) % ALIGNMENT)
        if len(header) > LARGEST_HEADER:
            limit = f"safetensors reads {LARGEST_HEADER}"
            raise ExportFailure(f"the weights' header would take {len(header)} bytes; {limit}")
        self.tensors = dict(order)
        self.offsets = {key: offset + 8 + len(header) for (key, _), offset in zip(order, offsets, strict=True)}
        return len(header).to_bytes(8, "little") + header

    def write(self, file: IO[bytes]) -> None:
        """Stream the file, one tensor after the other."""
        file.write(self.header())
        with SourceFiles() as sources:
            for key, tensor in self.tensors.items():
                written, (_, size) = tensor.write_to(file, sources), _entry_form(tensor.dtype, tensor.shape)
                if written != size:
                    raise ExportFailure(f"the tensor {key} gave {written} bytes, expected {size}")


@lru_cache(1 << 12)
def _entry_form(dtype: DType, shape: tuple[int, ...]) -> tuple[str, int]:
    """Return a tensor's entry in the header up to its place, and the bytes that it takes there."""
    name, sizes = stored_form(dtype, shape)
    form = json.dumps({"dtype": name, "shape": sizes}, separators=(",", ":"))
    return f'{form[:-1]},"data_offsets":', byte_size(dtype, shape)


def _is_inline(dtype: DType) -> bool:
    return dtype is DType.BOOL or (dtype.is_integer and dtype.bits >= 8)


def _elements(tensor: Tensor) -> list[Json]:
    """Return the elements in C order, as integers, booleans, or strings or bytes."""
    elements: list[Any] = tensor.numpy().reshape(-1).tolist()
    if tensor.dtype is not DType.STRING:
        return elements
    items: list[Json] = []
    for element in elements:
        if isinstance(element, bytes):
            items.append(bytes_to_json(element))
        elif isinstance(element, str):
            items.append(text_to_json(element))
        else:
            raise Unencodable(f"a tensor of strings holds {element!r}")
    return items


class Entry(NamedTuple):
    """One tensor of a weights file: its form in the header and its place in the file."""

    dtype: str
    shape: list[int]
    start: int


class WeightsHeader:
    """The header of a weights file. Of the tensors nothing is read."""

    def __init__(self, path: Path, entries: dict[str, Entry]) -> None:
        self.path = os.path.abspath(path)
        self.entries = entries

    @staticmethod
    def open(path: Path) -> WeightsHeader:
        """Return the checked header of a file. Raises FormatError."""
        try:
            with open_plain(path) as file:
                size = os.fstat(file.fileno()).st_size
                lead = file.read(8)
                if len(lead) < 8:
                    raise FormatError(f"{len(lead)} bytes are no safetensors file", path=path, offset=len(lead))
                length = int.from_bytes(lead, "little")
                if length > min(LARGEST_HEADER, size - 8):
                    limit = f"{size} (at most {LARGEST_HEADER} are read); was the file cut short?"
                    raise FormatError(f"a header of {length} bytes in a file of {limit}", path=path, offset=0)
                text = file.read(length)
        except OSError as error:
            raise FormatError(f"cannot read the weights: {error.strerror or error}", path=path) from error
        if not text.startswith(b"{"):
            raise FormatError("the header does not begin with {", path=path, offset=8)
        try:
            header = parse_json(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"the header is not JSON: {error}", path=path, offset=8) from error
        return WeightsHeader(path, dict(_entries(header, path, 8 + length, size)))

    def find(self, key: str, dtype: DType, shape: tuple[int, ...]) -> tuple[Tensor | None, str]:
        """Return the tensor under `key`, still in the file, or None and why there is none of this type."""
        entry = self.entries.get(key)
        if entry is None:
            return None, f"{os.path.basename(self.path)} holds no tensor {key!r}"
        expected = stored_form(dtype, shape)
        if (entry.dtype, entry.shape) != expected:
            return None, (
                f"{os.path.basename(self.path)} holds {key!r} as {entry.dtype} {entry.shape}, expected {expected[0]} "
                f"{expected[1]}; were the two files written together?"
            )
        return Tensor.at(self.path, entry.start, dtype, shape), ""


def _entries(header: dict[str, Any], path: Path, base: int, size: int) -> Iterator[tuple[str, Entry]]:
    """Yield the tensors in the order of their places, which fill the file without hole or overlap. Raises
    FormatError."""
    header.pop("__metadata__", None)
    spans = []
    for key, entry in header.items():
        where = f"$[{json.dumps(key)}]"
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise FormatError("expected dtype, shape and data_offsets, nothing else", path=path, json_path=where)
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in BYTES:
            message = f"no dtype of ours: {dtype!r}; expected one of {', '.join(BYTES)}"
            raise FormatError(message, path=path, json_path=where)
        if not _are_sizes(shape):
            raise FormatError("the shape is not a list of sizes", path=path, json_path=where)
        if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            raise FormatError("data_offsets are not [begin, end]", path=path, json_path=where)
        needed = BYTES[dtype]
        for dim in shape:
            needed *= dim
        if offsets[1] - offsets[0] != needed:
            raise FormatError(
                f"{dtype} {shape} takes {needed} bytes, found {offsets[1] - offsets[0]}", path=path, json_path=where
            )
        spans.append((offsets[0], offsets[1], key, dtype, shape))
    spans.sort(key=lambda span: span[:2])
    end = 0
    for start, stop, key, dtype, shape in spans:
        if start != end:
            problem = "overlaps the tensor before it" if start < end else "leaves a hole before it"
            message = f"{key!r} begins at {start}, expected {end}: it {problem}"
            raise FormatError(message, path=path, offset=base + start)
        end = stop
        yield key, Entry(dtype, shape, base + start)
    if base + end != size:
        raise FormatError(
            f"the tensors take {end} bytes, but {size - base} follow the header; was the file cut short?", path=path,
            offset=min(size, base + end),
        )


def _are_sizes(raw: object) -> bool:
    if not isinstance(raw, list) or len(raw) > MOST_AXES:
        return False
    return all(type(size) is int and 0 <= size <= MOST_ELEMENTS for size in raw)


def elements_array(dtype: DType, shape: tuple[int, ...], elements: list[Any]) -> np.ndarray[Any, Any]:
    """Elements that the JSON holds as a read-only array. Raises ValueError or Refused for those that are none."""
    count = math.prod(shape)
    if len(elements) != count:
        raise ValueError(f"{len(elements)} elements, expected {count}")
    if count == 0:
        array = np.empty(0, dtype.numpy())
    elif dtype is DType.STRING:
        array = np.empty(count, object)
        array[:] = [_string(element) for element in elements]
    elif _is_inline(dtype):
        if dtype is DType.BOOL:
            wrong = [element for element in elements if type(element) is not bool]
        else:
            limits = np.iinfo(dtype.numpy())
            wrong = [e for e in elements if type(e) is not int or not limits.min <= e <= limits.max]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no {dtype}")
        array = np.array(elements, dtype.numpy())
    else:
        raise ValueError(f"elements of {dtype} do not stand in the JSON")
    array = array.reshape(shape)
    array.setflags(write=False)
    return array


def _string(element: object) -> str | bytes:
    return element if isinstance(element, str) else bytes_from_json(element, "")
