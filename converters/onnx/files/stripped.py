"""The structure of .onnx files that were looked at last: one comparison asks for it again and again."""

from __future__ import annotations

import mmap
import os
import time
from collections import OrderedDict
from pathlib import Path

from graphir.converters.kernel.impostors import GIT_LFS, TF_LITE, refuse_impostors
from graphir.converters.onnx.files.wire import Stripped, strip_weights
from graphir.errors import FormatError
from graphir.files.reading import open_plain
from graphir.files.regions import TICK

# Two models that are compared, and what each was made of.
KEPT = 4
# A structure that is larger than that is cut out anew, rather than held.
LARGEST_KEPT = 16 << 20

# What people take for an ONNX model, by its first bytes.
NOT_ONNX = (
    GIT_LFS,
    (b"<", "text that begins like HTML or XML; was an error page downloaded instead of the model?"),
    (b"{", "JSON, not an ONNX protobuf"),
    (b"PK\x03\x04", "a zip archive (PyTorch saves such files), not an ONNX protobuf"),
    (b"\x80\x02", "a Python pickle (PyTorch saves such files), not an ONNX protobuf"),
    (b"\x89HDF", "an HDF5 file (Keras saves such files), not an ONNX protobuf"),
    (TF_LITE, "a TensorFlow Lite model, not an ONNX protobuf"),
)

_kept: OrderedDict[tuple[int, ...], Stripped] = OrderedDict()


def stripped_file(path: str | os.PathLike[str]) -> Stripped:
    """Return an .onnx file without its large weights; see `strip_weights`. An empty file gives an empty message.

    Raises FormatError, which names the file, for what is no protobuf, OSError for what cannot be opened.
    """
    with open_plain(path) as file:
        status = os.fstat(file.fileno())
        if not status.st_size:
            return Stripped(b"")
        # The map goes with the last view of it: one that an error's traceback holds cannot be closed.
        return stripped_content(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), status, Path(path))


def stripped_content(content: memoryview, status: os.stat_result, path: Path) -> Stripped:
    """Return the same of a file's content. One whose last write may not have been the last of its tick is cut anew each
    time: nothing tells what it is then from what it was. Archives give all their files one time of writing, and a new
    file may get the number of one that is gone; nothing but the system sets the time of the change."""
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    result = _kept.get(stamp)
    if result is not None:
        _kept.move_to_end(stamp)
        return result
    settled = time.time_ns() - status.st_mtime_ns >= TICK
    refuse_impostors(bytes(content[:64]), NOT_ONNX, "an ONNX model", path)
    try:
        result = strip_weights(content)
    except FormatError as error:
        raise FormatError(str(error).partition(" (at byte")[0], path=path, offset=error.offset) from None
    if settled and len(result.message) <= LARGEST_KEPT:
        _kept[stamp] = result
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return result
