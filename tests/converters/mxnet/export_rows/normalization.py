"""Normalizations over every choice of axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Row, normal


def layer(variant: str, shape: tuple[int, ...], axis: int, scale: tuple[int, ...], **options: Any) -> Row:
    """A LayerNormalization whose scale and shift have one shape."""
    dtype = options.pop("dtype", "float32")
    held = {"s": normal(*scale, dtype=dtype)}
    if options.pop("shift", True):
        held["b"] = normal(*scale, dtype=dtype)
    return Row(f"LayerNormalization-{variant}", "LayerNormalization", {"axis": axis, "epsilon": 1e-3},
               {"x": normal(*shape, dtype=dtype)}, held, **options)  # fmt: skip


def channels(count: int, dtype: str = "float32") -> dict[str, Any]:
    """A scale and a shift for each channel."""
    return {"s": normal(count, dtype=dtype), "b": normal(count, dtype=dtype)}


def lrn(size: int, *shape: int) -> Row:
    """An LRN that onnxruntime does not compute: of an even size, or of other tensors than images."""
    data = normal(*shape)
    sums = np.zeros(shape)
    for channel in range(shape[1]):
        window = data[:, max(channel - (size - 1) // 2, 0) : channel + size // 2 + 1].astype(np.float64)
        sums[:, channel] = (window**2).sum(axis=1)
    expected = (data / (1 + 0.3 / size * sums) ** 0.6).astype(np.float32)
    attrs = {"size": size, "alpha": 0.3, "beta": 0.6}
    return Row(f"LRN-{size}_of_{len(shape)}_axes", "LRN", attrs, {"x": data}, expected=(expected,))


STATISTICS = {"m": normal(3), "v": np.abs(normal(3)) + 0.5}
ZEROS = np.array([[0, 0, 0], [1, -2, 3]], np.float32)

BATCHES = dict.fromkeys(
    (
        *("BatchNormalization", "LayerNormalization", "RMSNormalization", "InstanceNormalization"),
        *("GroupNormalization", "LpNormalization", "MeanVarianceNormalization", "LRN"),
    ),
    ("x",),
)

ROWS = (
    Row("BatchNormalization", "BatchNormalization", {"epsilon": 1e-3}, {"x": normal(2, 3, 4, 5)},
        channels(3) | STATISTICS, computes=("BatchNorm",)),
    Row("BatchNormalization-computed", "BatchNormalization", {"epsilon": 1e-3},
        {"x": normal(2, 3, 4, 5), **channels(3), **STATISTICS}),
    Row("BatchNormalization-matrix", "BatchNormalization", {}, {"x": normal(4, 3), **channels(3), **STATISTICS}),
    Row("BatchNormalization-trained", "BatchNormalization", {"training_mode": 1, "momentum": 0.7},
        {"x": normal(4, 3, 5)}, channels(3) | STATISTICS, outputs=3, opset=15),
    layer("last", (2, 3, 5), -1, (5,), computes=("LayerNorm",)),
    layer("no_shift", (2, 3, 5), -1, (5,), shift=False),
    layer("two_axes", (2, 3, 4, 5), 2, (4, 5), computes=("LayerNorm",)),
    layer("all_axes", (2, 3, 5), 0, (2, 3, 5)),
    layer("statistics", (2, 3, 5), -1, (5,), outputs=3),
    layer("two_axes_statistics", (2, 3, 4, 5), -2, (4, 5), outputs=3),
    layer("all_axes_statistics", (2, 3, 5), 0, (2, 3, 5), outputs=3, shift=False),
    layer("broadcast_scale", (2, 3, 4, 5), 2, (5,)),
    layer("broadcast_statistics", (2, 3, 4, 5), 1, (4, 1), outputs=3),
    layer("half", (2, 3, 5), -1, (5,), dtype="float16"),
    layer("double", (2, 3, 5), -2, (3, 5), dtype="float64", tolerance=1e-6),
    Row("RMSNormalization", "RMSNormalization", {"epsilon": 1e-3}, {"x": normal(2, 3, 5)}, {"s": normal(5)}, opset=23,
        evaluator=True),
    Row("RMSNormalization-axes", "RMSNormalization", {"axis": 1}, {"x": normal(2, 3, 4, 5)}, {"s": normal(4, 1)},
        opset=23, evaluator=True),
    Row("RMSNormalization-half", "RMSNormalization", {}, {"x": normal(2, 3, 5, dtype="float16")},
        {"s": normal(5, dtype="float16")}, opset=23, evaluator=True),
    Row("InstanceNormalization", "InstanceNormalization", {"epsilon": 1e-3}, {"x": normal(2, 3, 4, 5)}, channels(3),
        computes=("InstanceNorm",)),
    Row("InstanceNormalization-line", "InstanceNormalization", {}, {"x": normal(2, 3, 7)}, channels(3)),
    Row("InstanceNormalization-half", "InstanceNormalization", {}, {"x": normal(2, 3, 4, 5, dtype="float16")},
        channels(3, "float16"), evaluator=True),
    Row("InstanceNormalization-double", "InstanceNormalization", {}, {"x": normal(2, 3, 4, 5, dtype="float64")},
        channels(3, "float64"), evaluator=True),
    Row("GroupNormalization", "GroupNormalization", {"num_groups": 2, "epsilon": 1e-2}, {"x": normal(2, 4, 3, 5)},
        channels(4), opset=21, tolerance=1e-4),
    Row("GroupNormalization-per_group", "GroupNormalization", {"num_groups": 2}, {"x": normal(2, 4, 3, 5)},
        channels(2), opset=18, tolerance=1e-4),
    Row("GroupNormalization-line", "GroupNormalization", {"num_groups": 3}, {"x": normal(2, 6, 7)}, channels(6),
        opset=21, tolerance=1e-4),
    *(
        Row(f"LpNormalization-{order}_{axis}", "LpNormalization", {"p": order, "axis": axis}, {"x": normal(2, 3, 5)})
        for order in (1, 2) for axis in (0, 1, -1)
    ),
    Row("LpNormalization-zeros", "LpNormalization", {"axis": 1}, {"x": ZEROS}),
    Row("MeanVarianceNormalization", "MeanVarianceNormalization", {}, {"x": normal(2, 3, 4, 5)}),
    Row("MeanVarianceNormalization-axes", "MeanVarianceNormalization", {"axes": [-1, 1]}, {"x": normal(2, 3, 4, 5)}),
    Row("LRN", "LRN", {"size": 3, "alpha": 0.3, "bias": 1.5}, {"x": normal(2, 5, 3, 4)}, computes=("LRN",)),
    lrn(5, 2, 3, 3, 4),
    *(lrn(size, *shape) for size, shape in ((2, (2, 5, 3, 4)), (4, (2, 5, 3, 4)), (3, (2, 5, 7)), (4, (2, 5)))),
)  # fmt: skip
REFUSED: tuple[tuple[Row, str], ...] = ()
