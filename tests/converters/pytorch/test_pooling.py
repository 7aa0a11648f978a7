"""Pooling of any padding, rounding, dilation and number of axes, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.pytorch import to_module
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.pooling import (
    AveragePool,
    GlobalAveragePool,
    GlobalLpPool,
    GlobalMaxPool,
    LpPool,
    MaxPool,
    MaxRoiPool,
    MaxUnpool,
)
from graphir.padding import Explicit, Same, SameMode
from graphir.types import DType, TensorType
from tests.converters.pytorch.cases import Case, Check, Constant, uniform
from tests.converters.pytorch.running import run_session

X = uniform(2, 3, 7, 6)
LINE, VOLUME = uniform(2, 3, 9), uniform(1, 2, 5, 6, 4)
BESIDE = Explicit(((0, 1), (1, 0)))
AROUND = Explicit(((1, 1), (1, 1)))
WIDE = Explicit(((2, 2), (0, 1)))
UPPER, LOWER = Same(), Same(SameMode.LOWER)


class Maxima(Case):
    """A MaxPool of which only the maxima are read."""

    def graph(self) -> Graph:
        graph = super().graph()
        graph.set_outputs(graph.outputs[:1])
        return graph


MAXIMA = [
    Maxima(MaxPool((3, 3), (2, 2), padding=AROUND), X, text="F.max_pool2d(x, 3, 2, padding=1)"),
    Maxima(MaxPool((3, 3), (2, 2), padding=BESIDE), X, text='F.pad(x, (1, 0, 0, 1), value=-float("inf"))'),
    Maxima(MaxPool((3, 2), (1, 2), padding=WIDE), X, batch=True),
    Maxima(MaxPool((3, 3), (2, 2), ceil_mode=True), X, text="F.max_pool2d(x, 3, 2, ceil_mode=True)"),
    Maxima(MaxPool((2, 2), (4, 4), padding=AROUND, ceil_mode=True), uniform(1, 1, 6, 6)),
    Maxima(MaxPool((2, 2), (3, 3), padding=Explicit(((0, 1), (0, 1))), ceil_mode=True), uniform(1, 1, 6, 5),
         batch=True),
    Maxima(MaxPool((3, 3), dilations=(2, 1), padding=AROUND), X),
    Maxima(MaxPool((3, 3), (2, 2), padding=UPPER), X),
    Maxima(MaxPool((2, 3), (2, 2), padding=LOWER), X, batch=True),
    Maxima(MaxPool((3,), (2,)), LINE, batch=True, text="F.max_pool1d(x, 3, 2)"),
    Maxima(MaxPool((2, 3, 2), (2, 1, 2), padding=Explicit(((0, 0), (1, 0), (0, 0)))), VOLUME),
    Maxima(MaxPool((2, 2), padding=BESIDE), uniform(1, 2, 4, 5, low=-100, high=100, dtype="int8")),
    Maxima(MaxPool((2,), padding=Explicit(((1, 0),))), uniform(1, 2, 4, low=0, high=100, dtype="uint8")),
    Maxima(MaxPool((3, 3), (2, 2)), uniform(1, 2, 6, 5, dtype="float16")),
]  # fmt: skip
# Pads as large as the window and larger ones: MXNet takes none, onnxruntime only around the data.
FAR = [
    Maxima(MaxPool((2, 2), padding=Explicit(((2, 2), (2, 0)))), X),
    Maxima(MaxPool((2, 3), (2, 1), padding=Explicit(((3, 0), (1, 4)))), X, batch=True),
    Maxima(MaxPool((2, 2), dilations=(3, 1), padding=Explicit(((3, 2), (0, 0)))), X),
    Maxima(MaxPool((2, 2), (3, 3), padding=Explicit(((2, 2), (3, 1))), ceil_mode=True), X),
    Maxima(MaxPool((1, 2), (2, 2), padding=Explicit(((1, 1), (0, 2))), ceil_mode=True), X),
    Maxima(MaxPool((2,), padding=Explicit(((3, 2),))), LINE),
    Maxima(MaxPool((2, 2), padding=Explicit(((2, 0), (0, 2)))), uniform(1, 2, 4, 5, low=-100, high=-1, dtype="int8")),
]  # fmt: skip
INDICES = [
    (MaxPool((2, 2), (2, 2)), X),
    (MaxPool((3, 3), (2, 2), padding=AROUND), X),
    (MaxPool((2, 2), (2, 2), padding=BESIDE, storage_order=1), X),
    (MaxPool((2, 2), (3, 3), ceil_mode=True), X),
    (MaxPool((3,), (2,)), np.ones((2, 1, 7), np.float32)),
]
MEANS = [
    Case(AveragePool((3, 3), (2, 2), padding=AROUND), X,
         text="F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False)"),
    Case(AveragePool((3, 3), (2, 2), padding=AROUND, count_include_pad=True), X,
         text="F.avg_pool2d(x, 3, 2, padding=1)"),
    Case(AveragePool((3, 3), (2, 2), padding=BESIDE), X,
         text="F.avg_pool2d(padded, 3, 2) / F.avg_pool2d(x, 3, 2)"),
    Case(AveragePool((3, 3), (2, 2), padding=BESIDE, count_include_pad=True), X, batch=True,
         text="x = F.pad(x, (1, 0, 0, 1))"),
    Case(AveragePool((3, 2), padding=WIDE), X),
    Case(AveragePool((3, 3), (2, 2), ceil_mode=True), X, text="F.avg_pool2d(x, 3, 2, ceil_mode=True)"),
    Case(AveragePool((3, 3), (2, 2), padding=AROUND, ceil_mode=True), X),
    Case(AveragePool((3, 3), (2, 2), padding=AROUND, ceil_mode=True, count_include_pad=True), X),
    Case(AveragePool((3, 3), (2, 2), padding=BESIDE, ceil_mode=True, count_include_pad=True), X),
    Case(AveragePool((3, 3), (3, 2), padding=BESIDE, ceil_mode=True), X, batch=True),
    Case(AveragePool((2, 2), (2, 1), (2, 3), AROUND), X, batch=True),
    Case(AveragePool((2, 2), (2, 1), (2, 3), AROUND, count_include_pad=True), X),
    Case(AveragePool((3, 3), (2, 2), padding=UPPER), X),
    Case(AveragePool((3, 3), (2, 2), padding=LOWER), X, batch=True),
    Case(AveragePool((3,), (2,), padding=Explicit(((1, 0),))), LINE),
    Case(AveragePool((2, 3, 2), (1, 2, 2), padding=Explicit(((1, 0), (1, 1), (0, 0)))), VOLUME),
    Case(AveragePool((2, 2), (2, 2)), uniform(1, 2, 5, 6, dtype="float16"), batch=True),
]  # fmt: skip
NORMS = [
    Case(LpPool((3, 3), (2, 2), padding=AROUND), X, text="torch.linalg.vector_norm("),
    Case(LpPool((2, 2), (1, 2), padding=BESIDE, p=1), X, batch=True),
    Case(LpPool((2, 3), (2, 1), (2, 1), p=3), X),
    Case(LpPool((3,), (2,), ceil_mode=True), LINE),
    Case(GlobalLpPool(), X, text="torch.linalg.vector_norm(x, 2, (2, 3), keepdim=True)"),
    Case(GlobalLpPool(3), LINE, batch=True),
    Case(GlobalLpPool(1), VOLUME),
    Case(GlobalMaxPool(), X, text="x.amax((2, 3), keepdim=True)"),
    Case(GlobalMaxPool(), LINE, batch=True),
    Case(GlobalMaxPool(), VOLUME),
    Case(GlobalAveragePool(), X, batch=True, text="x.mean((2, 3), keepdim=True)"),
    Case(GlobalAveragePool(), LINE),
    Case(GlobalAveragePool(), uniform(2, 3, 4, 5, dtype="float16")),
]
ROIS = np.array([[0, 0, 0, 4, 3], [1, 1.5, 2.5, 5, 6], [1, 3, 3, 3, 3], [0, 4, 5, 9, 9]], np.float32)
FLAT = np.array([[[[0, 4], [10, 15]], [[16, 20], [26, 31]]]], np.int64)
OTHERS = [
    Case(MaxRoiPool((2, 3)), X, ROIS, text="max_roi_pool(in0, in1, (2, 3))"),
    Case(MaxRoiPool((3, 3), 0.5), X, ROIS, batch=True),
    Case(MaxRoiPool((1, 1), 2.0), X, ROIS),
    Case(MaxRoiPool((2, 2), 0.9), X, np.array([[0, -5, 1.5, 4.5, 5]], np.float32)),  # corners at -4.5 and 4.5
    Case(MaxUnpool((2, 2), (2, 2)), uniform(1, 2, 2, 2), FLAT, text="max_unpool(in0, in1, [1, 2, 4, 4])"),
    Case(MaxUnpool((2, 2), (2, 2)), uniform(1, 2, 2, 2), FLAT, batch=True),
    Case(MaxUnpool((3,), (1,)), uniform(1, 1, 3), np.array([[[1, 0, 4]]])),
]


@pytest.mark.parametrize("case", [*MAXIMA, *MEANS, *NORMS, *OTHERS], ids=str)
def test_pooling(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("case", FAR, ids=str)
def test_a_window_of_padding_alone_has_the_lowest_number(case: Case, check: Check) -> None:
    """ONNX's text says that padding is minus infinity; some kernels of onnxruntime begin with the lowest float."""
    case.expected = [_maxima(case)]
    check(case)
    (result,) = run_session(case.graph(), {"in0": case.operands[0]})
    least = np.finfo(result.dtype).min if result.dtype.kind == "f" else np.iinfo(result.dtype).min
    np.testing.assert_array_equal(np.maximum(result, least), np.maximum(case.expected[0], least))


def _maxima(case: Case) -> Any:
    """Return the maxima by a loop over windows and their elements."""
    op, (data,), (result, *_) = case.op, case.operands, case.graph().outputs
    assert isinstance(op, MaxPool)
    assert isinstance(op.padding, Explicit)
    assert result.shape is not None
    lowest = -np.inf if data.dtype.kind == "f" else np.iinfo(data.dtype).min
    expected = np.full((*data.shape[:2], *map(int, result.shape[2:])), lowest, data.dtype)
    ones = (1,) * len(op.kernel_shape)
    for cell in np.ndindex(*expected.shape[2:]):
        for offset in np.ndindex(*op.kernel_shape):
            axes = zip(cell, op.strides or ones, offset, op.dilations or ones, op.padding.pads, strict=True)
            place = [index * step + shift * apart - before for index, step, shift, apart, (before, _) in axes]
            if all(0 <= index < size for index, size in zip(place, data.shape[2:], strict=True)):
                target: Any = (slice(None), slice(None), *cell)
                expected[target] = np.maximum(expected[target], data[(slice(None), slice(None), *place)])
    return expected


@pytest.mark.parametrize(("op", "data"), INDICES, ids=str)
def test_positions(op: MaxPool, data: np.ndarray[tuple[int, ...], np.dtype[np.float32]], check: Check) -> None:
    check(Case(op, data, batch=True))


def test_zeros_behind_an_unpooled_image(check: Check) -> None:
    """ONNX counts positions in the shape that follows from the window, and adds zeros behind it."""
    flat = np.array([[[[5, 7], [13, 15]]]])
    expected = np.zeros((1, 1, 5, 5), np.float32)
    expected[0, 0, 1::2, 1::2] = [[1, 2], [3, 4]]
    data = np.array([[[[1, 2], [3, 4]]]], np.float32)
    check(Case(MaxUnpool((2, 2), (2, 2)), data, flat, Constant(np.array([1, 1, 5, 5])), expected=[expected]))


def test_windows_of_padding_alone_have_no_position() -> None:
    graph = Graph("net")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (1, 2, 5, 5)))
    node = graph.add_node(MaxPool((3, 3), padding=Explicit(((3, 3), (0, 0)))), [data])
    graph.set_outputs([node.outputs[1]])
    with pytest.raises(UnsupportedOpError, match="windows of padding alone"):
        to_module(graph)
