"""Object detection: anchors, box arithmetic, suppression, pooling of regions."""

from __future__ import annotations

import math

import numpy as np

from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.importing.regions import may_lack_image, zeros_without_image
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.detection import BoxFormat, BoxNMS, MultiBoxDetection, RoiAlign, RoiCoordinates
from graphir.ops.elementwise import Add, Div, Exp, Greater, Identity, Max, Min, Mul, Sub, Where
from graphir.ops.indexing import Gather
from graphir.ops.reduction import ReduceProd
from graphir.ops.shape import Reshape, Squeeze, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice
from graphir.types import UNKNOWN, DType, TensorType

END = 2**31 - 1


def import_multibox_prior(node: ImportNode) -> Value:
    """_contrib_MultiBoxPrior: anchors (1, H*W*(sizes + ratios - 1), 4) for the pixels of data (N, C, H, W), a constant.

    A pixel has every size with the first ratio, then the first size with every further ratio; unless both
    steps are positive they are 1 / size.
    """
    attrs = node.attrs
    data = node.input(0)
    node.graph.refine(data, TensorType(None, (UNKNOWN,) * 4))
    height, width = node.sizes(data, [2, 3])
    sizes, ratios = attrs["sizes"] or (1.0,), attrs["ratios"] or (1.0,)
    if not all(ratio > 0 for ratio in ratios) or min(height, width) < 1:
        node.refuse(f"ratios {list(ratios)} and an image of {height} x {width}: expected positive numbers")
    steps, offsets = node.several("steps", 2, (-1.0, -1.0)), node.several("offsets", 2, (0.5, 0.5))
    if steps[0] * steps[1] < 0:
        node.refuse(f"steps {list(steps)}: one is stated and the other is not")
    step_y, step_x = steps if min(steps) > 0 else (1 / height, 1 / width)
    shapes = [(size, math.sqrt(ratios[0])) for size in sizes]
    shapes += [(sizes[0], math.sqrt(ratio)) for ratio in ratios[1:]]
    node.charge(height * width * len(shapes) * 4, "its anchors")
    half = np.array([(size * height / width * root / 2, size / root / 2) for size, root in shapes])
    rows = (np.arange(height) + offsets[0]) * step_y
    columns = (np.arange(width) + offsets[1]) * step_x
    center = np.stack(np.meshgrid(columns, rows), axis=-1)[:, :, None, :]
    anchors = np.concatenate([center - half, center + half], axis=-1).reshape(1, -1, 4)
    anchors = np.clip(anchors, 0, 1) if attrs["clip"] else anchors
    node.decide(DecisionKind.ANCHORS, f"computed for {height} x {width} pixels: {anchors.shape[1]} constant boxes")
    dtype = data.dtype or DType.FLOAT32
    return node.graph.constant(anchors.astype(dtype.numpy()), name=node.output_names[0])


def import_box_nms(node: ImportNode) -> Value:
    """_contrib_box_nms: rows (..., K, W)."""
    attrs = node.attrs
    data = node.input(0)
    if attrs["topk"] == 0:
        node.decide(DecisionKind.NO_SUPPRESSION, "with a topk of 0 MXNet leaves the data as it is")
        return node.emit(Identity(), data)
    op = BoxNMS(
        overlap_thresh=min(attrs["overlap_thresh"], 1.0),  # no overlap is above 1
        valid_thresh=attrs["valid_thresh"],
        topk=attrs["topk"],
        coord_start=attrs["coord_start"],
        score_index=attrs["score_index"],
        id_index=attrs["id_index"],
        background_id=attrs["background_id"],
        force_suppress=attrs["force_suppress"],
        in_format=BoxFormat(attrs["in_format"]),
        out_format=BoxFormat(attrs["out_format"]),
    )
    shape = node.shape(data)
    if len(shape) < 2:
        node.refuse(f"the data has {len(shape)} axes, expected rows of boxes")
    if len(shape) == 3:
        return node.emit(op, data)
    if len(shape) == 2:
        rows = node.step(Unsqueeze(), data, node.vector([0]), suffix="batch")
        return node.emit(Squeeze(), node.step(op, rows, suffix="nms"), node.vector([0]))
    count, width = node.sizes(data, [-2, -1])
    leading = node.sizes(data, range(1, len(shape) - 2))
    rows = node.step(Reshape(), data, node.vector([-1, count, width]), suffix="batch")
    kept = node.step(op, rows, suffix="nms")
    return node.emit(Reshape(), kept, node.vector([-1, *leading, count, width]))


def import_multibox_detection(node: ImportNode) -> Value:
    """_contrib_MultiBoxDetection: cls_prob (N, C, K), loc_pred (N, 4 K), anchor (1, K, 4)."""
    attrs = node.attrs
    variances = attrs["variances"] or (0.1, 0.1, 0.2, 0.2)
    if len(variances) != 4:
        node.refuse(f"variances has {len(variances)} entries, expected 4")
    if attrs["background_id"] != 0:
        node.decide(
            DecisionKind.BACKGROUND_CLASS, f"it is the first: MXNet never reads background_id {attrs['background_id']}"
        )
    op = MultiBoxDetection(
        clip=attrs["clip"],
        threshold=attrs["threshold"],
        nms_threshold=attrs["nms_threshold"],
        force_suppress=attrs["force_suppress"],
        variances=variances,
        nms_topk=attrs["nms_topk"],
    )
    return node.emit(op, node.input(0), node.input(1), node.input(2))


def import_box_iou(node: ImportNode) -> Value:
    """_contrib_box_iou: the overlap of every box of lhs (..., 4) with every box of rhs (..., 4); 0 for empty unions."""
    left, right = node.input(0), node.input(1)
    ranks = node.rank(left), node.rank(right)
    if min(ranks) < 2:
        node.refuse(f"the boxes have {ranks[0]} and {ranks[1]} axes, expected at least 2")
    others = range(ranks[0] - 1, sum(ranks) - 2)
    left = node.step(Unsqueeze(), left, node.vector(others), suffix="pairs")
    center = node.attrs["format"] == "center"
    first, second = _corners(node, left, center, "lhs"), _corners(node, right, center, "rhs")
    low = node.step(Max(), first[0], second[0], suffix="low")
    high = node.step(Min(), first[1], second[1], suffix="high")
    nothing = node.scalar_like(left, 0)
    sides = node.step(Max(), node.step(Sub(), high, low, suffix="sides"), nothing, suffix="overlap")
    shared = _area(node, sides, "intersection")
    areas = [
        _area(node, node.step(Sub(), box[1], box[0], suffix=f"{name}_sides"), f"{name}_area")
        for box, name in ((first, "lhs"), (second, "rhs"))
    ]
    union = node.step(Sub(), node.step(Add(), *areas, suffix="areas"), shared, suffix="union")
    ratio = node.step(Div(), shared, union, suffix="ratio")
    return node.emit(Where(), node.step(Greater(), union, nothing, suffix="some"), ratio, nothing)


def _area(node: ImportNode, sides: Value, suffix: str) -> Value:
    return node.step(ReduceProd(keepdims=False), sides, node.vector([-1]), suffix=suffix)


def _halves(node: ImportNode, boxes: Value, suffix: str) -> tuple[Value, Value]:
    """Return the first two and the last two numbers of boxes (..., 4)."""
    axis = node.vector([-1])
    first = node.step(Slice(), boxes, node.vector([0]), node.vector([2]), axis, suffix=f"{suffix}_first")
    return first, node.step(Slice(), boxes, node.vector([2]), node.vector([4]), axis, suffix=f"{suffix}_last")


def _corners(node: ImportNode, boxes: Value, center: bool, suffix: str) -> tuple[Value, Value]:
    first, last = _halves(node, boxes, suffix)
    if not center:
        return first, last
    half = node.step(Div(), last, node.scalar_like(boxes, 2), suffix=f"{suffix}_half")
    return (
        node.step(Sub(), first, half, suffix=f"{suffix}_low"),
        node.step(Add(), first, half, suffix=f"{suffix}_high"),
    )


def import_box_decode(node: ImportNode) -> Value:
    """_contrib_box_decode: corners (N, K, 4) of offsets (N, K, 4) applied to anchors (1, K, 4)."""
    attrs = node.attrs
    data, anchors = node.input(0), node.input(1)
    deviations = [attrs[f"std{index}"] for index in range(4)]
    if any(deviation != 1 for deviation in deviations):
        scale = node.constant(deviations, data.dtype or DType.FLOAT32)
        data = node.step(Mul(), data, scale, suffix="scaled")
    center, size = _halves(node, anchors, "anchors")
    two = node.scalar_like(anchors, 2)
    if attrs["format"] == "corner":
        low, high = center, size
        size = node.step(Sub(), high, low, suffix="size")
        center = node.step(Div(), node.step(Add(), low, high, suffix="sum"), two, suffix="center")
    moved, grown = _halves(node, data, "offsets")
    if attrs["clip"] > 0:
        grown = node.step(Min(), grown, node.scalar_like(data, attrs["clip"]), suffix="limited")
    shifted = node.step(Add(), node.step(Mul(), moved, size, suffix="moved"), center, suffix="shifted")
    grown = node.step(Mul(), node.step(Exp(), grown, suffix="exp"), size, suffix="grown")
    half = node.step(Div(), grown, two, suffix="half")
    low, high = node.step(Sub(), shifted, half, suffix="low"), node.step(Add(), shifted, half, suffix="high")
    return node.emit(Concat(2), low, high)


def import_roi_align(node: ImportNode) -> Value:
    """_contrib_ROIAlign: data (N, C, H, W), rois (R, 5) of image and corners.

    With `position_sensitive` a cell reads its own part of the channels. Regions with a batch index below 0, which ONNX
    does not allow, are 0 where they may occur (`may_lack_image`).
    """
    attrs = node.attrs
    rows, columns = node.several("pooled_size", 2)
    data, rois = node.input(0), node.shaped(1, (UNKNOWN, 5))
    axis = node.vector([1])
    lacking = may_lack_image(node, rois)
    image = node.step(Gather(1), rois, node.constant(0, DType.INT64), suffix="image")
    image = node.cast(image, DType.INT64, suffix="image_index")
    if lacking or rois.tensor is None:  # runtimes read memory before the data at an index below 0
        image = node.step(Max(), image, node.constant(0, DType.INT64), suffix="image_or_first")
    boxes = node.step(Slice(), rois, node.vector([1]), node.vector([END]), axis, suffix="boxes")
    op = RoiAlign(
        output_height=rows,
        output_width=columns,
        sampling_ratio=max(attrs["sample_ratio"], 0),
        spatial_scale=attrs["spatial_scale"],
        coordinates=RoiCoordinates.HALF_PIXEL if attrs["aligned"] else RoiCoordinates.OUTPUT_HALF_PIXEL,
    )
    if not attrs["position_sensitive"] and not lacking:
        return node.emit(op, data, boxes, image)
    if not attrs["position_sensitive"]:
        return zeros_without_image(node, rois, node.step(op, data, boxes, image, suffix="align"))
    cells = rows * columns
    every = node.step(op, data, boxes, image, suffix="align")
    pairs = node.step(Reshape(), every, node.vector([0, -1, cells * cells]), suffix="pairs")
    own = node.step(Gather(2), pairs, node.vector(range(0, cells * cells, cells + 1)), suffix="own")
    if not lacking:
        return node.emit(Reshape(), own, node.vector([0, 0, rows, columns]))
    cut = node.step(Reshape(), own, node.vector([0, 0, rows, columns]), suffix="cells")
    return zeros_without_image(node, rois, cut)


IMPORTS = {
    "_contrib_MultiBoxDetection": import_multibox_detection,
    "_contrib_MultiBoxPrior": import_multibox_prior,
    "_contrib_ROIAlign": import_roi_align,
    "_contrib_box_decode": import_box_decode,
    "_contrib_box_iou": import_box_iou,
    "_contrib_box_nms": import_box_nms,
}
