"""Keras's files written without Keras: small models of many layers, as `.keras` archives and as HDF5 of version 2."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Layer = tuple[str, dict[str, Any], Sequence[tuple[int, ...]]]
VERSION = "3.15.0"


def _draw(shape: tuple[int, ...]) -> Array:
    return (np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape) % 7 - 3) / 10


def _conv(name: str, filters: int, kernel: tuple[int, ...], **more: Any) -> Layer:
    config = {"name": name, "filters": filters, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same",
              "data_format": "channels_last", "dilation_rate": [1, 1], "groups": 1, "activation": "relu",
              "use_bias": True, "trainable": True, "dtype": "float32"} | more  # fmt: skip
    return ("Conv2D", config, [kernel, (filters,)])


def _dense(name: str, inputs: int, units: int, activation: str = "linear") -> Layer:
    config = {"name": name, "units": units, "activation": activation, "use_bias": True, "trainable": True}
    return ("Dense", config, [(inputs, units), (units,)])


def _layer(kind: str, name: str, *shapes: tuple[int, ...], **config: Any) -> Layer:
    return (kind, {"name": name, "trainable": True, "dtype": "float32", **config}, shapes)


# Input shape and layers of Sequential models.
MODELS: Mapping[str, tuple[tuple[int | None, ...], list[Layer]]] = {
    "image": (
        (8, 9, 3),
        [
            _conv("first", 4, (3, 3, 3, 4)),
            _layer("BatchNormalization", "norm", (4,), (4,), (4,), (4,), axis=-1, epsilon=0.001, center=True,
                   scale=True),
            _layer("ReLU", "relu", max_value=6.0, negative_slope=0.0, threshold=0.0),
            _layer("ZeroPadding2D", "pad", padding=[[1, 0], [0, 1]], data_format="channels_last"),
            _layer("DepthwiseConv2D", "depth", (3, 3, 4, 2), (8,), kernel_size=[3, 3], strides=[2, 2], padding="valid",
                   depth_multiplier=2, data_format="channels_last", dilation_rate=[1, 1], activation="linear",
                   use_bias=True),
            _layer("MaxPooling2D", "pool", pool_size=[2, 2], strides=[1, 1], padding="same",
                   data_format="channels_last"),
            _layer("Cropping2D", "crop", cropping=[[1, 0], [0, 1]], data_format="channels_last"),
            _layer("UpSampling2D", "up", size=[2, 2], data_format="channels_last", interpolation="nearest"),
            _layer("GlobalAveragePooling2D", "mean", data_format="channels_last", keepdims=False),
            _layer("Dropout", "drop", rate=0.5),
            _dense("top", 8, 3, "softmax"),
        ],
    ),
    "text": (
        (6,),
        [
            _layer("Embedding", "rows", (11, 4), input_dim=11, output_dim=4, mask_zero=True),
            _layer("LSTM", "lstm", (4, 20), (5, 20), (20,), units=5, activation="tanh", recurrent_activation="sigmoid",
                   use_bias=True, return_sequences=True, return_state=False, go_backwards=False, unroll=False),
            _layer("GRU", "gru", (5, 12), (4, 12), (2, 12), units=4, activation="tanh", recurrent_activation="sigmoid",
                   use_bias=True, return_sequences=False, reset_after=True, go_backwards=False),
            _dense("top", 4, 2, "sigmoid"),
        ],
    ),
    "line": (
        (12, 3),
        [
            _layer("Conv1D", "conv", (3, 3, 5), (5,), filters=5, kernel_size=[3], strides=[1], padding="causal",
                   dilation_rate=[2], groups=1, activation="gelu", use_bias=True, data_format="channels_last"),
            _layer("LayerNormalization", "norm", (5,), (5,), axis=[-1], epsilon=0.001, center=True, scale=True),
            _layer("AveragePooling1D", "pool", pool_size=[2], strides=[2], padding="valid",
                   data_format="channels_last"),
            _layer("SimpleRNN", "rnn", (5, 4), (4, 4), (4,), units=4, activation="tanh", use_bias=True,
                   return_sequences=True),
            _layer("Permute", "permuted", dims=[2, 1]),
            _layer("Reshape", "shaped", target_shape=[4, 3, 2]),
            _layer("Flatten", "flat", data_format="channels_last"),
            _layer("RepeatVector", "again", n=3),
            _layer("TimeDistributed", "each",
                   layer={"class_name": "Dropout", "config": {"name": "inner", "rate": 0.1}}),
            _layer("Rescaling", "scaled", scale=2.0, offset=0.5),
            _layer("Softmax", "soft", axis=-1),
        ],
    ),
}


def _entry(layer: Layer, module: str = "keras.layers") -> dict[str, Any]:
    return {"module": module, "class_name": layer[0], "config": layer[1], "registered_name": None}


def _tensor(name: str) -> dict[str, Any]:
    return {"class_name": "__keras_tensor__", "config": {"shape": [None, 4], "dtype": "float32",
                                                         "keras_history": [name, 0, 0]}}  # fmt: skip


def functional() -> tuple[dict[str, Any], list[Layer]]:
    """Two branches that meet, with a model inside and an operation on values."""
    left, right = _dense("left", 4, 4, "relu"), _dense("right", 4, 4)
    inner_config = {"name": "inner", "layers": [_entry(_layer("ReLU", "act"))], "build_input_shape": [None, 4]}
    inner: Layer = ("Sequential", inner_config, [])
    members: list[tuple[Layer, list[str]]] = [
        (left, ["x"]), (right, ["x"]), (inner, ["right"]),
        (_layer("Concatenate", "joined", axis=-1), ["left", "inner"]), (_layer("Add", "summed"), ["left", "inner"]),
    ]  # fmt: skip
    source = {**_entry(_layer("InputLayer", "x", batch_shape=[None, 4])), "name": "x", "inbound_nodes": []}
    entries = [source]
    for layer, names in members:
        values = [_tensor(name) for name in names]
        argument: Any = values[0] if len(values) == 1 else values
        calls = [{"args": [argument], "kwargs": {}}]
        entries.append({**_entry(layer), "name": layer[1]["name"], "inbound_nodes": calls})
    ends = {"input_layers": ["x", 0, 0], "output_layers": [["joined", 0, 0], ["summed", 0, 0]]}
    config = {"module": "keras.src.models.functional", "class_name": "Functional",
              "config": {"name": "model", "layers": entries, **ends}}  # fmt: skip
    return config, [left, right]


def sequential(title: str) -> tuple[dict[str, Any], list[Layer]]:
    """The configuration of a Sequential model and its layers."""
    shape, layers = MODELS[title]
    source = _entry(("InputLayer", {"name": "x", "batch_shape": [None, *shape], "dtype": "float32"}, []))
    entries = [source, *map(_entry, layers)]
    return {"class_name": "Sequential", "config": {"name": title, "layers": entries}}, layers


# The objects that hold a recurrent layer's weights.
CELLS = {"LSTM", "GRU", "SimpleRNN"}


def weights_file(layers: Sequence[Layer], more: Callable[[Any], None] | None = None, **how: Any) -> bytes:
    """`model.weights.h5` of version 3. `more` may change the open file, `how` is given to every data set."""
    import h5py

    buffer = io.BytesIO()
    counts: dict[str, int] = {}
    with h5py.File(buffer, "w") as file:
        for kind, _, shapes in layers:
            snake = SNAKE[kind]
            number = counts[snake] = counts.get(snake, -1) + 1
            place = f"layers/{snake}_{number}" if number else f"layers/{snake}"
            held = file.create_group(f"{place}/cell/vars" if kind in CELLS else f"{place}/vars")
            for slot, shape in enumerate(shapes):
                held.create_dataset(str(slot), data=_draw(shape), **how)
        if more is not None:
            more(file)
    return buffer.getvalue()


SNAKE = {
    "Conv2D": "conv2d", "Dense": "dense", "BatchNormalization": "batch_normalization", "ReLU": "re_lu",
    "ZeroPadding2D": "zero_padding2d", "DepthwiseConv2D": "depthwise_conv2d", "MaxPooling2D": "max_pooling2d",
    "Cropping2D": "cropping2d", "UpSampling2D": "up_sampling2d", "Dropout": "dropout", "Embedding": "embedding",
    "GlobalAveragePooling2D": "global_average_pooling2d", "LSTM": "lstm", "GRU": "gru", "Conv1D": "conv1d",
    "LayerNormalization": "layer_normalization", "AveragePooling1D": "average_pooling1d", "SimpleRNN": "simple_rnn",
    "Permute": "permute", "Reshape": "reshape", "Flatten": "flatten", "RepeatVector": "repeat_vector",
    "TimeDistributed": "time_distributed", "Rescaling": "rescaling", "Softmax": "softmax", "Concatenate": "concatenate",
    "Add": "add", "Sequential": "sequential",
}  # fmt: skip


def archive(config: Mapping[str, Any] | bytes, weights: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    """A `.keras` file."""
    buffer = io.BytesIO()
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    members = {"metadata.json": json.dumps({"keras_version": VERSION}).encode(), "config.json": text,
               "model.weights.h5": weights}  # fmt: skip
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def legacy(config: Mapping[str, Any], layers: Sequence[Layer], more: Callable[[Any], None] | None = None) -> bytes:
    """An HDF5 file of version 2. `more` may change the open file."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = "2.15.0"
        file.attrs["backend"] = "tensorflow"
        groups = file.create_group("model_weights")
        for _, held, shapes in layers:
            group = groups.create_group(held["name"])
            names = [f"{held['name']}/weight_{slot}:0" for slot in range(len(shapes))]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, shape in zip(names, shapes, strict=True):
                group[name] = _draw(shape)
        if more is not None:
            more(file)
    return buffer.getvalue()


def all_models() -> list[tuple[dict[str, Any], list[Layer]]]:
    """Configurations and layers of every model."""
    return [*map(sequential, MODELS), functional()]


__all__ = ["MODELS", "all_models", "archive", "functional", "legacy", "sequential", "weights_file"]
