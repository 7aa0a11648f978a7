"""Keras's own files, `.keras` (a zip of config.json and model.weights.h5) and `.h5`: Sequential and Functional models.

The configuration becomes nodes (`models`, `layers`), most of them TensorFlow's, which the importer reads
like any others. HDF5 is read by h5py, an optional dependency. Source: Keras 3's saving_lib and legacy_h5_format.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from graphir.converters.tensorflow.keras.models import Reader
from graphir.converters.tensorflow.keras.weights import StoredByClass, StoredInGroups, Weights
from graphir.converters.tensorflow.reader import TFSource
from graphir.converters.tensorflow.records import Signature, TFGraph
from graphir.errors import FormatError, ImportFailure
from graphir.foreign_text import unicode_text

PRODUCER = 1882
ZIP, HDF5 = b"PK\x03\x04", b"\x89HDF"
WEIGHTS, CONFIG = "model.weights.h5", "config.json"


def open_keras(path: Path) -> TFSource:
    """A Keras model. Raises FormatError for a broken file, ImportFailure without h5py or for a model that is neither
    Sequential nor Functional, and UnsupportedOpError with all layers that cannot be read."""
    with open(path, "rb") as file:
        head = file.read(4)
    weights: Weights
    try:
        if head == ZIP:
            with zipfile.ZipFile(path) as archive:
                config, version, backend = json.loads(archive.read(CONFIG)), _version(archive), "tensorflow"
                held = _h5py(path).File(io.BytesIO(archive.read(WEIGHTS)), "r")
            weights = StoredByClass(held)
        else:
            held = _h5py(path).File(path, "r")
            if "model_config" not in held.attrs:
                raise ImportFailure(f"{path}: weights without a model; save the whole model (model.save)")
            config, version = json.loads(held.attrs["model_config"]), _major(held.attrs.get("keras_version", "1"))
            backend = _text(held.attrs.get("backend", "tensorflow"))
            weights = StoredInGroups(held["model_weights"], path)
        with held:
            return _source(path, config, Reader(path, version, backend), weights)
    except (zipfile.BadZipFile, KeyError, OSError, EOFError, ValueError, zipfile.LargeZipFile) as error:
        raise FormatError(f"not a Keras model, or damaged: {error}", path=path, offset=0) from error
    except (AttributeError, IndexError, TypeError) as error:
        raise FormatError(f"its configuration is not as Keras writes it: {error}", path=path) from error


def _source(path: Path, config: Any, reader: Reader, weights: Weights) -> TFSource:
    inputs, outputs = reader.run(config, weights)
    held = config["config"]
    name = str((held.get("name") if isinstance(held, dict) else None) or unicode_text(path.stem))
    kind = f"Keras {reader.version} model"
    return TFSource(
        TFGraph(reader.nodes, {}, PRODUCER), name, Signature("", inputs, outputs), [str(path)], kind=kind,
        layers=layer_counts(config),
    )  # fmt: skip


def layer_counts(config: Any) -> dict[str, int]:
    """How many layers a model has of each class, those of models inside it included."""
    found: Counter[str] = Counter()
    pending = list(config["config"].get("layers", ())) if isinstance(config["config"], dict) else []
    while pending:
        layer = pending.pop()
        inner = layer["config"].get("layers") if isinstance(layer["config"], dict) else None
        if isinstance(inner, list):
            pending.extend(inner)
        elif layer["class_name"] != "InputLayer":
            found[str(layer["class_name"])] += 1
    return dict(found)


def _h5py(path: Path) -> Any:
    try:
        return import_module("h5py")
    except ImportError as error:
        raise ImportFailure(f"{path}: Keras's files need h5py: pip install 'graphir-converter[keras]'") from error


def _version(archive: zipfile.ZipFile) -> int:
    names = archive.namelist()
    return _major(json.loads(archive.read("metadata.json"))["keras_version"]) if "metadata.json" in names else 3


def _major(text: Any) -> int:
    return int(_text(text).split(".")[0])


def _text(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


__all__ = ["HDF5", "ZIP", "open_keras"]
