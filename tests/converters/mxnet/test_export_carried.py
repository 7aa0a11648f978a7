"""Values that MXNet holds in another dtype than their own, and outputs whose node MXNet does not need."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import onnx
import pytest

from graphir.converters.mxnet import from_symbol, to_symbol
from graphir.converters.onnx import from_model, to_model
from tests.building import parse_model
from tests.converters.mxnet.exporting import (
    Array,
    difference,
    integers,
    mxnet_outputs,
    normal,
    onnxruntime_outputs,
    read_again,
)
from tests.equivalence.live import Live


def model(inputs: str, outputs: str, nodes: str) -> onnx.ModelProto:
    """The model of nodes in onnx's textual form."""
    return parse_model(f"g ({inputs}) => ({outputs}) {{ {nodes} }}", opset=18)


# Positions, which MXNet's argmax gives as floats, are moved: `p` int64[3, 5] becomes `m`.
MOVES = {
    "transpose": "m = Transpose(p)",
    "reshape": "s = Constant <value_ints = [5, 3]> () m = Reshape(p, s)",
    "reshape to another": "s = Shape(like) m = Reshape(p, s)",
    "flatten": "m = Flatten <axis = 2> (p)",
    "unsqueeze": "a = Constant <value_ints = [0, 2]> () m = Unsqueeze(p, a)",
    "expand": "s = Constant <value_ints = [2, 3, 5]> () m = Expand(p, s)",
    "tile": "s = Constant <value_ints = [2, 3]> () m = Tile(p, s)",
    "gather": "i = Constant <value_ints = [2, 0]> () m = Gather(p, i)",
    "gather one": "i = Constant <value_int = 2> () m = Gather <axis = 1> (p, i)",
    "gather by an input": "m = Gather(p, rows)",
    "gather elements": "m = GatherElements <axis = 1> (p, places)",
    "pick": "i = Constant <value_ints = [1]> () a = Constant <value_ints = [0, 2]> () "
            "e = Constant <value_ints = [3, 1]> () f = Expand(i, e) m = GatherElements <axis = 1> (p, f)",
    "gather nd": "m = GatherND(p, vectors)",
    "gather nd by one vector": "i = Constant <value_ints = [2]> () m = GatherND(p, i)",
    "concat": "m = Concat <axis = 0> (p, p)",
    "split": "m, rest = Split <axis = 1, num_outputs = 2> (p)",
    "slice": "b = Constant <value_ints = [1]> () e = Constant <value_ints = [9]> () m = Slice(p, b, e)",
    "backwards": "b = Constant <value_ints = [-1]> () e = Constant <value_ints = [-99]> () "
                 "a = Constant <value_ints = [1]> () m = Slice(p, b, e, a, b)",
    "pad": "s = Constant <value_ints = [1, 0, 0, 2]> () m = Pad(p, s)",
    "triangle": "m = Trilu(p)",
    "where": "c = Equal(p, p) m = Where(c, p, p)",
    "identity": "m = Identity(p)",
    "cumulated": "a = Constant <value_int = 1> () m = CumSum(p, a)",
    "largest": "m = ReduceMax <keepdims = 0> (p)",
    "multiplied": "m = ScatterElements <axis = 1, reduction = \"mul\"> (p, places, u2)",
    "largest of two": "m = ScatterND <reduction = \"max\"> (p, vectors, first)",
    "scattered": "u = Identity(p) m = ScatterND(p, vectors, first)",
}  # fmt: skip
INPUTS = (
    "float[3, 5, 7] x, float[5, 3] like, int64[4] rows, int64[3, 2] places, int64[4, 2] vectors, int64[4] first, "
    "int64[3, 2] u2"
)


def feeds(dtype: str) -> dict[str, Array]:
    """Numbers for INPUTS."""
    return {
        "x": normal(3, 5, 7, dtype=dtype), "like": normal(5, 3), "rows": integers(0, 2, 4),
        "places": integers(0, 4, 3, 2), "vectors": integers(0, 2, 4, 2), "first": integers(0, 9, 4),
        "u2": integers(1, 9, 3, 2),
    }  # fmt: skip


def halved(move: str, dtype: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """What becomes of positions that are moved and halved as integers are."""
    kind = {"float32": "float", "float64": "double"}[dtype]
    nodes = f"p = ArgMax <axis = 2, keepdims = 0> (x) {MOVES[move]} h = Constant <value_int = 2> () y = Div(m, h)"
    made = model(INPUTS.replace("float[3, 5, 7]", f"{kind}[3, 5, 7]"), "int64 y, int64 m", nodes)
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    return made, feeds(dtype)


def symbol_of(source: onnx.ModelProto) -> tuple[str, dict[str, Array]]:
    """The symbol, and its parameters without prefixes."""
    text, params = to_symbol(from_model(source.SerializeToString()))
    return text, {name.partition(":")[2]: array for name, array in params.items()}


@pytest.mark.live
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("move", MOVES)
def test_moved_positions_stay_integers(move: str, dtype: str, live: Live) -> None:
    source, data = halved(move, dtype)
    text, params = symbol_of(source)
    assert difference(mxnet_outputs(live, text, params, data), onnxruntime_outputs(source, data)) == ""


@pytest.mark.parametrize("move", MOVES)
def test_moved_positions_read_again(move: str) -> None:
    source, data = halved(move, "float64")
    text, params = symbol_of(source)
    assert difference(read_again(text, params, data), onnxruntime_outputs(source, data)) == ""


# Outputs that another value's node computes: of these operators nothing is left in MXNet.
NAMED = (
    ("dropout", "y = Relu(x) z = Dropout(y)", "float[2, 3] z", ["Activation"]),
    ("dropout beside its data", "y = Relu(x) z = Dropout(y)", "float[2, 3] y, float[2, 3] z", ["Activation", "_copy"]),
    ("dropout of an input", "z = Dropout(x)", "float[2, 3] z", ["_copy"]),
    ("the same dtype", "y = Relu(x) z = Cast <to = 1> (y)", "float[2, 3] z, float[2, 3] y", ["Activation", "_copy"]),
    ("twins", "y = Relu(x) z = Dropout(y) w = Dropout(y)", "float[2, 3] z, float[2, 3] w", ["Activation", "_copy"]),
    ("used by others", "y = Relu(x) z = Dropout(y) w = Exp(y)", "float[2, 3] z, float[2, 3] w", ["Activation", "exp"]),
    ("a part", "y, w = Split <axis = 0, num_outputs = 2> (x) z = Dropout(y)", "float[1, 3] z",
     ["SliceChannel", "_copy"]),
)  # fmt: skip


@pytest.mark.parametrize("nodes, outputs, wanted", [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_outputs_keep_their_names(nodes: str, outputs: str, wanted: list[str]) -> None:
    source = model("float[2, 3] x", outputs, nodes)
    text, params = symbol_of(source)
    assert [node["op"] for node in json.loads(text)["nodes"] if node["op"] != "null"] == wanted
    again = from_symbol(text, params, {"x": (2, 3)})
    names = [output.name for output in source.graph.output]
    assert [value.name.removesuffix("_output") for value in again.outputs] == names
    data = {"x": normal(2, 3)}
    assert difference(onnxruntime_outputs(to_model(again), data), onnxruntime_outputs(source, data)) == ""


@pytest.mark.parametrize("nodes, output", [
    ("y = Flatten <axis = 0> (n) z = Cast <to = 1> (y)", "float[1, 1] z"),
    ("s = Shape <start = 9> (x) y = Expand(n, s) z = Neg(y)", "float z"),
    ("c = Greater(n, n) s = Shape <start = 9> (x) z = Expand(c, s)", "bool z"),
])  # fmt: skip
def test_without_axes(nodes: str, output: str) -> None:
    source = model("float[2, 3] x, float n", output, nodes)
    text, params = symbol_of(source)
    assert json.loads(text)["attrs"]["is_np_shape"] == ["int", 1]
    data = {"n": np.array(2.5, np.float32), "x": normal(2, 3)}
    (found,), (expected,) = read_again(text, params, data), onnxruntime_outputs(source, data)
    assert (found.dtype, found.shape, found.tolist()) == (expected.dtype, expected.shape, expected.tolist())


@pytest.mark.parametrize("inputs, shapes", [
    ("float[N, 5] x", {"x": "(0, 5)"}), ("float[N, M] x", {"x": "(0, 0)"}), ("float[2, 5] x", {"x": "(2, 5)"}),
    ("float[N, 5] x, float n", {"x": "(-1, 5)", "n": "()"}),
])  # fmt: skip
@pytest.mark.live
def test_what_is_known_of_shapes_is_stated(inputs: str, shapes: dict[str, str], live: Live) -> None:
    nodes = "z = Add(x, n)" if "n" in shapes else "z = Relu(x)"
    text, params = symbol_of(model(inputs, "float[N, M] z", nodes))
    variables = {node["name"]: node["attrs"] for node in json.loads(text)["nodes"] if node["op"] == "null"}
    assert {name: attributes["__shape__"] for name, attributes in variables.items()} == shapes
    data = {"x": normal(2, 5), "n": np.array(1.5, np.float32)}
    expected = data["x"] + 1.5 if "n" in shapes else np.maximum(data["x"], 0)
    assert difference(mxnet_outputs(live, text, params, data), [expected]) == ""
    read = from_symbol(text)["x"].shape
    assert read is not None
    assert [size if isinstance(size, int) else 0 for size in read] == [max(size, 0) for size in eval(shapes["x"])]


def test_an_input_that_nothing_reads_is_a_decision() -> None:
    graph = from_model(model("float[2] x, float[3] unread", "float[2] z", "z = Relu(x)").SerializeToString())
    text, _ = to_symbol(graph)
    assert [node["name"] for node in json.loads(text)["nodes"]] == ["x", "z"]
    assert [(made.kind, made.node) for made in graph.decisions] == [("unused input", "unread")]


BOUND: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("a sum", "float[5] w = {1, 2, 3, 4, 5}", "z = Add(x, w)", {"w": "(5,)"}),
    ("a product", "float[3, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6}", "z = Gemm <transB = 1> (x, w)", {}),
    ("turned", "float[2, 3] w = {1, 2, 3, 4, 5, 6}", "z = Gemm <transA = 1> (x, w)", {"w": "(2, 3)"}),
    ("one slope", "float[1] w = {0.5}", "z = PRelu(x, w)", {"w": "(1,)"}),
    ("of a constant", "float[5, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}",
     "v = MatMul(w, w) z = MatMul(x, v)", {"w": "(5, 5)"}),
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("held, nodes, stated", [row[1:] for row in BOUND], ids=[row[0] for row in BOUND])
def test_data_shapes_are_enough_to_bind(held: str, nodes: str, stated: dict[str, str], mxnet: ModuleType) -> None:
    source = parse_model(f"g (float[N, 5] x) => (float[N, M] z) <{held}> {{ {nodes} }}", opset=18)
    symbol, params = to_symbol(from_model(source.SerializeToString()))
    variables = {node["name"]: node.get("attrs", {}) for node in json.loads(symbol)["nodes"] if node["op"] == "null"}
    shapes = {name: found["__shape__"] for name, found in variables.items() if name != "x" and "__shape__" in found}
    assert shapes == stated
    read = mxnet.sym.load_json(symbol)
    arguments, _, _ = read.infer_shape(x=(2, 5))
    assert dict(zip(read.list_arguments(), arguments, strict=True)) == {
        "x": (2, 5), **{name.partition(":")[2]: array.shape for name, array in params.items()},
    }  # fmt: skip
