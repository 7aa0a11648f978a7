"""Upsample, Resize, GridSample and AffineGrid of every opset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.onnx import from_model
from graphir.errors import UnsupportedOpError
from graphir.ops.resize import Resize
from tests.converters.onnx.versions import Old, assert_comes_back, model, ramp

X: dict[str, Any] = {"x": ramp(1, 2, 6, 5)}
GRID = X | {"g": ramp(1, 3, 3, 2)}


def scales(*factors: float) -> dict[str, Any]:
    """X with the operand s."""
    return X | {"s": np.array(factors, np.float32)}


def sizes(*numbers: int) -> dict[str, Any]:
    """X with the empty operand e and the operand s."""
    return X | {"e": np.array([], np.float32), "s": np.array(numbers, np.int64)}


FOR_NN = '<coordinate_transformation_mode: string = "tf_half_pixel_for_nn", nearest_mode: string = "floor">'
CROP = '<mode: string = "linear", coordinate_transformation_mode: string = "tf_crop_and_resize">'

OLD = (
    Old(
        1,
        "y = Upsample <height_scale: float = 2.0, width_scale: float = 1.5> (x)",
        X,
        means='s = Constant <value = float[4] {1, 1, 2, 1.5}> (); y = Resize <nearest_mode: string = "floor", '
        'coordinate_transformation_mode: string = "asymmetric"> (x, , s)',
    ),
    Old(
        1,
        'y = Upsample <height_scale: float = 2.0, width_scale: float = 1.5, mode: string = "bilinear"> (x)',
        X,
        means='s = Constant <value = float[4] {1, 1, 2, 1.5}> (); y = Resize <mode: string = "linear", '
        'coordinate_transformation_mode: string = "asymmetric"> (x, , s)',
    ),
    Old(7, "y = Upsample <scales: floats = [1.0, 1.0, 2.0, 3.0]> (x)", X),
    Old(7, 'y = Upsample <mode: string = "linear", scales: floats = [1.0, 1.0, 2.0, 3.0]> (x)', X),
    Old(9, "y = Upsample(x, s)", scales(1, 1, 2.5, 3), ("s",)),
    Old(9, "y = Upsample(x, s)", scales(1, 1, 2, 3)),
    Old(10, "y = Resize(x, s)", scales(1, 1, 2, 2.5), ("s",)),
    Old(10, "y = Resize(x, s)", scales(1, 1, 0.6, 0.5), ("s",)),
    Old(10, "y = Resize(x, s)", scales(1, 1, 0.6, 1.7), ("s",)),
    Old(10, 'y = Resize <mode: string = "linear"> (x, s)', scales(1, 1, 0.6, 1.7), ("s",)),
    Old(10, 'y = Resize <mode: string = "linear"> (x, s)', scales(1, 1, 2, 2)),
    Old(11, "y = Resize(x, e, s)", sizes() | scales(1, 1, 2, 2.5), ("e", "s")),
    Old(11, "y = Resize(x, e, s)", sizes() | scales(1, 1, 2, 2.5), ("e",)),
    Old(11, "y = Resize(x, e, e, s)", sizes(1, 2, 4, 9), ("e", "s")),
    Old(11, "y = Resize(x, e, e, s)", sizes(1, 2, 4, 9), ("e",)),
    Old(11, 'y = Resize <mode: string = "cubic", cubic_coeff_a: float = -0.5> (x, e, e, s)', sizes(1, 2, 4, 9), ("e",)),
    Old(11, f"y = Resize {FOR_NN} (x, e, s)", sizes() | scales(1, 1, 2, 2.5), ("e", "s")),
    Old(11, f"y = Resize {FOR_NN} (x, e, s)", sizes() | scales(1, 1, 0.5, 0.4), ("e", "s")),
    Old(
        11,
        f"y = Resize {CROP} (x, r, e, s)",
        sizes(1, 2, 3, 4) | {"r": np.array([0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9], np.float32)},
        ("e", "s"),
    ),
    *(
        Old(
            18,
            f"y = Resize <axes: ints = [{axes}], extrapolation_value: float = 9.0, mode: string = \"{mode}\", "
            'coordinate_transformation_mode: string = "tf_crop_and_resize"> (x, r, , s)',
            sizes(3, 4) | {"r": np.array([0.2, -0.3, 0.8, 1.2], np.float32)},
            weights,
            target=target,
        )
        for axes in ("2, 3", "3, 2", "-1, 2")
        for mode in ("linear", "nearest")
        for weights in (("s",), ("r", "s"))
        for target in (13, 18)
    ),
    Old(13, "y = Resize(x, , s)", scales(1, 1, 2, 3), ("s",)),
    Old(13, 'y = Resize <nearest_mode: string = "ceil"> (x, , , s)', sizes(1, 2, 4, 9)),
    Old(18, "y = Resize <axes: ints = [2, 3]> (x, , , s)", sizes(4, 9), ("s",)),
    Old(
        18,
        'y = Resize <axes: ints = [2, 3], keep_aspect_ratio_policy: string = "not_larger"> (x, , , s)',
        sizes(4, 9),
        ("s",),
    ),
    Old(19, 'y = Resize <antialias: int = 1, mode: string = "linear"> (x, , s)', scales(1, 1, 0.5, 0.6), ("s",)),
    Old(16, 'y = GridSample <mode: string = "bilinear"> (x, g)', GRID),
    Old(16, 'y = GridSample <mode: string = "bicubic", padding_mode: string = "border"> (x, g)', GRID),
    Old(20, 'y = GridSample <mode: string = "linear", align_corners: int = 1> (x, g)', GRID),
    Old(20, "y = AffineGrid(t, s)", {"t": ramp(1, 2, 3), "s": np.array([1, 2, 4, 5], np.int64)}, ("s",)),
)


@pytest.mark.parametrize("old", OLD, ids=str)
def test_older_versions_come_back(old: Old) -> None:
    assert_comes_back(old)


def test_constant_factors_are_an_attribute() -> None:
    graph = from_model(model("y = Upsample(x, s)", 9, scales(1, 1, 2, 3), ["s"]))
    assert [node.op.factors for node in graph.nodes if isinstance(node.op, Resize)] == [(1, 1, 2, 3)]
    assert str(graph.outputs[0].type) == "float32[1, 2, 12, 15]"


@pytest.mark.parametrize(
    ("opset", "text", "operands", "reason"),
    [
        (10, "y = Resize(x, s)", scales(1, 1, 2, 2), "make them constant"),
        (11, f"y = Resize {FOR_NN.replace('floor', 'ceil')} (x, s, s)", scales(1, 1, 2, 2), "tf_half_pixel_for_nn"),
        (10, "y = Upsample(x, s)", scales(1, 1, 2, 2), "Resize replaces it"),
        (16, 'y = GridSample <mode: string = "area"> (x, g)', GRID, "expected one of linear, nearest, cubic"),
    ],
)
def test_refusals(opset: int, text: str, operands: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        from_model(model(text, opset, operands))
