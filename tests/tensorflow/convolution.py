"""Convolutions: paddings, strides, dilations, groups and layouts, plain, depthwise and transposed."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, case, data, ints, param


def conv(variant: str, x: tuple[int, ...], w: tuple[int, ...], strides: tuple[int, ...], **attrs: Any) -> Case:
    """A Conv2D in NHWC with strides of the spatial axes."""
    attrs = {"padding": "VALID", **attrs}
    return case("Conv2D", variant, data(*x), param("w", *w), strides=(1, *strides, 1), **attrs)


def depthwise(variant: str, x: tuple[int, ...], w: tuple[int, ...], stride: int, **attrs: Any) -> Case:
    """A DepthwiseConv2dNative in NHWC; its strides are equal."""
    strides = (1, stride, stride, 1)
    return case("DepthwiseConv2dNative", variant, data(*x), param("w", *w), strides=strides, **attrs)


def transposed(
    variant: str, sizes: tuple[int, ...], w: tuple[int, ...], x: tuple[int, ...], stride: int, padding: str,
    **attrs: Any,
) -> Case:  # fmt: skip
    """A Conv2DBackpropInput in NHWC; the data's sizes have to be known where its result has not the usual size."""
    return case(
        "Conv2DBackpropInput", variant, ints(*sizes), param("w", *w), data(*x),
        strides=(1, stride, stride, 1), padding=padding, **attrs,
    )  # fmt: skip


CASES = (
    conv("valid", (2, 7, 9, 3), (3, 2, 3, 4), (1, 1)),
    conv("same_odd", (1, 7, 9, 3), (3, 3, 3, 4), (1, 1), padding="SAME"),
    conv("same_even_kernel", (1, 7, 8, 3), (2, 4, 3, 4), (1, 1), padding="SAME"),
    conv("same_stride_even", (2, 8, 10, 3), (3, 3, 3, 5), (2, 2), padding="SAME"),
    conv("same_stride_odd", (2, 9, 7, 3), (3, 3, 3, 5), (2, 2), padding="SAME"),
    conv("same_stride_mixed", (1, 11, 10, 2), (5, 2, 2, 3), (3, 2), padding="SAME"),
    conv("same_small_kernel", (1, 9, 8, 2), (1, 1, 2, 3), (2, 3), padding="SAME"),
    conv("same_dilated", (1, 11, 9, 2), (3, 3, 2, 3), (1, 1), padding="SAME", dilations=(1, 2, 3, 1)),
    conv("valid_dilated", (1, 11, 9, 2), (3, 2, 2, 3), (1, 1), dilations=(1, 2, 3, 1)),
    conv("explicit", (1, 6, 7, 2), (3, 3, 2, 3), (2, 1), padding="EXPLICIT",
         explicit_paddings=(0, 0, 1, 2, 0, 3, 0, 0)),
    conv("groups", (2, 6, 5, 6), (3, 3, 2, 9), (1, 2), padding="SAME", open_axes="batch"),
    case("Conv2D", "float64", data(1, 5, 6, 2, dtype="float64"), param("w", 3, 3, 2, 3, dtype="float64"),
         strides=(1, 1, 1, 1), padding="SAME"),
    case(
        "Conv2D", "float16", data(1, 6, 6, 2, dtype="float16"), param("w", 3, 3, 2, 3, dtype="float16"),
        strides=(1, 2, 2, 1), padding="SAME", mxnet_lacks="no float16 convolution on the CPU",
    ),
    case("Conv2D", "computed_filter", data(1, 6, 6, 2), data(3, 3, 2, 3), strides=(1, 1, 1, 1), padding="SAME",
         open_axes=""),
    case("Conv3D", "same", data(1, 5, 6, 7, 2), param("w", 3, 2, 3, 2, 3), strides=(1, 2, 1, 2, 1), padding="SAME"),
    case("Conv3D", "valid", data(2, 4, 5, 6, 2), param("w", 2, 3, 1, 2, 3), strides=(1, 1, 2, 1, 1), padding="VALID"),
    depthwise("same", (2, 7, 8, 3), (3, 3, 3, 1), 1, padding="SAME"),
    depthwise("same_stride", (1, 8, 7, 3), (3, 3, 3, 1), 2, padding="SAME"),
    depthwise("multiplier", (1, 7, 7, 3), (3, 2, 3, 2), 2, padding="VALID"),
    depthwise("explicit", (1, 6, 7, 2), (3, 3, 2, 1), 1, padding="EXPLICIT",
              explicit_paddings=(0, 0, 2, 1, 0, 1, 0, 0)),
    transposed("valid", (1, 9, 11, 3), (3, 3, 3, 2), (1, 4, 5, 2), 2, "VALID"),
    transposed("valid_longer", (1, 10, 12, 3), (3, 3, 3, 2), (1, 4, 5, 2), 2, "VALID"),
    transposed("same", (2, 8, 10, 3), (3, 3, 3, 2), (2, 4, 5, 2), 2, "SAME"),
    transposed("same_odd", (1, 7, 9, 3), (4, 3, 3, 2), (1, 4, 5, 2), 2, "SAME"),
    transposed("same_small_kernel", (1, 12, 12, 1), (2, 2, 1, 2), (1, 4, 4, 2), 3, "SAME"),
    transposed("same_stride_1", (1, 5, 6, 3), (3, 2, 3, 2), (1, 5, 6, 2), 1, "SAME"),
    transposed("explicit", (1, 8, 9, 2), (3, 3, 2, 2), (1, 4, 5, 2), 2, "EXPLICIT",
               explicit_paddings=(0, 0, 1, 0, 1, 1, 0, 0)),
    case(
        "Conv3DBackpropInputV2", "same", ints(1, 4, 6, 5, 2), param("w", 3, 2, 3, 2, 3), data(1, 2, 3, 3, 3),
        strides=(1, 2, 2, 2, 1), padding="SAME", mxnet_lacks="no deconvolution over three axes",
    ),
)  # fmt: skip

REFUSED = (
    case("Conv2D", "filter_channels", data(1, 6, 6, 5), param("w", 3, 3, 2, 3), strides=(1, 1, 1, 1), padding="SAME",
         reason="no multiple of the filter's 2"),
    case("Conv2D", "too_small", data(1, 2, 2, 2), param("w", 3, 3, 2, 3), strides=(1, 1, 1, 1), padding="VALID",
         reason="no window fits"),
    case("Conv2D", "filter_rank", data(1, 6, 6, 2), param("w", 3, 3, 2), strides=(1, 1, 1, 1), padding="SAME",
         reason="expected 4 axes"),
    case("Conv2D", "layout", data(1, 6, 6, 2), param("w", 3, 3, 2, 2), strides=(1, 1, 1, 1), padding="SAME",
         data_format="HWNC", reason="data_format is 'HWNC'"),
    case("Conv2D", "padding", data(1, 6, 6, 2), param("w", 3, 3, 2, 2), strides=(1, 1, 1, 1), padding="FULL",
         reason="one of SAME, VALID, EXPLICIT"),
    case("Conv2D", "batch_stride", data(1, 6, 6, 2), param("w", 3, 3, 2, 2), strides=(2, 1, 1, 1), padding="SAME",
         reason="batch or channels"),
)  # fmt: skip
