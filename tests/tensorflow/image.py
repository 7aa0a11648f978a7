"""Colours and patches of images: grey and pure colours, open sizes, strides, rates and paddings."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, case, data

# Black, white, grey, the pure colours, and two channels that share the largest or smallest part.
PURE = (
    (0, 0, 0), (1, 1, 1), (0.5, 0.5, 0.5), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1),
    (0.2, 0.2, 0.7), (0.7, 0.7, 0.2),
)  # fmt: skip
COLOURS = Input("colours", (11, 1, 3), values=tuple(share for colour in PURE for share in colour))
IMAGES = data(2, 4, 5, 3, kind="positive")


def factor(number: float) -> Input:
    """A scalar that is fed."""
    return Input("factor", (), values=(number,))


def patches(variant: str, x: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...], rates: tuple[int, ...],
            padding: str = "VALID", dtype: str = "float32", **more: Any) -> Case:  # fmt: skip
    """Patches of images."""
    return case(
        "ExtractImagePatches", variant, data(*x, dtype=dtype), ksizes=(1, *kernel, 1), strides=(1, *strides, 1),
        rates=(1, *rates, 1), padding=padding, **{"open_axes": "batch", **more},
    )  # fmt: skip


CASES: tuple[Case, ...] = (
    case("AdjustContrastv2", "more", data(2, 4, 5, 3), factor(1.7)),
    case("AdjustContrastv2", "less", data(4, 5, 1), factor(0.3)),
    case("AdjustContrastv2", "rank_5", data(2, 2, 3, 4, 3), factor(-0.5)),
    *(case(op, "pure", COLOURS) for op in ("RGBToHSV", "HSVToRGB")),
    *(case(op, "images", IMAGES) for op in ("RGBToHSV", "HSVToRGB")),
    *(case(op, "float64", data(7, 3, dtype="float64", kind="positive")) for op in ("RGBToHSV", "HSVToRGB")),
    case("HSVToRGB", "hue_outside", data(6, 3)),
    case("RGBToHSV", "negative", data(6, 3)),
    *(case("AdjustHue", f"by_{number}", held, factor(number))
      for number, held in ((0.3, COLOURS), (-0.45, IMAGES), (0.9, data(2, 5, 3)))),
    *(case("AdjustSaturation", f"by_{number}", held, factor(number))
      for number, held in ((0.4, COLOURS), (1.5, IMAGES), (8.0, IMAGES), (0.0, IMAGES))),
    patches("default", (2, 6, 7, 3), (2, 3), (1, 1), (1, 1)),
    patches("strides", (2, 9, 8, 2), (3, 2), (2, 3), (1, 1)),
    patches("rates", (1, 9, 10, 2), (3, 2), (2, 1), (2, 3)),
    patches("same", (2, 7, 6, 3), (3, 3), (2, 2), (1, 1), "SAME"),
    patches("same_rates", (1, 8, 9, 2), (3, 2), (1, 2), (2, 2), "SAME"),
    patches("apart", (2, 4, 6, 2), (2, 3), (2, 3), (1, 1)),
    patches("int32", (2, 5, 6, 2), (2, 2), (1, 1), (1, 1), "SAME", "int32"),
    *(case("ExtractVolumePatches", padding.lower(), data(2, 4, 5, 6, 2), ksizes=(1, 2, 3, 2, 1),
           strides=(1, 2, 1, 3, 1), padding=padding, open_axes="batch",
           mxnet_lacks="no transpose of 8 axes") for padding in ("SAME", "VALID")),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    patches("too_large", (1, 2, 2, 1), (3, 3), (1, 1), (1, 1), reason="no window of 3"),
)
