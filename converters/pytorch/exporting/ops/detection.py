"""Object detection: functions of the file, which need no torchvision."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import ExportNode, call, row, table, tuple_of
from graphir.converters.pytorch.exporting.ops.activation import float_text
from graphir.ops import detection as ir


def export_non_max_suppression(node: ExportNode[ir.NonMaxSuppression]) -> None:
    """The best box of a class, then the best that does not overlap it, and so on. Nothing without a limit."""
    given = {name: str(node.scalar(slot)) for slot, name in ((3, "iou_threshold"), (4, "score_threshold"))
             if node.optional(slot) is not None}  # fmt: skip
    limit = "0" if node.optional(2) is None else str(node.scalar(2))
    center = "True" if node.op.center_point_box else None
    function = node.function("non_max_suppression")
    node.emit(call(function, node.tensor(), node.tensor(1), limit, **given, center_point_box=center))


def export_roi_align(node: ExportNode[ir.RoiAlign]) -> None:
    """A loop over regions."""
    op, scale = node.op, float_text(node.op.spatial_scale)
    options = {
        "sampling": str(op.sampling_ratio) if op.sampling_ratio else None,
        "scale": None if scale == "1.0" else scale,
        "aligned": None if op.coordinates is ir.RoiCoordinates.HALF_PIXEL else "False",
        "mode": '"max"' if op.mode is ir.RoiMode.MAX else None,
    }
    size = tuple_of((op.output_height, op.output_width))
    node.emit(call(node.function("roi_align"), *node.tensors(), size, **options))


def export_box_nms(node: ExportNode[ir.BoxNMS]) -> None:
    """A loop over images and boxes."""
    op = node.op
    numbers = {
        "threshold": float_text(op.overlap_thresh), "least_score": float_text(op.valid_thresh), "topk": op.topk,
        "box": op.coord_start, "score": op.score_index, "label": op.id_index, "background": op.background_id,
        "any_label": op.force_suppress, "centers_in": op.in_format is ir.BoxFormat.CENTER,
        "centers_out": op.out_format is ir.BoxFormat.CENTER,
    }  # fmt: skip
    options = {name: str(number) for name, number in numbers.items()}
    node.emit(call(node.function("box_nms"), node.tensor(), **options))


def export_multibox_detection(node: ExportNode[ir.MultiBoxDetection]) -> None:
    """A loop over images and boxes."""
    op = node.op
    options = {
        "threshold": float_text(op.threshold), "nms_threshold": float_text(op.nms_threshold), "topk": str(op.nms_topk),
        "any_label": str(op.force_suppress), "clip": str(op.clip),
        "variances": tuple_of(map(float_text, op.variances)),
    }  # fmt: skip
    node.emit(call(node.function("multibox_detection"), *node.tensors(), **options))


EXPORTS = table(
    row(ir.NonMaxSuppression, export_non_max_suppression),
    row(ir.RoiAlign, export_roi_align),
    row(ir.BoxNMS, export_box_nms),
    row(ir.MultiBoxDetection, export_multibox_detection),
)
