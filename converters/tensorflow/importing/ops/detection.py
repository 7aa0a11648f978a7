"""Non-maximum suppression, and crops of boxes.

Boxes are corners (y1, x1, y2, x2), in either order, as the IR has them with x and y exchanged: the overlap is the same.
"""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.sizes import as_vector, size_at
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ew
from graphir.ops.creation import ConstantOfShape
from graphir.ops.detection import NonMaxSuppression
from graphir.ops.indexing import Gather, GatherND, ScatterND
from graphir.ops.reduction import ReduceSum, TopK
from graphir.ops.shape import Reshape, Shape, Size, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.ops.slicing import Slice
from graphir.types import DType


def _select_boxes(node: ImportNode, overlap: Value, least: Value | None) -> Value:
    """Return the numbers of the boxes that are kept, int64, the best first."""
    boxes = node.cast(node.input(0), DType.FLOAT32, "float")
    boxes = node.step(Unsqueeze(), boxes, node.vector([0]), suffix="boxes")
    scores = node.cast(node.input(1), DType.FLOAT32, "float")
    scores = node.step(Unsqueeze(), scores, node.vector([0, 1]), suffix="scores")
    limits = [node.int64(node.input(2)), node.cast(overlap, DType.FLOAT32, "float")]
    if least is not None:
        limits.append(node.cast(least, DType.FLOAT32, "float"))
    rows = node.step(NonMaxSuppression(), boxes, scores, *limits)
    return node.step(Gather(axis=1), rows, node.constant(2, DType.INT64), suffix="selected")


def import_suppression(node: ImportNode) -> Value:
    """NonMaxSuppressionV2 and V3, which has the least score as an input too."""
    least = node.input(4) if len(node) > 4 else None
    return node.emit(ew.Cast(DType.INT32), _select_boxes(node, node.input(3), least))


def _pad_vector(node: ImportNode, vector: Value, count: Value) -> Value:
    """Return the vector with zeros behind it up to `max_output_size`, of which `count` is the int64 vector."""
    dtype = vector.dtype
    assert dtype is not None
    zeros = node.step(ConstantOfShape(0.0, dtype), count, suffix="zeros")
    both = node.step(Concat(axis=0), vector, zeros, suffix="filled")
    return node.step(Slice(), both, node.vector([0]), count, node.vector([0]), suffix="padded")


def _suppress(node: ImportNode, scores: Value | None) -> tuple[Value, ...]:
    """Return the numbers of the boxes, their scores where they are given, and how many these are, filled up if
    wanted."""
    selected = _select_boxes(node, node.input(3), node.input(4))
    results = [node.cast(selected, DType.INT32, suffix="numbers")]
    if scores is not None:
        results.append(node.step(Gather(), scores, selected, suffix="scores"))
    valid = node.cast(node.step(Size(), selected), DType.INT32, suffix="valid")
    if node.attrs["pad_to_max_output_size"]:
        count = node.step(Reshape(), node.int64(node.input(2)), node.vector([1]), suffix="count")
        results = [_pad_vector(node, vector, count) for vector in results]
    return *results, valid


def import_suppression_v5(node: ImportNode) -> tuple[Value, ...]:
    """NonMaxSuppressionV5: with scores, which suppression may lower instead of dropping boxes (refused)."""
    sigma = float(node.elements(5, "soft_nms_sigma").item())
    if sigma != 0:
        node.refuse(f"soft_nms_sigma {sigma}: no target has a suppression that lowers scores; use 0")
    return _suppress(node, node.input(1))


def import_combined_suppression(node: ImportNode) -> tuple[Value, ...]:
    """CombinedNonMaxSuppression: the best of all classes of boxes (N, K, 1 or C, 4) with scores (N, K, C).

    Results: boxes (N, T, 4), scores (N, T), classes (N, T) as floats, and how many (N) of the T places count. What each
    class keeps is brought to its place in (N, C * K), of which the highest are taken.
    """
    boxes, overlap, least = node.input(0), node.input(4), node.input(5)
    if least.tensor is not None and node.elements(5, "score_threshold").item() < -1:
        node.refuse("score_threshold is below -1; TensorFlow replaces boxes whose score is not above -1 by zeros")
    if least.tensor is None:
        node.decide(
            DecisionKind.SCORES, f"the score_threshold ({least.name}) is computed; it is taken to be -1 or more"
        )
    kinds, classes = node.sizes(boxes, (2,))[0], node.sizes(node.input(1), (2,))[0]
    count = node.integer(3, "max_total_size")
    if node.attrs["pad_per_class"]:
        count = min(count, node.integer(2, "max_output_size_per_class") * classes)
    batch, box_count = size_at(node, node.input(1), 0), size_at(node, node.input(1), 1)
    scores = node.step(Transpose((0, 2, 1)), node.input(1), suffix="by_class")
    boxes = node.step(Transpose((0, 2, 1, 3)), boxes, suffix="boxes")
    kept_boxes = node.step(Reshape(), boxes, as_vector(node, [-1, box_count, 4]), suffix="boxes")
    kept_scores = scores
    if kinds != 1:  # each class has its own boxes, so that it counts as an image
        kept_scores = node.step(Reshape(), scores, as_vector(node, [-1, 1, box_count]), suffix="scores")
    rows = node.step(NonMaxSuppression(), kept_boxes, kept_scores, node.int64(node.input(2)), overlap, least)
    nothing = node.step(ConstantOfShape(float("-inf")), node.step(Shape(), kept_scores), suffix="nothing")
    kept = node.step(ScatterND(), nothing, rows, node.step(GatherND(), kept_scores, rows), suffix="kept")
    kept = node.step(Reshape(), kept, as_vector(node, [batch, -1]), suffix="kept")
    more = node.step(ConstantOfShape(float("-inf")), as_vector(node, [batch, count]), suffix="more")
    kept = node.step(Concat(axis=1), kept, more, suffix="kept")
    best, index = node.steps(TopK(axis=1), kept, node.vector([count]), suffix="best")
    zero = node.constant(0.0, DType.FLOAT32)
    valid = node.step(ew.Greater(), best, node.constant(float("-inf"), DType.FLOAT32), suffix="valid")
    index = node.step(ew.Where(), valid, index, node.constant(0, DType.INT64), suffix="index")
    length = as_vector(node, [box_count])
    of_class = node.cast(node.step(ew.Div(), index, length), DType.FLOAT32, suffix="class")
    box_index = index if kinds != 1 else node.step(ew.Mod(), index, length, suffix="place")
    box_index = node.step(Unsqueeze(), box_index, node.vector([2]), suffix="place")
    every = node.step(Reshape(), boxes, as_vector(node, [batch, -1, 4]), suffix="every")
    nmsed_boxes = node.step(GatherND(batch_dims=1), every, box_index, suffix="found")
    if node.attrs["clip_boxes"]:
        nmsed_boxes = node.step(ew.Clip(), nmsed_boxes, zero, node.constant(1.0, DType.FLOAT32), suffix="clipped")
    wide = node.step(Unsqueeze(), valid, node.vector([2]), suffix="valid")
    numbers = node.cast(valid, DType.INT32, suffix="numbers")
    return (
        node.step(ew.Where(), wide, nmsed_boxes, zero, suffix="nmsed_boxes"),
        node.step(ew.Where(), valid, best, zero, suffix="nmsed_scores"),
        node.step(ew.Where(), valid, of_class, zero, suffix="nmsed_classes"),
        node.step(ReduceSum(keepdims=False), numbers, node.vector([1]), suffix="valid_detections"),
    )


def import_crop_and_resize(node: ImportNode) -> Value:
    """CropAndResize: boxes (R, 4) in shares of the image (N, H, W, C), resampled to (R, height, width, C).

    The corners are the centres of the outer elements; what lies outside the image is `extrapolation_value`. Four
    neighbours of each position are gathered, so that no image is copied for a box.
    """
    image, boxes, numbers = node.input(0), node.input(1), node.int64(node.input(2))
    sizes = node.integers(3, "the size of the crops")
    nearest = node.attrs["method"] == "nearest"
    heights, widths = size_at(node, image, 1), size_at(node, image, 2)
    height, width = (as_vector(node, [count]) for count in (heights, widths))
    rows = _Positions(node, boxes, (0, 2), height, sizes[0], nearest)
    columns = _Positions(node, boxes, (1, 3), width, sizes[1], nearest)
    flat = node.step(Reshape(), image, as_vector(node, [-1, size_at(node, image, 3)]), suffix="flat")
    flat = node.cast(flat, DType.FLOAT32, "float")
    first = node.step(ew.Mul(), numbers, height, suffix="first")
    first = node.step(Unsqueeze(), first, node.vector([1]), suffix="first_row")

    def gathered(row: Value, column: Value) -> Value:
        begin = node.step(ew.Mul(), node.step(ew.Add(), first, row), width, suffix="begin")
        begin = node.step(Unsqueeze(), begin, node.vector([2]))
        positions = node.step(ew.Add(), begin, node.step(Unsqueeze(), column, node.vector([1])), suffix="place")
        return node.step(Gather(), flat, positions, suffix="neighbours")

    if nearest:
        samples = gathered(rows.before, columns.before)
    else:
        across, down = (
            node.step(Unsqueeze(), share, node.vector(axes), suffix="share")
            for share, axes in ((columns.share, [1, 3]), (rows.share, [2, 3]))
        )
        above, below = (
            _interpolate(node, gathered(row, columns.before), gathered(row, columns.behind), across)
            for row in (rows.before, rows.behind)
        )
        samples = _interpolate(node, above, below, down)
    inside = node.step(
        ew.And(),
        node.step(Unsqueeze(), rows.inside, node.vector([2, 3])),
        node.step(Unsqueeze(), columns.inside, node.vector([1, 3])),
        suffix="inside",
    )
    outside = node.constant(node.attrs["extrapolation_value"], DType.FLOAT32)
    return node.emit(ew.Where(), inside, samples, outside)


class _Positions:
    """Where the crops (R, `count`) of an axis are read: neighbours (int64), the share of the later one, and inside."""

    def __init__(
        self, node: ImportNode, boxes: Value, ends: tuple[int, int], size: Value, count: int, nearest: bool
    ) -> None:
        last = node.step(ew.Sub(), size, node.vector([1]), suffix="last")
        last = node.cast(last, DType.FLOAT32, suffix="last")
        low, high = (node.step(Gather(axis=1), boxes, node.vector([end]), suffix="end") for end in ends)
        zero = node.constant(0.0, DType.FLOAT32)
        node.charge_table(count)
        if count > 1:
            width = node.step(ew.Mul(), node.step(ew.Sub(), high, low), last, suffix="width")
            step = node.step(ew.Div(), width, node.constant(float(count - 1), DType.FLOAT32), suffix="step")
            offset = node.step(ew.Mul(), step, node.constant([list(range(count))], DType.FLOAT32), suffix="offset")
            position = node.step(ew.Add(), node.step(ew.Mul(), low, last), offset, suffix="position")
        else:
            middle = node.step(ew.Mul(), node.step(ew.Add(), low, high), node.constant(0.5, DType.FLOAT32))
            position = node.step(ew.Mul(), middle, last, suffix="position")
        self.inside = node.step(
            ew.And(),
            node.step(ew.GreaterOrEqual(), position, zero),
            node.step(ew.LessOrEqual(), position, last),
            suffix="inside",
        )
        position = node.step(ew.Min(), node.step(ew.Max(), position, zero), last, suffix="kept")
        if nearest:
            position = node.step(ew.Add(), position, node.constant(0.5, DType.FLOAT32), suffix="up")
        floor = node.step(ew.Floor(), position)
        self.before = node.cast(floor, DType.INT64, suffix="before")
        self.behind = self.share = self.before
        if not nearest:
            self.share = node.step(ew.Sub(), position, floor, suffix="share")
            self.behind = node.cast(node.step(ew.Ceil(), position), DType.INT64, suffix="behind")


def _interpolate(node: ImportNode, before: Value, behind: Value, share: Value) -> Value:
    """Return before + (behind - before) * share."""
    difference = node.step(ew.Sub(), behind, before, suffix="difference")
    return node.step(ew.Add(), before, node.step(ew.Mul(), difference, share), suffix="between")


IMPORTS: dict[str, ImportFunction] = {
    "CombinedNonMaxSuppression": import_combined_suppression,
    "CropAndResize": import_crop_and_resize,
    "NonMaxSuppression": lambda node: node.emit(
        ew.Cast(DType.INT32),
        _select_boxes(node, node.constant(node.attrs["iou_threshold"], DType.FLOAT32), None),
    ),
    "NonMaxSuppressionV2": import_suppression,
    "NonMaxSuppressionV3": import_suppression,
    "NonMaxSuppressionV4": lambda node: _suppress(node, None),
    "NonMaxSuppressionV5": import_suppression_v5,
}
