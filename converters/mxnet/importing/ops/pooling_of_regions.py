"""Poolings of regions that ONNX has no operator for, in gathers from the flat data.

A mean of whole pixels comes from the sums of everything above and left of four corners, taken in float64; one of
samples from the four pixels around each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode, to_single
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.creation import Range
from graphir.ops.extent import Pad
from graphir.ops.indexing import Gather
from graphir.ops.reduction import ReduceMax, ReduceSum
from graphir.ops.selection import CumSum
from graphir.ops.shape import Reshape, Shape, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.types import UNKNOWN, DType

DOUBLE, INDEX = DType.FLOAT64, DType.INT64


class _Regions:
    """The words of the compositions: columns of regions, numbers in their dtype, sizes of the data."""

    def __init__(self, node: ImportNode, columns: int) -> None:
        self.node = node
        self.data = node.shaped(0, (UNKNOWN,) * 4)
        self.rois = node.shaped(1, (UNKNOWN, columns))
        self.dtype = self.data.dtype or DType.FLOAT32
        if self.dtype not in (DType.FLOAT32, DOUBLE) or self.rois.dtype not in (None, self.dtype):
            node.refuse(
                f"data of {self.data.type} and regions of {self.rois.type}: expected float32 or float64, in which the "
                "places are computed as in MXNet"
            )

    def do(self, op: Operator, *operands: Value | None, suffix: str = "") -> Value:
        """Return one step."""
        return self.node.step(op, *operands, suffix=suffix)

    def number(self, value: float) -> Value:
        """Return a number in the dtype of the data."""
        return self.node.constant(value, self.dtype)

    def numbers(self, array: object, *shape: int) -> Value:
        """Return an array of a shape in the dtype of the data."""
        return self.node.constant(np.asarray(array, self.dtype.numpy()).reshape(shape))

    def column(self, index: int, rank: int) -> Value:
        """Return one number of every region, (R, 1, ...) of so many axes."""
        result = self.do(Gather(1), self.rois, self.node.constant(index, INDEX), suffix="column")
        return self.do(Reshape(), result, self.node.vector([-1, *[1] * (rank - 1)]), suffix="of_regions")

    def image(self, rank: int) -> Value:
        """Return the image of every region, a whole number."""
        return self.do(ew.Cast(INDEX), self.column(0, rank), suffix="image")

    def size(self, axis: int) -> Value:
        """Return the size of an axis of the data, a vector of one element."""
        known = self.node.sizes_if_known(self.data, (axis,))
        if known:
            return self.node.vector(known)
        return self.do(Shape(start=axis, end=axis + 1), self.data, suffix="size")

    def length(self, axis: int) -> Value:
        """Return the same in the dtype of the data."""
        return self.do(ew.Cast(self.dtype), self.size(axis), suffix="length")

    def away(self, value: Value) -> Value:
        """Return the nearest whole numbers, halves away from 0."""
        wide = self.do(ew.Cast(DOUBLE), value, suffix="double")
        raised = self.do(ew.Add(), self.do(ew.Abs(), wide), self.node.constant(0.5, DOUBLE), suffix="raised")
        whole = self.do(ew.Mul(), self.do(ew.Sign(), wide), self.do(ew.Floor(), raised), suffix="whole")
        return self.do(ew.Cast(self.dtype), whole, suffix="rounded")

    def spans(self, rank: int, shift: float) -> list[tuple[Value, Value]]:
        """Begin and length of every region, of columns and of rows; MXNet rounds corners and counts the last pixel."""
        result = []
        scale = self.number(to_single(self.node.attrs["spatial_scale"]))
        for axis in (1, 2):
            end = self.do(ew.Add(), self.away(self.column(axis + 2, rank)), self.number(1.0), suffix="end")
            start = self.away(self.column(axis, rank))
            edges = [self.do(ew.Mul(), edge, scale, suffix="edge") for edge in (start, end)]
            if shift:
                edges = [self.do(ew.Sub(), edge, self.number(shift), suffix="edge") for edge in edges]
            span = self.do(ew.Sub(), edges[1], edges[0], suffix="span")
            result.append((edges[0], self.do(ew.Max(), span, self.number(0.1), suffix="length")))
        return result


def _channels(outputs: int, group: int, cells: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return which channel of the data an output's cell reads, (outputs, cells, cells)."""
    part = np.clip(np.arange(cells) * group // cells, 0, group - 1)
    return np.asarray((np.arange(outputs)[:, None, None] * group + part[:, None]) * group + part)


def _stated(node: ImportNode, group: int) -> tuple[int, int, int]:
    attrs = node.attrs
    outputs, cells = attrs["output_dim"], attrs["pooled_size"]
    if min(outputs, cells, group) < 1 or attrs["spatial_scale"] <= 0:
        node.refuse(f"output_dim {outputs}, pooled_size {cells}, group_size {group}: expected numbers of 1 or more")
    node.charge(outputs * cells * cells, "its channels")
    channels = node.sizes_if_known(0, (1,))
    if channels and channels[0] < outputs * group * group:  # more of them are not read
        node.refuse(f"{channels[0]} channels, expected output_dim {outputs} times group_size {group} squared")
    return outputs, cells, group


def import_psroi_pooling(node: ImportNode) -> Value:
    """_contrib_PSROIPooling: means (R, output_dim, pooled_size, pooled_size) of data (N, C, H, W) for rois (R, 5)."""
    outputs, cells, group = _stated(node, node.attrs["group_size"] or node.attrs["pooled_size"])
    at = _Regions(node, 5)
    do = at.do
    spans = at.spans(2, 0.0)
    edges = [_edges(at, span, cells, axis) for span, axis in zip(spans, (3, 2), strict=True)]
    (left, right), (top, bottom) = (
        [do(Unsqueeze(), edge, node.vector(axes), suffix="places") for edge in pair]
        for pair, axes in zip(edges, ([1, 2], [1, 3]), strict=True)
    )
    pads = node.vector([0, 0, 1, 1, 0, 0, 0, 0])
    sums = do(Pad(), do(ew.Cast(DOUBLE), at.data, suffix="double"), pads, suffix="bordered")
    for axis in (2, 3):
        sums = do(CumSum(), sums, node.constant(axis, INDEX), suffix="sums")
    sums = do(Reshape(), sums, node.vector([-1]), suffix="flat_sums")
    one = node.vector([1])
    tall, wide = (do(ew.Add(), at.size(axis), one, suffix="size") for axis in (2, 3))
    plane = do(ew.Add(), do(ew.Mul(), at.image(4), at.size(1)), node.constant(_channels(outputs, group, cells)))
    base = do(ew.Mul(), plane, tall, suffix="plane")

    def corner(row: Value, column: Value) -> Value:
        start = do(ew.Mul(), do(ew.Add(), base, row, suffix="row"), wide, suffix="start")
        return do(Gather(0), sums, do(ew.Add(), start, column, suffix="index"), suffix="corner")

    upper = do(ew.Sub(), corner(top, right), corner(top, left), suffix="above")
    until = do(ew.Sub(), corner(bottom, right), corner(bottom, left), suffix="until")
    total = do(ew.Sub(), until, upper, suffix="total")
    nothing = node.constant(0, INDEX)
    bounds = ((top, bottom), (left, right))
    sides = [do(ew.Max(), do(ew.Sub(), end, start), nothing, suffix="side") for start, end in bounds]
    area = do(ew.Mul(), *sides, suffix="area")
    divisor = do(ew.Cast(DOUBLE), do(ew.Max(), area, node.constant(1, INDEX)), suffix="divisor")
    mean = do(ew.Cast(at.dtype), do(ew.Div(), total, divisor, suffix="mean"), suffix="means")
    return node.emit(ew.Where(), do(ew.Greater(), area, nothing, suffix="some"), mean, at.number(0.0))


def _edges(at: _Regions, span: tuple[Value, Value], cells: int, axis: int) -> tuple[Value, Value]:
    """First pixels and those behind the last (R, cells) on an axis of the data."""
    start, length = span
    size = at.do(ew.Div(), length, at.number(cells), suffix="cell")
    result = []
    for op, first in ((ew.Floor(), 0), (ew.Ceil(), 1)):
        indices = at.do(ew.Mul(), at.numbers(np.arange(cells) + first, 1, cells), size, suffix="distance")
        edge = at.do(op, at.do(ew.Add(), indices, start, suffix="edge"))
        inside = at.do(ew.Min(), at.do(ew.Max(), edge, at.number(0.0)), at.length(axis), suffix="inside")
        result.append(at.do(ew.Cast(INDEX), inside, suffix="pixel"))
    return result[0], result[1]


def import_deformable_psroi_pooling(node: ImportNode) -> Value:
    """_contrib_DeformablePSROIPooling: the same of `sample_per_part` squared samples a cell, moved by trans
    (R, 2 * classes, part_size, part_size) times `trans_std` and the region's size.

    A `group_size` of 0 is refused: here it does not stand for `pooled_size`, MXNet reads before its arrays with it.
    """
    attrs = node.attrs
    outputs, cells, group = _stated(node, attrs["group_size"])
    samples = attrs["sample_per_part"]
    if samples < 1:
        node.refuse(f"sample_per_part {samples}, expected 1 or more")
    at = _Regions(node, 5)
    do = at.do
    moves = None if attrs["no_trans"] else _moves(at, outputs, cells)
    indices = []
    for order, (start, length) in enumerate(at.spans(4, 0.5)):
        cell = do(ew.Div(), length, at.number(cells), suffix="cell")
        counted = at.numbers(np.arange(cells), *((1, 1, 1, cells) if order == 0 else (1, 1, cells, 1)))
        begin = do(ew.Add(), do(ew.Mul(), counted, cell, suffix="distance"), start, suffix="begin")
        if moves is not None:
            begin = do(ew.Add(), begin, do(ew.Mul(), moves[order], length, suffix="moved"), suffix="begin")
        begin, step = (
            do(Unsqueeze(), value, node.vector([4, 5]), suffix="of_samples")
            for value in (begin, do(ew.Div(), cell, at.number(samples), suffix="step"))
        )
        steps = at.numbers(np.arange(samples), *((samples,) if order == 0 else (samples, 1)))
        indices.append(do(ew.Add(), begin, do(ew.Mul(), steps, step, suffix="further"), suffix="place"))
    inside = _inside(at, indices[::-1], -0.5, -0.5)
    base = do(Reshape(), node.constant(_channels(outputs, group, cells)), node.vector([outputs, cells, cells, 1, 1]))
    plane = do(ew.Add(), do(ew.Mul(), at.image(6), at.size(1)), base, suffix="plane")
    flat = do(Reshape(), at.data, node.vector([-1]), suffix="flat")

    def pixel(row: Value, column: Value) -> Value:
        start = do(ew.Add(), do(ew.Mul(), plane, at.size(2)), row, suffix="row")
        index = do(ew.Add(), do(ew.Mul(), start, at.size(3)), column, suffix="index")
        return do(Gather(0), flat, index, suffix="pixel")

    result = _blended(at, _around(at, indices[1], 2), _around(at, indices[0], 3), pixel)
    result = do(ew.Where(), inside, result, at.number(0.0), suffix="samples")
    axes = node.vector([4, 5])
    total = do(ReduceSum(keepdims=False), result, axes, suffix="total")
    count = do(ReduceSum(keepdims=False), do(ew.Cast(at.dtype), inside), axes, suffix="count")
    mean = do(ew.Div(), total, do(ew.Max(), count, at.number(1.0), suffix="divisor"), suffix="mean")
    return node.emit(ew.Where(), do(ew.Greater(), count, at.number(0.0), suffix="some"), mean, at.number(0.0))


def _moves(at: _Regions, outputs: int, cells: int) -> tuple[Value, Value]:
    """Return how far the cells of outputs are moved right and down, in sizes of the region: (R, outputs, cells,
    cells)."""
    node = at.node
    parts = node.attrs["part_size"] or cells
    trans = node.shaped(2, (UNKNOWN, UNKNOWN, parts, parts))
    (count,) = node.sizes(trans, (1,))
    classes = count // 2
    if count % 2 or classes < 1 or outputs % classes:
        node.refuse(f"trans {trans.type} for {outputs} outputs: expected two numbers for each of the classes")
    pairs = at.do(Reshape(), trans, node.vector([0, classes, 2, parts, parts]), suffix="pairs")
    kinds = node.vector([output // (outputs // classes) for output in range(outputs)])
    pairs = at.do(Gather(1), pairs, kinds, suffix="of_outputs")
    part = node.vector([cell * parts // cells for cell in range(cells)])
    for axis in (3, 4):
        pairs = at.do(Gather(axis), pairs, part, suffix="of_cells")
    scaled = at.do(ew.Mul(), pairs, at.number(to_single(node.attrs["trans_std"])), suffix="scaled")
    right, down = (at.do(Gather(2), scaled, node.constant(index, INDEX), suffix="move") for index in (0, 1))
    return right, down


def import_rotated_roi_align(node: ImportNode) -> Value:
    """_contrib_RROIAlign: means of samples (R, C, *pooled_size) in turned regions (R, 6): image, centre, width, height,
    degrees. Without a `sampling_ratio` a region has ceil(cell size) samples on an axis."""
    attrs = node.attrs
    rows, columns = node.several("pooled_size", 2)
    if min(rows, columns) < 1 or attrs["spatial_scale"] <= 0:
        node.refuse(f"pooled_size {[rows, columns]}, spatial_scale {attrs['spatial_scale']}: expected positive numbers")
    at = _Regions(node, 6)
    do = at.do
    scale = at.number(to_single(attrs["spatial_scale"]))
    center_x, center_y, width, height = (
        do(ew.Mul(), at.column(index, 5), scale, suffix="scaled") for index in (1, 2, 3, 4)
    )
    angle = do(ew.Mul(), at.column(5, 5), at.number(math.pi / 180), suffix="angle")
    sine, cosine = do(ew.Sin(), angle), do(ew.Cos(), angle)
    down, count_down, used_down = _steps(at, height, rows, (rows, 1, -1, 1))
    across, count_across, used_across = _steps(at, width, columns, (1, columns, 1, -1))
    parts = do(ew.Mul(), across, cosine, suffix="part"), do(ew.Mul(), down, sine, suffix="part")
    x = do(ew.Add(), *parts, suffix="turned")
    parts = do(ew.Mul(), down, cosine, suffix="part"), do(ew.Mul(), across, sine, suffix="part")
    y = do(ew.Sub(), *parts, suffix="turned")
    indices = [do(ew.Add(), y, center_y, suffix="row"), do(ew.Add(), x, center_x, suffix="column")]
    used = do(ew.And(), used_down, used_across, suffix="used")
    inside = do(ew.And(), used, _inside(at, indices, -1.0, 0.0), suffix="inside")
    flat = do(Transpose((0, 2, 3, 1)), at.data, suffix="pixels")
    shape = do(Concat(0), node.vector([-1]), at.size(1), suffix="flat_shape")
    flat = do(Reshape(), flat, shape, suffix="flat")
    first = do(ew.Mul(), at.image(5), at.size(2), suffix="first")

    def pixel(row: Value, column: Value) -> Value:
        start = do(ew.Mul(), do(ew.Add(), first, row, suffix="start"), at.size(3), suffix="start")
        return do(Gather(0), flat, do(ew.Add(), start, column, suffix="index"), suffix="pixel")

    last = node.vector([5])
    result = _blended(at, _around(at, indices[0], 2), _around(at, indices[1], 3), pixel, last)
    result = do(ew.Where(), do(Unsqueeze(), inside, last), result, at.number(0.0), suffix="samples")
    total = do(ReduceSum(keepdims=False), result, node.vector([3, 4]), suffix="total")
    counts = do(Reshape(), do(ew.Mul(), count_down, count_across), node.vector([-1, 1, 1, 1]), suffix="counts")
    return node.emit(Transpose((0, 3, 1, 2)), do(ew.Div(), total, counts, suffix="mean"))


def _steps(at: _Regions, length: Value, cells: int, shape: Sequence[int]) -> tuple[Value, Value, Value]:
    """Where the samples of an axis lie from the centre, how many there are in a cell, and which of them are used."""
    node, do = at.node, at.do
    ratio = node.attrs["sampling_ratio"]
    length = do(ew.Max(), length, at.number(1.0), suffix="length")
    cell = do(ew.Div(), length, at.number(cells), suffix="cell")
    if ratio > 0:
        count: Value = at.number(ratio)
        samples = at.numbers(np.arange(ratio), *(ratio if size == -1 else 1 for size in shape))
    else:
        count = do(ew.Ceil(), cell, suffix="count")
        flat = do(Reshape(), do(ew.Cast(INDEX), count), node.vector([-1]), suffix="counts")
        most = do(ReduceMax(keepdims=False), do(Concat(0), flat, node.vector([1])), node.vector([0]), suffix="most")
        numbers = do(Range(), node.constant(0, INDEX), most, node.constant(1, INDEX), suffix="numbers")
        spread = node.vector([size if size == -1 else 1 for size in shape])
        samples = do(Reshape(), do(ew.Cast(at.dtype), numbers), spread, suffix="samples")
    counted = at.numbers(np.arange(cells), *(1 if size == -1 else size for size in shape))
    whole, half = do(ew.Mul(), counted, cell), do(ew.Div(), length, at.number(2.0), suffix="half")
    begin = do(ew.Sub(), whole, half, suffix="begin")
    middle = do(ew.Mul(), do(ew.Add(), samples, at.number(0.5), suffix="middle"), cell, suffix="middle")
    index = do(ew.Add(), begin, do(ew.Div(), middle, count, suffix="step"), suffix="place")
    return index, count, do(ew.Less(), samples, count, suffix="used")


def _inside(at: _Regions, places: Sequence[Value], low: float, beyond: float) -> Value:
    """Return whether rows and columns lie between `low` and the size plus `beyond`."""
    result = []
    for index, axis in zip(places, (2, 3), strict=True):
        last = at.do(ew.Add(), at.length(axis), at.number(beyond), suffix="last")
        result += [at.do(ew.GreaterOrEqual(), index, at.number(low)), at.do(ew.LessOrEqual(), index, last)]
    rows, columns = at.do(ew.And(), *result[:2], suffix="rows"), at.do(ew.And(), *result[2:], suffix="columns")
    return at.do(ew.And(), rows, columns, suffix="inside")


def _around(at: _Regions, place: Value, axis: int) -> tuple[Value, Value, Value]:
    """Return the pixels before and behind places on an axis of the data, and how far behind the first one they are."""
    last = at.do(ew.Sub(), at.length(axis), at.number(1.0), suffix="last")
    place = at.do(ew.Min(), at.do(ew.Max(), place, at.number(0.0)), last, suffix="within")
    low = at.do(ew.Floor(), place, suffix="low")
    high = at.do(ew.Ceil(), place, suffix="high")
    first, second = (at.do(ew.Cast(INDEX), value, suffix="pixel") for value in (low, high))
    return first, second, at.do(ew.Sub(), place, low, suffix="share")


def _blended(
    at: _Regions,
    rows: tuple[Value, Value, Value],
    columns: tuple[Value, Value, Value],
    pixel: Callable[[Value, Value], Value],
    channels: Value | None = None,
) -> Value:
    """Between four pixels; `channels` is the axis that they have more than their places."""
    (top, bottom, down), (left, right, across) = rows, columns
    if channels is not None:
        down, across = (at.do(Unsqueeze(), share, channels, suffix="of_channels") for share in (down, across))
    lines = [_between(at, pixel(row, left), pixel(row, right), across) for row in (top, bottom)]
    return _between(at, lines[0], lines[1], down)


def _between(at: _Regions, first: Value, second: Value, share: Value) -> Value:
    rest = at.do(ew.Sub(), at.number(1.0), share, suffix="rest")
    parts = at.do(ew.Mul(), first, rest, suffix="part"), at.do(ew.Mul(), second, share, suffix="part")
    return at.do(ew.Add(), *parts, suffix="between")


IMPORTS: dict[str, ImportFunction] = {
    "_contrib_DeformablePSROIPooling": import_deformable_psroi_pooling,
    "_contrib_PSROIPooling": import_psroi_pooling,
    "_contrib_RROIAlign": import_rotated_roi_align,
}
