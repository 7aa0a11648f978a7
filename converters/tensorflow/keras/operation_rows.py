"""Version 3's operations on values (`keras.ops`) as operators of TensorFlow's, which the importer knows, as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.tensorflow.files.records import Endpoint
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras.arguments import (
    align_operands,
    argument,
    data_along,
    operand,
    stated_axes,
    stated_shape,
    tensor_argument,
)
from graphir.converters.tensorflow.keras.context import LayerCall, import_float
from graphir.converters.tensorflow.keras.element_rows import ELEMENT_ROWS, ElementNodes
from graphir.converters.tensorflow.keras.norm_rows import NORM_ROWS
from graphir.converters.tensorflow.keras.selection_rows import SELECTION_ROWS
from graphir.converters.tensorflow.keras.shape_rows import SHAPE_ROWS
from graphir.converters.tensorflow.keras.window_rows import WINDOW_ROWS
from graphir.ops import activation as act
from graphir.ops.base import Operator
from graphir.ops.shape import Unsqueeze
from graphir.types import DType

Build = Callable[[LayerCall], Any]
# Operators of one float, and of whole numbers or truths.
_OF_FLOATS: Mapping[str, str] = {
    "Arccos": "Acos", "Arccosh": "Acosh", "Arcsin": "Asin", "Arcsinh": "Asinh", "Arctan": "Atan", "Arctanh": "Atanh",
    "Cosh": "Cosh", "Erfc": "Erfc", "Expm1": "Expm1", "Log1p": "Log1p", "Reciprocal": "Reciprocal", "Sinh": "Sinh",
    "Tan": "Tan",
}  # fmt: skip
_OF_ONE: Mapping[str, str] = {
    "BitwiseInvert": "Invert", "BitwiseNot": "Invert", "Conjugate": "Identity", "Copy": "Identity",
    "Det": "MatrixDeterminant", "Fabs": "Abs", "Isfinite": "IsFinite", "Isinf": "IsInf", "Isnan": "IsNan",
    "Real": "Identity",
}  # fmt: skip
_OF_TWO: Mapping[str, str] = {
    "Arctan2": "Atan2", "BitwiseAnd": "BitwiseAnd", "BitwiseLeftShift": "LeftShift", "BitwiseOr": "BitwiseOr",
    "BitwiseRightShift": "RightShift", "BitwiseXor": "BitwiseXor", "DivideNoNan": "DivNoNan",
    "FloorDivide": "FloorDiv", "LeftShift": "LeftShift", "LogicalXor": "NotEqual", "Mod": "FloorMod",
    "RightShift": "RightShift",
}  # fmt: skip
_SCALED: Mapping[str, float] = {"Deg2rad": math.pi / 180, "Rad2deg": 180 / math.pi}
_LOGARITHMS: Mapping[str, float] = {"Log2": math.log(2), "Log10": math.log(10)}


def _to_float(layer: LayerCall) -> Endpoint:
    return layer.apply(import_float, "float", [tensor_argument(layer)])


def _make_float_row(op: str) -> Build:
    return lambda layer: layer.add(op, "value", [_to_float(layer)])


def _make_unary_row(op: str) -> Build:
    return lambda layer: layer.add(op, "value", [tensor_argument(layer)])


def _make_binary_row(op: str) -> Build:
    return lambda layer: layer.add(op, "value", align_operands(layer))


def _make_scaling_row(factor: float) -> Build:
    return lambda layer: layer.add("Mul", "value", [_to_float(layer), layer.constant("factor", factor, np.float32)])


def _make_logarithm_row(divisor: float) -> Build:
    """Return a logarithm to another base, computed as Keras does: the natural one, divided."""

    def logarithm(layer: LayerCall) -> Endpoint:
        natural = layer.add("Log", "natural", [_to_float(layer)])
        return layer.add("RealDiv", "value", [natural, layer.constant("divisor", divisor, np.float32)])

    return logarithm


def _make_number_row(key: str, make: Callable[[float], Operator]) -> Build:
    """Return an activation with one number, which the operation states."""
    return lambda layer: layer.apply(make(float(layer.kwargs[key])), "value", [_to_float(layer)])


def truncate(layer: LayerCall) -> Endpoint:
    """Round towards zero."""
    data = tensor_argument(layer)
    whole = layer.add("Floor", "whole", [layer.add("Abs", "distance", [data])])
    return layer.add("Mul", "value", [layer.add("Sign", "sign", [data]), whole])


def round_to_even(layer: LayerCall) -> Endpoint:
    """Round to whole numbers, halves to even ones."""
    if layer.kwargs.get("decimals"):
        raise Refusal(f"rounding to {layer.kwargs['decimals']} decimals; 0 is read")
    return layer.add("Round", "value", [tensor_argument(layer)])


def choose(layer: LayerCall) -> Endpoint:
    """Return one of two values, by a condition."""
    condition = tensor_argument(layer)
    pair = [argument(layer, slot, name) for slot, name in ((1, "x1"), (2, "x2"))]
    if any(side is None for side in pair):
        raise Refusal("a condition alone, which gives indices")
    truth = layer.add("Cast", "truth", [condition], DstT=DType.BOOL)
    return layer.add("SelectV2", "value", [truth, *align_operands(layer, pair)])


def _reduce(op: str, data: Endpoint, layer: LayerCall, suffix: str, *, keep: bool | None = None) -> Endpoint:
    """Add a reduction over the stated axes, over all if none are."""
    axes = stated_axes(layer, "axes" if "axes" in layer.kwargs else "axis")
    keep = bool(layer.kwargs.get("keepdims")) if keep is None else keep
    if axes is not None:
        return layer.add(op, suffix, [data, layer.constant(f"{suffix}_axes", axes)], keep_dims=keep)
    ends = [layer.constant(f"{suffix}_{name}", number) for name, number in (("first", 0), ("step", 1))]
    rank = layer.add("Rank", f"{suffix}_rank", [data])
    every = layer.add("Range", f"{suffix}_axes", [ends[0], rank, ends[1]])
    return layer.add(op, suffix, [data, every], keep_dims=keep)


def _variance(layer: LayerCall, data: Endpoint) -> Endpoint:
    centered = layer.add("Sub", "centered", [data, _reduce("Mean", data, layer, "mean", keep=True)])
    return _reduce("Mean", layer.add("Square", "squares", [centered]), layer, "variance")


def moments(layer: LayerCall) -> list[Endpoint]:
    """Return mean and variance."""
    data = _to_float(layer)
    return [_reduce("Mean", data, layer, "means"), _variance(layer, data)]


def _make_nan_reduction(op: str, neutral: float) -> Build:
    """Return a reduction of the elements that are not NaN; an extreme one is NaN where there are none."""

    def reduction(layer: LayerCall) -> Endpoint:
        data = tensor_argument(layer)
        t = ElementNodes(layer, data)
        missing = t("IsNan", data)
        result = _reduce(op, t("SelectV2", missing, neutral, data), layer, "kept")
        if math.isfinite(neutral):
            return result
        return t("SelectV2", _reduce("All", missing, layer, "every"), math.nan, result)

    return reduction


def _nan_mean(layer: LayerCall, data: Endpoint, suffix: str, *, keep: bool | None = None) -> Endpoint:
    t = ElementNodes(layer, data)
    missing = t("IsNan", data)
    parts = (("total", data), ("count", 1.0))
    return t("RealDiv", *(
        _reduce("Sum", t("SelectV2", missing, 0.0, part), layer, f"{suffix}_{name}", keep=keep)
        for name, part in parts
    ))  # fmt: skip


def _nan_variance(layer: LayerCall) -> Endpoint:
    data = _to_float(layer)
    centered = layer.add("Sub", "centered", [data, _nan_mean(layer, data, "mean", keep=True)])
    return _nan_mean(layer, layer.add("Square", "squares", [centered]), "variance")


def average(layer: LayerCall) -> Endpoint:
    """Return the mean, of elements that may have weights: one for each, or one for each index along the axis."""
    data = _to_float(layer)
    if argument(layer, 1, "weights") is None:
        return _reduce("Mean", data, layer, "value", keep=False)
    axes = stated_axes(layer)

    def import_weights(node: ImportNode) -> Imported:
        weights, rank = node.input(0), node.rank(node.input(1))
        if node.rank(weights) == rank:
            return weights
        if axes is None or node.rank(weights) != 1:
            node.refuse(f"weights with {node.rank(weights)} axes of a value with {rank}")
        others = [axis for axis in range(rank) if axis != node.axis(axes[0], rank)]
        return node.emit(Unsqueeze(), weights, node.vector(others))

    weights = layer.apply(import_weights, "spread", [operand(layer, 1, "weights"), data])
    total = _reduce("Sum", layer.add("Mul", "weighted", [data, weights]), layer, "total", keep=False)
    return layer.add("RealDiv", "value", [total, _reduce("Sum", weights, layer, "weight", keep=False)])


def count_nonzero(layer: LayerCall) -> Endpoint:
    """Return how many elements are not 0."""
    truth = layer.add("Cast", "truth", [tensor_argument(layer)], DstT=DType.BOOL)
    return _reduce("Sum", layer.add("Cast", "numbers", [truth], DstT=DType.INT32), layer, "value", keep=False)


def log_sum_exp(layer: LayerCall) -> Endpoint:
    """Return log(sum(exp(x))), the largest element taken out before and added after."""
    data = _to_float(layer)
    largest = _reduce("Max", data, layer, "largest", keep=True)
    total = _reduce("Sum", layer.add("Exp", "powers", [layer.add("Sub", "less", [data, largest])]), layer, "total")
    kept = _reduce("Max", data, layer, "kept")
    return layer.add("AddV2", "value", [layer.add("Log", "logarithm", [total]), kept])


def spread(layer: LayerCall) -> Endpoint:
    """Return the largest less the smallest element."""
    data = tensor_argument(layer)
    ends = [_reduce(op, data, layer, suffix) for op, suffix in (("Max", "largest"), ("Min", "smallest"))]
    return layer.add("Sub", "value", ends)


def norm(layer: LayerCall) -> Endpoint:
    """Return the length of vectors."""
    axes = stated_axes(layer)
    if layer.kwargs.get("ord") not in (None, 2) or (layer.kwargs.get("ord") and (axes is None or len(axes) > 1)):
        raise Refusal(f"the norm {layer.kwargs.get('ord')!r} over {axes}; lengths of vectors are read")
    return _reduce("EuclideanNorm", _to_float(layer), layer, "value")


def _make_arg_row(op: str) -> Build:
    def arg(layer: LayerCall) -> Endpoint:
        data, axis = data_along(layer)
        axis_value = layer.constant("axis", axis)
        indices = layer.add(op, "indices", [data, axis_value], output_type=DType.INT32)
        if not layer.kwargs.get("keepdims"):
            return indices
        axes = [axis] if stated_axes(layer) is not None else list(range(len(stated_shape(layer))))
        return layer.apply(lambda node: node.emit(Unsqueeze(), node.input(0), node.vector(axes)), "value", [indices])

    return arg


def _make_cumulative_row(op: str) -> Build:
    """Return the operation for running sums or products along an axis."""

    def cumulative(layer: LayerCall) -> Endpoint:
        data, axis = data_along(layer)
        if (dtype := layer.kwargs.get("dtype")) is not None:
            data = layer.add("Cast", "converted", [data], DstT=DType.of(dtype))
        return layer.add(op, "value", [data, layer.constant("axis", axis)], exclusive=False, reverse=False)

    return cumulative


def top_k(layer: LayerCall) -> list[Endpoint]:
    """Return the largest along the last axis, and their indices."""
    k = layer.constant("k", layer.kwargs["k"])
    largest = layer.add("TopKV2", "value", [tensor_argument(layer), k], sorted=bool(layer.kwargs.get("sorted", True)))
    return [largest, Endpoint(largest.node, 1)]


ROWS: Mapping[str, Build] = {
    **ELEMENT_ROWS,
    **NORM_ROWS,
    **SELECTION_ROWS,
    **SHAPE_ROWS,
    **WINDOW_ROWS,
    **{name: _make_float_row(op) for name, op in _OF_FLOATS.items()},
    **{name: _make_unary_row(op) for name, op in _OF_ONE.items()},
    **{name: _make_binary_row(op) for name, op in _OF_TWO.items()},
    **{name: _make_scaling_row(factor) for name, factor in _SCALED.items()},
    **{name: _make_logarithm_row(divisor) for name, divisor in _LOGARITHMS.items()},
    "Argmax": _make_arg_row("ArgMax"),
    "Argmin": _make_arg_row("ArgMin"),
    "Average": average,
    "Celu": _make_number_row("alpha", act.Celu),
    "CountNonzero": count_nonzero,
    "Cumprod": _make_cumulative_row("Cumprod"),
    "Cumsum": _make_cumulative_row("Cumsum"),
    "Elu": _make_number_row("alpha", act.Elu),
    "HardShrink": _make_number_row("threshold", lambda number: act.Shrink(number, 0.0)),
    "LeakyRelu": _make_number_row("negative_slope", act.LeakyRelu),
    "Logsumexp": log_sum_exp,
    "Moments": moments,
    "Nanmax": _make_nan_reduction("Max", -math.inf),
    "Nanmean": lambda layer: _nan_mean(layer, _to_float(layer), "mean"),
    "Nanmin": _make_nan_reduction("Min", math.inf),
    "Nanprod": _make_nan_reduction("Prod", 1.0),
    "Nanstd": lambda layer: layer.add("Sqrt", "value", [_nan_variance(layer)]),
    "Nansum": _make_nan_reduction("Sum", 0.0),
    "Nanvar": _nan_variance,
    "Norm": norm,
    "Ptp": spread,
    "Round": round_to_even,
    "SoftShrink": _make_number_row("threshold", lambda number: act.Shrink(number, number)),
    "Std": lambda layer: layer.add("Sqrt", "value", [_variance(layer, _to_float(layer))]),
    "TopK": top_k,
    "Trunc": truncate,
    "Var": lambda layer: _variance(layer, _to_float(layer)),
    "Where": choose,
}
