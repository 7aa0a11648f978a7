"""Keras's own files, `.keras` (a zip of config.json and model.weights.h5) and `.h5`: Sequential and Functional models.

The configuration becomes nodes of TensorFlow's (`keras_layers`), which the importer reads like any others. HDF5 is read
by h5py, an optional dependency. Source: Keras 3's saving_lib and legacy_h5_format.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from graphir.converters.tensorflow.keras_layers import LAYERS, Layer, LayerRefusal
from graphir.converters.tensorflow.reader import TFSource
from graphir.converters.tensorflow.records import Endpoint, Signature, TFGraph, TFNode
from graphir.errors import FormatError, Gap, ImportFailure, UnsupportedOpError
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, DType

PRODUCER = 1882
ZIP, HDF5 = b"PK\x03\x04", b"\x89HDF"
WEIGHTS, CONFIG = "model.weights.h5", "config.json"
MODELS = ("Sequential", "Functional", "Model")
Weights = Callable[[str, str], list[Tensor]]


def open_keras(path: Path) -> TFSource:
    """A Keras model. Raises FormatError for a broken file, ImportFailure without h5py or for a model that is neither
    Sequential nor Functional, and UnsupportedOpError with all layers that cannot be read."""
    with open(path, "rb") as file:
        head = file.read(4)
    try:
        if head == ZIP:
            with zipfile.ZipFile(path) as archive:
                config, version = json.loads(archive.read(CONFIG)), _version(archive)
                held = _h5py(path).File(io.BytesIO(archive.read(WEIGHTS)), "r")
            weights = _stored_by_class(held)
        else:
            held = _h5py(path).File(path, "r")
            if "model_config" not in held.attrs:
                raise ImportFailure(f"{path}: weights without a model; save the whole model (model.save)")
            config, version = json.loads(held.attrs["model_config"]), _major(held.attrs.get("keras_version", "2"))
            weights = _stored_by_name(held, path)
        with held:
            return _Reader(path, config, version, weights).run()
    except (zipfile.BadZipFile, KeyError, OSError, EOFError, ValueError, zipfile.LargeZipFile) as error:
        raise FormatError(f"not a Keras model, or damaged: {error}", path=path, offset=0) from error


def _h5py(path: Path) -> Any:
    try:
        return import_module("h5py")
    except ImportError as error:
        raise ImportFailure(f"{path}: Keras's files need h5py: pip install 'graphir-converter[keras]'") from error


def _version(archive: zipfile.ZipFile) -> int:
    names = archive.namelist()
    return _major(json.loads(archive.read("metadata.json"))["keras_version"]) if "metadata.json" in names else 3


def _major(text: Any) -> int:
    return int(str(text.decode() if isinstance(text, bytes) else text).split(".")[0])


def _stored_by_class(held: Any) -> Weights:
    """Version 3's order: layers are called after their class, with numbers, in the order of the model's layers."""
    counts: Counter[str] = Counter()
    groups = held["layers"] if "layers" in held else held["_layer_checkpoint_dependencies"]

    def weights(name: str, class_name: str) -> list[Tensor]:
        snake = _snake_case(class_name)
        key = f"{snake}_{counts[snake]}" if counts[snake] else snake
        counts[snake] += 1
        if key not in groups or "vars" not in groups[key]:
            return []
        values = groups[key]["vars"]
        return [Tensor.of(np.asarray(values[str(place)])) for place in range(len(values))]

    return weights


def _snake_case(name: str) -> str:
    """Keras's own rule.

    >>> _snake_case("Conv2D"), _snake_case("ReLU"), _snake_case("BatchNormalization")
    ('conv2d', 're_lu', 'batch_normalization')
    """
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _stored_by_name(held: Any, path: Path) -> Weights:
    """The older order: each layer's group lists its weights by name. Weights that lie as they are stay in the file."""
    groups = held["model_weights"]

    def weights(name: str, class_name: str) -> list[Tensor]:
        if name not in groups:
            return []
        names = [text.decode() if isinstance(text, bytes) else str(text) for text in groups[name].attrs["weight_names"]]
        return [_tensor(groups[name][text], path) for text in names]

    return weights


def _tensor(data: Any, path: Path) -> Tensor:
    offset = data.id.get_offset()
    if offset is None or not data.dtype.isnative:
        return Tensor.of(np.asarray(data))
    return Tensor.at(path, offset, DType.of(data.dtype), data.shape)


class _Reader:
    """One model on its way to nodes."""

    def __init__(self, path: Path, config: Mapping[str, Any], version: int, weights: Weights) -> None:
        self.path = path
        self.config = config
        self.version = version
        self.weights = weights
        self.nodes: list[TFNode] = []
        self.results: dict[tuple[str, int], Endpoint] = {}
        self.refusals: dict[tuple[str, str], list[str]] = {}

    def run(self) -> TFSource:
        """The nodes with a signature."""
        kind, config = self.config.get("class_name", ""), self.config["config"]
        if kind not in MODELS or not isinstance(config, Mapping) or "layers" not in config:
            raise ImportFailure(
                f"{self.path}: a {kind} model; only Sequential and Functional ones say in their file what they "
                "compute: export the model (model.export) and give the SavedModel folder"
            )
        inputs, outputs = self._sequential(config) if kind == "Sequential" else self._functional(config)
        if self.refusals:
            gaps = [Gap(name, reason, tuple(held)) for (name, reason), held in self.refusals.items()]
            raise UnsupportedOpError(
                f"{sum(len(gap.nodes) for gap in gaps)} layer(s) of the model cannot be read (model.export writes a "
                "SavedModel, which may say it):",
                gaps,
            )
        signature = Signature("", {name: Endpoint(name) for name in inputs}, outputs)
        name = str(config.get("name") or self.path.stem)
        return TFSource(
            TFGraph(self.nodes, {}, PRODUCER), name, signature, [str(self.path)], kind=f"Keras {self.version} model"
        )

    def _sequential(self, config: Mapping[str, Any]) -> tuple[list[str], dict[str, Endpoint]]:
        layers = list(config["layers"])
        if not layers or layers[0]["class_name"] != "InputLayer":
            shape = layers[0]["config"].get("batch_input_shape") if layers else None
            if shape is None:
                raise ImportFailure(f"{self.path}: the model was never built: its file states no input shape")
            layers.insert(0, {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": shape}})
        value, inputs = Endpoint(""), []
        for entry in layers:
            name = entry["config"]["name"]
            if entry["class_name"] == "InputLayer":
                inputs.append(name)
            value = self._layer(entry, name, name, [value])
        return inputs, {name: value}

    def _functional(self, config: Mapping[str, Any]) -> tuple[list[str], dict[str, Endpoint]]:
        entries = {entry["config"]["name"]: entry for entry in config["layers"]}
        stored = {name: self.weights(name, entry["class_name"]) for name, entry in entries.items()}
        self.weights = lambda name, class_name: stored[name]
        waiting = [
            (name, place, list(_histories(call)))
            for name, entry in entries.items()
            for place, call in enumerate(entry.get("inbound_nodes") or [None])
        ]
        while waiting:
            left = []
            for name, place, sources in waiting:
                if all(source in self.results for source in sources):
                    operands = [self.results[source] for source in sources]
                    call = name if place == 0 else f"{name}_call_{place}"
                    self.results[name, place] = self._layer(entries[name], name, call, operands)
                else:
                    left.append((name, place, sources))
            if len(left) == len(waiting):
                shown = ", ".join(name for name, *_ in left[:5])
                raise FormatError(f"its layers {shown} wait for each other", path=self.path)
            waiting = left
        inputs = [name for name, _ in _listed(config["input_layers"])]
        outputs = {name: self.results[name, place] for name, place in _listed(config["output_layers"])}
        return inputs, outputs

    def _layer(self, entry: Mapping[str, Any], name: str, call: str, operands: Sequence[Endpoint]) -> Endpoint:
        class_name, config = entry["class_name"], entry["config"]
        if class_name == "InputLayer":
            sizes = config.get("batch_shape") or config.get("batch_input_shape")
            shape = None if sizes is None else tuple(UNKNOWN if size is None else size for size in sizes)
            dtype = DType.of(config.get("dtype") or "float32")
            self.nodes.append(TFNode(name, "Placeholder", (), (), {"dtype": dtype, "shape": shape}))
            return Endpoint(name)
        weights = self.weights(name, class_name)
        layer = Layer(call, config, weights, operands, self.version)
        function = LAYERS.get(class_name)
        try:
            if function is None:
                raise LayerRefusal("graphir does not know this layer")
            if _policy(config) not in ("float32", None):
                raise LayerRefusal(f"the dtype policy {_policy(config)}")
            result = function(layer)
        except LayerRefusal as error:
            self.refusals.setdefault((class_name, str(error)), []).append(name)
            return operands[0]
        self.nodes += layer.nodes
        return result


def _policy(config: Mapping[str, Any]) -> str | None:
    held = config.get("dtype")
    return held["config"].get("name") if isinstance(held, Mapping) else held


def _histories(call: Any) -> Iterator[tuple[str, int]]:
    """The layers and calls that give a call its operands, in either version's notation."""
    if isinstance(call, Mapping):
        if call.get("class_name") == "__keras_tensor__":
            name, place, _ = call["config"]["keras_history"]
            yield name, place
            return
        for held in (call.get("args", ()), call.get("kwargs", {}).values()) if "args" in call else ():
            yield from _histories(list(held))
    elif isinstance(call, list) and len(call) >= 3 and isinstance(call[0], str):
        yield call[0], int(call[1])
    elif isinstance(call, list):
        for held in call:
            yield from _histories(held)


def _listed(layers: Any) -> list[tuple[str, int]]:
    """`[["a", 0, 0]]`, or `["a", 0, 0]` for one."""
    if layers and isinstance(layers[0], str):
        layers = [layers]
    return [(name, place) for name, place, _ in layers]


__all__ = ["HDF5", "ZIP", "open_keras"]
