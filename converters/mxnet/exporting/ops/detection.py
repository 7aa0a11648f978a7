"""Object detection: MXNet's own operators, and what ONNX's need beside them."""

from __future__ import annotations

from graphir.converters.mxnet.exporting.context import AnyNode, Entry, ExportNode, row, table
from graphir.converters.mxnet.exporting.ops.roi_maximum import export_roi_maximum
from graphir.converters.mxnet.exporting.ops.steps import cast, computing, emit_as, held
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import detection as ir
from graphir.ops.elementwise import Cast
from graphir.ops.indexing import Gather
from graphir.ops.shape_parts import Slice
from graphir.types import DType


def export_box_nms(node: ExportNode[ir.BoxNMS]) -> None:
    """_contrib_box_nms."""
    op = node.op
    node.emit(
        "_contrib_box_nms",
        node.entry(0),
        overlap_thresh=op.overlap_thresh,
        valid_thresh=op.valid_thresh,
        topk=op.topk if op.topk != 0 else -1,
        coord_start=op.coord_start,
        score_index=op.score_index,
        id_index=op.id_index,
        background_id=op.background_id,
        force_suppress=op.force_suppress,
        in_format=op.in_format.value,
        out_format=op.out_format.value,
    )


def export_multibox_detection(node: ExportNode[ir.MultiBoxDetection]) -> None:
    """_contrib_MultiBoxDetection."""
    op = node.op
    node.emit(
        "_contrib_MultiBoxDetection",
        *node.entries(),
        clip=op.clip,
        threshold=op.threshold,
        nms_threshold=op.nms_threshold,
        force_suppress=op.force_suppress,
        variances=op.variances,
        nms_topk=op.nms_topk,
    )


def export_roi_align(node: ExportNode[ir.RoiAlign]) -> None:
    """_contrib_ROIAlign of regions with their image in front; maxima of samples are found by lookups."""
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
    data = cast(node, node.entry(0), held(node), dtype)
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
    """The image and the corners of each region, (R, 5), as which they may have been given."""
    source = _whole_regions(node)
    if source is not None and source.dtype is dtype:
        return node.export.entry(source)
    images = node.step("expand_dims", node.export.cast(node.entry(2), dtype), suffix="image", axis=1)
    corners = cast(node, node.entry(1), held(node, 1), dtype)
    return node.step("Concat", images, corners, suffix="regions", dim=1, num_args=2)


def _whole_regions(node: AnyNode) -> Value | None:
    """The rows of five of which the corners are the last four and the image is the first; None if there are none."""
    corners, images = node.input(1).producer, node.input(2).producer
    if corners is None or images is None or not isinstance(corners.op, Slice) or not isinstance(images.op, Cast):
        return None
    chosen = images.inputs[0]
    lookup = None if chosen is None else chosen.producer
    if lookup is None or not isinstance(lookup.op, Gather) or lookup.op.axis != 1:
        return None
    index = lookup.inputs[1]
    source = corners.inputs[0]
    if source is None or lookup.inputs[0] is not source or source.rank != 2 or source.shape is None:
        return None
    begins = [None if value is None or value.known is None else value.known.integers() for value in corners.inputs[1:4]]
    first = index is not None and index.known is not None and index.known.integers() == (0,)
    rest = len(begins) == 3 and begins[0] == (1,) and begins[2] in ((1,), (-1,)) and node.shape(1)[1] == 4
    return source if first and rest and source.shape[1] == 5 and len(corners.inputs) == 4 else None


EXPORTS = table(
    row(ir.BoxNMS, export_box_nms),
    row(ir.MultiBoxDetection, export_multibox_detection),
    row(ir.RoiAlign, export_roi_align),
)
