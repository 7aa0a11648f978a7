"""The .npy and .npz files that MXNet 2.0 writes as `.params` (`src/serialization/cnpy.cc`), read lazily.

An uncompressed member is a region of the archive; a compressed, transposed or big-endian one is computed when it is
read. A sparse array is a directory of members: data, indices, (indptr,) shape, format.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from graphir.converters.mxnet.files.arrays import CSR, NPY_MAGIC, ROW_SPARSE, ZIP_MAGICS, ParamsEntry, SparseArray
from graphir.errors import FormatError
from graphir.safety.limits import check_expansion
from graphir.tensor import Tensor, byte_size, why_unheld
from graphir.types import DType

_HEAD = 4096
_MAX_HEADER = 1 << 20
# What zipfile raises for damage: ValueError for a name that is no UTF-8, RuntimeError for an encrypted member.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
_DESCRIPTION = re.compile(r"'descr':\s*'([^']*)'")
_ORDER = re.compile(r"'fortran_order':\s*(True|False)")
_SHAPE = re.compile(r"'shape':\s*\(([\d\s,L]*)\)")
_DTYPES = {
    "b1": DType.BOOL,
    "b2": DType.BFLOAT16,
    "f2": DType.FLOAT16,
    "f4": DType.FLOAT32,
    "f8": DType.FLOAT64,
    "i1": DType.INT8,
    "i2": DType.INT16,
    "i4": DType.INT32,
    "i8": DType.INT64,
    "u1": DType.UINT8,
    "u2": DType.UINT16,
    "u4": DType.UINT32,
    "u8": DType.UINT64,
}


class _Header:
    """What an .npy header says; `length` is its own size in bytes."""

    __slots__ = ("dtype", "fortran", "length", "shape", "swapped")

    def __init__(self, head: bytes, path: str, what: str, offset: int) -> None:
        self.length, text = _header_text(head, path, what, offset)
        description, order, shape = (pattern.search(text) for pattern in (_DESCRIPTION, _ORDER, _SHAPE))
        if description is None or order is None or shape is None:
            raise FormatError(f"{what} has no readable .npy header: {text[:80]!r}", path=path, offset=offset)
        letters = description[1]
        dtype = _DTYPES.get(letters[1:])
        if dtype is None or letters[:1] not in "<>|=":
            raise FormatError(
                f"{what} has elements of type {letters!r}; no tensor holds them", path=path, offset=offset
            )
        self.dtype = dtype
        self.swapped = letters[0] == ">" and dtype.bits > 8
        self.fortran = order[1] == "True"
        try:
            self.shape = tuple(int(dim.strip().rstrip("L")) for dim in shape[1].split(",") if dim.strip())
        except ValueError as error:
            raise FormatError(f"{what} has no readable shape: ({shape[1][:80]})", path=path, offset=offset) from error
        reason = why_unheld(dtype, self.shape)
        if reason:
            raise FormatError(f"{what} has the shape {self.shape}, which {reason}", path=path, offset=offset)


def _header_text(head: bytes, path: str, what: str, offset: int) -> tuple[int, str]:
    if head[:6] != NPY_MAGIC or len(head) < 12:
        raise FormatError(f"{what} is not an .npy file", path=path, offset=offset)
    wide = head[6] >= 2
    begin = 12 if wide else 10
    length = struct.unpack_from("<I" if wide else "<H", head, 8)[0]
    if length > _MAX_HEADER:
        raise FormatError(f"{what} claims a header of {length} bytes", path=path, offset=offset)
    if len(head) < begin + length:
        raise FormatError(f"{what} is cut short in its .npy header", path=path, offset=offset)
    return begin + length, head[begin : begin + length].decode("latin-1")


def read_npy(file: IO[bytes], path: str, size: int) -> ParamsEntry:
    """Return the one array of a bare .npy file, under the name "0"."""
    file.seek(0)
    return ParamsEntry("0", _stored_tensor(file, path, 0, size, "the file"))


def read_npz(file: IO[bytes], path: str, size: int) -> list[ParamsEntry]:
    """Return the arrays of an archive, by the names of their members without `.npy`."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise FormatError(f"not a readable zip archive: {error}; was it cut short?", path=path) from error
    with archive:
        members = archive.infolist()
        claimed = sum(member.compress_size for member in members)
        if claimed > size:
            raise FormatError(f"its members take {claimed} bytes of a file of {size}: they overlap", path=path)
        if any(member.filename.endswith("/data.pkl") for member in members):
            raise FormatError("a PyTorch checkpoint, not MXNet parameters", path=path)
        if members and not any(member.filename.endswith(".npy") for member in members):
            shown = ", ".join(member.filename for member in members[:3])
            raise FormatError(f"a zip archive without arrays (.npy), not MXNet parameters; it holds {shown}", path=path)
        tensors: dict[str, Tensor] = {}
        formats: dict[str, str] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                continue
            if name in tensors or name in formats:
                raise FormatError(f"two arrays are named {name!r}", path=path, offset=member.header_offset)
            if name.endswith("/format"):
                formats[name] = _sparse_format(archive, member, path)
            else:
                tensors[name] = _member_tensor(file, archive, member, path)
    sparse = {name.removesuffix("/format"): storage for name, storage in formats.items()}
    return _entries(tensors, sparse, path)


def _entries(tensors: dict[str, Tensor], sparse: dict[str, str], path: str) -> list[ParamsEntry]:
    entries: dict[str, ParamsEntry] = {}
    for name, tensor in tensors.items():
        folder = name.rpartition("/")[0]
        if folder not in sparse:
            entries[name] = ParamsEntry(name, tensor)
        elif folder not in entries:
            array = _sparse_array(folder, sparse[folder], tensors, path)
            entries[folder] = ParamsEntry(folder, array.densify(), array)
    return list(entries.values())


def _sparse_format(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> str:
    """MXNet writes a malformed header here, so its own reader takes the last bytes alone."""
    try:
        raw = archive.read(member) if member.file_size < _HEAD else b""
    except _UNREADABLE as error:
        raise FormatError(f"{member.filename} cannot be unpacked: {error}", path=path) from error
    for storage in (CSR, ROW_SPARSE):
        if raw.endswith(storage.encode()):
            return storage
    raise FormatError(f"{member.filename} names no sparse format", path=path, offset=member.header_offset)


def _sparse_array(name: str, storage: str, tensors: dict[str, Tensor], path: str) -> SparseArray:
    wanted = ["data", "indices", "shape"] + (["indptr"] if storage == CSR else [])
    missing = [part for part in wanted if f"{name}/{part}" not in tensors]
    if missing:
        raise FormatError(f"the {storage} array {name!r} has no {', '.join(missing)}", path=path)
    data, indices, shape_tensor = (tensors[f"{name}/{part}"] for part in wanted[:3])
    indptr = tensors.get(f"{name}/indptr") if storage == CSR else None
    shape = tuple(int(dim) for dim in shape_tensor.numpy().reshape(-1))
    if data.shape[:1] != indices.shape or (storage == ROW_SPARSE and data.shape[1:] != shape[1:]):
        raise FormatError(
            f"the {storage} array {name!r} has data of shape {data.shape} and indices of shape {indices.shape} for a "
            f"dense shape {shape}",
            path=path,
        )
    if indptr is not None and (len(shape) != 2 or indptr.shape != (shape[0] + 1,)):
        raise FormatError(f"the csr array {name!r} has row starts of shape {indptr.shape} for {shape}", path=path)
    return SparseArray(storage, data.dtype, shape, data, indices, indptr)


def _member_tensor(file: IO[bytes], archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> Tensor:
    what = f"member {member.filename!r}"
    if member.flag_bits & 1:
        raise FormatError(f"{what} is encrypted", path=path, offset=member.header_offset)
    if member.compress_type != zipfile.ZIP_STORED:
        return _compressed_tensor(archive, member, path, what)
    file.seek(member.header_offset)
    local = file.read(30)
    if len(local) < 30 or local[:4] != ZIP_MAGICS[0]:
        raise FormatError(f"{what} is not where the archive's directory says", path=path, offset=member.header_offset)
    begin = member.header_offset + 30 + sum(struct.unpack_from("<HH", local, 26))
    return _stored_tensor(file, path, begin, begin + member.file_size, what)


def _stored_tensor(file: IO[bytes], path: str, begin: int, end: int, what: str) -> Tensor:
    file.seek(begin)
    head = file.read(min(_HEAD, end - begin))
    if head[6:7] >= b"\x02" and len(head) == _HEAD:
        file.seek(begin)
        head = file.read(min(_MAX_HEADER, end - begin))
    header = _Header(head, path, what, begin)
    offset = begin + header.length
    needed = byte_size(header.dtype, header.shape)
    if needed > end - offset:
        raise FormatError(
            f"{what} is cut short: shape {header.shape} needs {needed} bytes, {needed - (end - offset)} are missing",
            path=path,
            offset=offset,
        )
    tensor = Tensor.at(path, offset, header.dtype, header.shape)
    if not (header.swapped or (header.fortran and len(header.shape) > 1)):
        return tensor
    flat = Tensor.at(path, offset, header.dtype, (tensor.size,))
    return Tensor.computed(header.dtype, header.shape, lambda: _arranged(flat.numpy(), header))


def _compressed_tensor(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str, what: str) -> Tensor:
    try:
        with archive.open(member) as stream:
            header = _Header(stream.read(_HEAD), path, what, member.header_offset)
    except _UNREADABLE as error:
        raise FormatError(f"{what} cannot be unpacked: {error}", path=path, offset=member.header_offset) from error
    needed = header.length + byte_size(header.dtype, header.shape)
    if member.file_size < needed:
        raise FormatError(f"{what} is cut short for its shape {header.shape}", path=path, offset=member.header_offset)
    if member.file_size > needed + _HEAD:
        raise FormatError(
            f"{what} unpacks to {member.file_size} bytes, but its shape {header.shape} takes {needed}",
            path=path,
            offset=member.header_offset,
        )
    check_expansion(needed, member.compress_size, f"{path}: {what}", "bytes")

    def unpack() -> np.ndarray[Any, Any]:
        try:
            with zipfile.ZipFile(path) as opened:
                raw = opened.read(member.filename)
        except (*_UNREADABLE, KeyError) as error:
            raise FormatError(f"{what} cannot be unpacked: {error}", path=path, offset=member.header_offset) from error
        count = int(np.prod(header.shape, dtype=np.int64))
        return _arranged(np.frombuffer(raw, header.dtype.numpy(), count, header.length), header)

    return Tensor.computed(header.dtype, header.shape, unpack)


def _arranged(flat: np.ndarray[Any, Any], header: _Header) -> np.ndarray[Any, Any]:
    """Flat elements as they lie in the file, as an array in C order and little endian."""
    if header.swapped:
        flat = flat.view(np.dtype(f"u{flat.dtype.itemsize}")).byteswap().view(flat.dtype)
    if header.fortran:
        return np.ascontiguousarray(flat.reshape(header.shape[::-1]).T)
    return flat.reshape(header.shape)
