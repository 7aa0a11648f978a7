"""Object detection. Boxes are corners (x1, y1, x2, y2) or, where `center_point_box` says so, (x, y, width, height)."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, TensorType, format_shape, unify_dim

from .base import Operand, Operator, like_result, operator, refine, same_dtype, same_rank
from .counts import new_size
from .dtypes import FLOAT32, FLOATS, INT64
from .steps import of_roi_align
from .traits import COORDINATES, DecisionTrait, Rounding
from .work import Counted, Open


def _same(left: Dim, right: Dim, message: str) -> Dim:
    """Return what both sizes say of one axis. Raises ShapeError with the message if they differ."""
    try:
        return unify_dim(left, right)
    except ShapeError:
        raise ShapeError(message) from None


@operator
class NonMaxSuppression(Operator):
    """Indices (n, 3) of (batch, class, box) that are kept of boxes (N, K, 4) with scores (N, C, K), the best first.

    A box goes if it overlaps a better one of its class by more than `iou_threshold`, or if its score is not above
    `score_threshold`. Source: ONNX NonMaxSuppression-11.
    """

    inputs = ("boxes", "scores", "max_output_boxes_per_class?", "iou_threshold?", "score_threshold?")
    counts = True
    outputs = ("selected_indices",)
    takes = (FLOAT32, FLOAT32, INT64, FLOAT32, FLOAT32)
    rounding, decides, stays_wide = Rounding.ROUNDS, DecisionTrait.CUTS, COORDINATES
    work = Open("how many boxes it compares depends on their scores")
    center_point_box: bool = False

    def infer(self, boxes: TensorType, scores: TensorType, *limits: Operand) -> TensorType:
        first, second = same_rank(boxes, 3, "boxes"), same_rank(scores, 3, "scores")
        if first is not None and second is not None:
            for axis, other, what in ((0, 0, "batch"), (1, 2, "number of boxes")):
                _same(first[axis], second[other], f"boxes {boxes} and scores {scores} differ in the {what}")
        if first is not None:
            _same(first[2], 4, f"boxes has the shape {format_shape(first)}, expected 4 numbers a box")
        return TensorType(DType.INT64, (new_size(), 3))


class RoiMode(enum.Enum):
    """How the samples of a cell are put together."""

    AVERAGE = "avg"
    MAX = "max"


class RoiCoordinates(enum.Enum):
    """Whether corners are shifted by half a pixel before they are read as sample points."""

    HALF_PIXEL = "half_pixel"
    OUTPUT_HALF_PIXEL = "output_half_pixel"


@operator
class RoiAlign(Operator):
    """Cells (R, C, output_height, output_width) of regions of X (N, C, H, W), each a mean of bilinear samples.

    `rois` (R, 4) are corners, scaled by `spatial_scale`, `batch_indices` (R) say of which image. `sampling_ratio` 0
    takes ceil(cell size) samples an axis. Source: ONNX RoiAlign-22.
    """

    inputs = ("X", "rois", "batch_indices")
    takes = (FLOATS, FLOATS, INT64)
    rounding, stays_wide = Rounding.ROUNDS, COORDINATES
    work = Counted(of_roi_align, "how many samples a cell has depends on the boxes")
    output_height: int = 1
    output_width: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0
    mode: RoiMode = RoiMode.AVERAGE
    coordinates: RoiCoordinates = RoiCoordinates.HALF_PIXEL

    def infer(self, x: TensorType, rois: TensorType, batch_indices: TensorType) -> TensorType:
        data, regions = same_rank(x, 4, "X"), same_rank(rois, 2, "rois")
        indices = same_rank(batch_indices, 1, "batch_indices")
        count: Dim = UNKNOWN if regions is None else regions[0]
        if indices is not None:
            message = f"rois {rois} and batch_indices {batch_indices} differ in the number of regions"
            count = _same(count, indices[0], message)
        if regions is not None:
            _same(regions[1], 4, f"rois has the shape {format_shape(regions)}, expected 4 numbers a region")
        channels = UNKNOWN if data is None else data[1]
        return TensorType(same_dtype(x, rois), (count, channels, self.output_height, self.output_width))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape or (UNKNOWN,) * 4
        return (
            refine(operands[0], (UNKNOWN, shape[1], UNKNOWN, UNKNOWN), results[0].dtype),
            refine(operands[1], (shape[0], 4), results[0].dtype),
            refine(operands[2], (shape[0],)),
        )


class BoxFormat(enum.Enum):
    """What the four numbers of a box are: two corners, or the centre, width and height."""

    CORNER = "corner"
    CENTER = "center"


@operator
class BoxNMS(Operator):
    """Rows (N, K, W) with a score and a box each, the best first, without those that overlap a better one.

    Rows whose score is not above `valid_thresh` or whose class is `background_id` are left out; of the others the
    `topk` best (negative: all) take part. One goes if it overlaps a better one that stays, of its class unless
    `force_suppress`, by more than `overlap_thresh`; classes are cut to integers. What is kept
    stands in front, rows of -1 fill the rest. `id_index` is negative where there are no classes. Source: MXNet
    _contrib_box_nms.
    """

    inputs = ("data",)
    rounding, decides, stays_wide = Rounding.ROUNDS, DecisionTrait.CUTS, COORDINATES
    work = Open("how many boxes it compares depends on their scores")
    overlap_thresh: float = 0.5
    valid_thresh: float = 0.0
    topk: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = -1
    background_id: int = -1
    force_suppress: bool = False
    in_format: BoxFormat = BoxFormat.CORNER
    out_format: BoxFormat = BoxFormat.CORNER
    infer_inputs = like_result

    def infer(self, data: TensorType) -> TensorType:
        shape = same_rank(data, 3, "data")
        if shape is None:
            return TensorType(data.dtype, (UNKNOWN,) * 3)
        least = max(self.coord_start + 4, self.score_index + 1, self.id_index + 1)
        if isinstance(shape[2], int) and shape[2] < least:
            raise ShapeError(f"data has the shape {format_shape(shape)}, expected at least {least} columns")
        return TensorType(data.dtype, shape)


@operator
class MultiBoxDetection(Operator):
    """Detections (N, K, 6) of class, score and corners from scores (N, C, K), offsets (N, 4 K) and anchors (1, K, 4).

    Each anchor has its best class but the first, the background, and counted without it; those below `threshold` are
    left out. The `nms_topk` best (not positive: all) come first, by descending score; a row that overlaps a better one,
    of its class unless `force_suppress`, by at least `nms_threshold` keeps its place with class -1. The rows behind
    `nms_topk` are those that had that place in the order of anchors, with class -1. With an `nms_threshold` outside
    (0, 1] all rows stay in the order of anchors. Rows of -1 fill the rest. Source: MXNet _contrib_MultiBoxDetection.
    """

    inputs = ("cls_prob", "loc_pred", "anchor")
    rounding, decides, stays_wide = Rounding.ROUNDS, DecisionTrait.CUTS, COORDINATES
    work = Open("how many boxes it compares depends on their scores")
    clip: bool = True
    threshold: float = 0.01
    nms_threshold: float = 0.5
    force_suppress: bool = False
    variances: tuple[float, float, float, float] = (0.1, 0.1, 0.2, 0.2)
    nms_topk: int = -1

    def infer(self, scores: TensorType, offsets: TensorType, anchors: TensorType) -> TensorType:
        batch, _, count = self._dims(scores, offsets, anchors)
        return TensorType(same_dtype(scores, offsets, anchors), (batch, count, 6))

    def _dims(self, scores: Operand, offsets: Operand, anchors: Operand) -> tuple[Dim, Dim, Dim]:
        assert scores is not None
        assert offsets is not None
        assert anchors is not None
        batch, classes, count = same_rank(scores, 3, "cls_prob") or (UNKNOWN,) * 3
        moved, base = same_rank(offsets, 2, "loc_pred"), same_rank(anchors, 3, "anchor")
        if moved is not None:
            batch = _same(batch, moved[0], f"cls_prob {scores} and loc_pred {offsets} differ in the batch")
            if isinstance(moved[1], int):
                if moved[1] % 4:
                    shown = format_shape(moved)
                    raise ShapeError(f"loc_pred has the shape {shown}, expected 4 numbers for each anchor")
                count = self._count(count, moved[1] // 4, f"loc_pred {format_shape(moved)}")
        if base is not None:
            _same(base[2], 4, f"anchor has the shape {format_shape(base)}, expected 4 numbers a box")
            count = self._count(count, base[1], f"anchor {format_shape(base)}")
        return batch, classes, count

    def _count(self, left: Dim, right: Dim, what: str) -> Dim:
        return _same(left, right, f"cls_prob has scores for {left} anchors, {what} has {right}")

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        scores, offsets, anchors = operands
        batch, classes, count = self._dims(scores, offsets, anchors)
        if results[0].shape is not None:
            batch, count = unify_dim(batch, results[0].shape[0]), unify_dim(count, results[0].shape[1])
        dtype = same_dtype(*operands, results[0])
        return (
            refine(scores, (batch, classes, count), dtype),
            refine(offsets, (batch, count * 4), dtype),
            refine(anchors, (1, count, 4), dtype),
        )


OPERATORS = (NonMaxSuppression, RoiAlign, BoxNMS, MultiBoxDetection)
