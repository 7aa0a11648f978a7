"""Version 3's normalizations and attention (`keras.ops.nn`), as Keras computes them, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.keras.arguments import argument, operand, stated_axes, stated_shape, tensor_argument
from graphir.converters.tensorflow.keras.context import KerasValue, LayerCall, import_float
from graphir.converters.tensorflow.keras.element_rows import ElementNodes
from graphir.safety.limits import charge_elements

Build = Callable[[LayerCall], Any]
Array = NDArray[Any]
MASKED = -0.7 * 3.38953e38  # what Keras gives the softmax where a mask is False
EPSILON = 1e-7  # what keras.config.epsilon() gives unless a program sets it


class _Norm:
    """What is normalized, over which axes, and operands that stand along these."""

    def __init__(self, layer: LayerCall) -> None:
        self._layer = layer
        self.data = layer.apply(import_float, "float", [tensor_argument(layer)])
        self.terms = ElementNodes(layer, self.data)
        self.shape = stated_shape(layer)
        axes = stated_axes(layer) or [-1]
        self.axes = sorted(axis % len(self.shape) for axis in axes)

    def mean(self, value: Endpoint, name: str) -> Endpoint:
        """Return the mean over the axes, which stay with size 1."""
        return self._layer.add("Mean", name, [value, self._layer.constant(f"{name}_axes", self.axes)], keep_dims=True)

    def variance(self) -> Endpoint:
        """Return the mean of the squared distances from the mean."""
        centered = self.terms("Sub", self.data, self.mean(self.data, "mean"))
        return self.mean(self.terms("Square", centered), "variance")

    def inverse_root(self, value: Endpoint) -> Endpoint:
        """Return 1 / sqrt(value + epsilon)."""
        epsilon = self._layer.kwargs.get("epsilon")
        return self.terms("Rsqrt", self.terms("AddV2", value, EPSILON if epsilon is None else float(epsilon)))

    def along(self, index: int, name: str) -> Endpoint | None:
        """Return an argument whose elements stand along the axes; None if it is not given."""
        if argument(self._layer, index, name) is None:
            return None
        value = operand(self._layer, index, name)
        if self.axes == [len(self.shape) - 1]:
            return value
        sizes = [self.shape[axis] if axis in self.axes else 1 for axis in range(len(self.shape))]
        if None in sizes:
            raise Refusal(f"{name} along an axis whose size is not stated")
        return self._layer.add("Reshape", f"{name}_along", [value, self._layer.constant(f"{name}_shape", sizes)])


def layer_norm(layer: LayerCall) -> Endpoint:
    """Return each sample less its mean, by its deviation; with `rms_scaling` the mean is not taken away."""
    norm = _Norm(layer)
    t, gamma, beta = norm.terms, norm.along(1, "gamma"), norm.along(2, "beta")
    factor = norm.inverse_root(norm.variance())
    if gamma is not None:
        factor = t("Mul", factor, gamma)
    value = t("Mul", norm.data, factor)
    if layer.kwargs.get("rms_scaling"):
        return value
    shift = t("Mul", t("Neg", norm.mean(norm.data, "middle")), factor)
    return t("AddV2", value, shift if beta is None else t("AddV2", shift, beta))


def rms_norm(layer: LayerCall) -> Endpoint:
    """Return each sample by the root of the mean of its squares."""
    norm = _Norm(layer)
    value = norm.terms("Mul", norm.data, norm.inverse_root(norm.mean(norm.terms("Square", norm.data), "squares")))
    if argument(layer, 1, "scale") is None:
        return value
    return norm.terms("Mul", value, operand(layer, 1, "scale"))


def batch_norm(layer: LayerCall) -> Endpoint:
    """Return each channel less a mean, by the root of a variance, which are given."""
    norm = _Norm(layer)
    t = norm.terms
    mean, variance, offset, scale = (
        norm.along(index, name) for index, name in enumerate(("mean", "variance", "offset", "scale"), 1)
    )
    if mean is None or variance is None:
        raise Refusal("no mean or no variance")
    factor = norm.inverse_root(variance)
    if scale is not None:
        factor = t("Mul", factor, scale)
    shift = t("Mul", t("Neg", mean), factor)
    return t("AddV2", t("Mul", norm.data, factor), shift if offset is None else t("AddV2", shift, offset))


def attention(layer: LayerCall) -> Endpoint:
    """Scaled products of queries and keys (N, length, heads, size), their softmax, and the values by that."""
    t = ElementNodes(layer, query := tensor_argument(layer))
    others = [argument(layer, 1, "key"), argument(layer, 2, "value")]
    shapes = [stated_shape(layer), *(other.shape for other in others if isinstance(other, KerasValue) and other.shape)]
    heads = {shape[2] for shape in shapes}
    if len(shapes) != 3 or len(heads) != 1 or None in heads or shapes[0][3] is None:
        raise Refusal("attention whose keys and values have other heads than the queries, or sizes that are not stated")
    keys, values = operand(layer, 1, "key"), operand(layer, 2, "value")
    scale = argument(layer, 5, "scale")
    factor = float(1 / np.sqrt(np.float32(shapes[0][3])) if scale is None else scale)
    scores = t("Mul", _add_einsum(t, "BTNH,BSNH->BNTS", query, keys), factor)
    if argument(layer, 3, "bias") is not None:
        scores = t("AddV2", scores, operand(layer, 3, "bias"))
    masks = [operand(layer, 4, "mask", np.bool_)] if argument(layer, 4, "mask") is not None else []
    if layer.kwargs.get("is_causal"):
        masks.append(layer.constant("causal", _make_triangle(shapes[0][1], shapes[1][1]), np.bool_))
    for mask in masks:
        scores = t("SelectV2", mask, scores, MASKED)
    return _add_einsum(t, "BNTS,BSNH->BTNH", t("Softmax", scores), values)


def _make_triangle(rows: int | None, columns: int | None) -> Array:
    """Return True where a word comes no later than the one that reads it."""
    if rows is None or columns is None:
        raise Refusal("causal attention over lengths that are not stated")
    charge_elements(rows * columns, "the mask of causal attention")
    return np.tri(rows, columns, dtype=np.bool_)


def _add_einsum(t: ElementNodes, equation: str, *values: Endpoint) -> Endpoint:
    return t("Einsum", *values, equation=equation, N=2)


NORM_ROWS: Mapping[str, Build] = {
    "BatchNorm": batch_norm,
    "DotProductAttention": attention,
    "LayerNorm": layer_norm,
    "RMSNorm": rms_norm,
}
