"""Rules of the normalization family."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.converters.onnx.exporting.exporter import newest_opset
from graphir.errors import ShapeError
from graphir.graph import Graph
from graphir.ops import normalization as ir
from graphir.ops.base import Operator
from graphir.types import Dim, DType, TensorType, symbol
from tests.ops.harness import backward, bad, good
from tests.ops.late import late
from tests.ops.rule import tensor, types

onnxruntime.set_default_logger_severity(3)

GROUPS = ir.GroupNormalization(num_groups=2)
LAYER_64 = ir.LayerNormalization(stash_type=DType.FLOAT64)


GOOD = (
    (ir.BatchNormalization(), "float32[2, 3, 4]; ?[3]; ?[3]; ?[3]; ?[3]", "float32[2, 3, 4]"),
    (ir.BatchNormalization(), "float32[N, C]; ?[...]; ?[...]; ?[...]; ?[...]", "float32[N, C]"),
    (ir.BatchNormalization(), "float32[N, ?, H]; ?[?]; ?[7]; ?[?]; ?[?]", "float32[N, 7, H]"),
    (ir.BatchNormalization(), "float16[2, 3]; float32[3]; float32[3]; float32[3]; float32[3]", "float16[2, 3]"),
    (ir.BatchNormalization(), "?[...]; float32[3]; float32[3]; float32[3]; float32[3]", "?[...]"),
    (ir.InstanceNormalization(), "float32[N, 3, H, W]; float32[3]; float32[3]", "float32[N, 3, H, W]"),
    (ir.InstanceNormalization(), "?[2, ?, 5]; float32[3]; ?[3]", "float32[2, 3, 5]"),
    (GROUPS, "float32[N, 4, ?]; float32[4]; float32[4]", "float32[N, 4, ?]"),
    (GROUPS, "float32[...]; float32[4]; float32[4]", "float32[...]"),
    (ir.LayerNormalization(), "float16[N, 3, 5]; ?[5]", "float16[N, 3, 5]; float32[N, 3, 1]; float32[N, 3, 1]"),
    (ir.LayerNormalization(axis=1), "?[N, 3, 5]; ?[3, 5]", "?[N, 3, 5]; float32[N, 1, 1]; float32[N, 1, 1]"),
    (ir.LayerNormalization(), "float32[N, T]; ?[1]; ?[T]", "float32[N, T]; float32[N, 1]; float32[N, 1]"),
    (ir.LayerNormalization(), "?[...]; float32[5]", "float32[...]; float32[...]; float32[...]"),
    (ir.LayerNormalization(), "?[N, 1]; float32[?]", "float32[N, 1]; float32[N, 1]; float32[N, 1]"),
    (LAYER_64, "float64[2, 5]; float64[5]", "float64[2, 5]; float64[2, 1]; float64[2, 1]"),
    (ir.RMSNormalization(), "float32[N, 5]; float32[5]", "float32[N, 5]"),
    (ir.RMSNormalization(axis=-2), "float32[...]; float32[4, 5]", "float32[...]"),
    (ir.LRN(size=5), "float32[N, 3, ?, W]", "float32[N, 3, ?, W]"),
    (ir.LRN(size=5), "float32[...]", "float32[...]"),
    (ir.LpNormalization(axis=1, p=1), "float32[N, 3]", "float32[N, 3]"),
    (ir.MeanVarianceNormalization(), "float32[N, 3, H, W]", "float32[N, 3, H, W]"),
    (ir.MeanVarianceNormalization(), "?[...]", "?[...]"),
)
test_results = good(GOOD)


BAD = (
    (ir.BatchNormalization(), "?[2, 3]; ?[4]; ?[3]; ?[3]; ?[3]", "scale has 4 elements, expected one for each"),
    (ir.BatchNormalization(), "?[2, 3]; ?[3]; ?[3]; ?[3]; ?[2]", "input_var has 2 elements"),
    (ir.BatchNormalization(), "?[...]; ?[3]; ?[3]; ?[4]; ?[3]", "input_mean has 4 elements, .* of 3 channels"),
    (ir.BatchNormalization(), "?[3]; ?[3]; ?[3]; ?[3]; ?[3]", "X has the shape .3., expected at least 2 axes"),
    (ir.BatchNormalization(), "?[2, 3]; ?[1, 3]; ?[3]; ?[3]; ?[3]", "scale has the shape .1, 3., expected one"),
    (ir.BatchNormalization(), "int8[2, 3]; ?[3]; ?[3]; ?[3]; ?[3]", "X is int8, expected a floating point dtype"),
    (ir.InstanceNormalization(), "?[2, 3]; ?[3]; ?[3]", "expected at least 3 axes"),
    (ir.InstanceNormalization(), "float16[2, 3, 4]; float32[3]; ?[3]", "float16 and float32 differ"),
    (GROUPS, "?[2, 3, 4]; ?[3]; ?[3]", "3 channels cannot be divided into 2 groups"),
    (GROUPS, "?[...]; ?[3]; ?[3]", "3 channels cannot be divided into 2 groups"),
    (ir.LayerNormalization(), "?[2, 5]; ?[3]", "do not broadcast"),
    (ir.LayerNormalization(), "?[5]; ?[2, 5]", "Scale .2, 5. does not broadcast to X .5."),
    (ir.LayerNormalization(), "?[2, 1]; ?[5]", "Scale .5. does not broadcast to X .2, 1."),
    (ir.LayerNormalization(axis=2), "?[2, 5]; ?[5]", "axis 2 does not exist"),
    (ir.RMSNormalization(), "?[2, 5]; ?[4]", "do not broadcast"),
    (ir.RMSNormalization(axis=-3), "?[2, 5]; ?[5]", "axis -3 does not exist"),
    (late(ir.LRN, size=0), "?[2, 5]", "size is 0, expected at least 1"),
    (ir.LRN(size=3), "?[5]", "expected at least 2 axes"),
    (late(ir.LpNormalization, p=3), "?[2, 5]", "p is 3, expected 1 or 2"),
    (ir.LpNormalization(axis=2), "?[2, 5]", "axis 2 does not exist"),
    (ir.MeanVarianceNormalization(), "?[2, 5, 4]", "axis 3 does not exist"),
    (ir.MeanVarianceNormalization(), "int32[...]", "X is int32"),
)
test_refused = bad(BAD)


UNKNOWN_3 = "?[...]; ?[...]; ?[...]"


BACKWARD = (
    (
        ir.BatchNormalization(), "float16[2, 3, 4]; float32[...]; float32[...]; float32[...]; float32[...]",
        "float16[2, 3, 4]", "float16[2, 3, 4]; float32[3]; float32[3]; float32[3]; float32[3]",
    ),
    (
        ir.BatchNormalization(), "?[N, ?]; ?[...]; ?[...]; ?[6]; ?[...]",
        "float32[N, ?]", "float32[N, 6]; ?[6]; ?[6]; ?[6]; ?[6]",
    ),
    (ir.InstanceNormalization(), UNKNOWN_3, "float32[2, 3, 4]", "float32[2, 3, 4]; float32[3]; float32[3]"),
    (
        ir.InstanceNormalization(), "?[2, 3, 4]; ?[3]; float16[3]",
        "?[...]", "float16[2, 3, 4]; float16[3]; float16[3]",
    ),
    (GROUPS, "?[N, ?, H]; ?[4]; ?[?]", "float32[...]", "float32[N, 4, H]; float32[4]; float32[4]"),
    (ir.LayerNormalization(axis=1), UNKNOWN_3, "?[2, 3, N]", "?[2, 3, N]; ?[3, N]; ?[3, N]"),
    (ir.LayerNormalization(), "?[2, 5]; ?[1]; ?[...]", "float32[2, 5]", "float32[2, 5]; float32[1]; float32[5]"),
    (ir.RMSNormalization(), "?[...]; float32[...]", "?[2, 5]", "float32[2, 5]; float32[5]"),
    (ir.LRN(size=3), "?[...]", "float32[2, 5, H]", "float32[2, 5, H]"),
)  # fmt: skip
test_operands = backward(BACKWARD)


def test_contradicting_result() -> None:
    with pytest.raises(ShapeError, match="differ"):
        ir.InstanceNormalization().infer_inputs(types("[2,3,4] [3] [3]"), (tensor("[2,5,4]"),))


def layer(x: NDArray[np.float64], axes: tuple[int, ...], eps: float) -> tuple[NDArray[np.float64], ...]:
    """Normalized data, mean and inverse deviation."""
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + eps)
    return (x - mean) * inverse, mean, inverse


def run(op: Operator, arrays: list[NDArray[Any]], opset: int) -> list[NDArray[Any]]:
    """All results of one operator from onnxruntime, the first axis of the first operand symbolic."""
    graph = Graph("one")
    operands = []
    for place, array in enumerate(arrays):
        shape: tuple[Dim, ...] = (symbol("N"), *array.shape[1:]) if place == 0 else array.shape
        operands.append(graph.add_input(f"x{place}", TensorType(DType.of(array.dtype), shape)))
    graph.set_outputs(graph.add_node(op, operands, name="y").outputs)
    model = to_model(graph, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    feeds = {f"x{place}": array for place, array in enumerate(arrays)}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return list(onnx.reference.ReferenceEvaluator(model).run(None, feeds))
    return list(session.run(None, feeds))


OPSETS = (13, 17, 18, 21, 23, min(newest_opset(), 25))


def draw(dtype: str, *shapes: tuple[int, ...]) -> list[NDArray[Any]]:
    """Arrays of these shapes."""
    generator = np.random.default_rng(1)
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]


LIMIT = {"float16": 6e-3, "float32": 3e-6, "float64": 1e-12}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [-1, 1, -3])
def test_layer_normalization(axis: int, dtype: str, opset: int) -> None:
    shape = (2, 3, 5)
    stash = DType.FLOAT64 if dtype == "float64" else DType.FLOAT32
    x, scale, bias = draw(dtype, shape, shape[axis:], shape[axis:])
    found = run(ir.LayerNormalization(axis=axis, epsilon=0.01, stash_type=stash), [x, scale, bias], opset)
    axes = tuple(range(axis % 3, 3))
    y, mean, inverse = layer(x.astype(np.float64), axes, 0.01)
    for result, wanted in zip(found, (y * scale + bias, mean, inverse), strict=True):
        np.testing.assert_allclose(result.astype(np.float64), wanted, atol=LIMIT[dtype], rtol=LIMIT[dtype])


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rms_normalization(dtype: str, opset: int) -> None:
    x, scale = draw(dtype, (2, 3, 5), (5,))
    stash = DType.FLOAT64 if dtype == "float64" else DType.FLOAT32
    (found,) = run(ir.RMSNormalization(epsilon=0.01, stash_type=stash), [x, scale], opset)
    wide = x.astype(np.float64)
    wanted = wide / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + 0.01) * scale
    np.testing.assert_allclose(found.astype(np.float64), wanted, atol=LIMIT[dtype])


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 3, 4)])
def test_group_normalization(shape: tuple[int, ...], dtype: str, opset: int) -> None:
    x, scale, bias = draw(dtype, shape, (6,), (6,))
    (found,) = run(ir.GroupNormalization(num_groups=2, epsilon=0.01), [x, scale, bias], opset)
    y, _, _ = layer(x.astype(np.float64).reshape(2, 2, -1), (2,), 0.01)
    along = (6, *(1,) * (len(shape) - 2))
    wanted = y.reshape(shape) * scale.reshape(along) + bias.reshape(along)
    np.testing.assert_allclose(found.astype(np.float64), wanted, atol=LIMIT[dtype])


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    "op", [ir.LpNormalization(axis=1), ir.LpNormalization(p=1), ir.MeanVarianceNormalization()], ids=str
)
def test_without_parameters(op: Operator, opset: int) -> None:
    (x,) = draw("float32", (2, 3, 4, 5))
    (found,) = run(op, [x], opset)
    match op:
        case ir.LpNormalization(axis=axis, p=p):
            wanted = x / np.linalg.norm(x, ord=p, axis=axis, keepdims=True)
        case _:
            wanted = layer(x.astype(np.float64), (0, 2, 3), 0)[0]
    np.testing.assert_allclose(found, wanted, atol=3e-6)
