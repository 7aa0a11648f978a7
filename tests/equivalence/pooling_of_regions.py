"""Cases of poolings of regions."""

from __future__ import annotations

from typing import Any

from tests.equivalence.case import Case, Input, case, data, values


def rois(*rows: tuple[float, ...], dtype: str = "float32") -> Input:
    """Regions, one a row."""
    return values(
        *(number for row in rows for number in row), shape=(len(rows), len(rows[0])), name="rois", dtype=dtype
    )


# Inside, on halves, partly outside, wholly outside, turned inside out.
BOXES = (
    (0, 3, 5, 30, 41), (1, 2.5, -3.5, 20.5, 18.5), (0, -20, -9, 12, 70), (1, 200, 200, 240, 240), (1, 30, 20, 20, 10),
    (0, 8, 8, 8, 8),
)  # fmt: skip
TURNED = (
    (0, 30, 20, 20, 10, 30), (1, 10.5, 40, 33, 12, -75), (0, 0, 0, 60, 60, 180), (1, 500, 20, 9, 9, 12),
    (0, 25, 25, -3, 0, 45),
)  # fmt: skip
DATA, WIDE = data(2, 18, 7, 9), data(2, 32, 6, 8)
NINE: dict[str, Any] = {"spatial_scale": 0.125, "output_dim": 2, "pooled_size": 3}


def trans(classes: int, parts: int) -> Input:
    """Moves of the parts of six regions."""
    return data(6, 2 * classes, parts, parts, name="trans")


CASES: tuple[Case, ...] = (
    case("_contrib_PSROIPooling", "default", DATA, rois(*BOXES), **NINE),
    case("_contrib_PSROIPooling", "group_size", WIDE, rois(*BOXES), spatial_scale=0.1, output_dim=2, pooled_size=6,
         group_size=4),
    case("_contrib_PSROIPooling", "large_group", WIDE, rois(*BOXES), spatial_scale=0.1, output_dim=2, pooled_size=3,
         group_size=4),
    case("_contrib_PSROIPooling", "one_region", data(1, 4, 5, 5), rois((0, 1, 1, 4, 3)), spatial_scale=1,
         output_dim=1, pooled_size=2),
    case("_contrib_PSROIPooling", "float64_scale", data(2, 32, 6, 8, dtype="float64"), rois(*BOXES, dtype="float64"),
         spatial_scale=0.1, output_dim=2, pooled_size=2, group_size=4),
    case("_contrib_PSROIPooling", "float64", data(2, 18, 7, 9, dtype="float64"), rois(*BOXES, dtype="float64"), **NINE),
    case("_contrib_PSROIPooling", "more_channels", WIDE, rois(*BOXES), spatial_scale=0.1, output_dim=3, pooled_size=2,
         group_size=3),
    case("_contrib_DeformablePSROIPooling", "more_channels", WIDE, rois(*BOXES), spatial_scale=0.1, output_dim=2,
         pooled_size=3, group_size=2, no_trans=True),
    case("_contrib_DeformablePSROIPooling", "no_trans", DATA, rois(*BOXES), **NINE, group_size=3, no_trans=True),
    case("_contrib_DeformablePSROIPooling", "samples", DATA, rois(*BOXES), **NINE, group_size=3, no_trans=True,
         sample_per_part=3),
    case("_contrib_DeformablePSROIPooling", "moved", DATA, rois(*BOXES), trans(1, 3), **NINE, group_size=3,
         trans_std=0.2, sample_per_part=2),
    case("_contrib_DeformablePSROIPooling", "classes_and_parts", WIDE, rois(*BOXES), trans(2, 2), spatial_scale=0.1,
         output_dim=2, pooled_size=5, group_size=4, part_size=2, trans_std=0.1, sample_per_part=2),
    case("_contrib_RROIAlign", "sampling_ratio", data(2, 3, 7, 8), rois(*TURNED), spatial_scale=0.125,
         pooled_size=(3, 2), sampling_ratio=2),
    case("_contrib_RROIAlign", "adaptive", data(2, 3, 7, 8), rois(*TURNED), spatial_scale=0.2, pooled_size=(2, 4)),
    case("_contrib_RROIAlign", "one_cell", data(2, 1, 5, 5), rois(*TURNED), spatial_scale=0.1, pooled_size=(1, 1),
         sampling_ratio=1),
)  # fmt: skip

REFUSED: tuple[Case, ...] = ()
