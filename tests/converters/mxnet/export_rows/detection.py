"""Regions, blocks of images, and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Array, Row, integers, normal

REGIONS = np.array([[0.5, 1, 9, 7], [2, 2, 3, 12], [-3, -2, 20, 20], [4, 4, 4, 4]], np.float32)
IMAGES = np.array([0, 1, 1, 0], np.int64)


def regions(variant: str, opset: int = 16, evaluator: bool = False, dtype: str = "float32", **attrs: Any) -> Row:
    """A RoiAlign of four regions, one of them beyond the image and, where MXNet takes such, one empty."""
    aligned = opset >= 16 and attrs.get("coordinate_transformation_mode") != "output_half_pixel"
    count = 3 if aligned and attrs.get("mode") != "max" else 4
    data = {"x": normal(2, 3, 6, 7, dtype=dtype), "r": REGIONS[:count].astype(dtype), "i": IMAGES[:count]}
    attrs = {"output_height": 2, "output_width": 3, "spatial_scale": 0.5, **attrs}
    return Row(f"RoiAlign-{variant}", "RoiAlign", attrs, data, opset=opset, evaluator=evaluator, tolerance=1e-4,
               computes=("_contrib_ROIAlign",) if attrs.get("mode") != "max" else ())  # fmt: skip


def blocks(variant: str, shape: tuple[int, ...], image: list[int], block: list[int], **attrs: Any) -> Row:
    """A Col2Im. Over three axes with strides and dilations onnxruntime 1.31 is wrong."""
    held = {"image": np.array(image, np.int64), "block": np.array(block, np.int64)}
    return Row(f"Col2Im-{variant}", "Col2Im", attrs, {"x": normal(*shape)}, held, opset=18, computes=("col2im",),
               evaluator=len(image) == 3)  # fmt: skip


def centre(variant: str, shape: tuple[int, ...], size: list[int], **options: Any) -> Row:
    """A CenterCropPad."""
    data = {"x": normal(*shape, dtype=options.pop("dtype", "float32"))}
    return Row(f"CenterCropPad-{variant}", "CenterCropPad", options, data, {"n": np.array(size, np.int64)}, opset=18)


def loss(op: str, variant: str, *shape: int, weights: bool = False, out: int | None = None, **attrs: Any) -> Row:
    """A loss of scores of this shape; `out` is a label that is no class and that is ignored."""
    labels = integers(0, shape[1] - 1, shape[0], *shape[2:])
    if out is not None:
        labels.reshape(-1)[::3] = out
        attrs["ignore_index"] = out
    data: dict[str, Array] = {"x": normal(*shape), "t": labels}
    held = {"w": np.abs(normal(shape[1])) + 0.1} if weights else {}
    outputs = 2 if op == "SoftmaxCrossEntropyLoss" and variant.endswith("log") else 1
    return Row(f"{op}-{variant}", op, attrs, data, held, outputs=outputs, opset=13, tolerance=1e-4)


LOSSES = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")

BATCHES = {
    "RoiAlign": ("x",),
    "Col2Im": ("x",),
    "NegativeLogLikelihoodLoss": ("x", "t"),
    "SoftmaxCrossEntropyLoss": ("x", "t"),
}

ROWS = (
    regions("adaptive"),
    regions("samples", sampling_ratio=2),
    regions("shifted", coordinate_transformation_mode="output_half_pixel", sampling_ratio=3),
    regions("half_pixel", coordinate_transformation_mode="half_pixel"),
    regions("old", opset=10, sampling_ratio=2),
    regions("maximum", mode="max", sampling_ratio=2, evaluator=True),
    regions("maximum_shifted", mode="max", sampling_ratio=3, evaluator=True,
            coordinate_transformation_mode="output_half_pixel"),
    blocks("plain", (2, 12, 12), [4, 5], [2, 2]),
    blocks("stride", (1, 18, 6), [6, 7], [2, 3], strides=[3, 2]),
    blocks("pads", (2, 12, 20), [5, 4], [3, 2], dilations=[1, 2], pads=[1, 1, 1, 1]),
    blocks("uneven_pads", (2, 12, 25), [5, 4], [3, 2], dilations=[1, 2], pads=[1, 2, 1, 1]),
    blocks("line", (2, 9, 5), [7], [3]),
    blocks("volume", (1, 12, 36), [4, 5, 3], [2, 3, 1], pads=[0, 0, 0, 0, 1, 0]),
    blocks("volume_dilated", (2, 16, 18), [6, 5, 4], [2, 2, 2], strides=[2, 1, 2], dilations=[1, 2, 1]),
    centre("crop", (7, 10, 3), [4, 7, 3]),
    centre("pad", (3, 4), [6, 9]),
    centre("both", (2, 3, 9, 4), [4, 9], axes=[2, -1]),
    centre("integers", (3, 5), [6, 2], dtype="int32"),
    *(loss(op, "default", 4, 5) for op in LOSSES),
    *(loss(op, "sum", 4, 5, reduction="sum") for op in LOSSES),
    *(loss(op, "each", 4, 5, 3, reduction="none") for op in LOSSES),
    *(loss(op, "weights", 2, 5, 3, 4, weights=True) for op in LOSSES),
    *(loss(op, "each_weights", 2, 5, 3, weights=True, reduction="none") for op in LOSSES),
    *(loss(op, "ignored", 3, 5, 4, out=2) for op in LOSSES),
    *(loss(op, "ignored_outside", 3, 5, 4, out=-100, weights=True) for op in LOSSES),
    *(loss(op, "ignored_each", 3, 5, 4, 2, 3, out=-1, weights=True, reduction="none") for op in LOSSES),
    loss("SoftmaxCrossEntropyLoss", "log", 3, 5, 4),
    loss("SoftmaxCrossEntropyLoss", "weights_log", 3, 5, 4, weights=True, out=1, reduction="sum"),
)  # fmt: skip
REFUSED = (
    (regions("adaptive_maximum", mode="max"), "depends on the size of each region"),
    (Row("NonMaxSuppression", "NonMaxSuppression", {}, {"b": normal(1, 6, 4), "s": normal(1, 1, 6)},
         {"n": np.array([3], np.int64)}), "depends on the data"),
    (Row("ImageDecoder", "ImageDecoder", {}, {"x": integers(0, 255, 9, dtype="uint8")}, opset=20), "imdecode"),
)  # fmt: skip
