"""Keras's activation functions, and the layers that are nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall, activation_name
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import activation as ir
from graphir.ops.elementwise import Add, Clip, PRelu, Where
from graphir.types import DType

PLAIN = {
    "relu": "Relu", "relu6": "Relu6", "softmax": "Softmax", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "Elu",
    "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign", "exponential": "Exp", "log_softmax": "LogSoftmax",
}  # fmt: skip
OPERATORS = {
    "gelu": ir.Gelu(),
    "mish": ir.Mish(),
    "celu": ir.Celu(1.0),
    "leaky_relu": ir.LeakyRelu(0.2),
    "hard_shrink": ir.Shrink(0.5, 0.0),
    "soft_shrink": ir.Shrink(0.5, 0.5),
}
LAYERS_AS_ACTIVATIONS = ("ReLU", "LeakyReLU", "ELU", "Softmax", "ThresholdedReLU")


def activated(layer: LayerCall, value: Endpoint, key: str = "activation") -> Endpoint:
    """Return the value behind the layer's activation."""
    name, config = activation_name(layer.config.get(key))
    if name in LAYERS_AS_ACTIVATIONS:
        return layer.call({"class_name": name, "config": config}, key, layer.stored, [KerasValue(value)])[0].value
    return activation(layer, name, value)


def activation(layer: LayerCall, name: str, value: Endpoint) -> Endpoint:
    """Return an activation function by its name. Refuses unknown ones."""
    if name == "linear":
        return value
    if name in PLAIN:
        return layer.add(PLAIN[name], name, [value])
    if name in OPERATORS:
        return layer.apply(OPERATORS[name], name, [value])
    if name in ("swish", "silu"):
        return layer.add("Mul", name, [value, layer.add("Sigmoid", "sigmoid", [value])])
    if name in ("hard_sigmoid", "hard_swish", "hard_silu"):
        return _hard_gate(layer, name, value)
    if name == "log_sigmoid":
        negative = layer.add("Softplus", "softplus", [layer.add("Neg", "negative", [value])])
        return layer.add("Neg", name, [negative])
    if name == "tanh_shrink":
        return layer.add("Sub", name, [value, layer.add("Tanh", "tanh", [value])])
    if name == "hard_tanh":
        ends = [layer.constant(suffix, number, np.float32) for suffix, number in (("least", -1.0), ("most", 1.0))]
        return layer.apply(Clip(), name, [value, *ends])
    raise Refusal(f"the activation {name!r}")


def _hard_gate(layer: LayerCall, name: str, value: Endpoint) -> Endpoint:
    """Return the hard sigmoid: relu6(x + 3) / 6 in version 3, x / 5 + 1/2 between 0 and 1 in versions 1 and 2."""
    if layer.keras < 3:
        if name != "hard_sigmoid":
            raise Refusal(f"the activation {name!r}, which Keras {layer.keras} does not have")
        return layer.apply(ir.HardSigmoid(0.2, 0.5), name, [value])
    shifted = layer.add("AddV2", "shifted", [value, layer.constant("three", 3.0, np.float32)])
    limited = layer.add("Relu6", "limited", [shifted])
    gate = layer.add("Mul", "gate", [limited, layer.constant("sixth", 1.0 / 6.0, np.float32)])
    return gate if name == "hard_sigmoid" else layer.add("Mul", name, [value, gate])


def re_lu(layer: LayerCall) -> Endpoint:
    """Return x from the threshold on, below it the slope times (x - threshold), at most `max_value`."""
    most, slope = layer.config.get("max_value"), float(layer.config.get("negative_slope") or 0.0)
    threshold = float(layer.config.get("threshold") or 0.0)
    if slope or threshold:
        value = _relu_with_slope(layer, slope, threshold)
    elif most in (6, 6.0):
        return layer.add("Relu6", "relu", [layer.data])
    else:
        value = layer.add("Relu", "relu", [layer.data])
    if most is None:
        return value
    return layer.add("Minimum", "limited", [value, layer.constant("most", float(most), np.float32)])


def _relu_with_slope(layer: LayerCall, slope: float, threshold: float) -> Endpoint:
    if not threshold:
        return layer.add("LeakyRelu", "relu", [layer.data], alpha=slope)
    limit = layer.constant("threshold", threshold, np.float32)
    above = layer.add("Greater", "above", [layer.data, limit])
    below = layer.add("Sub", "below", [layer.data, limit])
    scaled = layer.add("Mul", "scaled", [below, layer.constant("slope", slope, np.float32)])
    # At the threshold itself both say 0 for versions 2 and 3 (x > threshold counts as above).
    return layer.add("SelectV2", "relu", [above, layer.data, scaled])


def leaky_re_lu(layer: LayerCall) -> Endpoint:
    """Return x, below zero times a slope: 0.3 unless stated."""
    slope = layer.config.get("negative_slope", layer.config.get("alpha", 0.3))
    return layer.add("LeakyRelu", "relu", [layer.data], alpha=float(slope))


def softmax(layer: LayerCall) -> Endpoint:
    """Softmax over an axis, with what a mask hides hidden (see `hide_scores`); in version 3 that is 0 afterwards."""
    axis = layer.config.get("axis", -1)
    if isinstance(axis, list) and len(axis) > 1:
        raise Refusal(f"a softmax over the axes {axis} together; only one axis is read")
    axis = axis[0] if isinstance(axis, list) else axis
    mask = layer.mask_argument("mask", 0.5) or layer.first.mask
    if mask is None:
        return layer.apply(ir.Softmax(axis), "softmax", [layer.data])

    def import_masked(node: ImportNode) -> Imported:
        scores = hide_scores(node, node.input(0), node.input(1), replaced=layer.keras >= 3)
        weights = node.step(ir.Softmax(axis), scores, suffix="weights")
        return weights if layer.keras < 3 else zero_where_hidden(node, weights, node.input(1))

    return layer.apply(import_masked, "softmax", [layer.data, mask])


def zero_where_hidden(node: ImportNode, weights: Value, mask: Value) -> Value:
    """Return the results of a softmax, 0 where the mask is false: rows without any true entry would be even."""
    text = "where a mask hides everything the result is 0, as from Keras 3.10 on; before it was the mean"
    node.decide(DecisionKind.MASKED_SOFTMAX, text)
    return node.step(Where(), mask, weights, node.scalar_like(weights, 0), suffix="kept")


def hide_scores(node: ImportNode, scores: Value, mask: Value, *, replaced: bool) -> Value:
    """Scores with a large negative number where the mask is false, or less that number: not minus infinity, so that a
    row without any true entry is even. Source: Keras's Softmax (version 3 replaces) and Attention (which subtracts)."""
    least = -1e9
    if scores.dtype is DType.FLOAT16:
        least = -3e4 if replaced else -65504.0
    hidden = node.scalar_like(scores, least)
    if not replaced:
        hidden = node.step(Add(), scores, hidden, suffix="lessened")
    return node.step(Where(), mask, scores, hidden, suffix="masked")


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    "Activation": lambda layer: activated(layer, layer.data),
    "ELU": lambda layer: layer.apply(ir.Elu(float(layer.config.get("alpha", 1.0))), "elu", [layer.data]),
    "LeakyReLU": leaky_re_lu,
    # the weight has the shape of a sample, 1 on the shared axes
    "PReLU": lambda layer: layer.apply(PRelu(), "relu", [layer.data, layer.weight(0, "alpha")]),
    "ReLU": re_lu,
    "Softmax": softmax,
    "ThresholdedReLU": lambda layer: layer.apply(
        ir.ThresholdedRelu(float(layer.config.get("theta", 1.0))), "relu", [layer.data]
    ),
}
