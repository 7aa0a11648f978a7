"""Layers as Keras 1 wrote them, and names that were given up since, brought to those of versions 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.tensor import Tensor

CLASSES = {
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "Deconvolution2D": "Conv2DTranspose",
    "GroupedQueryAttention": "GroupQueryAttention",
    "SeparableConvolution2D": "SeparableConv2D",
    "SyncBatchNormalization": "BatchNormalization",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "LSTMV1": "LSTM",
    "LSTMV2": "LSTM",
    "GRUV1": "GRU",
    "GRUV2": "GRU",
}
KEYS = {
    "atrous_rate": "dilation_rate",
    "bias": "use_bias",
    "border_mode": "padding",
    "dim_ordering": "data_format",
    "filter_length": "kernel_size",
    "inner_activation": "recurrent_activation",
    "nb_filter": "filters",
    "p": "rate",
    "pool_length": "pool_size",
    "stride": "strides",
    "subsample": "strides",
    "subsample_length": "strides",
}
UNITS = ("Dense", "LSTM", "GRU", "SimpleRNN", "TimeDistributedDense")
ORDERINGS = {"th": "channels_first", "tf": "channels_last"}
MERGES = {"sum": "Add", "mul": "Multiply", "concat": "Concatenate", "ave": "Average", "max": "Maximum", "dot": "Dot"}


def modern(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the layer with today's name and keys.

    >>> config = {"nb_filter": 3, "nb_row": 2, "nb_col": 4, "border_mode": "same"}
    >>> new = modern({"class_name": "Convolution2D", "config": config})
    >>> new["class_name"], new["config"]["kernel_size"], new["config"]["padding"]
    ('Conv2D', [2, 4], 'same')
    """
    config = entry.get("config")
    name = CLASSES.get(entry["class_name"], entry["class_name"])
    if not isinstance(config, Mapping) or (name == entry["class_name"] and not config.keys() & _OLD):
        return entry
    settings = {KEYS.get(key, key): value for key, value in config.items()}
    if "nb_row" in config:
        settings["kernel_size"] = [config["nb_row"], config["nb_col"]]
    if "kernel_dim1" in config:
        settings["kernel_size"] = [config[f"kernel_dim{axis}"] for axis in (1, 2, 3)]
    if settings.get("data_format") in ORDERINGS:
        settings["data_format"] = ORDERINGS[settings["data_format"]]
    if name in UNITS and "units" not in settings and "output_dim" in settings:
        settings["units"] = settings["output_dim"]
    if name == "Merge":
        name = MERGES.get(settings.get("mode", ""), "Merge")
        settings["axis"] = settings.get("concat_axis", -1) if name == "Concatenate" else settings.get("dot_axes", -1)
    return {**entry, "class_name": name, "config": settings}


def old_weights(class_name: str, config: Mapping[str, Any], weights: Sequence[Tensor]) -> list[Tensor]:
    """Return the weights of a layer of Keras 1 as version 2 has them. `class_name` is today's.

    Kernels of layers with channels first are (out, in, K...), those of one axis have a second one of size 1, and each
    gate has weights of its own: update, reset, new (GRU) and input, new, forget, output (LSTM).
    """
    tensors = list(weights)
    if class_name in GATES and len(tensors) == 3 * len(GATES[class_name]):
        order = GATES[class_name]
        return [_concat_gates([tensors[3 * gate + kind] for gate in order]) for kind in range(3)]
    if class_name in KERNELS and tensors:
        first = config.get("data_format") == "channels_first" or class_name == "Conv1D"
        tensors[0] = _reorder_kernel(class_name, tensors[0], first=first, filters=config.get("filters"))
    return tensors


def _reorder_kernel(class_name: str, kernel: Tensor, *, first: bool, filters: object) -> Tensor:
    if class_name == "Conv1D":
        if len(kernel.shape) != 4:
            return kernel
        old = kernel.shape[0] == filters and kernel.shape[3] == 1
        kernel = kernel.transposed((2, 3, 1, 0)) if old else kernel
        return kernel.reshaped((kernel.shape[0], *kernel.shape[2:]))
    if class_name == "Conv2DTranspose":
        return kernel.transposed((2, 3, 0, 1) if first else (0, 1, 3, 2))
    return kernel.transposed((*range(2, len(kernel.shape)), 1, 0)) if first else kernel


def _concat_gates(parts: Sequence[Tensor]) -> Tensor:
    """Return the gates' weights beside each other, when they are needed."""
    shape = (*parts[0].shape[:-1], sum(part.shape[-1] for part in parts))
    return Tensor.computed(parts[0].dtype, shape, lambda: np.concatenate([part.numpy() for part in parts], -1))


GATES = {"LSTM": (0, 2, 1, 3), "GRU": (0, 1, 2)}
KERNELS = ("Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D")
_OLD = {*KEYS, "nb_row", "kernel_dim1", "concat_axis"}
