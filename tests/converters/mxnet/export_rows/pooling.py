"""Pooling of every kind, with every kind of window."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Array, Row, integers, normal


def pool(op: str, variant: str, data: Array, kernel: list[int], **options: Any) -> Row:
    """A pooling with options of Row and attributes by name."""
    known = {"opset", "outputs", "evaluator", "computes", "tolerance"}
    attrs = {key: value for key, value in options.items() if key not in known}
    rest = {key: value for key, value in options.items() if key in known}
    return Row(f"{op}-{variant}", op, {"kernel_shape": kernel, **attrs}, {"x": data}, **rest)


LINE, IMAGE, VOLUME = normal(2, 3, 11), normal(2, 3, 9, 10), normal(1, 2, 5, 6, 7)
BYTES, SIGNED = integers(0, 255, 1, 2, 6, 7, dtype="uint8"), integers(-128, 127, 1, 2, 6, 7, dtype="int8")
HALF = normal(1, 2, 7, 6, dtype="float16")
MANY = normal(1, 2, 2, 3, 2, 3)
UNPOOLED: dict[str, Array] = {
    "x": np.array([[[[5, 6], [7, 8.0]]]], np.float32),
    "i": np.array([[[[5, 7], [13, 15]]]], np.int64),
}

BATCHES = dict.fromkeys(
    ("MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "MaxRoiPool"),
    ("x",),
)

ROWS = (
    pool("MaxPool", "plain", IMAGE, [3, 2], strides=[2, 3], pads=[1, 0, 1, 0], computes=("Pooling",)),
    pool("MaxPool", "uneven", IMAGE, [3, 2], pads=[0, 1, 2, 0]),
    pool("MaxPool", "dilated", IMAGE, [3, 2], dilations=[2, 3], strides=[2, 1]),
    pool("MaxPool", "dilated_padded", IMAGE, [3, 2], dilations=[2, 1], pads=[2, 1, 1, 0]),
    pool("MaxPool", "line_dilated", LINE, [3], dilations=[3], pads=[1, 2], strides=[2]),
    pool("MaxPool", "volume_dilated", VOLUME, [2, 2, 3], dilations=[2, 1, 3], pads=[1, 0, 1, 0, 1, 1]),
    pool("MaxPool", "ceil", IMAGE, [3, 3], strides=[2, 2], ceil_mode=1),
    pool("MaxPool", "ceil_uneven", IMAGE, [2, 2], strides=[3, 3], pads=[0, 1, 1, 0], ceil_mode=1),
    pool("MaxPool", "same", IMAGE, [4, 3], strides=[3, 2], auto_pad="SAME_UPPER"),
    pool("MaxPool", "same_lower", IMAGE, [4, 3], strides=[3, 2], auto_pad="SAME_LOWER"),
    pool("MaxPool", "bytes", BYTES, [3, 2], pads=[1, 1, 0, 0]),
    pool("MaxPool", "signed", SIGNED, [3, 2], strides=[2, 1], dilations=[1, 2], evaluator=True),
    pool("MaxPool", "double", normal(1, 2, 6, 5, dtype="float64"), [2, 3], pads=[0, 1, 1, 1]),
    pool("MaxPool", "places", IMAGE, [3, 2], strides=[2, 3], outputs=2, computes=("argmax",)),
    pool("MaxPool", "places_padded", IMAGE, [3, 2], pads=[1, 0, 0, 1], outputs=2),
    pool("MaxPool", "places_columns", IMAGE, [3, 2], strides=[2, 2], storage_order=1, outputs=2),
    pool("MaxPool", "places_dilated", IMAGE, [2, 2], dilations=[2, 3], outputs=2),
    pool("MaxPool", "places_line", LINE, [3], strides=[2], pads=[1, 1], outputs=2),
    pool("MaxPool", "places_volume", VOLUME, [2, 3, 2], strides=[1, 2, 2], outputs=2),
    pool("AveragePool", "plain", IMAGE, [3, 2], strides=[2, 3], pads=[1, 0, 1, 0]),
    pool("AveragePool", "with_padding", IMAGE, [3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    pool("AveragePool", "uneven", IMAGE, [3, 2], pads=[0, 1, 2, 0]),
    pool("AveragePool", "uneven_with_padding", IMAGE, [3, 2], pads=[0, 1, 2, 0], count_include_pad=1),
    pool("AveragePool", "dilated", IMAGE, [3, 2], dilations=[2, 3], strides=[2, 1]),
    pool("AveragePool", "dilated_padded", IMAGE, [3, 2], dilations=[2, 2], pads=[1, 1, 1, 1]),
    pool("AveragePool", "dilated_with_padding", IMAGE, [3, 2], dilations=[2, 2], pads=[1, 1, 1, 1],
         count_include_pad=1),
    pool("AveragePool", "dilated_around_nothing", normal(1, 2, 1, 4), [2, 1], dilations=[2, 1], pads=[1, 0, 1, 0],
         opset=19),
    pool("AveragePool", "ceil", IMAGE, [3, 3], strides=[2, 2], ceil_mode=1),
    pool("AveragePool", "ceil_with_padding", IMAGE, [3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1,
         count_include_pad=1),
    pool("AveragePool", "ceil_uneven", IMAGE, [2, 3], strides=[3, 3], pads=[0, 1, 1, 0], ceil_mode=1),
    pool("AveragePool", "same", IMAGE, [4, 3], strides=[3, 2], auto_pad="SAME_UPPER"),
    pool("AveragePool", "half", HALF, [3, 2], pads=[0, 1, 1, 0]),
    pool("MaxPool", "half", HALF, [3, 2], pads=[0, 1, 1, 0], dilations=[1, 2]),
    pool("LpPool", "half", HALF, [3, 2], pads=[0, 1, 1, 0], p=3),
    pool("AveragePool", "double", normal(1, 2, 7, 6, dtype="float64"), [3, 2], pads=[0, 1, 1, 0]),
    pool("AveragePool", "line", LINE, [4], strides=[3], pads=[1, 2]),
    pool("AveragePool", "volume", VOLUME, [2, 2, 3], pads=[1, 0, 1, 0, 1, 1], strides=[2, 1, 2]),
    *(pool("LpPool", f"order_{order}", IMAGE, [3, 2], strides=[2, 2], p=order) for order in (1, 2, 3, 4)),
    pool("LpPool", "uneven", IMAGE, [3, 2], pads=[0, 1, 2, 0], p=3),
    pool("LpPool", "dilated", IMAGE, [3, 2], dilations=[2, 3], p=2),
    pool("LpPool", "ceil", IMAGE, [2, 3], strides=[3, 3], ceil_mode=1, p=1),
    Row("GlobalMaxPool", "GlobalMaxPool", {}, {"x": IMAGE}),
    Row("GlobalMaxPool-line", "GlobalMaxPool", {}, {"x": LINE}),
    Row("GlobalAveragePool-volume", "GlobalAveragePool", {}, {"x": VOLUME}),
    Row("GlobalAveragePool-four_axes", "GlobalAveragePool", {}, {"x": MANY},
        expected=(MANY.mean((2, 3, 4, 5), keepdims=True),)),
    *(Row(f"GlobalLpPool-{order}", "GlobalLpPool", {"p": order}, {"x": IMAGE}, opset=16) for order in (1, 2, 3, 5)),
    Row("GlobalLpPool-four_axes", "GlobalLpPool", {"p": 2}, {"x": MANY},
        expected=(np.sqrt((MANY**2).sum((2, 3, 4, 5), keepdims=True)),)),
    Row("MaxRoiPool", "MaxRoiPool", {"pooled_shape": [2, 3], "spatial_scale": 0.5}, {"x": normal(2, 3, 8, 9)},
        {"r": np.array([[0, 1, 2, 9, 12], [1, 0, 0, 15, 15]], np.float32)}, computes=("ROIPooling",), opset=16),
    Row("MaxUnpool", "MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, UNPOOLED, computes=("scatter_nd",)),
    Row("MaxUnpool-same_shape", "MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, UNPOOLED,
        {"s": np.array([1, 1, 4, 4], np.int64)}),
    Row("MaxUnpool-larger", "MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, UNPOOLED,
        {"s": np.array([1, 1, 5, 6], np.int64)}, evaluator=True),
)  # fmt: skip
REFUSED = (
    (pool("MaxPool", "four_axes", normal(1, 1, 3, 3, 3, 3), [2, 2, 2, 2]), "1 to 3 spatial axes, not 4"),
)  # fmt: skip
