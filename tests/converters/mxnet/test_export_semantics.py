"""Tensors that classic symbols cannot hold: without axes, without elements, of truths, of dtypes that MXNet lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphir
from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.onnx import from_model
from graphir.decisions import DecisionKind
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from tests.converters.mxnet.exporting import Array, difference, mxnet_outputs, onnxruntime_outputs, read_again
from tests.equivalence.live import LivePair
from tests.typed import untyped

HELD = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


def model(
    nodes: str, inputs: dict[str, Array], constants: dict[str, Array] | None = None, output: str = "y"
) -> onnx.ModelProto:
    """A model of nodes in onnx's text form, on inputs of these dtypes and shapes."""
    parsed = onnx.parser.parse_graph(f"g () => () {{ {nodes} }}")
    for name, array in inputs.items():
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        parsed.input.append(helper.make_tensor_value_info(name, dtype, array.shape))
    parsed.initializer.extend(numpy_helper.from_array(array, name) for name, array in (constants or {}).items())
    parsed.output.append(helper.make_tensor_value_info(output, TensorProto.UNDEFINED, None))
    made = helper.make_model(parsed, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    found = onnx.shape_inference.infer_shapes(made)
    if not found.graph.output[0].type.tensor_type.elem_type:
        raise AssertionError("the output's dtype is not inferred")
    return found


def symbol_of(source: onnx.ModelProto) -> tuple[Graph, str, dict[str, Array]]:
    """The graph, its symbol and the parameters by plain name."""
    graph = from_model(source.SerializeToString())
    text, params = to_symbol(graph)
    return graph, text, {name.partition(":")[2]: array for name, array in params.items()}


def array(*shape: int, dtype: str = "float32") -> Array:
    """Small whole numbers of both signs, fractions of a half for floats."""
    count = int(np.prod(shape))
    found = np.arange(count).reshape(shape) - count // 3
    return (found * 0.5 if np.dtype(dtype).kind == "f" else found).astype(dtype)


NONE = array(2, 0, 3)
SCALAR = np.array(2.5, np.float32)
NP_SHAPE: tuple[tuple[str, str, dict[str, Array], dict[str, Array]], ...] = (
    ("scalar in and out", "y = Exp(x)", {"x": SCALAR}, {}),
    ("scalar straight through", "y = Identity(x)", {"x": SCALAR}, {}),
    ("scalar beside a tensor", "y = Mul(a, x)", {"a": SCALAR, "x": array(3, 4)}, {}),
    ("scalars alone", "y = Sub(a, b)", {"a": SCALAR, "b": SCALAR}, {}),
    ("reduced to a scalar", "y = ReduceSum <keepdims = 0> (x)", {"x": array(3, 4)}, {}),
    ("scalar inside",
     "t = ReduceMax <keepdims = 0> (x)\n u = Unsqueeze(t, one)\n v = Add(x, u)\n y = ReduceMin <keepdims = 0> (v)",
     {"x": array(3, 4)}, {"one": np.array([0])}),
    ("scalar truth", "y = Less(a, b)", {"a": SCALAR, "b": np.array(3, np.float32)}, {}),
    ("scalar chooses", "y = Where(c, a, x)", {"c": np.array(True), "a": SCALAR, "x": array(2, 3)}, {}),
    ("scalar index", "y = Gather(x, i)", {"x": array(4, 3), "i": np.array(2)}, {}),
    ("stacked scalars", "u = Unsqueeze(a, zero)\n v = Unsqueeze(b, zero)\n y = Concat <axis = 0> (u, v)",
     {"a": SCALAR, "b": SCALAR}, {"zero": np.array([0])}),
    ("dot product", "y = MatMul(a, b)", {"a": array(5), "b": array(5)}, {}),
    ("no elements through", "y = Exp(x)", {"x": NONE}, {}),
    ("no elements reshaped", "y = Reshape <allowzero = 1> (x, s)", {"x": NONE}, {"s": np.array([3, 0, 2])}),
    ("no elements of a slice", "y = Slice(x, a, b)", {"x": array(4, 3)}, {"a": np.array([2]), "b": np.array([2])}),
    ("no elements transposed", "y = Transpose(x)", {"x": NONE}, {}),
    ("integers", "y = Add(a, x)", {"a": np.array(3), "x": np.array(4)}, {}),
)  # fmt: skip
np_shape_rows = pytest.mark.parametrize(
    ("nodes", "inputs", "constants"), [row[1:] for row in NP_SHAPE], ids=[row[0] for row in NP_SHAPE]
)


@pytest.mark.live
@np_shape_rows
def test_np_shape_in_live_mxnet(
    nodes: str, inputs: dict[str, Array], constants: dict[str, Array], live_pair: LivePair
) -> None:
    source = model(nodes, inputs, constants)
    graph, text, params = symbol_of(source)
    assert json.loads(text)["attrs"]["is_np_shape"] == ["int", 1]
    assert [decision.kind for decision in graph.decisions].count(DecisionKind.NP_SHAPE) == 1
    feeds = used(source, inputs)
    assert not difference(mxnet_outputs(live_pair, text, params, feeds), onnxruntime_outputs(source, feeds))


@np_shape_rows
def test_np_shape_read_again(nodes: str, inputs: dict[str, Array], constants: dict[str, Array]) -> None:
    source = model(nodes, inputs, constants)
    graph, text, params = symbol_of(source)
    feeds = used(source, inputs)
    shapes = {name: array.shape for name, array in inputs.items() if f'"name": "{name}"' in text}
    again = from_symbol(text, dict(params), shapes)
    assert [value.rank for value in again.outputs] == [value.rank for value in graph.outputs]
    assert not difference(read_again(text, params, feeds, opset=21), onnxruntime_outputs(source, feeds))


def used(source: onnx.ModelProto, inputs: dict[str, Array]) -> dict[str, Array]:
    """The inputs, all of which onnxruntime wants."""
    return {info.name: inputs[info.name] for info in source.graph.input}


@pytest.mark.parametrize(
    ("nodes", "inputs"),
    [
        ("t = ReduceSum <keepdims = 0> (x)\n y = Add(x, t)", {"x": array(3, 4)}),
        ("y = Mul(x, c)", {"x": array(3, 4)}),
        ("y = Equal(x, x)", {"x": array(3, 4)}),
    ],
)
def test_what_needs_no_np_shape_stays_classic(nodes: str, inputs: dict[str, Array]) -> None:
    graph, text, _ = symbol_of(model(nodes, inputs, {"c": SCALAR}))
    assert "is_np_shape" not in json.loads(text)["attrs"]
    assert not graph.decisions


GONE: tuple[tuple[str, str, dict[str, Array], dict[str, Array]], ...] = (
    ("joined", "y = Concat <axis = 1> (x, z)", {"x": NONE, "z": array(2, 4, 3)}, {}),
    ("summed", "y = ReduceSum(x, a)", {"x": NONE}, {"a": np.array([1])}),
    ("multiplied", "y = MatMul(a, b)", {"a": array(3, 0), "b": array(0, 4)}, {}),
    ("padded", "y = Pad(x, p)", {"x": NONE}, {"p": np.array([0, 1, 0, 0, 2, 0])}),
    ("split off", "t, y = Split(x, s)", {"x": array(4, 3)}, {"s": np.array([0, 4])}),
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize(("nodes", "inputs", "constants"), [row[1:] for row in GONE], ids=[row[0] for row in GONE])
def test_what_has_no_elements_inside(
    nodes: str, inputs: dict[str, Array], constants: dict[str, Array], live_pair: LivePair
) -> None:
    source = model(nodes, inputs, constants)
    _, text, params = symbol_of(source)
    assert not difference(mxnet_outputs(live_pair, text, params, inputs), onnxruntime_outputs(source, inputs))


@pytest.mark.live
def test_np_shape_files_in_live_mxnet(tmp_path: Path) -> None:
    source = model("y = Mul(x, w)", {"x": SCALAR}, {"w": array(2, 3)})
    onnx.save(source, tmp_path / "model.onnx")
    report = graphir.convert(tmp_path / "model.onnx", tmp_path / "model-symbol.json", verify=True)
    assert report.verification is not None
    assert report.verification.ok


TRUTHS: tuple[tuple[str, str, dict[str, Array]], ...] = (
    ("through", "y = Identity(x)", {"x": array(2, 3, dtype="bool")}),
    ("negated", "y = Not(x)", {"x": array(2, 3, dtype="bool")}),
    ("moved", "y = Transpose(x)", {"x": array(2, 3, dtype="bool")}),
    ("joined with a comparison", "t = Less(a, a)\n y = Concat <axis = 0> (x, t)",
     {"x": array(2, 3, dtype="bool"), "a": array(2, 3, dtype="int64")}),
    ("chosen by", "y = Where(x, a, b)",
     {"x": array(2, 3, dtype="bool"), "a": array(2, 3), "b": array(3)}),
    ("counted", "t = Cast <to = 7> (x)\n y = ReduceSum(t)", {"x": array(2, 3, dtype="bool")}),
    ("looked up", "y = Gather(x, i)", {"x": array(4, 3, dtype="bool"), "i": np.array([2, 0])}),
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize(("nodes", "inputs"), [row[1:] for row in TRUTHS], ids=[row[0] for row in TRUTHS])
def test_truths_in_live_mxnet(nodes: str, inputs: dict[str, Array], live_pair: LivePair) -> None:
    source = model(nodes, inputs)
    _, text, params = symbol_of(source)
    assert not difference(mxnet_outputs(live_pair, text, params, inputs), onnxruntime_outputs(source, inputs))
    assert not difference(read_again(text, params, inputs), onnxruntime_outputs(source, inputs))


def wrapped(dtype: str) -> Array:
    """The least and largest numbers of an integer dtype, and small ones."""
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.max, 1, 2, 3, limits.max // 2 + 1], dtype)


WIDE_INTEGERS = tuple(
    (f"{op} {dtype}", f"y = {op}(a, b)", {"a": wrapped(dtype), "b": wrapped(dtype)[::-1].copy()})
    for op in ("Add", "Sub", "Mul", "Max", "Min", "Less", "Equal")
    for dtype in ("int16", "uint16", "uint32")
) + tuple(
    (f"{op} {dtype}", f"y = {op}(a)", {"a": wrapped(dtype)})
    for op, dtypes in (("Neg", ("int16",)), ("Abs", ("int16", "uint16")), ("Identity", ("uint32",)))
    for dtype in dtypes
)


@pytest.mark.live
@pytest.mark.parametrize(("nodes", "inputs"), [row[1:] for row in WIDE_INTEGERS], ids=[row[0] for row in WIDE_INTEGERS])
def test_integers_in_wider_dtypes(nodes: str, inputs: dict[str, Array], live_pair: LivePair) -> None:
    source = model(nodes, inputs)
    graph, text, params = symbol_of(source)
    with np.errstate(over="ignore"):
        expected = np.asarray(*onnx.reference.ReferenceEvaluator(source).run(None, inputs))
    (found,) = mxnet_outputs(live_pair, text, params, carried(text, inputs))
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.astype(object), expected.astype(object))
    assert {"a"} <= {decision.node for decision in graph.decisions if decision.kind == "dtype"}


def carried(text: str, inputs: dict[str, Array]) -> dict[str, Array]:
    """The inputs in the dtypes that the symbol declares."""
    declared = {node["name"]: int(node.get("attrs", {}).get("__dtype__", 0)) for node in json.loads(text)["nodes"]}
    return {name: array.astype(HELD[declared[name]]) for name, array in inputs.items() if name in declared}


NARROW_FLOATS = {
    "bfloat16": (16, ml_dtypes.bfloat16),
    "float8e4m3fn": (17, ml_dtypes.float8_e4m3fn),
    "float8e5m2": (19, ml_dtypes.float8_e5m2),
    "float8e4m3fnuz": (18, ml_dtypes.float8_e4m3fnuz),
    "float8e5m2fnuz": (20, ml_dtypes.float8_e5m2fnuz),
}


def drawn(dtype: str) -> Array:
    """Numbers of all magnitudes that a float8 has and some beyond, and halves between its neighbours."""
    generator = np.random.default_rng(29)
    spread = generator.standard_normal(400) * 10.0 ** generator.integers(-9, 3, 400)
    ties = np.arange(-40, 40) * 2.0 ** -generator.integers(0, 12, 80)
    return np.concatenate([spread, ties, [0.0, 1e-30, 3e38 if dtype == "float32" else 6e4]]).astype(dtype)


@pytest.mark.live
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("target", list(NARROW_FLOATS))
def test_rounding_to_narrow_floats(dtype: str, target: str, live_pair: LivePair) -> None:
    number, ml_dtype = NARROW_FLOATS[target]
    data = drawn(dtype)
    graph, text, params = symbol_of(model(f"y = Cast <to = {number}> (x)", {"x": data}))
    (found,) = mxnet_outputs(live_pair, text, params, {"x": data})
    limits = untyped(ml_dtypes.finfo)(ml_dtype)
    saturated = data if target == "bfloat16" else np.clip(data, np.float32(limits.min), np.float32(limits.max))
    np.testing.assert_array_equal(found, saturated.astype(ml_dtype).astype(np.float32))
    assert [decision.node for decision in graph.decisions if decision.kind == "dtype"] == ["y"]


@pytest.mark.live
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rounding_to_powers_of_two(dtype: str, live_pair: LivePair) -> None:
    near = np.array([1 - 2.0**-11, 1 + 2.0**-10, 0.5, 3, 0.124, 1.1, 0.0, 60000, 2.0**-14], dtype)
    data = np.concatenate([near, [np.nan]]).astype(dtype)
    _, text, params = symbol_of(model("y = Cast <to = 24> (x)", {"x": data}))
    (found,) = mxnet_outputs(live_pair, text, params, {"x": data})
    expected = np.array([1, 2, 0.5, 4, 0.125, 2, 2.0**-127, 65536, 2.0**-14, np.nan], np.float32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.live
@pytest.mark.parametrize(("target", "bits", "signed"), [(21, 4, False), (22, 4, True), (5, 16, True), (4, 16, False)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "int8"])
def test_wrapping_to_narrow_integers(target: int, bits: int, signed: bool, dtype: str, live_pair: LivePair) -> None:
    data = (np.arange(-60, 60) if dtype == "int8" else np.arange(-90000, 90000, 777)).astype(dtype)
    _, text, params = symbol_of(model(f"y = Cast <to = {target}> (x)", {"x": data}))
    (found,) = mxnet_outputs(live_pair, text, params, {"x": data})
    expected = data.astype(np.int64) % 2**bits
    if signed:
        expected = np.where(expected >= 2 ** (bits - 1), expected - 2**bits, expected)
    np.testing.assert_array_equal(found.astype(np.int64), expected)


@pytest.mark.live
@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Div"])
def test_bfloat16_arithmetic_is_rounded_once(op: str, live_pair: LivePair) -> None:
    generator = np.random.default_rng(31)
    inputs = {name: generator.standard_normal(300).astype(ml_dtypes.bfloat16) for name in ("a", "b")}
    source = model(f"y = {op}(a, b)", inputs)
    _, text, params = symbol_of(source)
    left, right = (array.astype(np.float64) for array in inputs.values())
    exact = {"Add": left + right, "Mul": left * right, "Sub": left - right, "Div": left / right}[op]
    (found,) = mxnet_outputs(live_pair, text, params, carried(text, inputs))
    np.testing.assert_array_equal(found, exact.astype(ml_dtypes.bfloat16).astype(np.float32))


REFUSED: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("uint64", "y = Add(x, x)", {"x": array(3, dtype="uint64")}, "no tensors of uint64"),
    ("complex", "y = Identity(x)", {"x": array(3, dtype="complex64")}, "no tensors of complex64"),
    ("powers of two", "y = Cast <to = 24, saturate = 0> (x)", {"x": array(3)}, "no rounding to its numbers"),
)


@pytest.mark.parametrize(("nodes", "inputs", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refusal(nodes: str, inputs: dict[str, Array], text: str) -> None:
    with pytest.raises(UnsupportedOpError, match=text):
        symbol_of(model(nodes, inputs))
