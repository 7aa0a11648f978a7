"""Keras's layers as training has them: Dropout and batch normalization stay, where inference folds or drops them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphir.converters.kernel.dropout import dropped
from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.context import LayerCall
from graphir.decisions import DecisionKind
from graphir.ops.activation import Noise
from graphir.ops.normalization import BatchNormalization
from graphir.ops.shape import Transpose

# Layers that act in training only, in a way that the graph has no operator for.
LEFT_OUT = tuple(
    f"Random{name}" for name in ("Brightness", "Contrast", "Flip", "Rotation", "Translation", "Zoom")
)
# Layers of noise, with the name of the number that says how much.
NOISES = {
    "AlphaDropout": ("rate", Noise.ALPHA),
    "GaussianDropout": ("rate", Noise.FACTORS),
    "GaussianNoise": ("stddev", Noise.TERMS),
}


def dropout(layer: LayerCall) -> Endpoint:
    """Dropout with the rate of the layer; its mask is shared along axes where `noise_shape` states 1. Other sizes there
    are those of the data."""
    return _drop(layer, [axis for axis, size in enumerate(layer.config.get("noise_shape") or ()) if size == 1])


def spatial_dropout(layer: LayerCall) -> Endpoint:
    """Dropout of whole channels: its mask is shared along the axes of space."""
    space = int(layer.class_name[-2])
    first = 2 if layer.channels_first else 1
    return _drop(layer, range(first, first + space))


def noise(layer: LayerCall) -> Endpoint:
    """Noise of another distribution. An AlphaDropout whose mask is shared along axes is left out."""
    name, kind = NOISES[layer.class_name]
    if 1 in (layer.config.get("noise_shape") or ()):
        return left_out(layer)
    return layer.apply(partial(_import_dropout, float(layer.config[name]), (), noise=kind), "noise", [layer.data])


def _drop(layer: LayerCall, shared: Sequence[int]) -> Endpoint:
    rate = float(layer.config.get("rate", 0.5))
    return layer.apply(partial(_import_dropout, rate, shared), "dropout", [layer.data])


def _import_dropout(
    rate: float, shared: Sequence[int], node: ImportNode, noise: Noise = Noise.ZEROS
) -> Imported:
    return dropped(node, node.input(0), rate, shared, noise)


def left_out(layer: LayerCall) -> Endpoint:
    """Return the data; a decision names the layer, which acts in training only."""
    return layer.apply(partial(_import_left_out, layer.class_name), "inference", [layer.data])


def _import_left_out(class_name: str, node: ImportNode) -> Imported:
    node.decide(DecisionKind.DROPOUT_REMOVED, f"{class_name} acts in training only, and is not written")
    return node.input(0)


def batch_normalization(layer: LayerCall) -> Endpoint:
    """Batch normalization along one axis, as a node of its own. A gamma or beta that the layer has not is constant."""
    axis = layer.config.get("axis", -1)
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(axes) != 1 or layer.config.get("mode", 0) != 0:
        raise Refusal(f"statistics over the axes {axes} in mode {layer.config.get('mode', 0)}; train with one axis")
    has = {"gamma": layer.config.get("scale", True), "beta": layer.config.get("center", True)}
    names = [*(name for name, stated in has.items() if stated), "moving_mean", "moving_variance"]
    tensors = {name: layer.tensor(slot) for slot, name in enumerate(names)}
    size, dtype = tensors["moving_mean"].shape, tensors["moving_mean"].dtype.numpy()
    operands = [
        layer.constant(name, tensors[name]) if name in tensors
        else layer.constant(name, np.full(size, float(name == "gamma"), dtype), np.float32)
        for name in ("gamma", "beta", "moving_mean", "moving_variance")
    ]  # fmt: skip
    op = BatchNormalization(float(layer.config.get("epsilon", 1e-3)), float(layer.config.get("momentum", 0.99)))
    missing = [name for name, stated in has.items() if not stated]
    function = partial(_import_batch_normalization, op, axes[0], missing)
    return layer.apply(function, "normalized", [layer.data, *operands])


def _import_batch_normalization(
    op: BatchNormalization, axis: int, missing: list[str], node: ImportNode
) -> Imported:
    kinds = {"gamma": (DecisionKind.FIXED_GAMMA, 1), "beta": (DecisionKind.FIXED_BETA, 0)}
    for name in missing:
        kind, number = kinds[name]
        node.decide(kind, f"{name} is {number}: the layer has none")
    data, *vectors = node.inputs
    rank = node.rank(data)
    axis = node.axis(axis, rank)
    if axis == 1:
        return node.emit(op, data, *vectors)
    order = (0, axis, *(other for other in range(1, rank) if other != axis))
    first = node.step(Transpose(order), data, suffix="channels_first")
    name = node.fresh_name(f"{node.name}/channels_second")
    (normalized,) = node.graph.add_node(op, (first, *vectors), name=node.name, output_names=[name]).outputs
    return node.graph.add_node(
        Transpose(tuple(map(order.index, range(rank)))), (normalized,), name=node.fresh_name(f"{node.name}/moved"),
        output_names=node.result_names(1),
    ).outputs[0]  # fmt: skip


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    "BatchNormalization": batch_normalization,
    "Dropout": dropout,
    **{f"SpatialDropout{space}D": spatial_dropout for space in (1, 2, 3)},
    **dict.fromkeys(LEFT_OUT, left_out),
    **dict.fromkeys(NOISES, noise),
}
