"""Which format a model has: its content decides, by parsing; its name where the content is of no format."""

from __future__ import annotations

import json
import mmap
import os
import re
import stat
import zipfile
from glob import escape
from pathlib import Path
from typing import Any

from graphir.errors import FormatError, ImportFailure

PathLike = str | os.PathLike[str]
OWN_SUFFIX = ".graphir.json"
SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
BY_SUFFIX = {
    OWN_SUFFIX: "graphir", ".json": "mxnet", ".onnx": "onnx", ".params": "mxnet", ".npz": "mxnet", ".npy": "mxnet",
    ".pb": "tensorflow", ".pbtxt": "tensorflow", ".meta": "tensorflow", ".keras": "tensorflow", ".h5": "tensorflow",
    ".hdf5": "tensorflow",
}  # fmt: skip
ZIP, NPY, HDF5 = b"PK\x03\x04", b"\x93NUMPY", b"\x89HDF\r\n\x1a\n"
NDARRAY_LIST = (0x112).to_bytes(8, "little")
OWN = re.compile(rb'"format"\s*:\s*"graphir"')
OTHER_JSON = {
    "class_name": "a Keras architecture without its weights; save the whole model (model.save)",
    "modelTopology": "a TensorFlow.js model, which graphir does not read",
    "irVersion": "an ONNX model as JSON; save it as binary protobuf (onnx.save)",
}


def is_symbol_text(source: object) -> bool:
    """Whether a string is the JSON of an MXNet symbol, not the path or prefix of one: `{name}-symbol.json` is a name
    too, if there is such a file."""
    if not isinstance(source, str) or not source.lstrip().startswith("{"):
        return False
    return not any(os.path.exists(name) for name in (source, f"{source}-symbol.json", f"{source}.json"))


def detect_format(path: PathLike) -> str:
    """The format of a model: by content first, then by suffix. Raises FormatError if it is none that graphir reads."""
    place = Path(path)
    try:
        mode = os.stat(place).st_mode
    except (OSError, ValueError):  # a name may be too long, or hold a null byte
        return _without_file(place)
    if stat.S_ISDIR(mode):
        return "tensorflow" if any((place / name).is_file() for name in SAVED_MODEL) else "mxnet"
    if not stat.S_ISREG(mode):
        raise FormatError("is no regular file", path=place)
    suffix = next((known for known in BY_SUFFIX if place.name.endswith(known)), "")
    if suffix == ".params":  # those of MXNet's first versions begin with nothing that tells them
        return "mxnet"
    found = _by_content(place) or BY_SUFFIX.get(suffix)
    if found is None:
        from graphir.converters import READS

        raise FormatError(f"not a model that graphir reads ({', '.join(READS.values())})", path=place)
    return found


def _without_file(place: Path) -> str:
    """What a name means that is no file: a prefix of MXNet's, or the parameters that will be looked for."""
    if place.name.endswith(".params"):
        return "mxnet"
    name = place.name
    if name and os.path.exists(f"{place}-symbol.json"):
        return "mxnet"
    try:
        if name and any(place.parent.glob(escape(name) + "-*.params")):
            return "mxnet"
    except (OSError, ValueError):
        pass  # no such folder, which is said below
    raise ImportFailure(f"{place}: no such file, folder or checkpoint prefix")


def _by_content(place: Path) -> str | None:
    from graphir.converters.onnx.files.recognition import looks_like_onnx
    from graphir.converters.tensorflow.files.recognition import looks_like_tensorflow

    try:
        with open(place, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        view = memoryview(mapped)  # what an error's traceback holds cannot be closed: it goes with the last view
        head = bytes(view[:64])
        if head.startswith(ZIP):
            return _in_archive(place)
        if head.startswith((NPY, NDARRAY_LIST)):
            return "mxnet"
        if head.startswith(HDF5):
            return "tensorflow"
        if looks_like_tensorflow(view):
            return "tensorflow"
        if looks_like_onnx(view):
            return "onnx"
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return _in_json(place, bytes(view))
    except OSError as error:
        raise ImportFailure(f"cannot read {place}: {error.strerror or error}") from error
    return None


def _in_archive(place: Path) -> str | None:
    """Keras's archive holds its configuration, numpy's nothing but arrays."""
    try:
        with zipfile.ZipFile(place) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        return None  # damaged: the reader that its name asks for says how
    if "config.json" in names:
        return "tensorflow"
    if names and all(name.endswith(".npy") for name in names):
        return "mxnet"
    return None


def _in_json(place: Path, data: bytes) -> str | None:
    """By the members of the document. Every file of graphir's own has its name in it, mostly at its beginning, so that
    what may be large is parsed once only, by its reader."""
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n{")
    if OWN.match(start):
        return "graphir"
    is_json = place.suffix == ".json" and not place.name.endswith(OWN_SUFFIX)
    if is_json and b'"graphir"' not in data and start.startswith(b'"nodes"'):
        return "mxnet"
    try:
        document: Any = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None  # damaged: the reader that its name asks for says where
    if document.get("format") == "graphir":
        return "graphir"
    if "nodes" in document and "heads" in document:
        return "mxnet"
    for member, what in OTHER_JSON.items():
        if member in document:
            raise FormatError(f"JSON, but {what}", path=place)
    return None


__all__ = ["OWN_SUFFIX", "detect_format", "is_symbol_text"]
