"""From ONNX to a graph: what is kept, what is decided, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from graphir.converters.onnx import from_model, load, to_model
from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET
from graphir.errors import FormatError, GraphirError, ImportFailure, UnsupportedOpError
from graphir.graph import Graph
from graphir.serial.reader import load_graph
from graphir.serial.writer import save_graph
from graphir.types import DType, OptionalType, SequenceType, TensorType, parse_shape
from tests.building import Change, add_weights, parse_model, run_model

NEG = "g (float[N] x) => (float[N] y) { y = Neg(x) }"


def run(made: Any, feeds: dict[str, Any]) -> list[Any]:
    """The outputs from onnxruntime."""
    return list(run_model(made, feeds).values())


def again(made: Any) -> Any:
    """The model after import and export at its own opset."""
    graph = from_model(made)
    graph.check()
    return to_model(graph, opset=max(int(graph.metadata["onnx.opset:"]), OLDEST_OPSET))


def kinds(graph: Graph) -> list[str]:
    """The kinds of the decisions."""
    return [decision.kind for decision in graph.decisions]


MODELS = (
    *("burn-mnist", "dtln-1", "dtln-2", "magika-v3_3", "onnxpkg-light-inception-v1", "onnxpkg-light-shufflenet"),
    *("silero-vad-16k-op15", "tract-bidi-lstm", "ultraface-rfb-320", "xdl-blaze-dnn"),
)


@pytest.mark.parametrize("name", MODELS)
def test_shared_models_come_back_equal(shared: Path, name: str) -> None:
    folder = shared / "models" / "onnx" / name
    graph = from_model(folder / "model.onnx")
    graph.check()
    opset = max(int(graph.metadata["onnx.opset:"]), OLDEST_OPSET)
    with np.load(folder / "golden.npz") as golden:
        arrays = dict(golden)
    feeds = {key.partition(":")[2]: array for key, array in arrays.items() if key.startswith("input:")}
    expected = [array for key, array in arrays.items() if key.startswith("output:")]
    found = run(to_model(graph, opset=opset), feeds)
    assert len(found) == len(expected)
    assert all(
        value.dtype == wanted.dtype and np.allclose(value, wanted, 1e-4, 1e-5)
        for value, wanted in zip(found, expected, strict=True)
    )


def test_a_shared_model_without_opset_import_is_refused(shared: Path) -> None:
    with pytest.raises(FormatError, match=r"model\.onnx.*no opset_import"):
        from_model(shared / "models" / "onnx" / "mms-mnist" / "model.onnx")


def test_names_order_and_metadata_stay() -> None:
    made = parse_model(
        "g (float[N] x) => (float[N] z, float[N] y) { [second] y = Neg(x) [first] z = Add(y, w) }", ir_version=8
    )
    add_weights(made, w=np.ones(1, np.float32))
    made.doc_string, made.graph.doc_string, made.domain, made.model_version = "what", "graph's", "a.b", 3
    made.metadata_props.add(key="author", value="somebody")
    found = again(made)
    assert [node.name for node in found.graph.node] == ["second", "first"]
    assert [value.name for value in found.graph.output] == ["z", "y"]
    assert found.metadata_props == made.metadata_props
    assert (found.doc_string, found.graph.doc_string, found.domain, found.model_version) == (
        *("what", "graph's", "a.b"),
        3,
    )


def test_odd_names_of_dimensions_come_back() -> None:
    made = parse_model(NEG)
    for value in (made.graph.input[0], made.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "batch size*2"
    graph = from_model(made)
    assert graph["x"].type == TensorType(DType.FLOAT32, parse_shape("batch_size_2"))
    assert again(made).graph.input == made.graph.input


TYPES = [
    (onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(1, [2])), SequenceType),
    (onnx.helper.make_optional_type_proto(onnx.helper.make_tensor_type_proto(8, None)), OptionalType),
    (onnx.helper.make_tensor_type_proto(22, ["N", None, 3]), TensorType),
]


@pytest.mark.parametrize("proto, kind", TYPES, ids=["sequence", "optional", "int4"])
def test_types_come_back(proto: Any, kind: type) -> None:
    made = parse_model("g (float[N] x) => (float[N] y) { y = Identity(x) }")
    made.graph.input[0].type.CopyFrom(proto)
    made.graph.output[0].type.CopyFrom(proto)
    graph = from_model(made)
    assert isinstance(graph["y"].type, kind)
    assert again(made).graph.output == made.graph.output


FOREIGN: list[tuple[str, Change]] = [
    ("numbers", lambda node: node.attribute.extend([attribute("a", 1), attribute("b", 1.5), attribute("c", [1, 2])])),
    ("texts", lambda node: node.attribute.extend([attribute("a", "text"), attribute("b", ["x", "y"])])),
    ("odd bytes", lambda node: node.attribute.append(attribute("a", b"\xff\x00"))),
    ("empty list", lambda node: node.attribute.add(name="a", type=7)),
    ("tensor", lambda node: node.attribute.append(attribute("a", onnx.numpy_helper.from_array(np.ones(3), "t")))),
    ("documented", lambda node: node.attribute.add(name="a", type=2, i=1, doc_string="why")),
    ("graph", lambda node: node.attribute.append(attribute("a", parse_model(NEG).graph))),
    ("absent slots", lambda node: (node.input.extend(["", "x", ""]), node.output.extend(["", "z", ""]))),
    ("name", lambda node: setattr(node, "name", "called")),
    ("doc string", lambda node: setattr(node, "doc_string", "why")),
    ("metadata", lambda node: node.metadata_props.add(key="namespace", value="a/b")),
]


def attribute(name: str, value: object) -> Any:
    """An AttributeProto."""
    return onnx.helper.make_attribute(name, value)


@pytest.mark.parametrize("name, change", FOREIGN, ids=[name for name, _ in FOREIGN])
def test_foreign_operators_come_back_to_the_byte(name: str, change: Change) -> None:
    made = parse_model("g (float[N] x) => (float[N] y) { y = com.microsoft.Thing(x) }", domains={"com.microsoft": 1})
    change(made.graph.node[0])
    found = again(made)
    assert found.graph.node[0].SerializeToString() == made.graph.node[0].SerializeToString()
    assert [(entry.domain, entry.version) for entry in found.opset_import] == [("", 17), ("com.microsoft", 1)]


@pytest.mark.parametrize("name, change", FOREIGN, ids=[name for name, _ in FOREIGN])
def test_foreign_operators_survive_json(tmp_path: Path, name: str, change: Change) -> None:
    made = parse_model("g (float[N] x) => (float[N] y) { y = com.microsoft.Thing(x) }", domains={"com.microsoft": 2})
    change(made.graph.node[0])
    save_graph(from_model(made), tmp_path / "g.graphir.json")
    found = to_model(load_graph(tmp_path / "g.graphir.json"), opset=17)
    assert found.graph.node[0].SerializeToString() == made.graph.node[0].SerializeToString()


def test_an_initializer_that_is_an_input_becomes_a_parameter() -> None:
    made = parse_model("g (float[N] x, float[1] w) => (float[N] y) { y = Add(x, w) }", ir_version=3)
    add_weights(made, w=np.ones(1, np.float32))
    graph = from_model(made)
    assert [value.name for value in graph.inputs] == ["x"]
    assert kinds(graph) == ["input with a default"]


def test_an_initializer_that_is_an_output_keeps_the_name() -> None:
    made = parse_model("g (float[N] x) => (float[N] y, float[2] w) { y = Neg(x) }")
    add_weights(made, w=np.array([1, 2], np.float32))
    found = again(made)
    assert [value.name for value in found.graph.output] == ["y", "w"]
    assert run(found, {"x": np.ones(1, np.float32)})[1].tolist() == [1, 2]


def test_an_input_that_is_an_output_stays() -> None:
    made = parse_model("g (float[N] x) => (float[N] x, float[N] y) { y = Neg(x) }")
    found = again(made)
    assert [value.name for value in found.graph.output] == ["x", "y"]
    assert [node.op_type for node in found.graph.node] == ["Neg"]


def test_sparse_weights_become_dense() -> None:
    made = parse_model("g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }")
    values = onnx.helper.make_tensor("w", 1, [2], [5.0, 7.0])
    indices = onnx.helper.make_tensor("i", 7, [2, 2], [0, 1, 1, 2])
    made.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [2, 3]))
    graph = from_model(made)
    assert kinds(graph) == ["sparse weights"]
    (found,) = run(again(made), {"x": np.zeros((2, 3), np.float32)})
    assert found.tolist() == [[0, 5, 0], [0, 0, 7]]


CONSTANTS: list[tuple[str, object, object]] = [
    ("value_float", 1.5, 1.5),
    ("value_floats", [1.5, 2.0], [1.5, 2.0]),
    ("value_int", 3, 3),
    ("value_ints", [3, 4], [3, 4]),
    ("value_string", "a", "a"),
    ("value_strings", ["a", "b"], ["a", "b"]),
    ("value", onnx.numpy_helper.from_array(np.array([[1, 2]], np.uint8)), [[1, 2]]),
]


@pytest.mark.parametrize("name, value, expected", CONSTANTS, ids=[name for name, *_ in CONSTANTS])
def test_constants_become_parameters(name: str, value: object, expected: object) -> None:
    made = parse_model("g (float[N] x) => (float[N] y) { [n] c = Constant() y = Neg(x) }")
    made.graph.node[0].attribute.append(attribute(name, value))
    tensor = from_model(made)["c"].tensor
    assert tensor is not None
    assert tensor.numpy().tolist() == expected


@pytest.mark.parametrize("operator, field", [("StringConcat", "w"), ("RegexFullMatch", "pattern")])
def test_texts_that_are_not_utf8_come_back(operator: str, field: str) -> None:
    made = parse_model(f"g (string[2] x) => (string[2] y) {{ y = {operator}(x) }}", opset=20)
    if field == "w":
        made.graph.node[0].input.append("w")
        made.graph.initializer.add(name="w", data_type=8, dims=[2], string_data=[b"\xff", "\u00e9".encode()])
    else:
        made.graph.node[0].attribute.append(attribute("pattern", b"\xff.*"))
        made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.BOOL
    found = again(made).graph
    assert list(found.node[0].attribute) == list(made.graph.node[0].attribute)
    assert list(found.initializer) == list(made.graph.initializer)


def test_large_constants_of_functions_stay_in_the_file(tmp_path: Path) -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (float[N] x) => (float[N] y) { y = own.plus(x) }
        <domain: "own", opset_import: ["" : 17]> plus (a) => (b) { c = Constant() b = Add(a, c) }"""
    )
    large = np.arange(1000, dtype=np.float32)
    made.functions[0].node[0].attribute.append(attribute("value", onnx.numpy_helper.from_array(large)))
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    (held,) = (value.tensor for value in from_model(path).parameters)
    assert held is not None
    assert held.region is not None
    assert np.array_equal(held.numpy(), large)


def test_functions_are_inlined() -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (float[N] x) => (float[N] y) { t = own.twice(x) y = own.twice(t) }
        <domain: "own", opset_import: ["" : 17]> twice (a) => (b) { b = Add(a, a) }"""
    )
    assert kinds(from_model(made)) == ["function inlined"]
    assert run(again(made), {"x": np.ones(2, np.float32)})[0].tolist() == [4, 4]


SUBGRAPHS = [
    (
        """g (float[2] x, bool c) => (float[2] y) {
        w = Neg(x)
        y = If (c) <then_branch = t () => (float[2] r) { r = Add(w, x) },
                    else_branch = e () => (float[2] r) { s = Identity(w) r = Mul(s, s) }> }""",
        {"x": np.array([1, 2], np.float32), "c": np.array(False)},
    ),
    (
        """g (float[2] x, int64 n) => (float[2] y, float[M, 2] all) {
        y, all = Loop (n, , x) <body = b (int64 i, bool go, float[2] v) => (bool going, float[2] w, float[2] each) {
            going = Identity(go) w = Add(v, x) each = Neg(w) }> }""",
        {"x": np.array([1, 2], np.float32), "n": np.array(3, np.int64)},
    ),
    (
        """g (float[2] x, int64 n) => (float[2] y) {
        y = Loop (n, , x) <body = b (int64[1] i, bool[1] go, float[2] v) => (bool[1] going, float[2] w) {
            going = Identity(go) w = Add(v, x) }> }""",
        {"x": np.array([1, 2], np.float32), "n": np.array(3, np.int64)},
    ),
    (
        """g (float[2] x, float[5, 2] all) => (float[2] y, float[5, 2] sums) {
        y, sums = Scan (x, all) <num_scan_inputs = 1, scan_input_directions = [1],
        body = b (float[2] v, float[2] one) => (float[2] w, float[2] each) { w = Add(v, one) each = Identity(w) }> }""",
        {"x": np.ones(2, np.float32), "all": np.arange(10, dtype=np.float32).reshape(5, 2)},
    ),
]


@pytest.mark.parametrize("text, feeds", SUBGRAPHS, ids=["If", "Loop", "Loop of vectors", "Scan"])
def test_subgraphs(text: str, feeds: dict[str, Any]) -> None:
    made = parse_model(text)
    graph = from_model(made)
    assert all(value.type.dtype is DType.FLOAT32 for value in graph.outputs)  # type: ignore[union-attr]
    found, expected = run(again(made), feeds), run(made, feeds)
    assert all(np.array_equal(left, right) for left, right in zip(found, expected, strict=True))


def test_a_branch_that_never_runs_may_be_invalid() -> None:
    made = parse_model(
        """g (float[2] x) => (float[2] y) {
        n = Size(x) three = Constant<value_int = 3>() c = Equal(n, three)
        y = If (c) <then_branch = t () => (float[2] r) { [bad] s = Neg(x) r = Add(s, w) },
                    else_branch = e () => (float[2] r) { r = Abs(x) }> }"""
    )
    add_weights(made, w=np.ones(3, np.float32))
    graph = from_model(made)
    graph.check()
    assert kinds(graph) == ["dead branch"]
    assert [user.op.name for user in graph["x"].users()] == ["Size", "Abs", "Abs"]
    assert run(again(made), {"x": np.array([-1, 2], np.float32)})[0].tolist() == [1, 2]


def test_nodes_out_of_order_are_sorted() -> None:
    made = parse_model("g (float[N] x) => (float[N] y) { y = Neg(z) z = Abs(x) }")
    graph = from_model(made)
    assert [node.op.name for node in graph.nodes] == ["Abs", "Neg"]
    assert kinds(graph) == ["node order"]


LEGACY = [
    ("y = Add<broadcast = 1, axis = 1>(x, w)", 6, np.arange(3), [2, 3, 4]),
    ("y = Mul<broadcast = 1>(x, w)", 6, np.arange(4), [2, 3, 4]),
    ("y = Sub(x, w)", 6, np.arange(24).reshape(2, 3, 4), [2, 3, 4]),
    ("y = Clip<min = 3.0, max = 7.0>(x)", 6, None, [2, 3, 4]),
    ("y = Clip<max = 7.0>(x)", 1, None, [2, 3, 4]),
    ('y = Cast<to = "FLOAT">(x)', 1, None, [2, 3, 4]),
    ("y = PRelu(x, w)", 6, np.arange(3) / 4, [2, 3, 4]),
    ("y = MaxPool<kernel_shape = [2]>(x)", 1, None, [2, 3, 3]),
    ("y = Sum(x, w)", 6, np.arange(24).reshape(2, 3, 4), [2, 3, 4]),
]
MEANINGS: dict[str, Any] = {
    "y = Add<broadcast = 1, axis = 1>(x, w)": lambda x, w: x + w[:, None],
    "y = Mul<broadcast = 1>(x, w)": lambda x, w: x * w,
    "y = Sub(x, w)": lambda x, w: x - w,
    "y = Clip<min = 3.0, max = 7.0>(x)": lambda x, w: np.clip(x, 3, 7),
    "y = Clip<max = 7.0>(x)": lambda x, w: np.minimum(x, 7),
    'y = Cast<to = "FLOAT">(x)': lambda x, w: x,
    "y = PRelu(x, w)": lambda x, w: np.where(x < 0, x * w[:, None], x),
    "y = MaxPool<kernel_shape = [2]>(x)": lambda x, w: np.maximum(x[..., 1:], x[..., :-1]),
    "y = Sum(x, w)": lambda x, w: x + w,
}


@pytest.mark.parametrize("text, opset, weight, shape", LEGACY, ids=[f"{row[0]}@{row[1]}" for row in LEGACY])
def test_old_versions(text: str, opset: int, weight: Any, shape: list[int]) -> None:
    made = parse_model(f"g (float[2,3,4] x) => (float[{','.join(map(str, shape))}] y) {{ {text} }}", opset=opset)
    weight = None if weight is None else weight.astype(np.float32)
    if weight is not None:
        add_weights(made, w=weight)
    x = np.arange(-12, 12, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_allclose(run(again(made), {"x": x})[0], MEANINGS[text](x, weight))


BAD = [
    ("g (float[2] x) => (float[2] y) { [n] y = Add(x, q) }", ImportFailure, "node n.*uses q.*nothing produces"),
    ("g (float[2] x) => (float[2] y) { [n] z = Neg(x) }", ImportFailure, "output y.*produced by nothing"),
    ("g (float[2] x) => (float[2] y) { [a] y = Neg(z) [b] z = Neg(y) }", ImportFailure, "cycle: .*a"),
    ("g (float[2] x) => (float[2] y) { [a] y = Neg(x) [b] y = Abs(x) }", ImportFailure, "y is produced by node b and"),
    ("g (float[2] x) => (float[2] y) { [a] x = Neg(x) y = Abs(x) }", ImportFailure, "x is produced by node a and"),
    ("g (float[2] x) => (float[2] y) { [n] y = Nonsense(x) }", UnsupportedOpError, "Nonsense.*n.*no such operator"),
    ("g (float[2] x) => (float[2] y) { [n] y = Gelu(x) }", UnsupportedOpError, "Gelu.*n.*no such.*opset 17"),
    ("g (float[2] x) => (float[2] y) { [n] y = other.Thing(x) }", ImportFailure, "node n.*'other' is not in opset"),
    ("g (float[2] x) => (float[2] y) { [n] y = Neg<alpha = 1.0>(x) }", UnsupportedOpError, "n.*no attribute alpha"),
    ("g (float[2] x) => (int64[2] y) { [n] y = Neg(x) }", ImportFailure, "y as int64.*node n .*float32"),
    ("g (float[2] x, float[3] z) => (float[2] y) { [n] y = Add(x, z) }", ImportFailure, "n.*broadcast"),
    ("g (float[2] x, int64[2] z) => (float[2] y) { [n] y = Add(x, z) }", ImportFailure, "n.*dtypes"),
    ("g (float[1,3,8,8] x, float[4,2,3,3] w) => (float[1,4,6,6] y) { [n] y = Conv(x, w) }", ImportFailure, "n.*chann"),
    ('g (float[2] x) => (int8[2] y) { [n] y = Cast<to = 3, round_mode = "up">(x) }', UnsupportedOpError, "round_mode"),
    ("g (float[2] x) => (float[2] y) { y = Neg(x) [n] x = Abs(y) }", ImportFailure, "x is produced by node n and"),
    ('g (float[2] x) => (float[2] y) { [n] y = Cast<to = 99>(x) }', UnsupportedOpError, "n.*99"),
    ("g (float[2] x) => (float[2] y) { [n] y = MaxPool(x) }", UnsupportedOpError, "n.*kernel_shape is missing"),
    ("g (float[2] x) => (float[2] y) { [n] y = Add(x) }", GraphirError, "n"),
    ("g (float[2] x) => (float[2] y, float[2] z) { [n] y, z = Neg(x) }", UnsupportedOpError, "n.*2 outputs"),
    (
        "g (float[2] x) => (float[2] y) { [a] t = Nonsense(x) [b] u = Neg(t) [c] y = Rubbish(u) }",
        UnsupportedOpError,
        r"(?s)2 node.*Nonsense.*Rubbish",
    ),
]


@pytest.mark.parametrize("text, error, reason", BAD, ids=[reason for *_, reason in BAD])
def test_bad_models_are_refused_by_name(text: str, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        from_model(parse_model(text))


def test_shapes_given_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(parse_model("g (float[N, M] x) => (float[N, M] y) { y = Neg(x) }").SerializeToString())
    assert load(path, shapes={"x": (2, "K")})["y"].type == TensorType(DType.FLOAT32, parse_shape("2,M"))
    with pytest.raises(ImportFailure, match="q, which is no input; the inputs are: x"):
        load(path, shapes={"q": (1,)})
    given = r"input x: the model declares \[N, M\], given was \[1, 2, 3\]"
    with pytest.raises(ImportFailure, match=given):
        load(path, shapes={"x": (1, 2, 3)})
