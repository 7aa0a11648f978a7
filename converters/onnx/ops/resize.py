"""Resize and GridSample, and what they are at opsets that lack a part of them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, direct, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.converters.onnx.ops.resize_nearest import export_by_places, is_of_places
from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.linear import Gemm, MatMul
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.resize import (
    AffineGrid,
    AspectPolicy,
    Coordinates,
    GridSample,
    NearestMode,
    Resize,
    ResizeMode,
    SampleMode,
    SamplePadding,
    factors_of_axes,
)
from graphir.ops.shape import Reshape, Transpose
from graphir.tensor import Tensor
from graphir.types import DType, format_shape

LAID_OUT = (Conv, ConvTranspose, AveragePool, MaxPool, Gemm, MatMul, Reshape)
NEARBY = 64


def export_resize(node: ExportNode[Resize]) -> None:
    """Write Resize. Opset 18 adds `antialias` and `axes`; before it sizes and factors cover every axis.

    They also cover every axis where that needs no more operators, and behind a Transpose: onnxruntime 1.31 moves a
    Transpose past a Resize as if the Resize had no `axes`, and then rejects the model.
    """
    op = node.op
    node.demand(19, "half_pixel_symmetric exists", when=op.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC)
    if node.opset < 18 and (op.antialias or op.keep_aspect_ratio_policy is not AspectPolicy.STRETCH):
        node.refuse(f"antialias and keep_aspect_ratio_policy exist from opset 18 on, the target is {node.opset}")
    if is_of_places(node):
        export_by_places(node)
        return
    data, roi, scales, sizes = (*node.input_names(), "", "", "")[:4]
    covers_all = bool(op.axes) and (node.opset < 18 or _can_name_all_axes(node))
    rank = _rank(node) if covers_all else 0
    factors = factors_of_axes(op.factors, op.axes, rank) if covers_all and op.factors else op.factors
    if covers_all and not factors:
        factors = _exact_factors(node, rank)
    if factors:
        scales, sizes = node.constant(np.asarray(factors, np.float32), suffix="scales"), ""
    elif covers_all and sizes:
        sizes = _all_sizes(node, rank)
    elif covers_all:
        node.refuse(f"Resize by computed factors of some axes exists from opset 18 on, the target is {node.opset}")
    if covers_all and roi:
        roi = _whole_roi(node, rank)
    names = [data, roi, scales, sizes]
    while not names[-1]:
        names.pop()
    linear = op.mode.value != "nearest"
    node.emit(
        "Resize",
        names,
        mode=op.mode.value if linear else None,
        coordinate_transformation_mode=op.coordinates.value if op.coordinates is not Coordinates.HALF_PIXEL else None,
        nearest_mode=None if linear or op.nearest_mode.value == "round_prefer_floor" else op.nearest_mode.value,
        axes=op.axes if op.axes and not covers_all else None,
        antialias=1 if op.antialias else None,
        cubic_coeff_a=op.cubic_coeff_a if op.mode.value == "cubic" and op.cubic_coeff_a != -0.75 else None,
        exclude_outside=1 if op.exclude_outside else None,
        extrapolation_value=op.extrapolation_value or None,
        keep_aspect_ratio_policy=(
            op.keep_aspect_ratio_policy.value if op.keep_aspect_ratio_policy is not AspectPolicy.STRETCH else None
        ),
    )


def _can_name_all_axes(node: ExportNode[Resize]) -> bool:
    """Return whether sizes or factors of all axes can be said, and better so."""
    op = node.op
    value = node.optional(0)
    if value is None or value.shape is None or op.keep_aspect_ratio_policy is not AspectPolicy.STRETCH:
        return False
    if len(node.input_names()) > 1 and node.input_names()[1]:
        return False
    axes = [axis % len(value.shape) for axis in op.axes]
    if op.factors or node.optional(3) is None:
        return bool(op.factors)
    if node.known(3) is not None:
        others = [size for axis, size in enumerate(value.shape) if axis not in axes]
        if all(isinstance(size, int) for size in others) or _exact_factors(node, len(value.shape)):
            return True
    return axes == list(range(axes[0], len(value.shape))) and _is_behind_transpose(value)


def _exact_factors(node: ExportNode[Resize], rank: int) -> tuple[float, ...]:
    """Factors of all axes that give the known sizes of some of them, where the others are open; none if there are none.

    They are quotients in float32, rounded up where a runtime that multiplies in more digits would lose an element. The
    nearest element may be another one by such a quotient, so that it has to be exact for that.
    """
    known, value = node.known(3) if node.optional(3) is not None else None, node.optional(0)
    shape = () if value is None or value.shape is None else value.shape
    axes = [axis % rank for axis in node.op.axes]
    if known is None or all(isinstance(size, int) for axis, size in enumerate(shape) if axis not in axes):
        return ()
    result = [np.float32(1)] * rank
    for axis, new in zip(axes, known, strict=True):
        old = shape[axis]
        if not isinstance(old, int) or not isinstance(new, int) or old < 1:
            return ()
        factor = np.float32(new) / np.float32(old)
        product = Fraction(float(factor)) * old
        if product < new:
            factor = np.nextafter(factor, np.float32(math.inf))
        if (node.op.mode is ResizeMode.NEAREST and product != new) or int(np.float32(old) * factor) != new:
            return ()
        result[axis] = factor
    return tuple(float(factor) for factor in result)


def _is_behind_transpose(value: Value) -> bool:
    """Return whether a Transpose stands before the value with nothing in between that has a layout of its own."""
    pending, seen = [value], 0
    while pending and seen < NEARBY:
        producer = pending.pop().producer
        seen += 1
        if producer is None or isinstance(producer.op, LAID_OUT):
            continue
        if isinstance(producer.op, Transpose):
            return True
        pending += [operand for operand in producer.inputs if operand is not None]
    return False


def _rank(node: AnyNode) -> int:
    value = node.optional(0)
    if value is None or value.rank is None:
        node.refuse(f"Resize of some axes needs the number of axes before opset 18, the target is {node.opset}")
    return value.rank


def _all_sizes(node: ExportNode[Resize], rank: int) -> str:
    """Return the sizes of all axes, from those of the axes that are resized and the data's own."""
    op = node.op
    value = node.optional(0)
    axes = [axis % rank for axis in op.axes]
    known = node.known(3)
    shape = value.shape if value is not None else None
    assert shape is not None
    if known is not None:
        full = [known[axes.index(axis)] if axis in axes else shape[axis] for axis in range(rank)]
        if all(isinstance(size, int) for size in full):
            return node.vector(full)
    data, wanted = node.input_names()[0], node.input_names()[3]
    if sorted(axes) != axes or axes != list(range(axes[0], rank)):
        node.refuse(f"Resize of the axes {axes} with open sizes exists from opset 18 on, the target is {node.opset}")
    whole = node.step("Shape", [data])
    kept = node.step("Slice", [whole, node.vector([0]), node.vector([axes[0]])])
    return node.step("Concat", [kept, wanted], axis=0, suffix="sizes")


def _whole_roi(node: ExportNode[Resize], rank: int) -> str:
    """Return the first and last place of every axis, from those of the axes that are resized: 0 and 1 of the others."""
    axes = [axis % rank for axis in node.op.axes]
    first, last = 2 * len(axes), 2 * len(axes) + 1
    starts = [axes.index(axis) if axis in axes else first for axis in range(rank)]
    ends = [len(axes) + axes.index(axis) if axis in axes else last for axis in range(rank)]
    roi = node.input_names()[1]
    bounds = node.constant(np.asarray([0, 1], node.dtype(1).numpy()), suffix="bounds")
    stated = node.step("Concat", [roi, bounds], axis=0, suffix="stated")
    return node.step("Gather", [stated, node.vector([*starts, *ends])], axis=0, suffix="roi")


def export_grid_sample(node: ExportNode[GridSample]) -> None:
    """GridSample exists from opset 16 on (linear and cubic are called bilinear and bicubic before 20)."""
    op = node.op
    if node.opset < 16:
        _sample_by_gathering(node)
        return
    mode = op.mode.value
    if node.opset < 20 and op.mode is not SampleMode.NEAREST:
        mode = f"bi{mode}"
    node.emit(
        "GridSample",
        node.input_names(),
        mode=None if op.mode is SampleMode.LINEAR else mode,
        padding_mode=None if op.padding_mode is SamplePadding.ZEROS else op.padding_mode.value,
        align_corners=1 if op.align_corners else None,
    )


def _sample_by_gathering(node: ExportNode[GridSample]) -> None:
    """Bilinear sampling of images from four gathered neighbours each, weighted; 0 outside."""
    op = node.op
    image = node.optional(0)
    if op.mode is not SampleMode.LINEAR or op.padding_mode is not SamplePadding.ZEROS or image is None:
        node.refuse(f"GridSample other than linear with zeros exists from opset 16 on, the target is {node.opset}")
    shape = image.shape or ()
    if len(shape) != 4 or not all(isinstance(size, int) for size in shape[2:]):
        node.refuse(f"GridSample of {image.type} exists from opset 16 on, the target is {node.opset}; fix its sizes")
    data, grid = node.input_names()
    code = CODES[node.dtype()]
    sizes = np.asarray([shape[3], shape[2]], np.float64)
    scale, offset = ((sizes - 1) / 2, (sizes - 1) / 2) if op.align_corners else (sizes / 2, (sizes - 1) / 2)
    position = node.step("Mul", [grid, _like(node, scale)], suffix="scaled")
    position = node.step("Add", [position, _like(node, offset)], suffix="position")
    low = node.step("Floor", [position], suffix="low")
    upper = node.step("Sub", [position, low], suffix="upper")
    lower = node.step("Sub", [node.scalar(1.0), upper], suffix="lower")
    rows = node.step("Transpose", [data], perm=(0, 2, 3, 1), suffix="rows")
    parts = []
    for right in (0, 1):
        for down in (0, 1):
            corner = node.step("Add", [low, _like(node, np.asarray([right, down]))], suffix="corner")
            nearest = node.step("Clip", [corner, node.scalar(0.0)], suffix="clip")
            nearest = node.step("Min", [nearest, _like(node, sizes - 1)], suffix="nearest")
            inside = node.step("Cast", [node.step("Equal", [corner, nearest])], to=code, suffix="inside")
            sides = [
                node.step("Gather", [upper if side else lower, node.vector([index])], axis=-1, suffix="side")
                for index, side in enumerate((right, down))
            ]
            weights = node.step("Concat", sides, axis=-1, suffix="weights")
            weights = node.step("Mul", [weights, inside], suffix="weighted")
            weight = node.reduce("ReduceProd", weights, (-1,))
            index = node.step("Cast", [nearest], to=CODES[DType.INT64], suffix="index")
            index = node.step("Gather", [index, node.vector([1, 0])], axis=-1, suffix="row_column")
            samples = node.step("GatherND", [rows, index], batch_dims=1, suffix="found")
            parts.append(node.step("Mul", [samples, weight], suffix="part"))
    node.emit("Transpose", [node.step("Sum", parts)], perm=(0, 3, 1, 2))


def _like(node: AnyNode, numbers: object) -> str:
    return node.constant(np.asarray(numbers, node.dtype().numpy()))


EXPORTS = table(row(Resize, export_resize), row(GridSample, export_grid_sample), row(AffineGrid, direct(since=20)))


def import_resize(node: ImportNode) -> None:
    """Read Resize. Constant factors become an attribute; before opset 13 an empty tensor stands for an absent
    operand."""
    fields = node.fields(Resize)
    stated = node.attribute("coordinate_transformation_mode")
    if stated == "tf_half_pixel_for_nn":
        fields |= _from_half_pixel_for_nn(node, fields)
    else:
        fields["coordinates"] = node.enum("coordinate_transformation_mode", Coordinates, Coordinates.HALF_PIXEL)
    cropping = fields["coordinates"] is Coordinates.TF_CROP_AND_RESIZE
    scales, sizes = _stated_input(node, 2), _stated_input(node, 3)
    factors = None if scales is None else scales.tensor
    if factors is not None:
        _expect_vector(factors)
        fields["factors"], scales = tuple(map(float, factors.numpy())), None
    node.emit(Resize(**fields), node.input(0), _stated_input(node, 1) if cropping else None, scales, sizes)


def _expect_vector(scales: Tensor) -> None:
    if len(scales.shape) != 1:
        raise ShapeError(f"scales has the shape {format_shape(scales.shape)}, expected one axis")


def _stated_input(node: ImportNode, slot: int) -> Value | None:
    value = node.optional(slot)
    return None if value is None or value.shape == (0,) else value


def _from_half_pixel_for_nn(node: ImportNode, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the floor of (x + 0.5) / factor is the half-pixel position (x + 0.5) / factor - 0.5 rounded, halves up."""
    if fields["mode"] is not ResizeMode.NEAREST or fields["nearest_mode"] is not NearestMode.FLOOR:
        node.refuse("tf_half_pixel_for_nn with anything but mode nearest and nearest_mode floor cannot be expressed")
    return {"coordinates": Coordinates.HALF_PIXEL, "nearest_mode": NearestMode.ROUND_PREFER_CEIL}


def import_resize_10(node: ImportNode) -> None:
    """Resize-10 and Upsample-9, whose factors are an operand."""
    scales = node.input(1)
    if scales.tensor is not None:
        _expect_vector(scales.tensor)
        _resize_by(node, tuple(map(float, scales.tensor.numpy())))
        return
    mode = _old_mode(node)
    if mode is ResizeMode.NEAREST and node.op == "Resize":
        node.refuse("computed scales do not say which neighbour Resize-10 takes; make them constant")
    op = Resize(mode, Coordinates.ASYMMETRIC, NearestMode.FLOOR)
    node.emit(op, node.input(0), None, scales)


def _old_mode(node: ImportNode) -> ResizeMode:
    mode = node.attribute("mode")
    return ResizeMode.LINEAR if mode == "bilinear" else node.enum("mode", ResizeMode, ResizeMode.NEAREST)


def _resize_by(node: ImportNode, factors: tuple[float, ...]) -> None:
    """What there was before opset 11: element x comes from x / factor.

    The nearest is the one before when an axis grows and the one behind when it shrinks (onnx's test of Resize-10).
    """
    op = Resize(_old_mode(node), Coordinates.ASYMMETRIC, NearestMode.FLOOR, factors)
    x = node.input(0)
    shrinking = tuple(min(factor, 1.0) for factor in factors)
    if op.mode is not ResizeMode.NEAREST or shrinking == (1.0,) * len(factors):
        node.emit(op, x)
        return
    shrink = replace(op, factors=shrinking, nearest_mode=NearestMode.CEIL)
    if shrinking == factors:
        node.emit(shrink, x)
        return
    node.emit(replace(op, factors=tuple(max(factor, 1.0) for factor in factors)), node.step(shrink, x))


def import_grid_sample(node: ImportNode) -> None:
    """Read GridSample, whose modes had a prefix before opset 20."""
    mode = node.attribute("mode").removeprefix("bi")
    modes = {member.value: member for member in SampleMode}.get(mode)
    if modes is None:
        node.refuse(f"mode is {mode!r}, expected one of {', '.join(member.value for member in SampleMode)}")
    op = GridSample(
        modes,
        node.enum("padding_mode", SamplePadding, SamplePadding.ZEROS),
        node.flag("align_corners"),
    )
    node.emit(op, *node.inputs)


IMPORTS: ImportTable = {
    "Resize": {10: import_resize_10, 11: import_resize},
    "Upsample": {
        1: lambda node: _resize_by(node, (1.0, 1.0, node.attribute("height_scale"), node.attribute("width_scale"))),
        7: lambda node: _resize_by(node, node.attribute("scales")),
        9: import_resize_10,
        10: lambda node: node.refuse("it ended with opset 9; Resize replaces it"),
    },
    "GridSample": {16: import_grid_sample},
    "AffineGrid": {20: import_direct(AffineGrid)},
}
