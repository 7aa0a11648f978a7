"""What a file or folder is, and the reader that knows it: a frozen graph, a SavedModel, a checkpoint or Keras's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from graphir.converters.tensorflow.files.reader import TFSource, mapped, open_bytes, open_frozen
from graphir.converters.tensorflow.files.recognition import looks_like_saved_model
from graphir.errors import ImportFailure
from graphir.files.reading import open_plain


def open_model(
    source: str | os.PathLike[str] | bytes, signature: str | None = None, outputs: Sequence[str] | None = None,
    *, training: bool = False,
) -> TFSource:
    """Open a model for import: a file or SavedModel folder, or the bytes of a GraphDef.

    `signature` chooses among those of a SavedModel; `outputs` are nodes that are wanted besides its results. With
    `training` a model of Keras has what acts in training only. Raises
    FormatError, with the byte or line, for what is no TensorFlow graph or is cut short, and ImportFailure for a file
    that is not there.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return open_bytes(source)
    path = Path(source)
    if path.is_dir() or path.suffix == ".meta" or _is_saved_model(path):
        from graphir.converters.tensorflow.saved_model import open_meta_graph, open_saved_model

        if path.suffix == ".meta" and path.is_file():
            return open_meta_graph(path, signature, outputs)
        folder = path if path.is_dir() else path.parent
        return open_saved_model(folder, signature, outputs, None if path.is_dir() else path)
    if _head(path) in (b"PK\x03\x04", b"\x89HDF"):
        from graphir.converters.tensorflow.keras.files import open_keras

        return open_keras(path, training=training)
    if signature is not None:
        raise ImportFailure(f"{path}: a frozen graph has no signatures; leave the signature out")
    return open_frozen(path)


def _is_saved_model(path: Path) -> bool:
    """Return whether a file is a SavedModel's protobuf: by its name, or by the fields that it has."""
    if path.name in ("saved_model.pb", "saved_model.pbtxt"):
        return True
    return _head(path)[:1] == b"\x08" and looks_like_saved_model(mapped(path))


def _head(path: Path) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(4)
    except OSError:
        return b""
