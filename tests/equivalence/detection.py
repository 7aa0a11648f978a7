"""Cases of object detection operators."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, values


def boxes(rows: int, width: int, name: str = "data") -> Input:
    """Random corner boxes behind a class and a score, as fixed numbers."""
    numbers: list[float] = []
    for index in range(rows):
        x, y = (index * 37 % 11) / 20, (index * 53 % 13) / 20
        row = [float(index % 3), ((index * 29) % rows + 0.5) / rows, x, y, x + 0.3 + (index % 4) / 20, y + 0.35]
        numbers += row[6 - width :]
    return values(*numbers, shape=(1, rows, width), name=name)


# Ten rows of class (one of them -1), score (some equal) and corners that overlap in pairs.
ROWS = tuple(
    float(number)
    for index in range(10)
    for number in (
        index % 4 - 1, (index * 3 % 5 + 1) / 8, index // 2 / 8, index % 3 / 16, index // 2 / 8 + 0.375,
        index % 3 / 16 + 0.25 + index / 64,
    )
)  # fmt: skip
PROBABILITIES = values(
    *(((index * 7919) % 101) / 101 for index in range(1 * 4 * 12)), shape=(1, 4, 12), name="cls_prob"
)
OFFSETS = data(1, 48, name="loc_pred", kind="scale:0.5")
ANCHORS = boxes(12, 4, "anchor")
SWAPPED = ((0.1, 0.2, 0.6, 0.5), (0.6, 0.2, 0.1, 0.5), (0.1, 0.5, 0.6, 0.2), (0.6, 0.5, 0.1, 0.2))
# Pairs of the same corners, in x, in y, in both or not at all the wrong way round.
INSIDE_OUT = tuple(
    number
    for index in range(8)
    for number in (0.0, 0.9 - index / 16, *SWAPPED[index // 2])
)  # fmt: skip
ANCHORS_INSIDE_OUT = values(*(number for index in range(12) for number in SWAPPED[index % 4]), shape=(1, 12, 4),
                            name="anchor")  # fmt: skip

CASES: tuple[Case, ...] = (
    case("_contrib_MultiBoxPrior", "default", data(1, 3, 3, 4)),
    case("_contrib_MultiBoxPrior", "ssd", data(2, 3, 3, 4), sizes=(0.3, 0.5), ratios=(1.0, 2.0, 0.5), clip=True),
    case("_contrib_MultiBoxPrior", "steps", data(1, 3, 2, 5), sizes=(0.2,), ratios=(2.0, 1.0), steps=(0.4, 0.3),
         offsets=(0.25, 0.75)),
    case("_contrib_box_nms", "default", boxes(12, 6)),
    case("_contrib_box_nms", "fractional_ids", boxes(8, 6), overlap_thresh=0.0, id_index=1, score_index=0, topk=3),
    case("_contrib_box_nms", "inside_out", values(*INSIDE_OUT, shape=(1, 8, 6)), overlap_thresh=0.3),
    case("_contrib_box_nms", "inside_out_center", values(*INSIDE_OUT, shape=(1, 8, 6)), overlap_thresh=0.3,
         in_format="center"),
    case("_contrib_box_nms", "per_class", boxes(12, 6), id_index=0, overlap_thresh=0.3, valid_thresh=0.1, topk=9),
    case("_contrib_box_nms", "force_suppress", boxes(12, 6), id_index=0, force_suppress=True, overlap_thresh=0.45),
    case("_contrib_box_nms", "background", boxes(12, 6), id_index=0, background_id=1, overlap_thresh=0.3),
    case("_contrib_box_nms", "center_to_corner", boxes(12, 6), in_format="center", out_format="corner"),
    case("_contrib_box_nms", "narrow", boxes(12, 5), score_index=0, coord_start=1, overlap_thresh=0.2),
    case("_contrib_box_nms", "rows", values(*ROWS, shape=(10, 6)), id_index=0, topk=7, overlap_thresh=0.2),
    case("_contrib_box_nms", "leading_axes", values(*ROWS, shape=(2, 1, 5, 6)), overlap_thresh=0.2, valid_thresh=0.2),
    case("_contrib_box_nms", "batch", values(*ROWS, shape=(2, 5, 6)), id_index=0, in_format="center",
         out_format="center", overlap_thresh=0.1),
    case("_contrib_box_nms", "corner_to_center", values(*ROWS, shape=(2, 5, 6)), id_index=0, background_id=2,
         out_format="center", overlap_thresh=0.1),
    case("_contrib_box_nms", "float64", values(*ROWS, shape=(2, 5, 6), dtype="float64"), id_index=0),
    case("_contrib_box_nms", "float16", values(*ROWS, shape=(2, 5, 6), dtype="float16"), id_index=0),
    case("_contrib_box_nms", "none_valid", values(*ROWS, shape=(2, 5, 6)), valid_thresh=2.0),
    case("_contrib_box_nms", "overlap_0", values(*ROWS, shape=(2, 5, 6)), overlap_thresh=0.0),
    case("_contrib_box_nms", "topk_0", values(*ROWS, shape=(2, 5, 6)), topk=0),
    case("_contrib_box_iou", "corner", boxes(4, 4, "lhs"), boxes(5, 4, "rhs")),
    case("_contrib_box_iou", "leading_axes", values(*ROWS[:48], shape=(2, 6, 4), name="lhs"), boxes(5, 4, "rhs")),
    case("_contrib_box_iou", "float64", values(*ROWS[:8], shape=(2, 4), name="lhs", dtype="float64"),
         values(*ROWS[8:16], shape=(2, 4), name="rhs", dtype="float64")),
    case("_contrib_box_iou", "center", boxes(4, 4, "lhs"), boxes(5, 4, "rhs"), format="center"),
    case("_contrib_box_decode", "center", data(2, 5, 4), boxes(5, 4, "anchors"),
         std0=0.1, std1=0.1, std2=0.2, std3=0.2),
    case("_contrib_box_decode", "corner_clip", data(2, 5, 4), boxes(5, 4, "anchors"), format="corner", clip=0.5),
    case("_contrib_MultiBoxDetection", "default", PROBABILITIES, OFFSETS, ANCHORS),
    case("_contrib_MultiBoxDetection", "inside_out", PROBABILITIES, OFFSETS, ANCHORS_INSIDE_OUT, nms_threshold=0.1),
    case("_contrib_MultiBoxDetection", "options", PROBABILITIES, OFFSETS, ANCHORS, clip=False, threshold=0.3,
         nms_threshold=0.3, force_suppress=True, variances=(0.2, 0.2, 0.1, 0.1), nms_topk=6),
    case("_contrib_MultiBoxDetection", "other_background", PROBABILITIES, OFFSETS, ANCHORS, background_id=2,
         nms_threshold=0.1, threshold=0.5),
    case("_contrib_MultiBoxDetection", "no_suppression_topk", PROBABILITIES, OFFSETS, ANCHORS, nms_threshold=1.5,
         nms_topk=3, threshold=0.7),
    case("_contrib_MultiBoxDetection", "none", PROBABILITIES, OFFSETS, ANCHORS, threshold=2.0, nms_topk=3),
    case("_contrib_MultiBoxDetection", "no_suppression", PROBABILITIES, OFFSETS, ANCHORS, nms_threshold=0.0),
    case("_contrib_MultiBoxDetection", "large_topk", PROBABILITIES, OFFSETS, ANCHORS, nms_topk=400, nms_threshold=0.2),
    case("_contrib_ROIAlign", "default", data(2, 3, 8, 9),
         values(0, 0, 0, 7, 7, 1, 2, 3, 15, 12, 0, 8, 8, 8, 8, shape=(3, 5), name="rois"),
         pooled_size=(3, 2), spatial_scale=0.5),
    case("_contrib_ROIAlign", "sample_ratio", data(1, 2, 8, 9), values(0, 1, 2, 14, 11, shape=(1, 5), name="rois"),
         pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2),
    replace(
        case("_contrib_ROIAlign", "aligned", data(1, 2, 8, 9), values(0, 1, 2, 14, 11, shape=(1, 5), name="rois"),
             pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2, aligned=True), least_opset=16,
    ),
    replace(
        case("_contrib_ROIAlign", "aligned_narrow", data(1, 2, 8, 9),
             values(0, 2, 2, 3, 9, 0, 4, 5, 4.5, 5.5, shape=(2, 5), name="rois"),
             pooled_size=(2, 3), spatial_scale=0.5, aligned=True), least_opset=16,
    ),
    case("_contrib_ROIAlign", "narrow", data(1, 2, 8, 9),
         values(0, 2, 2, 3, 9, 0, 4, 5, 4.5, 5.5, shape=(2, 5), name="rois"), pooled_size=(2, 3), spatial_scale=0.5),
    case("_contrib_ROIAlign", "index_cut_to_0", data(2, 2, 8, 9),
         values(-0.5, 2, 2, 9, 9, 1.75, 4, 5, 4.5, 5.5, shape=(2, 5), name="rois"), pooled_size=(2, 3),
         spatial_scale=0.5, sample_ratio=2),
    case("_contrib_ROIAlign", "position_sensitive", data(1, 8, 6, 6), values(0, 1, 1, 9, 9, shape=(1, 5), name="rois"),
         pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2, position_sensitive=True),
)  # fmt: skip

# Regions of no image, which are 0; MXNet 1.9.1 on CPUs leaves them undefined and sets an element elsewhere to 0.
WITHOUT_IMAGE: tuple[Case, ...] = (
    case("_contrib_ROIAlign", "without_image", data(2, 3, 8, 9),
         values(1, 2, 2, 9, 9, -1, 2, 2, 9, 9, -1, -1, -1, -1, -1, 0, 4, 5, 12, 8, shape=(4, 5), name="rois"),
         pooled_size=(2, 3), spatial_scale=0.5, sample_ratio=2),
    case("_contrib_ROIAlign", "none_has_an_image", data(1, 3, 8, 9),
         values(-1, 2, 2, 9, 9, -1.5, -1, -1, -1, -1, shape=(2, 5), name="rois"), pooled_size=(2, 2),
         spatial_scale=0.5),
    case("_contrib_ROIAlign", "position_sensitive_without_image", data(1, 8, 6, 6),
         values(-2, 1, 1, 9, 9, 0, 1, 1, 9, 9, shape=(2, 5), name="rois"), pooled_size=(2, 2), spatial_scale=0.5,
         sample_ratio=2, position_sensitive=True),
    case("_contrib_ROIAlign", "stored_without_image", data(2, 3, 8, 9),
         replace(values(1, 2, 2, 9, 9, -1, 2, 2, 9, 9, shape=(2, 5), name="rois"), role="param"), pooled_size=(2, 3),
         spatial_scale=0.5, sample_ratio=2),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("_contrib_box_iou", "one_box", boxes(3, 4, "lhs"), values(0.1, 0.1, 0.5, 0.6, name="rhs")),
)
