"""Resizing: UpSampling and BilinearResize2D where they say it, else take or a matrix product along each axis.

How much each element of an axis counts in each element of the resized axis: matrices, in pure numpy.

Positions are computed in float32 (the symmetric ones are rounded to it), as onnxruntime does it: it decides between two
neighbours that are equally near.
Source: ONNX Resize-19.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.exporting.context import Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.steps import cast, computing, emit_as, operand_dtype
from graphir.decisions import DecisionKind
from graphir.ops.base import normalize_axis
from graphir.ops.resize import AspectPolicy, Coordinates, NearestMode, Resize, ResizeMode
from graphir.ops.shape import Shape
from graphir.safety.limits import charge_elements
from graphir.types import DType, Unknown

ONE, HALF = np.float32(1), np.float32(0.5)


@dataclass(frozen=True)
class Axis:
    """One axis that is resized: both sizes, the factor between them, and for TF_CROP_AND_RESIZE what is read."""

    size: int
    wanted: int
    factor: float
    begin: float = 0.0
    end: float = 1.0

    @property
    def is_kept(self) -> bool:
        """Whether nothing happens on this axis."""
        return self.size == self.wanted and self.factor == 1 and (self.begin, self.end) == (0, 1)


def origins(axis: Axis, coordinates: Coordinates) -> Array:
    """Return the position in the axis that each element of the result is taken from, float32."""
    charge_elements(axis.wanted, f"the places of {axis.wanted} elements of a resize")
    indices = np.arange(axis.wanted, dtype=np.float32)
    factor, size, wanted = np.float32(axis.factor), np.float32(axis.size), np.float32(axis.wanted)
    last = size - ONE
    match coordinates:
        case Coordinates.ASYMMETRIC:
            return indices / factor
        case Coordinates.ALIGN_CORNERS:
            return indices * last / (wanted - ONE) if axis.wanted > 1 else indices * np.float32(0)
        case Coordinates.PYTORCH_HALF_PIXEL if axis.wanted == 1:
            return indices * np.float32(0)
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            offset = float(size / np.float32(2) * (ONE - wanted / (factor * size)))
            return (offset + (indices.astype(np.float64) + 0.5) / float(factor) - 0.5).astype(np.float32)
        case Coordinates.TF_CROP_AND_RESIZE:
            begin, end = np.float32(axis.begin), np.float32(axis.end)
            if axis.wanted == 1:
                return HALF * (begin + end) * last + indices
            return begin * last + indices * (end - begin) * last / (wanted - ONE)
    return (indices + HALF) / factor - HALF


def outside(axis: Axis, coordinates: Coordinates) -> Array:
    """Return which elements of the result lie outside of the axis, and are the extrapolation value."""
    if coordinates is not Coordinates.TF_CROP_AND_RESIZE:
        return np.zeros(axis.wanted, bool)
    indices = origins(axis, coordinates)
    result: Array = (indices < 0) | (indices > axis.size - 1)
    return result


def nearest(axis: Axis, op: Resize) -> Array:
    """Return the index of the element that each element of the result is, int64."""
    indices = origins(axis, op.coordinates)
    match op.nearest_mode:
        case NearestMode.FLOOR:
            result = np.floor(indices)
        case NearestMode.CEIL:
            result = np.ceil(indices)
        case NearestMode.ROUND_PREFER_FLOOR:
            result = np.ceil(indices - HALF)
        case NearestMode.ROUND_PREFER_CEIL:
            result = np.floor(indices + HALF)
    limited: Array = np.clip(result, 0, axis.size - 1).astype(np.int64)
    return limited


def matrix(axis: Axis, op: Resize) -> Array:
    """Return the weights (wanted, size) of linear or cubic interpolation, float64; rows outside of the axis are 0."""
    charge_elements(axis.wanted * axis.size, f"the weights of a resize of {axis.size} elements to {axis.wanted}")
    indices = origins(axis, op.coordinates).astype(np.float64)
    stretched = 1 / axis.factor if op.antialias and axis.factor < 1 else 1.0
    reach = stretched * (1 if op.mode is ResizeMode.LINEAR else 2)
    if op.mode is ResizeMode.LINEAR and not op.antialias:
        indices = np.clip(indices, 0, axis.size - 1)
    first = np.floor(indices - reach).astype(np.int64)
    steps = np.arange(int(np.ceil(2 * reach)) + 2)
    neighbours = first[:, None] + steps[None, :]
    distances = (neighbours - indices[:, None]) / stretched
    weights = _triangle(distances) if op.mode is ResizeMode.LINEAR else _cubic(distances, op.cubic_coeff_a)
    inside = (neighbours >= 0) & (neighbours < axis.size)
    if op.exclude_outside:
        weights = np.where(inside, weights, 0.0)
    if op.exclude_outside or op.antialias:
        weights = weights / weights.sum(axis=1, keepdims=True)
    result = np.zeros((axis.wanted, axis.size))
    rows = np.broadcast_to(np.arange(axis.wanted)[:, None], neighbours.shape)
    np.add.at(result, (rows, np.clip(neighbours, 0, axis.size - 1)), weights)
    result[outside(axis, op.coordinates)] = 0.0
    return result


def _triangle(distances: Array) -> Array:
    result: Array = np.clip(1 - np.abs(distances), 0, 1)
    return result


def _cubic(distances: Array, a: float) -> Array:
    """Keys' cubic convolution kernel. Source: https://en.wikipedia.org/wiki/Bicubic_interpolation."""
    x = np.abs(distances)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    result: Array = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return result


REPEATS = {
    (Coordinates.ASYMMETRIC, NearestMode.FLOOR),
    (Coordinates.HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR),
    (Coordinates.HALF_PIXEL, NearestMode.ROUND_PREFER_CEIL),
}
BILINEAR = {Coordinates.ALIGN_CORNERS: True, Coordinates.HALF_PIXEL: False, Coordinates.PYTORCH_HALF_PIXEL: False}
IMAGE = (2, 3)


def _axes(node: ExportNode[Resize]) -> tuple[int, ...]:
    rank = node.rank()
    return tuple(normalize_axis(axis, rank) for axis in node.op.axes or range(rank))


def _stated_factors(node: ExportNode[Resize]) -> dict[int, float] | None:
    """Return the factor of each axis, if factors and not sizes are given."""
    op = node.op
    factors: tuple[object, ...] = op.factors
    value = node.optional(2)
    if not factors and value is None:
        return None
    if not factors and value is not None:
        known = None if value.tensor is None else value.tensor.numpy().reshape(-1).tolist()
        if known is None:
            node.refuse(f"its factors {value.name} are computed; MXNet wants them as attributes")
        factors = tuple(known)
    return {axis: float(np.float32(factor)) for axis, factor in zip(_axes(node), factors, strict=True)}  # type: ignore[arg-type]


def _resized(node: ExportNode[Resize]) -> dict[int, Axis]:
    """Return the axes that change, as numbers. Refuses if a size is open."""
    op = node.op
    axes, stated = _changing(node), _stated_factors(node)
    own = node.fixed(tuple(node.shape()[axis] for axis in axes), f"what is resized, {node.input(0).name},")
    wanted = node.fixed(tuple((node.result.shape or ())[axis] for axis in axes), "the result")
    if 0 in own:
        node.refuse("MXNet has no tensors without elements")
    factors = [float(np.float32(new) / np.float32(old)) for new, old in zip(wanted, own, strict=True)]
    if stated is not None:
        factors = [stated[axis] for axis in axes]
    elif op.keep_aspect_ratio_policy is not AspectPolicy.STRETCH:
        factors = [_common_factor(node, own)] * len(axes)
    regions = _regions(node)
    return {
        axis: result
        for index, axis in enumerate(axes)
        if not (result := Axis(own[index], wanted[index], factors[index], *regions.get(axis, (0.0, 1.0)))).is_kept
    }


def _changing(node: ExportNode[Resize]) -> tuple[int, ...]:
    """Return the axes that may change: those whose size, open or not, is not just kept."""
    stated, regions = _stated_factors(node), _regions(node)
    wanted = node.result.shape or ()
    if len(wanted) != node.rank():
        node.refuse(f"the result is {node.result.type}, expected the {node.rank()} axes of {node.input(0).name}")
    common = node.op.keep_aspect_ratio_policy is not AspectPolicy.STRETCH

    def is_kept(axis: int) -> bool:
        if common or regions.get(axis, (0.0, 1.0)) != (0.0, 1.0):
            return False
        size = node.shape()[axis]
        return stated[axis] == 1 if stated is not None else size == wanted[axis] and not isinstance(size, Unknown)

    return tuple(axis for axis in _axes(node) if not is_kept(axis))


def _common_factor(node: ExportNode[Resize], own: tuple[int, ...]) -> float:
    bounds = node.numbers(3) or own
    factors = [float(np.float32(bound / size)) for bound, size in zip(bounds, own, strict=True)]
    return min(factors) if node.op.keep_aspect_ratio_policy is AspectPolicy.NOT_LARGER else max(factors)


def _regions(node: ExportNode[Resize]) -> dict[int, tuple[float, float]]:
    """Return what part of each axis is read, as fractions, where that is not all of it."""
    axes = _axes(node)
    if node.op.coordinates is not Coordinates.TF_CROP_AND_RESIZE:
        return {}
    region = node.input(1)
    if region.tensor is None:
        node.refuse(f"the region {region.name} is computed; MXNet crops by numbers")
    numbers = region.tensor.numpy().reshape(2, len(axes)).astype(np.float32).tolist()
    return {axis: (float(begin), float(end)) for axis, begin, end in zip(axes, *numbers, strict=True)}


def _is_open(node: ExportNode[Resize]) -> bool:
    shape = node.shape()
    wanted = node.result.shape or ()
    sizes = [size for axis in _changing(node) for size in (shape[axis], *wanted[axis : axis + 1])]
    return any(not isinstance(size, int) for size in sizes)


def export_resize(node: ExportNode[Resize]) -> None:
    """Nearest by repetition or take, linear by BilinearResize2D or products with weights, cubic by the latter."""
    op = node.op
    is_open = _is_open(node)
    if op.mode is ResizeMode.LINEAR and _export_open_bilinear(node, is_open):
        return
    if op.mode is ResizeMode.NEAREST and is_open and _repeats(op):
        _export_repeats(node, _open_factors(node))
        return
    resized = _resized(node)
    if not resized:
        node.emit("_copy", node.entry(0))
    elif op.mode is ResizeMode.NEAREST:
        _export_nearest(node, resized)
    elif _is_bilinear(node, resized):
        _export_bilinear(node)
    else:
        _export_products(node, resized)


def _repeats(op: Resize) -> bool:
    return (op.coordinates, op.nearest_mode) in REPEATS


def _open_factors(node: ExportNode[Resize]) -> dict[int, int]:
    """Return the whole factors of axes, of which some are open, that are enlarged."""
    factors = _stated_factors(node)
    if factors is None:
        node.refuse("its sizes are open; state the inputs' shapes")
    if any(factor < 1 or factor != int(factor) for factor in factors.values()):
        node.refuse(f"factors {list(factors.values())} of open sizes; MXNet enlarges these by whole factors only")
    return {axis: int(factor) for axis, factor in factors.items() if factor > 1}


def _export_repeats(node: ExportNode[Resize], factors: dict[int, int]) -> None:
    """UpSampling of images by one factor, else repeat along each axis."""
    data = node.entry(0)
    is_image = node.rank() == 4 and set(factors) == set(IMAGE)
    if not factors:
        node.emit("_copy", data)
    elif is_image and len(set(factors.values())) == 1 and operand_dtype(node).is_float:
        node.emit("UpSampling", data, scale=factors[2], sample_type="nearest", num_args=1)
    else:
        *before, last = factors
        for axis in before:
            data = node.step("repeat", data, repeats=factors[axis], axis=axis)
        node.emit("repeat", data, repeats=factors[last], axis=last)


def _export_nearest(node: ExportNode[Resize], resized: dict[int, Axis]) -> None:
    op = node.op
    whole = {
        axis: result.wanted // result.size
        for axis, result in resized.items()
        if result.wanted % result.size == 0 and result.factor == result.wanted // result.size
    }
    if len(whole) == len(resized) and _repeats(op):
        _export_repeats(node, whole)
        return
    data = node.entry(0)
    for axis, result in resized.items():
        indices = node.constant(nearest(result, op), DType.INT64, f"nearest{axis}")
        data = node.step("take", data, indices, suffix=f"taken{axis}", axis=axis, mode="clip")
    node.bind(_extrapolated(node, data, resized, operand_dtype(node)))


def _extrapolated(node: ExportNode[Resize], data: Entry, resized: dict[int, Axis], dtype: DType) -> Entry:
    """Return the data with the extrapolation value where a place lies outside on any axis."""
    op = node.op
    if op.coordinates is Coordinates.TF_CROP_AND_RESIZE:
        node.charge(math.prod(result.wanted for result in resized.values()), "the places outside of the data")
    beyond = np.zeros((1,) * node.rank(), bool)
    for axis, result in resized.items():
        shape = tuple(-1 if index == axis else 1 for index in range(node.rank()))
        beyond = beyond | outside(result, op.coordinates).reshape(shape)
    if not beyond.any():
        return data
    data = node.step("broadcast_mul", data, node.constant(~beyond, dtype, "inside"), suffix="inside")
    filled = node.constant(beyond * op.extrapolation_value, dtype, "extrapolation")
    return node.step("broadcast_add", data, filled, suffix="extrapolated")


def _is_bilinear(node: ExportNode[Resize], resized: dict[int, Axis]) -> bool:
    op = node.op
    exact = all(
        result.factor == float(np.float32(result.wanted) / np.float32(result.size))
        and (result.wanted > 1 or op.coordinates is not Coordinates.HALF_PIXEL)
        for result in resized.values()
    )
    plain = op.coordinates in BILINEAR and op.mode is ResizeMode.LINEAR and not op.antialias
    return plain and exact and node.rank() == 4 and set(resized) <= set(IMAGE) and operand_dtype(node).is_float


def _export_bilinear(node: ExportNode[Resize]) -> None:
    height, width = node.fixed((node.result.shape or ())[2:], "the result")
    aligned = BILINEAR[node.op.coordinates]
    node.emit("_contrib_BilinearResize2D", node.entry(0), height=height, width=width, align_corners=aligned)


def _export_open_bilinear(node: ExportNode[Resize], is_open: bool) -> bool:
    """BilinearResize2D to the size of another image, or of an image of open size; whether it is that."""
    op = node.op
    if op.coordinates not in BILINEAR or op.antialias or node.rank() != 4 or not is_open:
        return False
    if not operand_dtype(node).is_float:
        return False
    aligned = BILINEAR[op.coordinates]
    like = _like(node)
    if like is not None:
        if op.coordinates is Coordinates.HALF_PIXEL:
            node.decide(
                DecisionKind.RESIZE, "where the result has one element, MXNet takes the first one, and not the middle"
            )
        node.emit("_contrib_BilinearResize2D", node.entry(0), like, mode="like", align_corners=aligned)
        return True
    factors = _stated_factors(node)
    if factors is not None:
        rows, columns = factors.get(2, 1.0), factors.get(3, 1.0)
        others = any(factor != 1 for axis, factor in factors.items() if axis not in IMAGE)
        whole = rows.is_integer() and columns.is_integer()
        if others or not (aligned or whole):
            return False
        attributes: dict[str, Any] = {"scale_height": rows, "scale_width": columns, "align_corners": aligned}
        node.emit("_contrib_BilinearResize2D", node.entry(0), mode="size", **attributes)
        return True
    wanted = node.result.shape or ()
    least = 2 if op.coordinates is Coordinates.HALF_PIXEL else 1
    known = all(isinstance(size, int) and size >= least for size in wanted[2:])
    stated = op.keep_aspect_ratio_policy is AspectPolicy.STRETCH and known
    if stated and (set(_axes(node)) <= set(IMAGE) or wanted[:2] == node.shape()[:2]):
        _export_bilinear(node)
        return True
    return False


def _like(node: ExportNode[Resize]) -> Entry | None:
    """Return the image whose size is wanted, if the sizes are those of one."""
    sizes = node.optional(3)
    if sizes is None or sizes.producer is None or not isinstance(sizes.producer.op, Shape) or _axes(node) != IMAGE:
        return None
    source = sizes.producer.inputs[0]
    op = sizes.producer.op
    if source is None or source.rank not in (None, 4) or (op.start, op.end) not in ((2, 4), (2, None)):
        return None
    return node.export.entry(source)


def _export_products(node: ExportNode[Resize], resized: dict[int, Axis]) -> None:
    """A FullyConnected of weights along each axis, which is brought to the end for it."""
    last, dtype = node.rank() - 1, computing(node)
    data = cast(node, node.entry(0), operand_dtype(node), dtype)
    for axis, result in sorted(resized.items(), reverse=True):
        weights = node.constant(matrix(result, node.op), dtype, f"weights{axis}")
        if axis != last:
            data = node.step("SwapAxis", data, suffix=f"turned{axis}", dim1=axis, dim2=last)
        attributes: dict[str, Any] = {"num_hidden": result.wanted, "no_bias": True, "flatten": False}
        data = node.step("FullyConnected", data, weights, suffix=f"resized{axis}", **attributes)
        if axis != last:
            data = node.step("SwapAxis", data, suffix=f"back{axis}", dim1=axis, dim2=last)
    if not operand_dtype(node).is_float:
        node.decide(DecisionKind.RESIZE, "interpolated integers lose their fraction")
    emit_as(node, _extrapolated(node, data, resized, dtype), dtype)


EXPORTS = table(row(Resize, export_resize))
