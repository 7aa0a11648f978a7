"""Keras's own files, `.keras` (a zip of config.json and model.weights.h5) and `.h5`: Sequential and Functional models.

The configuration becomes nodes (`models`, `layers`), most of them TensorFlow's, which the importer reads
like any others. HDF5 is read by h5py, an optional dependency, in a child process. Source: Keras 3's saving_lib and
legacy_h5_format.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphir.converters.tensorflow.files.reader import TFSource
from graphir.converters.tensorflow.files.records import Signature, TFGraph, is_number
from graphir.converters.tensorflow.keras.hdf5 import Bytes, Group, Hdf5
from graphir.converters.tensorflow.keras.models import Reader
from graphir.converters.tensorflow.keras.weights import LayerWeights, StoredByClass, StoredInGroups
from graphir.errors import FormatError, ImportFailure
from graphir.files.reading import open_plain
from graphir.safety.foreign_text import unicode_text
from graphir.safety.json_text import NoJson, read_json
from graphir.safety.limits import check_expansion

MEMBERS = 10_000
TEXT = 256 << 20  # bytes of config.json
_LOCAL = struct.Struct("<4s22xHH")
_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, OverflowError, struct.error, EOFError,
    UnicodeDecodeError,
)  # fmt: skip


class Archive:
    """The members of an archive by name."""

    def __init__(self, path: Path) -> None:
        """Open an archive. Raises FormatError for what is no zip, one with too many members, or two of one name."""
        self.path = path
        with open_plain(path) as file:
            self._size = file.seek(0, 2)
            try:
                with zipfile.ZipFile(file) as archive:
                    listed = archive.infolist()
            except _BROKEN as error:
                raise FormatError(f"a damaged zip archive: {error}", path=path) from error
        if len(listed) > MEMBERS:
            raise FormatError(f"a zip archive of {len(listed)} members; at most {MEMBERS} are read", path=path)
        self._members = {info.filename: info for info in listed}
        if len(self._members) < len(listed):
            names = [info.filename for info in listed]
            twice = next(name for name in names if names.count(name) > 1)
            raise FormatError(f"a zip archive with two members called {twice!r}", path=path)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def find(self, name: str) -> Bytes:
        """Return where a member's content lies, in the file or, inflated, in memory. Raises FormatError."""
        if name not in self._members:
            shown = ", ".join(list(self._members)[:8]) or "none"
            raise FormatError(f"no Keras model: the archive has no {name}; its members are {shown}", path=self.path)
        info = self._members[name]
        if info.flag_bits & 0x41:
            raise FormatError(f"{name} is encrypted", path=self.path)
        start = self._find_start(info, name)
        if start + info.compress_size > self._size:
            raise FormatError(f"{name} is cut short: the file ends before it", path=self.path, offset=start)
        if info.compress_type == zipfile.ZIP_STORED:
            if info.file_size != info.compress_size:
                raise FormatError(
                    f"{name} is stored in {info.compress_size} bytes, but stated as {info.file_size}", path=self.path
                )
            return Bytes(self.path, start, info.file_size)
        if info.compress_type != zipfile.ZIP_DEFLATED:
            raise FormatError(f"{name} is compressed by method {info.compress_type}; deflate is read", path=self.path)
        return Bytes(self.path, 0, info.file_size, memoryview(self._inflate(info, name, start)))

    def content(self, name: str) -> bytes:
        """Return a member's bytes, of which there must not be too many for a text."""
        member = self.find(name)
        if member.size > TEXT:
            raise FormatError(f"{name} has {member.size} bytes, expected at most {TEXT}", path=self.path)
        if member.data is not None:
            return bytes(member.data)
        with open_plain(self.path) as file:
            file.seek(member.start)
            return file.read(member.size)

    def _find_start(self, info: zipfile.ZipInfo, name: str) -> int:
        with open_plain(self.path) as file:
            file.seek(max(0, info.header_offset))
            head = file.read(_LOCAL.size)
            if len(head) < _LOCAL.size or not head.startswith(b"PK\x03\x04") or info.header_offset < 0:
                raise FormatError(f"{name} has no header where the directory says", path=self.path)
            _, name_length, extra = _LOCAL.unpack(head)
            stated = file.read(name_length)
        if stated != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437", "replace"):
            raise FormatError(f"the header of {name} names {stated[:80]!r}", path=self.path)
        return int(info.header_offset + _LOCAL.size + name_length + extra)

    def _inflate(self, info: zipfile.ZipInfo, name: str, start: int) -> bytes:
        """Return the bytes that a member stands for: as many as it states, and not far more than it is stored in."""
        check_expansion(info.file_size, info.compress_size, f"{self.path}: {name}", "bytes")
        with open_plain(self.path) as file:
            file.seek(start)
            stored = file.read(info.compress_size)
        engine = zlib.decompressobj(-15)
        try:
            data = engine.decompress(stored, info.file_size + 1)
        except zlib.error as error:
            raise FormatError(f"{name} cannot be inflated: {error}", path=self.path, offset=start) from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            what = "is another size or checksum than its header states"
            raise FormatError(f"{name}: what it inflates to {what}", path=self.path, offset=start)
        return data


PRODUCER = 1882
ZIP, HDF5 = b"PK\x03\x04", b"\x89HDF"
WEIGHTS, CONFIG, METADATA = "model.weights.h5", "config.json", "metadata.json"


def open_keras(path: Path, *, training: bool = False) -> TFSource:
    """Open a Keras model, with `training` as it is trained. Raises FormatError for a broken file, ImportFailure without
    h5py or for a model that is neither Sequential nor Functional, and UnsupportedOpError with all layers that cannot be
    read."""
    with open_plain(path) as file:
        head, size = file.read(4), file.seek(0, 2)
    if head != ZIP:
        with Hdf5(Bytes(path, 0, size)) as hdf5:
            return _read_hdf5(path, hdf5.root, training=training)
    archive = Archive(path)
    config = _parse(archive.content(CONFIG), path, CONFIG)
    version = 3
    if METADATA in archive:
        stated = _parse(archive.content(METADATA), path, METADATA)
        version = _read_major(stated.get("keras_version") if isinstance(stated, Mapping) else None, path)
    with Hdf5(archive.find(WEIGHTS)) as hdf5:
        return _make_source(path, config, Reader(path, version, training=training), StoredByClass(hdf5.root))


def _read_hdf5(path: Path, root: Group, *, training: bool) -> TFSource:
    config = root.attrs.get("model_config")
    groups = root.group("model_weights")
    if config is None:
        raise ImportFailure(f"{path}: weights without a model; save the whole model (model.save)")
    if groups is None or not isinstance(config, str):
        raise FormatError("a Keras model without its weights, or with a configuration that is no text", path=path)
    version = _read_major(root.attrs.get("keras_version", "1"), path)
    backend = str(root.attrs.get("backend", "tensorflow"))
    parsed = _parse(config, path, "model_config")
    return _make_source(path, parsed, Reader(path, version, backend, training=training), StoredInGroups(groups, path))


def _make_source(path: Path, config: Any, reader: Reader, weights: LayerWeights) -> TFSource:
    inputs, outputs = reader.run(config, weights)
    settings = config["config"]
    name = str((settings.get("name") if isinstance(settings, dict) else None) or unicode_text(path.stem))
    kind = f"Keras {reader.version} model"
    return TFSource(
        TFGraph(reader.nodes, {}, PRODUCER), name, Signature("", inputs, outputs), [str(path)], kind=kind,
        layers=layer_counts(config), results=reader.results,
    )  # fmt: skip


def layer_counts(config: Any) -> dict[str, int]:
    """Return how many layers a model has of each class, those of models inside it included."""
    counts: Counter[str] = Counter()
    pending = list(config["config"].get("layers", ())) if isinstance(config["config"], dict) else []
    while pending:
        layer = pending.pop()
        inner = layer["config"].get("layers") if isinstance(layer["config"], dict) else None
        if isinstance(inner, list):
            pending.extend(inner)
        elif layer["class_name"] != "InputLayer":
            counts[str(layer["class_name"])] += 1
    return dict(counts)


def _parse(text: str | bytes, path: Path, what: str) -> Any:
    """Return what a JSON text says. Raises FormatError for one that is none, or nests deeper than any model."""
    try:
        return read_json(text)
    except NoJson as error:
        raise FormatError(f"not a Keras model, or damaged: {what}: {error}", path=path) from error


def _read_major(text: Any, path: Path) -> int:
    number = str(text).partition(".")[0]
    if not is_number(number):
        raise FormatError(f"the version of Keras is {text!r}, expected one such as 3.0.0", path=path)
    return int(number)
