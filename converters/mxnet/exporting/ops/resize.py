"""Resizing: UpSampling and BilinearResize2D where they say it, else take or a matrix product along each axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphir.converters.mxnet.exporting.context import Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.resize_weights import Axis, matrix, nearest, outside
from graphir.converters.mxnet.exporting.ops.steps import cast, computing, emit_as, held
from graphir.decisions import DecisionKind
from graphir.ops.base import normalize_axis
from graphir.ops.resize import AspectPolicy, Coordinates, NearestMode, Resize, ResizeMode
from graphir.ops.shape import Shape
from graphir.types import DType, Unknown

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
    """The factor of each axis, if factors and not sizes are given."""
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
    """The axes that change, as numbers. Refuses if a size is open."""
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
    """The axes that may change: those whose size, open or not, is not just kept."""
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
    """What part of each axis is read, as fractions, where that is not all of it."""
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
    """The whole factors of axes, of which some are open, that are enlarged."""
    factors = _stated_factors(node)
    if factors is None:
        node.refuse("its sizes are open; state the inputs' shapes")
    if any(factor < 1 or factor != int(factor) for factor in factors.values()):
        node.refuse(f"factors {list(factors.values())} of open sizes; MXNet enlarges these by whole factors only")
    return {axis: int(factor) for axis, factor in factors.items() if factor > 1}


def _export_repeats(node: ExportNode[Resize], factors: dict[int, int]) -> None:
    """UpSampling of images by one factor, else repeat along each axis."""
    data = node.entry(0)
    if not factors:
        node.emit("_copy", data)
    elif node.rank() == 4 and set(factors) == set(IMAGE) and len(set(factors.values())) == 1 and held(node).is_float:
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
    node.bind(_extrapolated(node, data, resized, held(node)))


def _extrapolated(node: ExportNode[Resize], data: Entry, resized: dict[int, Axis], dtype: DType) -> Entry:
    """The data with the extrapolation value where a place lies outside on any axis."""
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
    return plain and exact and node.rank() == 4 and set(resized) <= set(IMAGE) and held(node).is_float


def _export_bilinear(node: ExportNode[Resize]) -> None:
    height, width = node.fixed((node.result.shape or ())[2:], "the result")
    aligned = BILINEAR[node.op.coordinates]
    node.emit("_contrib_BilinearResize2D", node.entry(0), height=height, width=width, align_corners=aligned)


def _export_open_bilinear(node: ExportNode[Resize], is_open: bool) -> bool:
    """BilinearResize2D to the size of another image, or of an image of open size; whether it is that."""
    op = node.op
    if op.coordinates not in BILINEAR or op.antialias or node.rank() != 4 or not held(node).is_float or not is_open:
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
    """The image whose size is wanted, if the sizes are those of one."""
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
    data = cast(node, node.entry(0), held(node), dtype)
    for axis, result in sorted(resized.items(), reverse=True):
        weights = node.constant(matrix(result, node.op), dtype, f"weights{axis}")
        if axis != last:
            data = node.step("SwapAxis", data, suffix=f"turned{axis}", dim1=axis, dim2=last)
        attributes: dict[str, Any] = {"num_hidden": result.wanted, "no_bias": True, "flatten": False}
        data = node.step("FullyConnected", data, weights, suffix=f"resized{axis}", **attributes)
        if axis != last:
            data = node.step("SwapAxis", data, suffix=f"back{axis}", dim1=axis, dim2=last)
    if not held(node).is_float:
        node.decide(DecisionKind.RESIZE, "interpolated integers lose their fraction")
    emit_as(node, _extrapolated(node, data, resized, dtype), dtype)


EXPORTS = table(row(Resize, export_resize))
