"""Cases of images that are prepared inside a network."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data

LIGHT = (0.5, -1.2, 0.3)


def image(*shape: int, dtype: str = "uint8") -> Input:
    """Pixels from 0 to 255."""
    return data(*shape, dtype=dtype, kind="integers:0:255")


def planes(*shape: int, dtype: str = "float32") -> Input:
    """The same with channels first."""
    return data(*shape, dtype=dtype, kind="integers:0:255")


NAMES = ("nearest", "linear", "cubic", "area", "lanczos")
# Rows and columns before and after: more, fewer, twice, half, a third, more of one and fewer of the other; 2.5 rows for
# one, of which sums often lie half way between two bytes.
SIZES = (
    ((5, 4, 3), (11, 9)), ((11, 9, 3), (5, 4)), ((5, 4, 1), (10, 8)), ((10, 8, 3), (5, 4)), ((10, 8, 2), (5, 4)),
    ((9, 12, 4), (3, 4)), ((5, 13, 3), (8, 6)), ((1, 1, 3), (3, 2)), ((7, 6, 3), (1, 1)),
    ((10, 8, 3), (4, 4)),
)  # fmt: skip


def resizes(dtype: str) -> tuple[Case, ...]:
    """All kinds of interpolation between all sizes."""
    return tuple(
        case("_image_resize", f"{NAMES[method]}_{dtype}_{'x'.join(map(str, shape))}_{wanted[0]}x{wanted[1]}",
             image(*shape, dtype=dtype), size=wanted[::-1], interp=method)
        for method in range(5)
        for shape, wanted in SIZES
    )  # fmt: skip


# Cut from float32, in which sums in another order differ in the last digit: a byte can be 1 apart.
ONE_STEP = 1 / 200


CASES: tuple[Case, ...] = (
    *(case("_image_to_tensor", dtype, image(5, 4, 3, dtype=dtype)) for dtype in
      ("uint8", "int8", "int32", "int64", "float32", "float64")),
    # Halves are divided as halves by MXNet, by onnxruntime as the float32 that they become next.
    case("_image_to_tensor", "float16", image(5, 4, 3, dtype="float16"), tolerance=1e-3),
    case("_image_to_tensor", "batch", image(2, 5, 4, 3)),
    case("_image_to_tensor", "five_channels", image(1, 3, 4, 5)),
    *(case("_image_normalize", dtype, planes(3, 4, 5, dtype=dtype), mean=(3.3, 4.2, 5.1), std=(0.7, 1.3, 2.2))
      for dtype in ("float16", "float32", "float64")),
    *(case("_image_normalize", dtype, data(3, 4, 5, dtype=dtype, kind="integers:20:100"), mean=(3.3, 4.2, 5.1),
           std=(1.7, 1.3, 2.2)) for dtype in ("uint8", "int8", "int32", "int64")),
    case("_image_normalize", "batch", planes(2, 3, 4, 5), mean=(123.675, 116.28, 103.53), std=(58.4, 57.1, 57.4)),
    case("_image_normalize", "one_mean", planes(2, 3, 4, 5), mean=(0.5,), std=(0.2, 0.3, 0.4)),
    case("_image_normalize", "one_channel", planes(1, 4, 5), mean=(0.5,), std=(0.2,)),
    *(case("_image_crop", dtype, image(6, 5, 3, dtype=dtype), x=1, y=2, width=3, height=4)
      for dtype in ("uint8", "float32", "int32", "float16")),
    case("_image_crop", "batch", image(2, 6, 5, 1), x=4, y=0, width=1, height=6),
    *(case(f"_image_flip_{way}", dtype, image(4, 6, channels, dtype=dtype))
      for way in ("left_right", "top_bottom") for dtype, channels in (("uint8", 3), ("float32", 1), ("int64", 3))),
    *(case("_image_adjust_lighting", dtype, image(4, 5, 3, dtype=dtype), alpha=LIGHT, tolerance=tolerance)
      for dtype, tolerance in (("uint8", ONE_STEP), ("float32", None), ("float16", None), ("int32", ONE_STEP))),
    case("_image_adjust_lighting", "more_numbers", image(4, 5, 3, dtype="float32"), alpha=(*LIGHT, 9.0)),
    *resizes("uint8"),
    *resizes("float32"),
    case("_image_resize", "float64", image(5, 6, 3, dtype="float64"), size=(4, 9), tolerance=2e-7),
    # The weights of OpenCV are float32 for float64 too.
    case("_image_resize", "float64_cubic", image(5, 6, 3, dtype="float64"), size=(4, 9), interp=2, tolerance=2e-6),
    case("_image_resize", "int32_nearest", image(5, 6, 3, dtype="int32"), size=(4, 9), interp=0),
    case("_image_resize", "one_size", image(5, 6, 3), size=4),
    case("_image_resize", "tall", image(9, 4, 3), size=6, keep_ratio=True),
    case("_image_resize", "wide", image(2, 4, 9, 1, dtype="float32"), size=(6,), keep_ratio=True),
    case("_image_resize", "both_sizes_and_ratio", image(4, 9, 3), size=(6, 5), keep_ratio=True),
    case("_image_resize", "batch", image(2, 7, 9, 3), size=(4, 5)),
    case("_image_resize", "batch_cubic", image(2, 7, 9, 3), size=(5, 4), interp=2),
    case("_image_resize", "batch_area", image(2, 10, 8, 3), size=(4, 4), interp=3),
    # 66 rows make one: beyond a limit their sum is exact, not OpenCV's in float32.
    case("_image_resize", "area_of_many", image(131, 3, 1), size=(2, 2), interp=3, tolerance=ONE_STEP),
    case("_image_resize", "area_of_many_whole", image(130, 6, 2), size=(2, 2), interp=3),
    case("_image_resize", "batch_lanczos", image(2, 7, 9, 3), size=(4, 5), interp=4),
    case("_cvimresize", "default", image(7, 9, 3), w=4, h=5),
    case("_cvimresize", "lanczos", image(7, 9, 3, dtype="float32"), w=4, h=12, interp=4),
    *(case("_cvcopyMakeBorder", f"type_{kind}", image(4, 5, 3), top=2, bot=1, left=3, right=0, type=kind, value=7)
      for kind in range(5)),
    case("_cvcopyMakeBorder", "wide_reflection", image(3, 2, 1), top=5, bot=7, left=6, right=3, type=4),
    case("_cvcopyMakeBorder", "values", image(4, 5, 3, dtype="float32"), top=0, bot=1, left=2, right=1,
         values=(1.5, -2.25, 300.0)),
    case("_cvcopyMakeBorder", "bytes", image(4, 5, 4), top=0, bot=1, left=2, right=1, values=(1.5, -2.25, 300.0, 2.5)),
    case("_cvcopyMakeBorder", "one_value", image(4, 5, 2), top=0, bot=1, left=2, right=1, values=(9,)),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("_image_to_tensor", "rows", image(6, 5)),
    case("_image_normalize", "default_of_four", planes(3, 4, 5)),
    case("_image_normalize", "two_channels", planes(2, 4, 5), mean=(1.0,), std=(1.0,)),
    case("_image_normalize", "two_means", planes(3, 4, 5), mean=(1.0, 2.0), std=(1.0,)),
    case("_image_crop", "beyond", image(6, 5, 3), x=3, y=0, width=3, height=2),
    case("_image_crop", "nothing", image(6, 5, 3), x=0, y=0, width=0, height=2),
    case("_image_crop", "two_channels", image(6, 5, 2), x=0, y=0, width=1, height=2),
    case("_image_flip_left_right", "batch", image(2, 6, 5, 3)),
    case("_image_flip_top_bottom", "two_channels", image(6, 5, 2)),
    case("_image_resize", "no_size", image(6, 5, 3)),
    case("_image_resize", "no_rows", image(6, 5, 3), size=(3, 0)),
    case("_image_resize", "rows", image(6, 5), size=3),
    case("_image_resize", "float16", image(6, 5, 3, dtype="float16"), size=3),
    case("_image_resize", "int32", image(6, 5, 3, dtype="int32"), size=3),
    case("_image_resize", "interp_9", image(6, 5, 3), size=3, interp=9),
)
