"""Keras's own files, `.keras` (a zip of config.json and model.weights.h5) and `.h5`: Sequential and Functional models.

The configuration becomes nodes (`models`, `layers`), most of them TensorFlow's, which the importer reads
like any others. HDF5 is read by h5py, an optional dependency, in a child process. Source: Keras 3's saving_lib and
legacy_h5_format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphir.converters.tensorflow.files.reader import TFSource
from graphir.converters.tensorflow.files.records import Signature, TFGraph, is_number
from graphir.converters.tensorflow.keras.archive import Archive
from graphir.converters.tensorflow.keras.hdf5 import Bytes, Group, Hdf5
from graphir.converters.tensorflow.keras.models import Reader
from graphir.converters.tensorflow.keras.weights import StoredByClass, StoredInGroups, Weights
from graphir.errors import FormatError, ImportFailure
from graphir.files.reading import open_plain
from graphir.safety.foreign_text import unicode_text
from graphir.safety.json_text import NoJson, read_json

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


def _make_source(path: Path, config: Any, reader: Reader, weights: Weights) -> TFSource:
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
