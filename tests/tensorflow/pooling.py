"""Pooling: paddings, strides and layouts; the average never counts padding."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, case, data, ints, param


def pool(
    op: str, variant: str, x: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...], padding: str,
    dtype: str = "float32", **attrs: Any,
) -> Case:  # fmt: skip
    """A pooling of channels-last data."""
    return case(
        op, variant, data(*x, dtype=dtype), ksize=(1, *kernel, 1), strides=(1, *strides, 1), padding=padding, **attrs
    )


SHAPES = (
    ("valid", (2, 7, 9, 3), (3, 2), (1, 1), "VALID"),
    ("valid_stride", (1, 8, 9, 3), (3, 2), (2, 3), "VALID"),
    ("same", (1, 7, 6, 2), (3, 3), (1, 1), "SAME"),
    ("same_stride_even", (1, 8, 10, 2), (3, 3), (2, 2), "SAME"),
    ("same_stride_odd", (2, 9, 7, 2), (3, 2), (2, 2), "SAME"),
    ("same_small_kernel", (1, 9, 8, 2), (1, 2), (2, 3), "SAME"),
    ("same_large_kernel", (1, 5, 4, 2), (5, 4), (3, 1), "SAME"),
)

def argmax(variant: str, x: tuple[int, ...], *row: Any, **attrs: Any) -> Case:
    """A MaxPoolWithArgmax of numbers that all differ."""
    kernel, strides, padding = row
    return case(
        "MaxPoolWithArgmax", variant, data(*x, kind="distinct"), padding=padding,
        ksize=(1, *kernel, 1), strides=(1, *strides, 1), **{"slots": (0, 1), **attrs},
    )  # fmt: skip


def dilation(
    variant: str, x: tuple[int, ...], kernel: tuple[int, ...], strides: tuple[int, ...], padding: str,
    dtype: str = "float32", **attrs: Any,
) -> Case:  # fmt: skip
    """A Dilation2D by drawn filters."""
    attrs = {"rates": (1, 1, 1, 1), **attrs}
    return case(
        "Dilation2D", variant, data(*x, dtype=dtype), param("f", *kernel, x[-1], dtype=dtype),
        strides=(1, *strides, 1), padding=padding, open_axes="batch", **attrs,
    )  # fmt: skip


CASES = (
    *(pool(op, *row) for op in ("MaxPool", "AvgPool") for row in SHAPES),
    pool("MaxPool", "explicit", (1, 6, 7, 2), (3, 3), (2, 2), "EXPLICIT", explicit_paddings=(0, 0, 1, 1, 0, 2, 0, 0)),
    pool("MaxPool", "float64", (1, 6, 7, 2), (3, 3), (2, 2), "SAME", "float64"),
    pool("MaxPool", "float16", (1, 6, 7, 2), (3, 3), (2, 2), "SAME", "float16"),
    pool("AvgPool", "float64", (1, 6, 7, 2), (3, 3), (2, 2), "SAME", "float64"),
    pool("AvgPool", "float16", (1, 6, 7, 2), (3, 3), (2, 2), "SAME", "float16"),
    pool("MaxPool3D", "same", (1, 5, 6, 7, 2), (2, 3, 2), (2, 1, 2), "SAME"),
    pool("MaxPool3D", "valid", (1, 5, 6, 7, 2), (2, 3, 2), (1, 2, 2), "VALID"),
    pool("AvgPool3D", "same", (1, 5, 6, 7, 2), (2, 3, 2), (2, 1, 2), "SAME"),
    pool("AvgPool3D", "valid", (1, 5, 6, 7, 2), (2, 3, 2), (1, 2, 2), "VALID"),
    case("MaxPoolV2", "same", data(1, 7, 8, 2), ints(1, 3, 2, 1), ints(1, 2, 2, 1), padding="SAME"),
    case("MaxPoolV2", "valid", data(1, 7, 8, 2), ints(1, 3, 2, 1), ints(1, 1, 2, 1), padding="VALID"),
    *(argmax(*row, open_axes="batch") for row in SHAPES),
    argmax("batch_in_index", (3, 7, 6, 2), (3, 2), (2, 2), "SAME", include_batch_in_index=True, open_axes="batch"),
    argmax("int32", (2, 6, 6, 3), (2, 2), (2, 2), "VALID", Targmax="int32", open_axes="batch"),
    argmax("value", (2, 7, 6, 2), (3, 2), (2, 2), "SAME", slots=(0,)),
    *(dilation(*row) for row in SHAPES),
    dilation("rates", (1, 9, 8, 2), (3, 2), (2, 1), "SAME", rates=(1, 2, 3, 1)),
    dilation("float64", (1, 5, 6, 2), (3, 2), (1, 1), "SAME", "float64"),
)

REFUSED = (
    case("MaxPool", "channels", data(1, 6, 6, 4), ksize=(1, 1, 1, 2), strides=(1, 1, 1, 2), padding="VALID",
         reason="batch or channels"),
    case("AvgPool", "too_small", data(1, 2, 2, 4), ksize=(1, 3, 3, 1), strides=(1, 1, 1, 1), padding="VALID",
         reason="no window fits"),
    case("MaxPoolV2", "computed", data(1, 6, 6, 4), data(4, dtype="int32"), ints(1, 1, 1, 1), padding="VALID",
         reason="ksize"),
)  # fmt: skip
