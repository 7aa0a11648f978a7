"""Keras's normalizations, with the statistics and weights that inference uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportFunction, ImportNode
from graphir.converters.tensorflow.keras.context import LayerCall, import_float
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops import normalization as ir
from graphir.ops.reduction import ReduceL2
from graphir.ops.shape import Reshape, Transpose
from graphir.tensor import Tensor
from graphir.types import DType


def _read_axes(layer: LayerCall) -> list[int]:
    axes = layer.config.get("axis", -1)
    return [axes] if isinstance(axes, int) else list(axes)


def batch_normalization(layer: LayerCall) -> Endpoint:
    """Normalize with the moving statistics; gamma and beta may be left out."""
    axis = layer.config.get("axis", -1)
    if isinstance(axis, (list, tuple)):
        if len(axis) != 1:
            raise Refusal(f"statistics over the axes {axis} together; only one axis is read")
        axis = axis[0]
    if layer.config.get("mode", 0) not in (0, 2):
        raise Refusal(f"mode {layer.config['mode']} of Keras 1, which takes the statistics from the data")
    scaled, centered = layer.config.get("scale", True), layer.config.get("center", True)
    count = int(scaled) + int(centered)
    # a file says only their order: these names tell the statistics from what is trained
    mean = layer.constant("moving_mean", layer.tensor(count))
    variance = layer.constant("moving_variance", layer.tensor(count + 1))
    gamma, beta = _read_weights(layer)
    epsilon = layer.constant("epsilon", layer.config.get("epsilon", 1e-3), np.float32)
    factor = layer.add("Rsqrt", "deviation", [layer.add("AddV2", "stable", [variance, epsilon])])
    if gamma is not None:
        factor = layer.add("Mul", "factor", [factor, layer.constant("gamma", gamma)])
    shift = layer.add("Neg", "moved", [layer.add("Mul", "mean_scaled", [mean, factor])])
    if beta is not None:
        shift = layer.add("AddV2", "shift", [shift, layer.constant("beta", beta)])
    factor, shift = (
        layer.apply(_align_to_axis(axis), f"{name}_along", [part, layer.data])
        for name, part in (("factor", factor), ("shift", shift))
    )
    return layer.add("AddV2", "normalized", [layer.add("Mul", "scaled", [layer.data, factor]), shift])


def _align_to_axis(axis: int) -> ImportFunction:
    """Return the import function that reshapes a vector so that it broadcasts along one axis of the second operand."""

    def import_along(node: ImportNode) -> Imported:
        vector = node.input(0)
        if axis == -1:
            return vector
        rank = node.rank(node.input(1))
        behind = rank - 1 - node.axis(axis, rank)
        return vector if not behind else node.emit(Reshape(), vector, node.vector([-1, *[1] * behind]))

    return import_along


def _read_weights(layer: LayerCall) -> tuple[Tensor | None, Tensor | None]:
    """Return gamma and beta, as far as the layer has them."""
    scaled, centered = layer.config.get("scale", True), layer.config.get("center", True)
    gamma = layer.tensor(0) if scaled else None
    return gamma, layer.tensor(int(scaled)) if centered else None


def _add_constants(layer: LayerCall, gamma: Tensor | None, beta: Tensor | None) -> tuple[list[Endpoint], list[str]]:
    """Return the weights that there are, as nodes, and their names."""
    tensors = [(name, tensor) for name, tensor in (("gamma", gamma), ("beta", beta)) if tensor is not None]
    return [layer.constant(name, tensor) for name, tensor in tensors], [name for name, _ in tensors]


def layer_normalization(layer: LayerCall) -> Endpoint:
    """Normalize over the axes, which are moved behind the others if they are not there."""
    gamma, beta = _read_weights(layer)
    names, parts = ["x"], [layer.data]
    if layer.config.get("rms_scaling"):
        raise Refusal("rms_scaling, which scales by the variance; use RMSNormalization")
    constants, constant_names = _add_constants(layer, gamma, beta)
    epsilon = float(layer.config.get("epsilon", 1e-3))
    op_of = _LayerNorm(_read_axes(layer), epsilon, (*names, *constant_names), rms=False)
    return layer.apply(op_of, "normalized", [*parts, *constants])


def rms_normalization(layer: LayerCall) -> Endpoint:
    """Return x / sqrt(mean(x^2) + epsilon), times a weight."""
    gamma = layer.weight(0, "gamma")
    op_of = _LayerNorm(_read_axes(layer), float(layer.config.get("epsilon", 1e-6)), ("x", "gamma"), rms=True)
    return layer.apply(op_of, "normalized", [layer.data, gamma])


class _LayerNorm:
    """The import function of a normalization over some axes of each sample. Its operands are called by `names`."""

    def __init__(self, axes: Sequence[int], epsilon: float, names: tuple[str, ...], *, rms: bool) -> None:
        self.axes, self.epsilon, self.names, self.rms = axes, epsilon, names, rms

    def __call__(self, node: ImportNode) -> Imported:
        """Return the node's result."""
        parts = dict(zip(self.names, node.inputs, strict=True))
        x = parts["x"]
        rank = node.rank(x)
        axes = sorted(node.axis(axis, rank) for axis in self.axes)
        first = rank - len(axes)
        order = (*(axis for axis in range(rank) if axis not in axes), *axes)
        in_place = axes == list(range(first, rank))
        moved = x if in_place else node.step(Transpose(order), x, suffix="moved")
        weights = [parts.get(name) for name in ("gamma", "beta")]
        gamma = weights[0] if weights[0] is not None else _add_ones(node, moved, len(axes))
        stash = DType.FLOAT64 if x.dtype is DType.FLOAT64 else DType.FLOAT32
        if self.rms:
            op: Any = ir.RMSNormalization(first - rank, self.epsilon, stash)
            operands = [moved, gamma]
        else:
            op = ir.LayerNormalization(first - rank, self.epsilon, stash)
            operands = [moved, gamma, *(weight for weight in weights[1:] if weight is not None)]
        if in_place:
            return node.emit_all(op, *operands)[:1]
        back = tuple(order.index(axis) for axis in range(rank))
        return node.emit(Transpose(back), node.step(op, *operands, suffix="last"))


def _add_ones(node: ImportNode, value: Value, axes: int) -> Value:
    """Add ones of the last sizes, or one where these are open: a weight that changes nothing."""
    rank = node.rank(value)
    sizes = node.sizes_if_known(value, range(rank - axes, rank)) or (1,)
    node.charge_table(math.prod(sizes))
    return node.constant(np.ones(sizes, (value.dtype or DType.FLOAT32).numpy()))


def group_normalization(layer: LayerCall) -> Endpoint:
    """Normalize over each sample's groups of channels; -1 groups are as many as channels."""
    if layer.keras < 3 and layer.stated_mask() is not None:
        raise Refusal("a mask, by which version 2 weighs the statistics")
    gamma, beta = _read_weights(layer)
    constants, names = _add_constants(layer, gamma, beta)
    groups, axis = int(layer.config.get("groups", 32)), _read_axes(layer)[0]
    epsilon = float(layer.config.get("epsilon", 1e-3))

    def import_group(node: ImportNode) -> Imported:
        parts = dict(zip(("x", *names), node.inputs, strict=True))
        x = parts["x"]
        rank = node.rank(x)
        channel_axis = node.axis(axis, rank)
        channels = node.sizes(x, (channel_axis,))[0]
        dtype = (x.dtype or DType.FLOAT32).numpy()
        node.charge_table(2 * channels)
        scale = parts.get("gamma") or node.constant(np.ones(channels, dtype))
        bias = parts.get("beta") or node.constant(np.zeros(channels, dtype))
        op = ir.GroupNormalization(channels if groups == -1 else groups, epsilon)
        if channel_axis == 1:
            return node.emit(op, x, scale, bias)
        order = (0, channel_axis, *(other for other in range(1, rank) if other != channel_axis))
        result = node.step(op, node.step(Transpose(order), x, suffix="moved"), scale, bias, suffix="first")
        return node.emit(Transpose(tuple(order.index(other) for other in range(rank))), result)

    return layer.apply(import_group, "normalized", [layer.data, *constants])


def unit_normalization(layer: LayerCall) -> Endpoint:
    """Return x divided by its length, or by 1e-12 (version 2: 1e-6) where that is larger."""
    least = 1e-12 if layer.keras >= 3 else 1e-6
    return unit_length(layer, layer.data, _read_axes(layer), least, "unit")


def unit_length(layer: LayerCall, value: Endpoint, axes: Sequence[int], least: float, suffix: str) -> Endpoint:
    """Return the value divided by its length over the axes."""

    def import_unit(node: ImportNode) -> Imported:
        x = node.input(0)
        length = node.step(ReduceL2(keepdims=True), x, node.vector(axes), suffix="length")
        return node.emit(ew.Div(), x, node.step(ew.Max(), length, node.scalar_like(x, least), suffix="limited"))

    return layer.apply(import_unit, suffix, [value])


def normalization(layer: LayerCall) -> Endpoint:
    """Return (x - mean) / sqrt(variance), or the reverse with `invert`; both along the kept axes, given or learned."""
    axes = layer.config.get("axis") if "axis" in layer.config else -1
    axes = [] if axes is None else [axes] if isinstance(axes, int) else list(axes)
    if layer.config.get("mean") is None:
        values = [layer.tensor(slot).numpy() for slot in (0, 1)]
    else:
        values = [layer.config[name] for name in ("mean", "variance")]
    names = ("mean", "variance")
    mean, variance = (layer.constant(name, array, np.float32) for name, array in zip(names, values, strict=True))
    least = layer.constant("least", 1e-7, np.float32)
    deviation = layer.add("Maximum", "deviation", [layer.add("Sqrt", "root", [variance]), least])
    data = layer.apply(import_float, "float", [layer.data])
    along = _align_to_axes(axes)
    shaped = [layer.apply(along, name, [part, data]) for name, part in (("center", mean), ("spread", deviation))]
    if layer.config.get("invert"):
        return layer.add("AddV2", "restored", [layer.add("Mul", "scaled", [data, shaped[1]]), shaped[0]])
    return layer.add("RealDiv", "normalized", [layer.add("Sub", "centered", [data, shaped[0]]), shaped[1]])


def _align_to_axes(axes: Sequence[int]) -> ImportFunction:
    """Return the import function that reshapes statistics so that they broadcast along these axes of the second
    operand."""

    def import_beside(node: ImportNode) -> Imported:
        statistic, x = node.input(0), node.input(1)
        if not node.rank(statistic):
            return statistic
        rank = node.rank(x)
        kept = [node.axis(axis, rank) for axis in axes]
        sizes = list(node.sizes(x, kept)) if kept else []
        shape = [1] * rank
        for axis, size in zip(kept, sizes, strict=True):
            shape[axis] = size
        return node.emit(Reshape(), statistic, node.vector(shape))

    return import_beside


LAYERS: Mapping[str, Callable[[LayerCall], Any]] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "LayerNormalization": layer_normalization,
    "Normalization": normalization,
    "RMSNormalization": rms_normalization,
    "UnitNormalization": unit_normalization,
}
