"""Convolutions with every kind of padding, one to three axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Row, integers, normal


def conv(variant: str, shape: tuple[int, ...], weight: tuple[int, ...], bias: int = 0, **attrs: Any) -> Row:
    """A Conv with a weight that is held, and a bias if there is one."""
    held = {"w": normal(*weight)} | ({"b": normal(bias)} if bias else {})
    return Row(f"Conv-{variant}", "Conv", attrs, {"x": normal(*shape)}, held, computes=("Convolution",))


def transposed(variant: str, shape: tuple[int, ...], weight: tuple[int, ...], bias: int = 0, **attrs: Any) -> Row:
    """A ConvTranspose with a weight that is held, and a bias if there is one."""
    held = {"w": normal(*weight)} | ({"b": normal(bias)} if bias else {})
    return Row(f"ConvTranspose-{variant}", "ConvTranspose", attrs, {"x": normal(*shape)}, held)


def deformed(
    variant: str, group: int, offset_group: int, names: tuple[str, ...], filters: int = 4, **attrs: Any
) -> Row:
    """A DeformConv over 6 x 5 images of 4 channels with kernels of 3 x 2; `names` are its operands."""
    operands = {
        "x": normal(1, 4, 6, 5),
        "o": normal(1, offset_group * 12, 4, 4, scale=1.0),
        "m": np.abs(normal(1, offset_group * 6, 4, 4)),
    }
    held = {"w": normal(filters, 4 // group, 3, 2), "b": normal(filters)}
    return Row(
        f"DeformConv-{variant}", "DeformConv", {"group": group, "offset_group": offset_group, **attrs},
        {name: operands[name] for name in names if name in operands},
        {name: held[name] for name in names if name in held}, names, tolerance=1e-4,
    )  # fmt: skip


BATCHES = {"Conv": ("x",), "ConvTranspose": ("x",), "DeformConv": ("x", "o", "m"), "ConvInteger": ("x",)}

ROWS = (
    conv("plain", (2, 3, 7, 6), (4, 3, 3, 3), 4),
    conv("one_axis", (2, 4, 11), (6, 2, 3), 6, group=2, strides=[2], dilations=[2], pads=[1, 1]),
    conv("one_axis_uneven", (2, 4, 11), (6, 4, 3), strides=[2], pads=[0, 3]),
    conv("uneven", (1, 2, 7, 6), (3, 2, 3, 2), 3, pads=[1, 0, 2, 1]),
    conv("three_axes", (1, 2, 5, 6, 7), (3, 2, 2, 3, 2), 3, pads=[1, 0, 1, 1, 0, 1], strides=[1, 2, 1]),
    conv("three_axes_uneven", (1, 2, 5, 6, 7), (3, 2, 2, 3, 2), pads=[1, 0, 1, 0, 1, 2]),
    conv("same_upper", (1, 2, 7, 8), (3, 2, 4, 3), 3, auto_pad="SAME_UPPER", strides=[2, 3]),
    conv("same_lower", (1, 2, 7, 8), (3, 2, 4, 3), auto_pad="SAME_LOWER", strides=[2, 3]),
    replace(conv("same_dilated", (1, 2, 9, 8), (3, 2, 3, 2), auto_pad="SAME_UPPER", dilations=[2, 3]), evaluator=True),
    conv("valid", (1, 2, 9, 8), (3, 2, 3, 2), auto_pad="VALID"),
    conv("depthwise", (1, 6, 9, 8), (12, 1, 3, 2), 12, group=6),
    Row("Conv-computed_weight", "Conv", {"pads": [1, 1, 1, 1]}, {"x": normal(1, 2, 5, 5), "w": normal(3, 2, 3, 3)}),
    Row("Conv-double", "Conv", {"pads": [0, 1, 1, 0]}, {"x": normal(1, 2, 5, 5, dtype="float64")},
        {"w": normal(3, 2, 3, 3, dtype="float64"), "b": normal(3, dtype="float64")}, evaluator=True),
    transposed("plain", (2, 3, 4, 5), (3, 4, 3, 3), 4),
    transposed("one_axis", (2, 4, 5), (4, 3, 3), 6, group=2, strides=[2], pads=[1, 1]),
    transposed("uneven", (1, 3, 4, 5), (3, 2, 3, 3), 2, strides=[2, 2], pads=[0, 1, 2, 1]),
    transposed("output_padding", (1, 3, 4, 5), (3, 2, 3, 3), strides=[3, 2], output_padding=[2, 1]),
    transposed("output_shape", (1, 3, 4, 5), (3, 2, 3, 3), 2, strides=[3, 2], output_shape=[10, 8]),
    transposed("larger_output_shape", (1, 3, 4, 5), (3, 2, 3, 3), 2, strides=[3, 2], output_shape=[14, 12]),
    transposed("output_shape_upper", (1, 3, 4, 5), (3, 2, 3, 3), auto_pad="SAME_UPPER", strides=[3, 2],
               output_shape=[11, 8]),
    transposed("same_upper", (1, 3, 4, 5), (3, 2, 4, 3), 2, auto_pad="SAME_UPPER", strides=[2, 2]),
    transposed("same_lower", (1, 3, 4, 5), (3, 2, 4, 3), auto_pad="SAME_LOWER", strides=[2, 2]),
    transposed("dilated", (1, 3, 4, 5), (3, 2, 3, 2), 2, dilations=[2, 3]),
    replace(transposed("three_axes", (1, 3, 3, 4, 2), (3, 2, 2, 3, 2), 2, strides=[2, 1, 2], pads=[0, 1, 0, 0, 1, 0]),
            onednn=True),
    replace(transposed("volume_dilated", (1, 2, 3, 4, 3), (2, 3, 2, 1, 2), 3, dilations=[2, 1, 3]), onednn=True),
    replace(transposed("volume_dilated_strides", (1, 4, 3, 2, 3), (4, 2, 2, 2, 2), group=2, dilations=[1, 2, 1],
                       strides=[2, 1, 3], pads=[1, 0, 0, 0, 1, 1]), onednn=True),
    Row("ConvTranspose-double_dilated", "ConvTranspose", {"strides": [2, 2], "dilations": [2, 3]},
        {"x": normal(1, 3, 4, 5, dtype="float64")}, {"w": normal(3, 2, 3, 2, dtype="float64")}, evaluator=True),
    deformed("mask", 1, 1, ("x", "w", "o", "b", "m")),
    deformed("no_mask", 1, 1, ("x", "w", "o")),
    deformed("groups", 2, 2, ("x", "w", "o", "b")),
    deformed("filters", 1, 2, ("x", "w", "o", "b", "m"), filters=5),
    Row("ConvInteger", "ConvInteger", {"pads": [1, 0, 1, 1]}, {"x": integers(0, 255, 1, 3, 6, 5, dtype="uint8")},
        {"w": integers(0, 255, 4, 3, 3, 2, dtype="uint8"), "xz": np.array(7, np.uint8), "wz": np.array(130, np.uint8)}),
    Row("ConvInteger-many_terms", "ConvInteger", {"group": 2}, {"x": integers(0, 255, 1, 128, 5, 5, dtype="uint8")},
        {"w": integers(-128, 127, 4, 64, 3, 3, dtype="int8")}),
    Row("ConvInteger-zero_each", "ConvInteger", {}, {"x": integers(0, 255, 1, 3, 6, 5, dtype="uint8")},
        {"w": integers(-128, 127, 4, 3, 3, 2, dtype="int8"), "xz": np.array(7, np.uint8),
         "wz": np.array([1, -2, 3, -4], np.int8)}, evaluator=True),
)  # fmt: skip
REFUSED = (
    (Row("ConvTranspose-volume_dilated_computed", "ConvTranspose", {"dilations": [2, 1, 1]},
         {"x": normal(1, 2, 3, 4, 3), "w": normal(2, 3, 2, 2, 2)}), "no dilations over three axes"),
    (conv("four_axes", (1, 2, 3, 3, 3, 3), (2, 2, 2, 2, 2, 2)), "1 to 3 spatial axes, not 4"),
    (deformed("grouped_filters", 2, 4, ("x", "w", "o"), filters=6), "groups of offsets to divide"),
)  # fmt: skip
