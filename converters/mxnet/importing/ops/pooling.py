"""Pooling in all of MXNet's conventions.

MXNet's `full` convention rounds the number of windows up and lets the last one reach beyond the padding; ONNX's ceil
mode does the same, except that it drops a last window which starts behind the data. Such a window sees padding only,
so its result is a constant, and padding the output with that constant restores it. The average's divisor counts the
stated padding (`count_include_pad`) but never what lies beyond it, in both. Where it counts nothing the average is 0
over one or two axes, but over three what 0 / 0 is. Pooling_v1 takes the padding's zeros for data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from graphir.converters.kernel.refusals import NeedsShape
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.layout import channels_first, finish, is_channels_first, layout_of
from graphir.converters.mxnet.importing.regions import may_lack_image, with_image, zeros_without_image
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import Abs, Add, Floor, Mul, Pow, Sign, Where
from graphir.ops.linear import MatMul
from graphir.ops.pooling import (
    AveragePool,
    GlobalAveragePool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    MaxRoiPool,
)
from graphir.ops.reduction import ReduceL2, ReduceSum
from graphir.ops.shape import Pad
from graphir.padding import Explicit
from graphir.structure.record import record
from graphir.types import UNKNOWN, DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

EUCLIDEAN: Callable[..., Operator] = ReduceL2


@record
class Windows:
    """How MXNet lays windows over one spatial axis: its size, kernel, stride, pad and the number of windows."""

    size: int
    kernel: int
    stride: int
    pad: int
    count: int

    @property
    def outside(self) -> int:
        """Windows at the end (0 or 1) that start behind the data."""
        return int((self.count - 1) * self.stride >= self.size + self.pad)

    @property
    def beyond(self) -> int:
        """Elements by which the last window that sees data reaches beyond the stated padding."""
        return max((self.count - self.outside - 1) * self.stride + self.kernel - (self.size + 2 * self.pad), 0)

    def outside_divisor(self, include: bool) -> int:
        """Return what this axis of the window behind the data adds to MXNet's divisor of its average, as a factor."""
        start = (self.count - 1) * self.stride - self.pad
        divisor = min(start + self.kernel, self.size + self.pad) - start
        if not include:
            divisor = self.size - start
        return divisor


def import_pooling(node: ImportNode) -> Value:
    """Return the pooled data (N, C, D...), of any layout: max, avg, sum or lp; valid, full or same; local or global."""
    attrs = node.attrs
    kernel = attrs["kernel"] or ()
    layout = attrs.get("layout")
    if attrs["global_pool"]:
        if layout is None or is_channels_first(layout):
            return node.emit(*_global_operator(node, node.input(0)))
        data = channels_first(node, node.input(0), layout)
        op, *operands = _global_operator(node, data)
        return finish(node, node.step(op, *operands, suffix="pool"), layout)
    layout = layout_of(node, len(kernel))
    data = channels_first(node, node.input(0), layout)
    op, *operands = _window_operator(node, data)
    if is_channels_first(layout):
        return node.emit(op, *operands)
    return finish(node, node.step(op, *operands, suffix="pool"), layout)


def _global_operator(node: ImportNode, data: Value) -> tuple[Operator, *tuple[Value, ...]]:
    kind = node.attrs["pool_type"]
    if kind == "max":
        return GlobalMaxPool(), data
    if kind == "avg":
        return GlobalAveragePool(), data
    spatial = node.vector(range(2, node.rank(data)))
    if kind == "lp" and _norm_order(node) == 2:
        return EUCLIDEAN(keepdims=True), data, spatial
    if kind == "lp" and _norm_order(node) == 3:
        return _signed_cube_root(node, node.step(ReduceSum(keepdims=True), _cube(node, data), spatial, suffix="sum"))
    return ReduceSum(keepdims=True), data, spatial


def _norm_order(node: ImportNode) -> int:
    order = node.attrs.get("p_value")
    if order not in (1, 2, 3):
        node.refuse(f"p_value {order}: pool_type lp needs 1, 2 or 3")
    return int(order)


def _cube(node: ImportNode, data: Value) -> Value:
    return node.step(Mul(), node.step(Mul(), data, data, suffix="square"), data, suffix="cube")


def _signed_cube_root(node: ImportNode, value: Value) -> tuple[Operator, *tuple[Value, ...]]:
    """Return the cube root; ONNX's Pow has none of negative numbers."""
    root = node.step(Pow(), node.step(Abs(), value), node.scalar_like(value, 1 / 3), suffix="root")
    return Mul(), node.step(Sign(), value), root


def _window_operator(node: ImportNode, data: Value) -> tuple[Operator, *tuple[Value, ...]]:
    attrs = node.attrs
    kernel: tuple[int, ...] = attrs["kernel"]
    rank = len(kernel)
    strides = attrs["stride"][:rank] or (1,) * rank
    pads = attrs["pad"][:rank] or (0,) * rank
    convention = attrs["pooling_convention"]
    kind = attrs["pool_type"]
    if convention == "same" and (rank != 1 or kind != "max"):
        node.refuse("pooling_convention same is for max pooling over one spatial axis only")
    wide = any(pad >= width for pad, width in zip(pads, kernel, strict=True))  # ONNX allows none that is
    if node.op == "Pooling_v1" and any(pads) and (kind == "max" or wide):
        data = _zeros_around(node, data, pads)
        pads = (0,) * rank
    include = _counts_padding(node)
    if convention == "valid":
        return _operator(node, kind, data, kernel, strides, pads, (0,) * rank, include)
    windows = _windows(node, data, strides, pads)
    divides_by_kernel = kind in ("sum", "lp") or (kind == "avg" and node.op == "Pooling_v1")
    if windows is None:
        if divides_by_kernel:
            raise NeedsShape(f"pooling_convention {convention} with pool_type {kind} needs the sizes of {data.name}")
        node.decide(
            DecisionKind.POOLING_CONVENTION, f"{convention} became ceil mode, which counts the same windows here"
        )
        return _operator(node, kind, data, kernel, strides, pads, None, include)
    beyond = tuple(axis.beyond for axis in windows)
    sizes = [axis.size for axis in windows]
    if not any(beyond):
        text = f"{convention} is the same as valid at input size {sizes}"
        op, *operands = _operator(node, kind, data, kernel, strides, pads, beyond, include)
    elif not divides_by_kernel and convention == "full":
        text = f"{convention} became ceil mode at input size {sizes}"
        op, *operands = _operator(node, kind, data, kernel, strides, pads, None, include)
    else:
        text = f"{convention} became {list(beyond)} more padding elements behind the data at input size {sizes}"
        op, *operands = _operator(node, kind, data, kernel, strides, pads, beyond, include)
    if any(axis.outside for axis in windows):
        text += "; windows that start behind the data are constants"
        op, *operands = _with_outside(node, node.step(op, *operands, suffix="inside"), windows, include)
    node.decide(DecisionKind.POOLING_CONVENTION, text)
    return op, *operands


def _zeros_around(node: ImportNode, data: Value, pads: tuple[int, ...]) -> Value:
    node.decide(DecisionKind.PADDING, "Pooling_v1 pads with zeros, which are part of the windows")
    around = (0, 0, *pads)
    return node.step(Pad(), data, node.vector([*around, *around]), suffix="padded")


def _with_outside(
    node: ImportNode, pooled: Value, windows: list[Windows], include: bool
) -> tuple[Operator, *tuple[Value, ...]]:
    """Return the output with the constant results of windows behind the data; zeros first, so that NaN wins in the
    corners."""
    dtype, kind = pooled.dtype or DType.FLOAT32, node.attrs["pool_type"]
    by_fill: dict[str, list[int]] = {}
    if kind == "max" and not dtype.is_float:
        node.refuse(f"{pooled.name} is {dtype}, of which MXNet has no maximum of no elements")
    lowest = -math.inf if node.op == "Pooling_v1" else float(np.finfo(dtype.numpy()).min)
    fills = {"lowest": lowest, "zero": 0.0, "nan": math.nan}
    for index, axis in enumerate(windows):
        if axis.outside:
            is_divided = kind == "avg" and len(windows) == 3
            nothing = "nan" if is_divided and axis.outside_divisor(include) == 0 else "zero"
            fill = "lowest" if kind == "max" else nothing
            by_fill.setdefault(fill, []).append(index + 2)
    steps: list[tuple[Value, Value]] = []
    for fill in ("lowest", "zero", "nan"):
        if fill in by_fill:
            pads = [0] * (2 * (len(windows) + 2))
            for index in by_fill[fill]:
                pads[index + len(windows) + 2] = 1
            steps.append((node.vector(pads), node.scalar_like(pooled, fills[fill])))
    for pads_value, fill_value in steps[:-1]:
        pooled = node.step(Pad(), pooled, pads_value, fill_value, suffix="outside")
    return Pad(), pooled, *steps[-1]


def _counts_padding(node: ImportNode) -> bool:
    if node.op == "Pooling_v1" or node.attrs["pool_type"] != "avg":
        return True
    include = node.attrs.get("count_include_pad")
    pads = node.attrs["pad"][: len(node.attrs["kernel"])]
    if any(pads) and "count_include_pad" not in node.attrs.stated:
        node.decide(
            DecisionKind.AVERAGE_POOL_DIVISOR, "count_include_pad is not stated: the padding counts (MXNet's default)"
        )
    return include is None or bool(include)


def _windows(node: ImportNode, data: Value, strides: tuple[int, ...], pads: tuple[int, ...]) -> list[Windows] | None:
    """MXNet's windows on each axis; None if sizes are unknown and ceil mode is right for every size."""
    kernel, convention = node.attrs["kernel"], node.attrs["pooling_convention"]
    try:
        sizes = node.sizes(data, range(2, 2 + len(kernel)))
    except NeedsShape:
        always = all(pad + stride <= width for pad, stride, width in zip(pads, strides, kernel, strict=True))
        if convention == "full" and always:
            return None
        raise
    result = []
    for size, width, stride, pad in zip(sizes, kernel, strides, pads, strict=True):
        count = -(-(size + 2 * pad) // stride) if convention == "same" else -(-(size + 2 * pad - width) // stride) + 1
        result.append(Windows(size, width, stride, pad, count))
    return result


def _operator(
    node: ImportNode,
    kind: str,
    data: Value,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    beyond: tuple[int, ...] | None,
    include: bool,
) -> tuple[Operator, *tuple[Value, ...]]:
    """Return the pooling with `beyond` more elements of padding behind, or with ceil mode if that is None."""
    ceil_mode = beyond is None
    extra = beyond or (0,) * len(kernel)
    padding = Explicit(tuple((pad, pad + more) for pad, more in zip(pads, extra, strict=True)))
    if kind == "max":
        return MaxPool(kernel_shape=kernel, strides=strides, padding=padding, ceil_mode=ceil_mode), data
    order = _norm_order(node) if kind == "lp" else 1
    if order == 2:
        return LpPool(kernel_shape=kernel, strides=strides, padding=padding, ceil_mode=ceil_mode, p=2), data
    if order == 3:
        # MXNet takes no absolute values, so odd powers are sums with signs, which ONNX's norms are not.
        data = _cube(node, data)
    average = AveragePool(
        kernel_shape=kernel,
        strides=strides,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=include and not padding.is_zero,
    )
    if kind == "avg":
        return average, data
    mean = node.step(average, data, suffix="mean")
    count = node.scalar_like(data, float(np.prod(kernel)))
    if order == 3:
        return _signed_cube_root(node, node.step(Mul(), mean, count, suffix="sum"))
    return Mul(), mean, count


def import_adaptive_average_pooling(node: ImportNode) -> Value:
    """(N, C, H, W) to (N, C, *output_size): cell i of n averages rows floor(i H / n) to ceil((i + 1) H / n)."""
    wanted = tuple(node.attrs["output_size"] or (1,))
    if len(wanted) > 2 or any(size < 1 for size in wanted):
        node.refuse(f"output_size {list(wanted)}: expected one or two positive sizes")
    rows, columns = wanted[0], wanted[-1]
    data = node.input(0)
    if data.rank not in (None, 4):
        node.refuse(f"{data.name} is {data.type}, expected 4 axes")
    if rows == columns == 1:
        return node.emit(GlobalAveragePool(), data)
    height, width = node.sizes(data, (2, 3))
    if height % rows == 0 and width % columns == 0:
        kernel = (height // rows, width // columns)
        node.decide(DecisionKind.ADAPTIVE_POOLING, f"windows of {list(kernel)} at input size {[height, width]}")
        return node.emit(AveragePool(kernel_shape=kernel, strides=kernel), data)
    node.decide(
        DecisionKind.ADAPTIVE_POOLING, f"uneven windows at input size {[height, width]} became two matrix products"
    )
    node.charge(height * rows + width * columns, "its matrices")
    dtype = data.dtype or DType.FLOAT32
    by_rows = node.step(MatMul(), node.constant(_averaging(height, rows), dtype), data, suffix="rows")
    return node.emit(MatMul(), by_rows, node.constant(_averaging(width, columns).T, dtype))


def _averaging(size: int, count: int) -> NDArray[np.float64]:
    """Return the matrix (count, size) whose row i averages cell i."""
    matrix = np.zeros((count, size))
    for cell in range(count):
        start, end = cell * size // count, -(-(cell + 1) * size // count)
        matrix[cell, start:end] = 1 / (end - start)
    return matrix


def _scaled(node: ImportNode, rois: Value, scale: float) -> Value:
    """Regions whose corners are scaled by a float32 and rounded as C rounds, halves away from 0."""
    factors = node.constant([[1.0, *[float(np.float32(scale))] * 4]], DType.FLOAT64)
    exact = node.step(Mul(), rois, factors, suffix="scaled")
    shifted = node.step(Add(), node.step(Abs(), exact), node.constant(0.5, DType.FLOAT64))
    corners = node.step(Mul(), node.step(Sign(), exact), node.step(Floor(), shifted), suffix="rounded")
    mask = node.constant([[True, *[False] * 4]], DType.BOOL)
    return node.step(Where(), mask, rois, corners, suffix="regions")


def import_roi_pooling(node: ImportNode) -> Value:
    """Return the maximum over each cell of each region (batch, x1, y1, x2, y2); ONNX's operator rounds and clips alike.

    Regions with a batch index below 0, which ONNX does not allow, are 0 where they may occur (`may_lack_image`).
    """
    attrs = node.attrs
    data, rois, scale = node.input(0), node.shaped(1, (UNKNOWN, 5)), attrs["spatial_scale"]
    if rois.dtype is DType.FLOAT64:  # as float32, in which onnxruntime computes, 5 * 0.9f is 4.5, and rounded to 5
        rois, scale = _scaled(node, rois, scale), 1.0
    op = MaxRoiPool(pooled_shape=attrs["pooled_size"], spatial_scale=scale)
    if not may_lack_image(node, rois):
        return node.emit(op, data, rois)
    pooled = node.step(op, data, with_image(node, rois), suffix="pooled")
    return zeros_without_image(node, rois, pooled)


IMPORTS = {
    "Pooling": import_pooling,
    "Pooling_v1": import_pooling,
    "ROIPooling": import_roi_pooling,
    "_contrib_AdaptiveAvgPooling2D": import_adaptive_average_pooling,
}
