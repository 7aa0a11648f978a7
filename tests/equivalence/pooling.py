"""Cases of the pooling family."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, values

ODD = data(2, 3, 7, 8)

CASES: tuple[Case, ...] = (
    case("Pooling", "max_defaults", ODD, kernel=(2, 2), pool_type="max"),
    case("Pooling", "max_valid_rest", ODD, kernel=(3, 3), stride=(2, 2), pool_type="max"),
    case("Pooling", "max_full_rest", ODD, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full"),
    case(
        "Pooling", "max_full_pad", ODD,
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max", pooling_convention="full",
    ),
    case("Pooling", "max_full_2x2", ODD, kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="full"),
    case(
        "Pooling", "max_full_stride_3", data(1, 2, 8, 9),
        kernel=(2, 2), stride=(3, 3), pool_type="max", pooling_convention="full",
    ),
    case("Pooling", "max_negative_pad", data(1, 2, 5, 5, kind="integers:-9:-1"), kernel=(3, 3), pad=(1, 1)),
    case("Pooling", "max_asymmetric_kernel", ODD, kernel=(3, 2), stride=(1, 2), pad=(1, 0), pool_type="max"),
    case("Pooling", "avg_valid", ODD, kernel=(3, 3), stride=(2, 2), pool_type="avg"),
    case("Pooling", "avg_pad_counts", ODD, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg"),
    case(
        "Pooling", "avg_pad_excluded", ODD,
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=False,
    ),
    case("Pooling", "avg_full", ODD, kernel=(3, 3), stride=(2, 2), pool_type="avg", pooling_convention="full"),
    case(
        "Pooling", "avg_full_pad_counts", ODD,
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", pooling_convention="full",
    ),
    case(
        "Pooling", "avg_full_pad_counts_even", data(1, 2, 6, 9),
        kernel=(4, 3), stride=(3, 2), pad=(1, 1), pool_type="avg", pooling_convention="full", count_include_pad=True,
    ),
    case(
        "Pooling", "avg_full_pad_excluded", ODD,
        kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", pooling_convention="full", count_include_pad=False,
    ),
    case("Pooling", "sum_pad", ODD, kernel=(3, 2), stride=(2, 2), pad=(1, 1), pool_type="sum"),
    case("Pooling", "sum_full", ODD, kernel=(3, 3), stride=(2, 2), pool_type="sum", pooling_convention="full"),
    case("Pooling", "lp1", ODD, kernel=(2, 2), stride=(2, 2), pool_type="lp", p_value=1),
    case("Pooling", "lp2", ODD, kernel=(2, 3), stride=(2, 2), pad=(1, 1), pool_type="lp", p_value=2),
    case("Pooling", "lp3_positive", data(1, 2, 6, 6, kind="positive"), kernel=(2, 2), pool_type="lp", p_value=3),
    case("Pooling", "lp3_signs", data(1, 2, 6, 6), kernel=(2, 2), pool_type="lp", p_value=3),
    case("Pooling", "lp3_full", ODD, kernel=(2, 2), stride=(2, 2), pool_type="lp", p_value=3,
         pooling_convention="full"),
    case("Pooling", "global_lp1", ODD, pool_type="lp", p_value=1, global_pool=True),
    case("Pooling", "global_lp2", ODD, pool_type="lp", p_value=2, global_pool=True),
    case("Pooling", "global_lp3", ODD, pool_type="lp", p_value=3, global_pool=True),
    case("Pooling", "global_max", ODD, pool_type="max", global_pool=True),
    case("Pooling", "global_avg_ignores_the_rest", ODD, kernel=(7, 7), stride=(2, 2), pad=(3, 3), pool_type="avg",
         global_pool=True, pooling_convention="full"),
    case("Pooling", "global_avg_kernel_1", ODD, kernel=(1, 1), pool_type="avg", global_pool=True, layout="NCHW"),
    case("Pooling", "global_sum", ODD, kernel=(1, 1), pool_type="sum", global_pool=True),
    case("Pooling", "1d_max", data(2, 3, 9), kernel=(3,), stride=(2,), pad=(1,), pool_type="max", layout="NCW"),
    case("Pooling", "1d_avg_full", data(2, 3, 10), kernel=(3,), stride=(2,), pool_type="avg",
         pooling_convention="full"),
    case("Pooling", "3d_max", data(1, 2, 5, 6, 7), kernel=(2, 3, 3), stride=(2, 2, 2), pad=(1, 1, 0), pool_type="max"),
    case("Pooling", "3d_avg_excluded", data(1, 2, 5, 6, 7), kernel=(3, 3, 3), stride=(2, 2, 2), pad=(1, 1, 1),
         pool_type="avg", count_include_pad=False),
    case("Pooling", "nhwc_avg", data(2, 7, 8, 3), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg",
         layout="NHWC"),
    case("Pooling", "nwc_max", data(2, 7, 3), kernel=(3,), stride=(2,), pool_type="max", layout="NWC"),
    case("Pooling", "float64", data(1, 2, 5, 5, dtype="float64"), kernel=(2, 2), pool_type="avg"),
    case("Pooling", "float16", data(1, 2, 5, 5, dtype="float16"), kernel=(3, 3), pool_type="max"),
    case("Pooling_v1", "max_full", ODD, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full"),
    case("Pooling_v1", "avg_valid", ODD, kernel=(3, 3), stride=(2, 2), pool_type="avg"),
    case("Pooling_v1", "avg_pad_counts", ODD, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg"),
    case("Pooling_v1", "avg_full_pad", ODD, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg",
         pooling_convention="full"),
    case("Pooling_v1", "sum", ODD, kernel=(2, 3), stride=(1, 2), pool_type="sum"),
    case("Pooling_v1", "global_avg", ODD, kernel=(2, 2), pool_type="avg", global_pool=True),
    case("_contrib_AdaptiveAvgPooling2D", "global", ODD),
    case("_contrib_AdaptiveAvgPooling2D", "one_number", ODD, output_size=3),
    case("_contrib_AdaptiveAvgPooling2D", "2x2", ODD, output_size=(2, 2)),
    case("_contrib_AdaptiveAvgPooling2D", "uneven", ODD, output_size=(3, 5)),
    case("_contrib_AdaptiveAvgPooling2D", "enlarging", data(1, 2, 3, 4), output_size=(5, 7)),
    case("_contrib_AdaptiveAvgPooling2D", "dividing", data(1, 2, 6, 8), output_size=(3, 2)),
    case("ROIPooling", "corners", data(2, 3, 9, 11),
         values(0, 0, 0, 7, 7, 1, 2, 3, 15, 12, 0, 8, 8, 8, 8, 1, 18, 14, 30, 30, shape=(4, 5), name="rois"),
         pooled_size=(3, 2), spatial_scale=0.5),
    case("ROIPooling", "scale_1", data(1, 2, 8, 8), values(0, 1.5, 2.5, 6, 5, shape=(1, 5), name="rois"),
         pooled_size=(2, 2), spatial_scale=1.0),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("Pooling", "kernel_too_big", data(1, 2, 3, 3), kernel=(5, 5), pool_type="max"),
    case("Pooling", "no_kernel", ODD, pool_type="max"),
    case("Pooling", "kernel_rank", ODD, kernel=(3,), pool_type="max"),
    case("Pooling", "2d_same", ODD, kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="same"),
    case("Pooling", "rank_2", data(3, 4), kernel=(2,), pool_type="max"),
)
