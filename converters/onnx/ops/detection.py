"""Object detection: what ONNX has, and lowerings around NonMaxSuppression for what it has not."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, row, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops.detection import (
    BoxFormat,
    BoxNMS,
    MultiBoxDetection,
    NonMaxSuppression,
    RoiAlign,
    RoiCoordinates,
    RoiMode,
)
from graphir.types import DType

ALL = np.iinfo(np.int32).max


def export_non_max_suppression(node: ExportNode[NonMaxSuppression]) -> None:
    """Write NonMaxSuppression."""
    op = node.op
    node.emit("NonMaxSuppression", node.input_names(), center_point_box=1 if op.center_point_box else None)


def export_roi_align(node: ExportNode[RoiAlign]) -> None:
    """Write RoiAlign; before opset 16 a region is never less than a pixel wide and its corners are not shifted."""
    op = node.op
    names = node.input_names()
    shifted = op.coordinates is RoiCoordinates.HALF_PIXEL
    node.demand(16, "RoiAlign with half-pixel corners exists", when=shifted)
    node.emit(
        "RoiAlign",
        names,
        output_height=op.output_height,
        output_width=op.output_width,
        sampling_ratio=op.sampling_ratio or None,
        spatial_scale=op.spatial_scale,
        mode=op.mode.value if op.mode is not RoiMode.AVERAGE else None,
        coordinate_transformation_mode=None if shifted or node.opset < 16 else op.coordinates.value,
    )


class _Steps:
    """Short words for the steps of the lowerings."""

    def __init__(self, node: AnyNode, dtype: DType) -> None:
        if not dtype.is_float:
            node.refuse(f"boxes and scores of {dtype} cannot be compared with nothing; cast them to a float")
        self.node = node
        self.dtype = dtype
        self.lowest = self.number(-math.inf)

    def number(self, value: float) -> str:
        return self.node.constant(value, self.dtype)

    def column(self, rows: str, index: int) -> str:
        """(N, K) out of (N, K, W)."""
        return self.node.step("Gather", [rows, self.node.constant(index, DType.INT64)], axis=2, suffix="column")

    def columns(self, rows: str, start: int, stop: int) -> str:
        """(N, K, stop - start) out of (N, K, W)."""
        vector = self.node.vector
        return self.node.step("Slice", [rows, vector([start]), vector([stop]), vector([2])], suffix="columns")

    def unsqueeze(self, value: str, axis: int) -> str:
        return self.node.step("Unsqueeze", [value, self.node.vector([axis])])

    def best(self, scores: str, count: str) -> tuple[str, str]:
        """Return the `count` highest of scores (N, K), in descending order, equal ones in the order of their places."""
        values, indices = self.node.steps("TopK", [scores, count], 2, axis=1)
        return values, indices

    def rows(self, data: str, indices: str) -> str:
        """Return the rows of data (N, K, W) at places (N, k)."""
        return self.node.step("GatherND", [data, self.unsqueeze(indices, 2)], batch_dims=1, suffix="rows")

    def size(self, value: str, slot: int, axis: int) -> str:
        """Return an int64 vector of one element: the size of the operand in `slot`, whose name may be `value`."""
        operand = self.node.optional(slot)
        known = None if operand is None or operand.shape is None else operand.shape[axis]
        if isinstance(known, int):
            return self.node.vector([known])
        return self.node.step("Gather", [self.node.step("Shape", [value]), self.node.vector([axis])], suffix="size")

    def single(self, value: str) -> str:
        """Return the value in float32, the one dtype that NonMaxSuppression takes."""
        if self.dtype is DType.FLOAT32:
            return value
        return self.node.step("Cast", [value], to=CODES[DType.FLOAT32])

    def without_area_inside_out(self, boxes: str) -> str:
        """Return the corners of boxes (N, K, 4), those of which the second lies before the first moved onto it: such a
        box overlaps nothing, where NonMaxSuppression would take any two opposite corners."""
        first, second = self.columns(boxes, 0, 2), self.columns(boxes, 2, 4)
        return self.node.step("Concat", [first, self.node.step("Max", [first, second])], axis=2, suffix="corners")

    def kept(self, boxes: str, scores: str, by_class: str, overlap: float, threshold: float, center: bool) -> str:
        """Scores (N, K), lowest where a better box of (N, K, 4) overlaps; `by_class` are the scores as (N, C, K)."""
        node = self.node
        boxes = self.single(boxes)
        selected = node.step(
            "NonMaxSuppression",
            [
                boxes if center else self.without_area_inside_out(boxes),
                self.single(by_class),
                node.constant(ALL, DType.INT64),
                node.constant(overlap, DType.FLOAT32),
                node.constant(threshold, DType.FLOAT32),
            ],
            center_point_box=1 if center else None,
        )
        indices = node.step("Gather", [selected, node.vector([0, 2])], axis=1, suffix="places")
        shape = node.step("Shape", [scores])
        nothing = node.step("Expand", [self.lowest, shape])
        return node.step("ScatterND", [nothing, indices, node.step("GatherND", [scores, indices])], suffix="kept")


def export_box_nms(node: ExportNode[BoxNMS]) -> None:
    """Write BoxNMS through NonMaxSuppression, one class of it for each class among the rows."""
    op = node.op
    steps = _Steps(node, node.dtype())
    data = node.input_names()[0]
    count = steps.size(data, 0, 1)
    scores = steps.column(data, op.score_index)
    rows = data
    if op.id_index >= 0:
        classes = steps.column(rows, op.id_index)
        hidden = node.step("Equal", [classes, steps.number(op.background_id)])
        scores = node.step("Where", [hidden, steps.lowest, scores], suffix="scores")
    if op.topk >= 0:
        wanted = node.step("Min", [count, node.vector([op.topk])])
        scores, indices = steps.best(scores, wanted)
        rows = steps.rows(rows, indices)
    by_class = steps.unsqueeze(scores, 1)
    if op.id_index >= 0 and not op.force_suppress:
        by_class = _scores_by_class(steps, steps.column(rows, op.id_index), by_class)
    boxes = steps.columns(rows, op.coord_start, op.coord_start + 4)
    center = op.in_format is BoxFormat.CENTER
    kept = steps.kept(boxes, scores, by_class, op.overlap_thresh, op.valid_thresh, center)
    length = count if op.topk < 0 else wanted
    values, indices = steps.best(kept, length)
    rows = _convert_boxes(steps, steps.rows(rows, indices), op)
    stays = steps.unsqueeze(node.step("Greater", [values, steps.lowest]), 2)
    nothing = steps.number(-1)
    if op.topk < 0:
        node.emit("Where", [stays, rows, nothing])
        return
    packed = node.step("Where", [stays, rows, nothing])
    missing = node.step("Sub", [count, length])
    pads = node.step("Concat", [node.vector([0, 0, 0, 0]), missing, node.vector([0])], axis=0, suffix="pads")
    node.emit("Pad", [packed, pads, nothing])


def _scores_by_class(steps: _Steps, classes: str, scores: str, count: int | None = None) -> str:
    """(N, C, K): scores (N, 1, K) in the row of their class, lowest elsewhere; C spans the classes (N, K)."""
    node = steps.node
    whole = node.step("Cast", [steps.unsqueeze(classes, 1)], to=CODES[DType.INT64], suffix="class")
    if count is None:
        first = node.step("ReduceMin", [whole], keepdims=0, suffix="first_class")
        last = node.step("ReduceMax", [whole], keepdims=0, suffix="last_class")
        one = node.constant(1, DType.INT64)
        present = node.step("Range", [first, node.step("Add", [last, one]), one])
        column = node.step("Unsqueeze", [present, node.vector([1])])
    else:
        node.charge(count, "its classes")
        column = node.constant(np.arange(count).reshape(-1, 1), DType.INT64)
    return node.step("Where", [node.step("Equal", [whole, column]), scores, steps.lowest], suffix="by_class")


def _convert_boxes(steps: _Steps, rows: str, op: BoxNMS) -> str:
    """Return the rows with their boxes in the format that is wanted."""
    if op.in_format is op.out_format:
        return rows
    node = steps.node
    start = op.coord_start
    first, second = steps.columns(rows, start, start + 2), steps.columns(rows, start + 2, start + 4)
    two = steps.number(2)
    if op.in_format is BoxFormat.CENTER:
        half = node.step("Div", [second, two])
        box = [node.step("Sub", [first, half]), node.step("Add", [first, half])]
    else:
        box = [node.step("Div", [node.step("Add", [first, second]), two]), node.step("Sub", [second, first])]
    before = [steps.columns(rows, 0, start)] if start else []
    value = node.optional(0)
    width = value.shape[2] if value is not None and value.shape is not None else None
    behind = [] if width == start + 4 else [steps.columns(rows, start + 4, ALL)]
    return node.step("Concat", [*before, *box, *behind], axis=2, suffix="converted")


def export_multibox_detection(node: ExportNode[MultiBoxDetection]) -> None:
    """Write MultiBoxDetection through NonMaxSuppression."""
    op = node.op
    steps = _Steps(node, node.dtype())
    scores, offsets, anchors = node.input_names()
    count = steps.size(scores, 0, 2)
    nothing = steps.number(-1)
    begin, end, axis = node.vector([1]), node.vector([ALL]), node.vector([1])
    foreground = node.step("Slice", [scores, begin, end, axis], suffix="foreground")
    best_class = node.step("ArgMax", [foreground], axis=1, keepdims=0)
    best = node.reduce("ReduceMax", foreground, (1,), keepdims=0)
    low = node.step("Less", [best, steps.number(float(np.float32(op.threshold)))])
    best = node.step("Where", [low, steps.lowest, best], suffix="score")
    class_ids = node.step("Cast", [best_class], to=CODES[steps.dtype], suffix="class")
    boxes = _decode_boxes(steps, offsets, anchors, op)
    columns = [steps.unsqueeze(class_ids, 2), steps.unsqueeze(best, 2), boxes]
    table = node.step("Concat", columns, axis=2, suffix="rows")
    if not 0 < op.nms_threshold <= 1:
        rows, there = _restore_order(steps, table, best, count)
        node.emit("Where", [there, rows, nothing])
        return
    wanted = count if op.nms_topk <= 0 else node.step("Min", [count, node.vector([op.nms_topk])])
    values, indices = steps.best(best, wanted)
    rows = steps.rows(table, indices)
    ids = steps.column(rows, 0)
    unsuppressed = _suppress_rows(steps, rows, ids, values)
    shown = node.step("Where", [unsuppressed, ids, nothing], suffix="shown")
    joined = node.step("Concat", [steps.unsqueeze(shown, 2), steps.columns(rows, 1, 6)], axis=2)
    stays = steps.unsqueeze(node.step("Greater", [values, steps.lowest], suffix="stays"), 2)
    if op.nms_topk <= 0:
        node.emit("Where", [stays, joined, nothing])
        return
    first = node.step("Where", [stays, joined, nothing], suffix="sorted")
    # Rows whose place among those with a score, in the order of anchors, is `topk` or later, have class -1.
    rows, there = _restore_order(steps, table, best, count)
    classes = node.step("Expand", [nothing, node.step("Shape", [steps.columns(rows, 0, 1)])])
    marked = node.step("Concat", [classes, steps.columns(rows, 1, 6)], axis=2)
    filled = node.step("Where", [there, marked, nothing])
    behind = node.step("Slice", [filled, wanted, count, node.vector([1])], suffix="behind")
    node.emit("Concat", [first, behind], axis=1)


def _suppress_rows(steps: _Steps, rows: str, ids: str, values: str) -> str:
    """Return which rows (N, k) stay, given their classes and their scores in descending order."""
    node, op = steps.node, steps.node.op
    assert isinstance(op, MultiBoxDetection)
    by_class = steps.unsqueeze(values, 1)
    if not op.force_suppress:
        by_class = _scores_by_class(steps, ids, by_class, _class_count(node))
    # ONNX drops what overlaps by more than the threshold, MXNet what overlaps by at least as much.
    overlap = float(np.nextafter(np.float32(op.nms_threshold), np.float32(0)))
    lowest = float(np.finfo(np.float32).min)
    kept = steps.kept(steps.columns(rows, 2, 6), values, by_class, overlap, lowest, center=False)
    return node.step("Greater", [kept, steps.lowest], suffix="unsuppressed")


def _class_count(node: AnyNode) -> int | None:
    """Return the number of classes but the background, if it is known."""
    value = node.optional(0)
    count = value.shape[1] if value is not None and value.shape is not None else None
    return count - 1 if isinstance(count, int) else None


def _restore_order(steps: _Steps, table: str, best: str, count: str) -> tuple[str, str]:
    """Return the rows with a score, moved to the front in the order of anchors, and (N, K, 1) whether a row is one of
    them."""
    node = steps.node
    above = node.step("Cast", [node.step("Greater", [best, steps.lowest])], to=CODES[DType.INT32], suffix="above")
    values, indices = node.steps("TopK", [above, count], 2, axis=1, suffix="in_order")
    there = steps.unsqueeze(node.step("Cast", [values], to=CODES[DType.BOOL]), 2)
    return steps.rows(table, indices), there


def _decode_boxes(steps: _Steps, offsets: str, anchors: str, op: MultiBoxDetection) -> str:
    """Corners (N, K, 4): offsets (N, 4 K) times the variances applied to the anchors' centres and sizes."""
    node = steps.node
    moved = node.step("Reshape", [offsets, node.vector([0, -1, 4])], suffix="offsets")
    moved = node.step("Mul", [moved, node.constant(list(op.variances), steps.dtype)], suffix="moved")
    low, high = steps.columns(anchors, 0, 2), steps.columns(anchors, 2, 4)
    two = steps.number(2)
    size = node.step("Sub", [high, low], suffix="size")
    center = node.step("Div", [node.step("Add", [low, high]), two], suffix="center")
    shifted = node.step("Add", [node.step("Mul", [steps.columns(moved, 0, 2), size]), center], suffix="shifted")
    scaled = node.step("Mul", [node.step("Exp", [steps.columns(moved, 2, 4)]), size])
    half = node.step("Div", [scaled, two], suffix="half")
    corners = [node.step("Sub", [shifted, half]), node.step("Add", [shifted, half])]
    boxes = node.step("Concat", corners, axis=2, suffix="boxes")
    return node.step("Clip", [boxes, steps.number(0), steps.number(1)]) if op.clip else boxes


EXPORTS = table(
    row(NonMaxSuppression, export_non_max_suppression),
    row(RoiAlign, export_roi_align),
    row(BoxNMS, export_box_nms),
    row(MultiBoxDetection, export_multibox_detection),
)


def import_roi_align_10(node: ImportNode) -> None:
    """Read RoiAlign before opset 16, which does not shift corners."""
    fields = node.fields(RoiAlign) | {"coordinates": RoiCoordinates.OUTPUT_HALF_PIXEL}
    node.emit(RoiAlign(**fields), *node.inputs)


IMPORTS: ImportTable = {
    "NonMaxSuppression": {10: import_direct(NonMaxSuppression)},
    "RoiAlign": {10: import_roi_align_10, 16: import_direct(RoiAlign, coordinates="coordinate_transformation_mode")},
}
