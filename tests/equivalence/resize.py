"""Cases of upsampling, resizing and sampling."""

from __future__ import annotations

from tests.equivalence.case import Case, case, data, param

IMAGE = data(2, 3, 4, 5)

CASES: tuple[Case, ...] = (
    case("UpSampling", "nearest", data(1, 2, 3, 4, name="arg0"), scale=2, sample_type="nearest", num_args=1),
    case("UpSampling", "nearest_3", data(1, 2, 3, 4, name="arg0"), scale=3, sample_type="nearest", num_args=1),
    case("UpSampling", "concat", data(1, 2, 4, 6, name="arg0"), data(1, 3, 2, 3, name="arg1"),
         scale=2, sample_type="nearest", num_args=2),
    case("UpSampling", "sum", data(1, 2, 4, 4, name="arg0"), data(1, 2, 8, 8, name="arg1"),
         scale=2, sample_type="nearest", num_args=2, multi_input_mode="sum"),
    case("UpSampling", "scale_1", data(1, 2, 3, 4, name="arg0"), scale=1, sample_type="nearest", num_args=1),
    case("UpSampling", "three", data(1, 1, 2, 3, name="arg0"), data(1, 2, 8, 12, name="arg1"),
         data(1, 1, 4, 6, name="arg2"), scale=4, sample_type="nearest", num_args=3),
    case("UpSampling", "bilinear", data(1, 3, 4, 5), param("weight", 3, 1, 4, 4),
         scale=2, sample_type="bilinear", num_filter=3, num_args=2),
    case("UpSampling", "bilinear_3", data(1, 2, 4, 4), param("weight", 2, 1, 5, 5),
         scale=3, sample_type="bilinear", num_filter=2, num_args=2),
    case("_contrib_BilinearResize2D", "default", IMAGE, height=7, width=6),
    case("_contrib_BilinearResize2D", "smaller", data(1, 2, 7, 8), height=3, width=5),
    case("_contrib_BilinearResize2D", "half_pixel", IMAGE, height=6, width=6, align_corners=False),
    case("_contrib_BilinearResize2D", "half_pixel_smaller", data(1, 2, 7, 8), height=3, width=5, align_corners=False),
    case("_contrib_BilinearResize2D", "scales_half_pixel", IMAGE, scale_height=1.5, scale_width=0.7,
         align_corners=False),
    case("_contrib_BilinearResize2D", "to_1", IMAGE, height=1, width=1),
    case("_contrib_BilinearResize2D", "to_1_half_pixel", IMAGE, height=1, width=1, align_corners=False),
    case("_contrib_BilinearResize2D", "to_1_row_half_pixel", IMAGE, height=1, width=7, align_corners=False),
    case("_contrib_BilinearResize2D", "like_1_half_pixel", IMAGE, data(1, 1, 1, 9, name="like"), mode="like",
         align_corners=False),
    case("_contrib_BilinearResize2D", "same", IMAGE, height=4, width=5),
    case("_contrib_BilinearResize2D", "scales", IMAGE, scale_height=2, scale_width=1.5),
    case("_contrib_BilinearResize2D", "odd_scale_up", IMAGE, mode="odd_scale", scale_height=2, scale_width=2),
    case("_contrib_BilinearResize2D", "odd_scale_down", data(1, 2, 7, 8), mode="odd_scale", scale_height=0.5,
         scale_width=0.5),
    case("_contrib_BilinearResize2D", "like", IMAGE, data(1, 1, 7, 9, name="like"), mode="like"),
    *(
        case("_contrib_BilinearResize2D", mode, data(1, 2, 5, 6), mode=mode)
        for mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up")
    ),
    case("GridGenerator", "affine", data(2, 6), transform_type="affine", target_shape=(4, 5)),
    case("GridGenerator", "warp", data(2, 2, 4, 5), transform_type="warp"),
    case("BilinearSampler", "inside_and_outside", IMAGE, data(2, 2, 3, 4, name="grid", kind="scale:0.8")),
    case("SpatialTransformer", "affine", IMAGE, data(2, 6, name="loc", kind="scale:0.6"),
         transform_type="affine", sampler_type="bilinear", target_shape=(3, 4)),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("UpSampling", "sizes", data(1, 2, 4, 4, name="arg0"), data(1, 2, 3, 3, name="arg1"),
         scale=2, sample_type="nearest", num_args=2),
    case("_contrib_BilinearResize2D", "rank", data(2, 3, 4), height=4, width=4),
)  # fmt: skip
