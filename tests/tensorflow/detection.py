"""Suppression of overlapping boxes in all versions, and crops of boxes inside and outside of the image."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, case, data, ints

BOXES = (
    (0.0, 0.0, 1.0, 1.0), (0.0, 0.1, 1.0, 1.1), (0.0, -0.1, 1.0, 0.9), (0.0, 10.0, 1.0, 11.0),
    (1.0, 11.1, 0.0, 10.1), (0.0, 100.0, 1.0, 101.0), (0.2, 0.2, 0.2, 0.9), (0.1, 0.05, 0.95, 1.0),
)  # fmt: skip
SCORES = (0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.8, 0.75)


def boxes(dtype: str = "float32") -> tuple[Input, Input]:
    """Boxes, some with exchanged corners and one without an area, and their scores, two of them equal."""
    flat = tuple(number for box in BOXES for number in box)
    return Input("boxes", (8, 4), dtype, values=flat), Input("scores", (8,), dtype, values=SCORES)


def number(value: float, dtype: str = "float32", role: Any = "param") -> Input:
    """A threshold."""
    return Input("threshold", (), dtype, role=role, values=(value,))


def most(count: int) -> Input:
    """How many boxes are kept."""
    return ints(count, shape=())


V3, V4, V5 = (f"NonMaxSuppressionV{version}" for version in (3, 4, 5))
PAD: dict[str, Any] = {"pad_to_max_output_size": True}


def combined(variant: str, kinds: int, each: int, total: int, least: float = -1.0, **attrs: Any) -> Case:
    """Seven boxes and three classes of two images, no two scores of which are equal."""
    return case(
        "CombinedNonMaxSuppression", variant, data(2, 7, kinds, 4), data(2, 7, 3, kind="distinct"), most(each),
        most(total), number(0.3), number(least), slots=(0, 1, 2, 3), open_axes="batch", **attrs,
    )  # fmt: skip


def crops(variant: str, image: Input, size: tuple[int, int], *numbers: float, **more: Any) -> Case:
    """Crops of boxes (four numbers each), box after box from images 0, 1, 0..."""
    count = len(numbers) // 4
    places = Input("box", (count, 4), values=numbers)
    of = Input("of", (count,), "int32", values=tuple(float(index % image.shape[0]) for index in range(count)))
    return case("CropAndResize", variant, image, places, of, ints(*size), **more)


INSIDE = (0.0, 0.0, 1.0, 1.0, 0.2, 0.3, 0.7, 0.9, 0.9, 0.8, 0.1, 0.25)
OUTSIDE = (-0.5, 0.2, 0.5, 1.4, 1.1, 1.2, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5)
IMAGE = data(2, 7, 9, 3)

CASES: tuple[Case, ...] = (
    case("NonMaxSuppression", "default", *boxes(), most(5)),
    case("NonMaxSuppression", "attributes", *boxes(), most(8), iou_threshold=0.8),
    case("NonMaxSuppressionV2", "default", *boxes(), most(4), number(0.5)),
    case("NonMaxSuppressionV2", "computed", *boxes(), most(8), number(0.7, role="data")),
    case(V3, "default", *boxes(), most(8), number(0.5), number(0.4)),
    case(V3, "none_left", *boxes(), most(8), number(0.5), number(0.99)),
    case(V3, "at_threshold", *boxes(), most(8), number(0.9), number(0.75)),
    case(V3, "float16", *boxes("float16"), most(8), number(0.5, "float16"), number(0.4, "float16")),
    case(V3, "random", data(60, 4), data(60, kind="distinct"), most(20), number(0.3), number(-5.0)),
    case(V4, "default", *boxes(), most(8), number(0.5), number(0.4), slots=(0, 1)),
    case(V4, "padded", *boxes(), most(7), number(0.5), number(0.4), slots=(0, 1), **PAD),
    case(V4, "cut", *boxes(), most(2), number(0.5), number(0.4), slots=(0, 1), **PAD),
    case(V5, "default", *boxes(), most(8), number(0.5), number(0.4), number(0.0), slots=(0, 1, 2)),
    case(V5, "padded", *boxes(), most(7), number(0.5), number(0.4), number(0.0), slots=(0, 1, 2), **PAD),
    case(V5, "scores", *boxes(), most(7), number(0.5), number(0.4), number(0.0), slots=(1,), **PAD),
    combined("default", 1, 4, 6),
    combined("own_boxes", 3, 4, 6),
    combined("no_clip", 3, 10, 20, clip_boxes=False),
    combined("pad_per_class", 1, 2, 50, pad_per_class=True),
    combined("few", 3, 3, 50),
    combined("threshold", 1, 7, 5, 3.0),
    crops("inside", IMAGE, (4, 5), *INSIDE),
    crops("outside", IMAGE, (4, 5), *OUTSIDE, extrapolation_value=-3.5),
    crops("one", IMAGE, (1, 1), *INSIDE, *OUTSIDE),
    crops("row", IMAGE, (1, 6), *INSIDE),
    crops("nearest", IMAGE, (5, 4), *INSIDE, *OUTSIDE, method="nearest"),
    crops("uint8", data(1, 6, 5, 2, dtype="uint8", kind="integers:0:255"), (3, 3), *INSIDE),
    crops("float64", data(2, 6, 5, 2, dtype="float64"), (3, 3), *INSIDE),
    crops("pixel", data(1, 1, 1, 2), (2, 3), *INSIDE),
)
REFUSED: tuple[Case, ...] = (
    case("CropAndResize", "one_size", IMAGE, data(1, 4), data(1, dtype="int32", kind="bits"), ints(3),
         reason="expected two sizes"),
    case(V5, "soft", *boxes(), most(8), number(0.5), number(0.4), number(0.5), reason="soft_nms_sigma"),
    combined("low", 1, 4, 6, -1.5, reason="score_threshold is below -1"),
    case("CropAndResize", "size", IMAGE, data(1, 4), data(1, dtype="int32", kind="bits"), data(2, dtype="int32"),
         reason="the size of the crops"),
)  # fmt: skip
