"""Cases of proposals of regions."""

from __future__ import annotations

from typing import Any

from tests.equivalence.case import Case, Input, case, data, values

SMALL: dict[str, Any] = {"scales": (2, 4), "ratios": (0.5, 1, 2), "feature_stride": 8, "rpn_min_size": 4}


def inputs(images: int, anchors: int, rows: int, columns: int, *info: float, spread: float = 0.5) -> tuple[Input, ...]:
    """Distinct scores, offsets, and height, width and scale of every image."""
    return (
        data(images, 2 * anchors, rows, columns, name="cls_prob", kind="distinct"),
        data(images, 4 * anchors, rows, columns, name="bbox_pred", kind=f"scale:{spread}"),
        values(*info, shape=(images, 3), name="im_info"),
    )


ONE = inputs(1, 6, 5, 6, 38, 45, 1.2)
TWO = inputs(2, 6, 4, 3, 30, 24, 1, 27, 20.5, 0.7)
EQUAL = (
    Input("cls_prob", (1, 12, 3, 4), "float32", "halves"),
    data(1, 24, 3, 4, name="bbox_pred", kind="scale:0.3"),
    values(21, 30, 1, shape=(1, 3), name="im_info"),
)

CASES: tuple[Case, ...] = (
    case("_contrib_Proposal", "default", *inputs(1, 12, 3, 4, 48, 64, 1)),
    case("_contrib_Proposal", "small", *ONE, **SMALL, rpn_post_nms_top_n=20),
    case("_contrib_Proposal", "scores", *ONE, **SMALL, rpn_post_nms_top_n=20, output_score=True, threshold=0.3),
    case("_contrib_Proposal", "fewer_than_wanted", *ONE, **SMALL, rpn_pre_nms_top_n=7, rpn_post_nms_top_n=20,
         output_score=True),
    case("_contrib_Proposal", "all_before", *ONE, **SMALL, rpn_pre_nms_top_n=0, rpn_post_nms_top_n=50),
    case("_contrib_Proposal", "corners", *inputs(1, 6, 5, 6, 38, 45, 1.2, spread=6), **SMALL, rpn_post_nms_top_n=30,
         iou_loss=True, output_score=True),
    case("_contrib_Proposal", "equal_scores", *EQUAL, **SMALL, rpn_post_nms_top_n=40, output_score=True),
    case("_contrib_Proposal", "one_anchor", *inputs(1, 1, 4, 4, 40, 40, 2), scales=(3.5,), ratios=(0.7,),
         feature_stride=10, rpn_min_size=0, rpn_post_nms_top_n=9, threshold=0.1),
    case("_contrib_Proposal", "rounded_sides", *inputs(1, 1, 9, 9, 70, 70, 1), scales=(0.77,), ratios=(0.5,),
         feature_stride=8, rpn_min_size=0, rpn_post_nms_top_n=30),
    case("_contrib_MultiProposal", "one", *ONE, **SMALL, rpn_post_nms_top_n=20),
    case("_contrib_MultiProposal", "two", *TWO, **SMALL, rpn_post_nms_top_n=25, threshold=0.4),
    case("_contrib_MultiProposal", "scores", *TWO, **SMALL, rpn_post_nms_top_n=30, output_score=True, threshold=0.2),
    case("_contrib_MultiProposal", "corners", *inputs(2, 6, 4, 3, 30, 24, 1, 27, 20.5, 0.7, spread=9), scales=(2, 4),
         feature_stride=8, rpn_min_size=0, rpn_post_nms_top_n=30, output_score=True, iou_loss=True),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_contrib_Proposal", "two_images", *TWO, **SMALL),
    case("_contrib_MultiProposal", "other_anchors", *TWO, feature_stride=8),
)
