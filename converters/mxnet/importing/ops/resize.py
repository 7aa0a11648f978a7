"""Upsampling, bilinear resizing, and sampling at grid positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.convolution import ConvTranspose
from graphir.ops.elementwise import Add, Div, Mul, Sub, Sum
from graphir.ops.linear import MatMul
from graphir.ops.resize import Coordinates, GridSample, NearestMode, Resize, ResizeMode, scaled
from graphir.ops.shape import Reshape, Shape, Transpose
from graphir.ops.shape_parts import Concat
from graphir.padding import symmetric
from graphir.types import UNKNOWN, Dim, DType, TensorType


def import_upsampling(node: ImportNode) -> Value:
    """nearest: inputs enlarged to `scale` times the first one's size, then concatenated or summed; or bilinear."""
    attrs = node.attrs
    scale = attrs["scale"]
    if scale < 1:
        node.refuse(f"scale {scale} is below 1")
    if attrs["sample_type"] == "bilinear":
        return _bilinear_upsampling(node, scale)
    inputs = node.inputs
    if len(inputs) == 1:
        return node.emit(*_enlarged(node, inputs[0], scale))
    values = [inputs[0] if scale == 1 else node.step(*_enlarged(node, inputs[0], scale), suffix="enlarged")]
    for value in inputs[1:]:
        factor = _factor(node, inputs[0], value, scale)
        if factor != 1:
            enlarged = _enlarged(node, value, factor) if factor else _enlarged_like(node, value, inputs[0], scale)
            value = node.step(*enlarged, suffix="enlarged")
        values.append(value)
    if attrs["multi_input_mode"] == "concat":
        return node.emit(Concat(axis=1), *values)
    return node.emit(Add(same_shape=True) if len(values) == 2 else Sum(), *values)


def _factor(node: ImportNode, first: Value, value: Value, scale: int) -> int | None:
    """Return the factor that brings a value to `scale` times the first one's height; None if their sizes leave it
    open."""
    if first.shape is None or value.shape is None or len(first.shape) != 4 or len(value.shape) != 4:
        return None
    wanted, own = first.shape[2] * scale, value.shape[2]
    factor = wanted // own
    if not isinstance(factor, int):
        return None
    if factor < 1 or factor * own != wanted:
        node.refuse(f"height {own} of {value.name} does not divide {wanted}, the height of the result")
    return factor


NEAREST = (ResizeMode.NEAREST, Coordinates.ASYMMETRIC, NearestMode.FLOOR)


def _enlarged(node: ImportNode, value: Value, factor: int) -> tuple[Operator, *tuple[Value, ...]]:
    # Every element repeated: position // factor, which asymmetric coordinates rounded down are.
    node.graph.refine(value, _rank_4(value))
    return Resize(*NEAREST, factors=(1.0, 1.0, float(factor), float(factor))), value


def _enlarged_like(
    node: ImportNode, value: Value, first: Value, scale: int
) -> tuple[Operator, *tuple[Value | None, ...]]:
    node.graph.refine(value, _rank_4(value))
    node.decide(
        DecisionKind.UPSAMPLING, f"{value.name} is enlarged to {scale} times the size that {first.name} has at run time"
    )
    size = node.step(Shape(start=2, end=4), first, suffix="size")
    wanted = node.step(Mul(), size, node.constant(scale, DType.INT64), suffix="enlarged_size")
    return Resize(*NEAREST, axes=(2, 3)), value, None, None, wanted


def _rank_4(value: Value) -> TensorType:
    return TensorType(value.dtype, (UNKNOWN,) * 4)


def _bilinear_upsampling(node: ImportNode, scale: int) -> Value:
    """Return a depthwise deconvolution with the weight (C, 1, k, k) that the model holds."""
    kernel, pad = 2 * scale - scale % 2, scale // 2
    data = node.input(0)
    channels = node.attrs["num_filter"]
    if data.shape is not None and len(data.shape) == 4 and isinstance(data.shape[1], int):
        channels = data.shape[1]
    if not channels:
        (channels,) = node.sizes(data, (1,))
    op = ConvTranspose(
        kernel_shape=(kernel, kernel), strides=(scale, scale), padding=symmetric((pad, pad)), group=channels
    )
    return node.emit(op, data, node.shaped(1, (channels, 1, kernel, kernel)))


def import_bilinear_resize(node: ImportNode) -> Value:
    """(N, C, H, W) resized by linear interpolation, corner to corner unless align_corners is False."""
    attrs = node.attrs
    data = node.input(0)
    if data.rank not in (None, 4):
        node.refuse(f"{data.name} is {data.type}, expected 4 axes")
    node.graph.refine(data, _rank_4(data))
    aligned = attrs["align_corners"]
    coordinates = Coordinates.ALIGN_CORNERS if aligned else Coordinates.HALF_PIXEL
    if attrs["mode"] == "like":
        like = node.input(1)
        wanted = node.step(Shape(start=2, end=4), like, suffix="like")
        coordinates = _coordinates(aligned, (UNKNOWN,) if like.shape is None else like.shape[2:])
        return node.emit(Resize(ResizeMode.LINEAR, coordinates, axes=(2, 3)), data, None, None, wanted)
    height, width = attrs["scale_height"], attrs["scale_width"]
    if attrs["mode"] == "size" and height is None:  # alone, a width's scale is not read
        sizes: tuple[Dim, ...] = (attrs["height"], attrs["width"])
    else:
        open_size = any(not isinstance(size, int) for size in node.shape(data)[2:])
        simple = attrs["mode"] == "size" and None not in (height, width)
        if open_size and simple and (aligned or (float(height).is_integer() and float(width).is_integer())):
            op = Resize(ResizeMode.LINEAR, coordinates, factors=(1.0, 1.0, float(height), float(width)))
            return node.emit(op, data)
        rows, columns = node.sizes(data, (2, 3))
        sizes = (
            _resized(attrs["mode"], rows, attrs["height"], height),
            _resized(attrs["mode"], columns, attrs["width"], width),
        )
        node.decide(
            DecisionKind.RESIZE, f"mode {attrs['mode']} at input size {[rows, columns]} became the size {list(sizes)}"
        )
    if any(not isinstance(size, int) or size < 1 for size in sizes):
        node.refuse(f"the result's size {list(sizes)} must be positive")
    wanted = node.constant(list(sizes), DType.INT64)
    op = Resize(ResizeMode.LINEAR, _coordinates(aligned, sizes), axes=(2, 3))
    return node.emit(op, data, None, None, wanted)


def _coordinates(aligned: bool, sizes: tuple[Dim, ...]) -> Coordinates:
    """Corner to corner, or pixel by pixel: of a result of one, MXNet takes the first and not the middle."""
    if aligned:
        return Coordinates.ALIGN_CORNERS
    several = all(isinstance(size, int) and size > 1 for size in sizes)
    return Coordinates.HALF_PIXEL if several else Coordinates.PYTORCH_HALF_PIXEL


def _resized(mode: str, size: int, length: int, scale: float | None) -> int:
    """Return the result's size on one axis. Source: src/operator/contrib/bilinear_resize-inl.h of MXNet 1.9.1."""
    if mode == "size":
        return length if scale is None else _int(scaled(size, scale))
    if mode == "odd_scale":
        factor = 1.0 if scale is None else scale
        return _int(scaled(size, factor)) if size % 2 == 0 else _int(scaled(size - 1, factor)) + 1
    down = mode.endswith("_down")
    wanted_parity = 0 if mode.startswith("to_even") else 1
    if size % 2 == wanted_parity:
        return size
    return size - 1 if down else size + 1


def _int(size: Dim) -> int:
    assert isinstance(size, int)
    return size


def _regular(count: int) -> NDArray[Any]:
    return -1 + np.arange(count) * 2 / (count - 1)


def _target(node: ImportNode) -> tuple[int, int]:
    height, width = node.several("target_shape", 2)
    if height < 2 or width < 2:
        node.refuse(f"target_shape {[height, width]}: MXNet divides by the size less 1, so each must be 2 or more")
    return height, width


def _points(node: ImportNode, height: int, width: int) -> NDArray[Any]:
    """Regular positions as columns x, y, 1: (height * width, 3)."""
    node.charge(height * width * 3, "its positions")
    x, y = np.meshgrid(_regular(width), _regular(height))
    return np.stack([x.ravel(), y.ravel(), np.ones(height * width)], axis=1)


def _matrices(node: ImportNode, location: Value) -> Value:
    return node.step(Reshape(), location, node.vector([-1, 2, 3]), suffix="matrices")


def import_grid_generator(node: ImportNode) -> Value:
    """Sampling grids (N, 2, H, W), x then y in [-1, 1], from affine matrices (N, 6) or from flows (N, 2, H, W)."""
    data = node.input(0)
    dtype = data.dtype or DType.FLOAT32
    if node.attrs["transform_type"] == "affine":
        height, width = _target(node)
        points = node.constant(_points(node, height, width).T, dtype)
        grid = node.step(MatMul(), _matrices(node, data), points, suffix="positions")
        return node.emit(Reshape(), grid, node.vector([0, 2, height, width]))
    height, width = node.sizes(data, (2, 3))
    if height < 2 or width < 2:
        node.refuse(f"a flow of {height} by {width}: MXNet divides by the size less 1, so each must be 2 or more")
    node.charge(height * width * 2, "its positions")
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    moved = node.step(Add(), data, node.constant(np.stack([columns, rows])[None], dtype), suffix="moved")
    halves = np.asarray([(width - 1) / 2, (height - 1) / 2]).reshape(1, 2, 1, 1)
    return node.emit(Sub(), node.step(Div(), moved, node.constant(halves, dtype)), node.constant(1.0, dtype))


def import_bilinear_sampler(node: ImportNode) -> Value:
    """data (N, C, H, W) read at the positions of grid (N, 2, H', W'), x then y in [-1, 1]; 0 outside."""
    data, grid = node.input(0), node.shaped(1, (UNKNOWN, 2, UNKNOWN, UNKNOWN))
    turned = node.step(Transpose((0, 2, 3, 1)), grid, suffix="grid")
    return node.emit(GridSample(align_corners=True), data, turned)


def import_spatial_transformer(node: ImportNode) -> Value:
    """data (N, C, H, W) sampled at the affine grid that the matrices (N, 6) make."""
    data, location = node.input(0), node.input(1)
    height, width = _target(node)
    points = node.constant(_points(node, height, width), data.dtype or DType.FLOAT32)
    matrices = node.step(Transpose((0, 2, 1)), _matrices(node, location), suffix="columns")
    positions = node.step(MatMul(), points, matrices, suffix="positions")
    grid = node.step(Reshape(), positions, node.vector([0, height, width, 2]), suffix="grid")
    return node.emit(GridSample(align_corners=True), data, grid)


IMPORTS = {
    "UpSampling": import_upsampling,
    "_contrib_BilinearResize2D": import_bilinear_resize,
    "GridGenerator": import_grid_generator,
    "BilinearSampler": import_bilinear_sampler,
    "SpatialTransformer": import_spatial_transformer,
}
