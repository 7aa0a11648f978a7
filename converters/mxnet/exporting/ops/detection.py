"""Object detection: MXNet's own operators, and what ONNX's need beside them.

RoiAlign with maxima: the largest weighted neighbour of any sample in each cell.

MXNet's operator averages only. The samples' positions are computed, their four neighbours looked up in a table of all
elements. Source: ONNX RoiAlign-22, whose maximum is over the neighbours times their weights, not over their sums.
"""

from __future__ import annotations

import itertools

import numpy as np

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, direct, fields_of, row, table
from graphir.converters.mxnet.exporting.ops.sampling import lookup_table
from graphir.converters.mxnet.exporting.ops.steps import cast, computing, emit_as, operand_dtype, wide
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import detection as ir
from graphir.ops.detection import RoiAlign, RoiCoordinates
from graphir.ops.elementwise import Cast
from graphir.ops.indexing import Gather
from graphir.ops.shape_parts import Slice
from graphir.types import DType


def export_roi_maximum(node: ExportNode[RoiAlign]) -> None:
    """The composition. Refuses a number of samples that depends on the regions."""
    op = node.op
    if not op.sampling_ratio:
        node.refuse("mode max with a sampling_ratio of 0: the number of samples depends on the size of each region")
    channels, *sizes = node.fixed(node.shape()[1:], node.input(0).name)
    rows, columns = (
        _samples(node, (axis, axis + 2), cells * op.sampling_ratio, sizes[1 - axis])
        for axis, cells in ((1, op.output_height), (0, op.output_width))
    )
    table = lookup_table(node, wide(node, 0), channels, len(sizes))
    image = node.step("_mul_scalar", node.export.cast(node.entry(2), computing(node)), scalar=sizes[0] * sizes[1])
    first = node.step("Reshape", image, suffix="first", shape=(-1, 1, 1))
    best = None
    for (height, row_weight), (column, column_weight) in itertools.product(rows, columns):
        line = node.step("expand_dims", node.step("_mul_scalar", height, scalar=sizes[1]), suffix="line", axis=2)
        index = node.step("broadcast_add", line, node.step("expand_dims", column, suffix="across", axis=1))
        index = node.step("broadcast_add", index, first, suffix="row")
        read = node.step("take", table, node.step("Cast", index, dtype="int32"), axis=0, mode="clip")
        down = node.step("Reshape", row_weight, suffix="down", shape=(0, 0, 1, 1))
        along = node.step("Reshape", column_weight, suffix="along", shape=(0, 1, -1, 1))
        weighted = node.step("broadcast_mul", node.step("broadcast_mul", read, down), along, suffix="weighted")
        best = weighted if best is None else node.step("_maximum", best, weighted, suffix="best")
    assert best is not None
    samples = node.step("transpose", best, suffix="samples", axes=(0, 3, 1, 2))
    window = (op.sampling_ratio, op.sampling_ratio)
    emit_as(node, node.step("Pooling", samples, kernel=window, stride=window, pool_type="max"), computing(node))


def _samples(node: ExportNode[RoiAlign], corners: tuple[int, int], count: int, size: int) -> list[tuple[Entry, Entry]]:
    """Return the two neighbours of each sample on one axis, (regions, count), with their weights."""
    op = node.op
    aligned = op.coordinates is RoiCoordinates.HALF_PIXEL
    ends = []
    for corner in corners:
        column = node.step("slice_axis", wide(node, 1), suffix="corner", axis=1, begin=corner, end=corner + 1)
        scaled = node.step("_mul_scalar", column, suffix="scaled", scalar=op.spatial_scale)
        ends.append(node.step("_minus_scalar", scaled, suffix="centre", scalar=0.5) if aligned else scaled)
    length = node.step("elemwise_sub", ends[1], ends[0], suffix="length")
    if not aligned:
        length = node.step("_maximum_scalar", length, suffix="least", scalar=1.0)
    node.charge(count, "its samples")
    parts = ((np.arange(count) + 0.5) / count)[None]
    moved = node.step("broadcast_mul", length, node.constant(parts, computing(node), "parts"), suffix="moved")
    indices = node.step("broadcast_add", moved, ends[0], suffix="places")
    above = node.step("_greater_equal_scalar", indices, suffix="above", scalar=-1)
    inside = node.step("elemwise_mul", above, node.step("_lesser_equal_scalar", indices, scalar=size), suffix="inside")
    limited = node.step("clip", indices, suffix="limited", a_min=0, a_max=size - 1)
    floor = node.step("floor", limited)
    ceiling = node.step("_minimum_scalar", node.step("_plus_scalar", floor, scalar=1), scalar=size - 1)
    part = node.step("elemwise_sub", limited, floor, suffix="part")
    rest = node.step("_rminus_scalar", part, suffix="rest", scalar=1)
    return [
        (floor, node.step("elemwise_mul", rest, inside, suffix="weight")),
        (ceiling, node.step("elemwise_mul", part, inside, suffix="weight")),
    ]


def export_box_nms(node: ExportNode[ir.BoxNMS]) -> None:
    """_contrib_box_nms, to which a `topk` of 0 is none."""
    node.emit("_contrib_box_nms", node.entry(0), **fields_of(node.op) | {"topk": node.op.topk or -1})


def export_roi_align(node: ExportNode[ir.RoiAlign]) -> None:
    """Write RoiAlign as `_contrib_ROIAlign`, whose regions begin with their image's index. Its `max` mode is written
    with lookups."""
    op = node.op
    if op.mode is ir.RoiMode.MAX:
        export_roi_maximum(node)
        return
    dtype = computing(node)
    aligned = op.coordinates is ir.RoiCoordinates.HALF_PIXEL
    if aligned:
        node.decide(
            DecisionKind.EMPTY_REGION, "MXNet stops at an aligned region without width or height; ONNX does not"
        )
    data = cast(node, node.entry(0), operand_dtype(node), dtype)
    result = node.step(
        "_contrib_ROIAlign",
        data,
        _regions(node, dtype),
        pooled_size=(op.output_height, op.output_width),
        spatial_scale=op.spatial_scale,
        sample_ratio=op.sampling_ratio or -1,
        aligned=aligned,
    )
    emit_as(node, result, dtype)


def _regions(node: AnyNode, dtype: DType) -> Entry:
    """Return the image and the corners of each region, (R, 5), as which they may have been given."""
    source = _whole_regions(node)
    if source is not None and source.dtype is dtype:
        return node.export.entry(source)
    images = node.step("expand_dims", node.export.cast(node.entry(2), dtype), suffix="image", axis=1)
    corners = cast(node, node.entry(1), operand_dtype(node, 1), dtype)
    return node.step("Concat", images, corners, suffix="regions", dim=1, num_args=2)


def _whole_regions(node: AnyNode) -> Value | None:
    """Return the rows of five of which the corners are the last four and the image is the first; None if there are
    none."""
    corners, images = node.input(1).producer, node.input(2).producer
    if corners is None or images is None or not isinstance(corners.op, Slice) or not isinstance(images.op, Cast):
        return None
    chosen = images.inputs[0]
    lookup = None if chosen is None else chosen.producer
    if lookup is None or not isinstance(lookup.op, Gather) or lookup.op.axis != 1:
        return None
    source = corners.inputs[0]
    if source is None or lookup.inputs[0] is not source or source.rank != 2 or source.shape is None:
        return None
    first = lookup.integers(1) == (0,)
    rest = corners.integers(1) == (1,) and corners.integers(3) in ((1,), (-1,)) and node.shape(1)[1] == 4
    return source if first and rest and source.shape[1] == 5 and len(corners.inputs) == 4 else None


EXPORTS = table(
    row(ir.BoxNMS, export_box_nms),
    row(ir.MultiBoxDetection, direct("_contrib_MultiBoxDetection")),
    row(ir.RoiAlign, export_roi_align),
)
