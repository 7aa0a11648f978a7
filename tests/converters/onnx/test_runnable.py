"""Nodes without a kernel: casts around them that change nothing, or change it as said; a model's own nodes stay."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporting.casts import EXACT, CastKind
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.ops import elementwise as ir
from graphir.ops.activation import (
    Elu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Mish,
    Relu,
    Selu,
    Softplus,
    Softsign,
    Swish,
    ThresholdedRelu,
)
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv
from graphir.ops.creation import EyeLike
from graphir.ops.indexing import NonZero, OneHot
from graphir.ops.linear import Det, Einsum
from graphir.ops.pooling import MaxPool
from graphir.ops.reduction import ArgMax, ReduceMax
from graphir.ops.resize import Coordinates, Resize
from graphir.ops.sequence import SplitToSequence
from graphir.ops.shape_parts import DepthToSpace, Slice, Trilu
from graphir.runtime.kernels import Release, releases
from graphir.types import DType, TensorType
from tests.building import parse_model

Array = NDArray[Any]


def graph_of(op: Operator, *arrays: Array, name: str = "n") -> Graph:
    """A graph of one node on inputs like these arrays."""
    made = Graph("g")
    inputs = [
        made.add_input(f"x{slot}", TensorType(DType.of(array.dtype), array.shape)) for slot, array in enumerate(arrays)
    ]
    made.set_outputs(made.add_node(op, inputs, name=name).outputs[:1])
    return made


def run(graph: Graph, *arrays: Array, opset: int | None = None) -> Array:
    """The first output from onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(to_model(graph, opset=opset).SerializeToString(), options)
    (found,) = session.run(None, {f"x{slot}": array for slot, array in enumerate(arrays)})
    return np.asarray(found)


def kinds(graph: Graph) -> list[str]:
    """The kinds of the decisions."""
    return [made.kind for made in graph.decisions]


def of(dtype: str, *numbers: float) -> Array:
    return np.array(numbers).astype(dtype)


BIG = np.array([2**62 + 1, -(2**62) - 3, 5, 2**63 - 1], np.int64)
HUGE = np.array([2**64 - 1, 2**63, 3, 0], np.uint64)
FINE = np.array([1 + 2**-50, -1 - 2**-50, 0.25, -3.5])
MASK = np.array([True, False, True, False])

EXACTLY: list[tuple[str, Operator, tuple[Array, ...], Any]] = [
    ("where bool", ir.Where(), (MASK, ~MASK, MASK), np.where(MASK, ~MASK, MASK)),
    ("where uint64", ir.Where(), (MASK, HUGE, HUGE[::-1].copy()), np.where(MASK, HUGE, HUGE[::-1])),
    ("where int16", ir.Where(), (MASK, of("int16", 1, 2, 3, -4), of("int16", 5, 6, 7, -8)), of("int16", 1, 6, 3, -8)),
    ("relu int64", Relu(), (BIG,), np.maximum(BIG, 0)),
    ("relu int16", Relu(), (of("int16", -5, 0, 7),), of("int16", 0, 0, 7)),
    ("trilu int8", Trilu(), (np.arange(-8, 8, dtype=np.int8).reshape(4, 4),),
     np.triu(np.arange(-8, 8, dtype=np.int8).reshape(4, 4))),
    ("add wraps", ir.Add(), (of("uint8", 250, 1), of("uint8", 10, 2)), of("uint8", 4, 3)),
    ("mul wraps", ir.Mul(), (of("int8", 100, -7), of("int8", 3, 5)), np.array([44, -35], np.int8)),
    ("mul uint64", ir.Mul(), (HUGE, HUGE), HUGE * HUGE),
    ("equal uint64", ir.Equal(), (HUGE, HUGE[::-1].copy()), HUGE[::-1] == HUGE),
    ("div int8", ir.Div(), (of("int8", -7, 7), of("int8", 2, -2)), of("int8", -3, -3)),
    ("less uint16", ir.Less(), (of("uint16", 1, 65535), of("uint16", 65535, 1)), np.array([True, False])),
    ("max int8", ir.Max(), (of("int8", -128, 5), of("int8", 127, -5)), of("int8", 127, 5)),
    ("reduce max uint32", ReduceMax(), (of("uint32", 1, 2**32 - 1),), of("uint32", 2**32 - 1)),
    ("arg max uint16", ArgMax(keepdims=False), (of("uint16", 1, 65535, 7),), np.int64(1)),
    ("nonzero float64", NonZero(), (np.array([0.0, 1e-300, -0.0, np.nan]),), np.array([[1, 3]])),
    ("one hot of a scalar", OneHot(), (np.array(2), np.array(4), of("float32", 0, 1)), of("float32", 0, 0, 1, 0)),
    ("one hot float64", OneHot(), (np.array([1, 0]), np.array(2), FINE[:2]), FINE[:2][[[0, 1], [1, 0]]]),
    ("einsum int16", Einsum("i,i->"), (of("int16", 300, 7), of("int16", 300, 1)), np.int16(90007 - (1 << 16))),
    ("nearest int64", Resize(factors=(2.0,), coordinates=Coordinates.ASYMMETRIC), (BIG,), BIG.repeat(2)),
    ("nearest float64", Resize(factors=(2.0,)), (FINE,), FINE.repeat(2)),
    ("nearest bool", Resize(factors=(2.0,)), (MASK,), MASK.repeat(2)),
    ("eye uint8", EyeLike(k=1), (np.zeros((2, 3), np.uint8),), np.eye(2, 3, 1, np.uint8)),
    ("slice of two dtypes", Slice(), (FINE, of("int32", 1), of("int64", 3)), FINE[1:3]),
    ("max pool uint8", MaxPool((2,)), (of("uint8", 1, 255, 3).reshape(1, 1, 3),),
     of("uint8", 255, 255).reshape(1, 1, 2)),
    ("abs wraps", ir.Abs(), (of("int8", -128, -5),), of("int8", 128 - 256, 5)),
    ("prelu int64", ir.PRelu(), (BIG, of("int64", 1)), BIG),
]  # fmt: skip


@pytest.mark.parametrize("opset", [None, 14, 21, 26])
@pytest.mark.parametrize("name, op, arrays, expected", EXACTLY, ids=[row[0] for row in EXACTLY])
def test_casts_that_change_nothing(
    name: str, op: Operator, arrays: tuple[Array, ...], expected: Array, opset: int | None
) -> None:
    graph = graph_of(op, *arrays)
    found = run(graph, *arrays, opset=opset)
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, found.shape) == (np.asarray(expected).dtype, np.shape(expected))
    assert set(kinds(graph)) <= {"runtime"}


X = np.array([-745.0, -40.0, -2.5, -1e-3, 0.0, 1e-3, 0.7, 2.5, 30.0, 720.0])
IN_FLOAT64: list[tuple[Operator, Array]] = [
    (Elu(alpha=1.5), np.where(X > 0, X, 1.5 * np.expm1(np.minimum(X, 0)))),
    (Selu(alpha=1.5, gamma=1.25), 1.25 * np.where(X > 0, X, 1.5 * np.expm1(np.minimum(X, 0)))),
    (HardSigmoid(alpha=0.3, beta=0.4), np.clip(0.3 * X + 0.4, 0, 1)),
    (HardSwish(), X * np.clip(X / 6 + 0.5, 0, 1)),
    (LeakyRelu(alpha=0.125), np.where(X < 0, 0.125 * X, X)),
    (Mish(), X * np.tanh(np.logaddexp(X, 0))),
    (Softplus(), np.logaddexp(X, 0)),
    (Softsign(), X / (1 + np.abs(X))),
    (Swish(alpha=0.5), X / (1 + np.exp(-0.5 * X))),
    (ThresholdedRelu(alpha=0.75), np.where(X > 0.75, X, 0)),
]


@pytest.mark.parametrize("opset", [13, 17, 18, 21, 26])
@pytest.mark.parametrize("op, expected", IN_FLOAT64, ids=[row[0].name for row in IN_FLOAT64])
def test_activations_compute_in_float64(op: Operator, expected: Array, opset: int) -> None:
    graph = graph_of(op, X)
    np.testing.assert_allclose(run(graph, X, opset=opset), expected, rtol=1e-13, atol=1e-15)
    assert kinds(graph) == ["runtime"] * (opset > releases()[0].opset)


NEXT = [(older, newer) for older, newer in pairwise(releases()) if newer.opset > older.opset]


@pytest.mark.parametrize("release, newer", NEXT, ids=lambda release: release.number)
def test_an_opset_that_older_onnxruntimes_do_not_open_is_noted(release: Release, newer: Release) -> None:
    """A stated opset as well as one that a node needs, but for a model's own."""
    graph = graph_of(ir.Tan(), X.astype(np.float32))
    model = to_model(graph, opset=release.opset + 1)
    texts = [decision.text for decision in graph.decisions if decision.kind == "runtime"]
    expected = f"opset {release.opset + 1} needs onnxruntime {newer.number} or newer: older ones do not open the file"
    assert texts == [expected]
    again = from_model(model)
    to_model(again)
    assert not again.decisions


IMAGE = np.arange(16.0).reshape(1, 1, 4, 4)
ROUNDED: list[tuple[str, Operator, tuple[Array, ...], str]] = [
    ("conv", Conv(), (IMAGE, np.ones((1, 1, 2, 2))), "float64 computed in float32"),
    ("det", Det(), (np.eye(3),), "float64 computed in float32"),
    ("depth to space", DepthToSpace(2), (BIG.reshape(1, 4, 1, 1),), "int64 computed in float64, numbers beyond 2**53"),
    ("arg max", ArgMax(), (HUGE,), "uint64 computed in int64, numbers of 2**63 and more"),
    ("tan", ir.Tan(), (FINE,), "float64 computed in float32, 24 bits"),
]


@pytest.mark.parametrize("name, op, arrays, text", ROUNDED, ids=[row[0] for row in ROUNDED])
def test_rounding_is_said(name: str, op: Operator, arrays: tuple[Array, ...], text: str) -> None:
    graph = graph_of(op, *arrays)
    found = run(graph, *arrays)
    assert found.dtype == graph.outputs[0].dtype.numpy()  # type: ignore[union-attr]
    (decision,) = graph.decisions
    assert (decision.kind, decision.node) == ("dtype", "n")
    assert text in decision.text


def test_all_nodes_that_cannot_run_are_refused_together() -> None:
    graph = Graph("g")
    x = graph.add_input("x", TensorType(DType.UINT32, (4,)))
    z = graph.add_input("z", TensorType(DType.COMPLEX64, (4,)))
    found = [graph.add_node(SplitToSequence(), [x], name=f"s{number}").output for number in range(2)]
    graph.set_outputs([*found, graph.add_node(ir.Identity(), [z], name="i").output])
    text = r"(?s)3 node.*SplitToSequence.*s0, s1.*uint32.*Identity.*i\).*complex64"
    with pytest.raises(UnsupportedOpError, match=text):
        to_model(graph)


def test_one_decision_for_all_nodes_of_a_kind() -> None:
    graph = Graph("g")
    x = graph.add_input("x", TensorType(DType.FLOAT64, (4,)))
    graph.set_outputs([graph.add_node(ir.Tan(), [x], name=f"t{number}").output for number in range(3)])
    to_model(graph)
    to_model(graph)
    (decision,) = graph.decisions
    assert decision.node == "t0"
    assert decision.text.endswith("(and 2 more nodes)")


OWN = [
    ("g (double[1,1,4,4] x, double[1,1,2,2] w) => (double[1,1,3,3] y) { y = Conv(x, w) }", ["Conv"]),
    ("g (int64[2] x) => (int64[2] y) { y = Relu(x) }", ["Relu"]),
    ("g (bool[2] c) => (bool[2] y) { y = Where(c, c, c) }", ["Where"]),
    ("g (bfloat16[2] x) => (bfloat16[2] y) { y = Sigmoid(x) }", ["Sigmoid"]),
]


@pytest.mark.parametrize("text, operators", OWN, ids=[row[1][0] for row in OWN])
def test_a_models_own_nodes_stay_and_that_is_said(text: str, operators: list[str]) -> None:
    graph = from_model(parse_model(text, opset=17))
    assert [node.op_type for node in to_model(graph).graph.node] == operators
    assert kinds(graph) == ["no kernel"]
    assert "stays as the model has it" in graph.decisions[0].text


# At another opset what is exact is mended, and what would be rounded stays.
ELSEWHERE = [(OWN[0][0], ["Conv"]), (OWN[2][0], ["Cast", "Where", "Cast"]), (OWN[3][0], ["Sigmoid"])]


@pytest.mark.parametrize("text, operators", ELSEWHERE, ids=["Conv", "Where", "Sigmoid"])
def test_at_another_opset_only_exact_casts(text: str, operators: list[str]) -> None:
    graph = from_model(parse_model(text, opset=17))
    assert [node.op_type for node in to_model(graph, opset=21).graph.node] == operators


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
PAIRS = [
    (kind, narrow, wide)
    for kind in (CastKind.MOVES, CastKind.ORDERS, CastKind.ADDS, CastKind.COUNTS)
    for narrow in INTEGERS
    for wide in EXACT[kind].get(narrow, ())
]


@pytest.mark.parametrize("kind, narrow, wide", PAIRS)
def test_exact_casts_are_exact(kind: CastKind, narrow: str, wide: str) -> None:
    """Extremes and powers of two come back, and keep their order or their sums and products where that counts."""
    info = np.iinfo(narrow)
    powers = [1 << bit for bit in range(info.bits - 1)]
    numbers = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2, 3, *powers], narrow)
    there = {"float": np.float32, "double": np.float64}.get(wide, wide)
    wider = numbers.astype(there)
    np.testing.assert_array_equal(wider.astype(narrow), numbers)
    a, b = (array.reshape(-1) for array in np.meshgrid(numbers, numbers))
    if kind in (CastKind.ORDERS, CastKind.COUNTS):
        np.testing.assert_array_equal(a.astype(there) < b.astype(there), a < b)
    if kind in (CastKind.ADDS, CastKind.COUNTS):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal((a.astype(there) * b.astype(there)).astype(narrow), a * b)
            np.testing.assert_array_equal((a.astype(there) - b.astype(there)).astype(narrow), a - b)


@pytest.mark.parametrize("opset", [13, 14, 18])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "int64", "int8"])
def test_a_relu_before_a_clip_opens_in_every_dtype(dtype: str, opset: int) -> None:
    """onnxruntime makes one Clip of both, and of float64 and integers fails to."""
    numbers = of(dtype, -3, 0, 1, 2, 7)
    graph = Graph("g")
    relu = graph.add_node(Relu(), [graph.add_input("x0", TensorType(DType.of(dtype), (5,)))])
    limits = [graph.constant(of(dtype, limit).reshape(())) for limit in (1, 5)]
    graph.set_outputs(graph.add_node(ir.Clip(), [relu.outputs[0], *limits]).outputs)
    assert run(graph, numbers, opset=opset).tolist() == [1, 1, 1, 2, 5]
