"""Models that are no valid ONNX: each is refused by the node's name, never with an error of Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import FormatError, GraphirError, ImportFailure, UnsupportedOpError
from graphir.ops.base import Known
from tests.building import Change, parse_model

TEXTS = [
    ("[n] y = Cast<to = 0>(x)", "n.*to is 0"),
    ("[n] y = ReduceSum<keepdims = -1>(x)", "n.*keepdims is -1, expected 0 or 1"),
    ("[n] y = BatchNormalization<training_mode = 2>(x, x, x, x, x)", "n.*training_mode is 2, expected 0 or 1"),
    ('[n] y = Concat<axis = "0">(x, x)', "n.*axis is stated as s, expected i"),
    ("[n] y = Concat<axis = 0>(x, , x)", "n.*operand 1|n.*input 1"),
    ("[n] y = Max(, x)", "n.*operand 0|n.*input 0"),
    ("[n] y = LeakyRelu<alpha = [0.5]>(x)", "n.*alpha is stated as floats, expected f"),
    ("c = Constant<value_int = 1>() [n] y = If<then_branch = 1, else_branch = 2>(c)", "n.*_branch is stated as i"),
    ("[n] y = Split<num_outputs = 9223372036854775807>(x)", "n.*num_outputs"),
    ("s = SequenceConstruct(x) [n] t = Size(s) y = Cast<to = 1>(t)", "n.*takes tensors"),
    ("i = Constant<value_ints = [2, 3]>() [n] y = HannWindow(i)", "n.*expected a scalar"),
    ("z = Unsqueeze(x, a) [n] y = MaxPool<kernel_shape = [2], strides = [1, 1], auto_pad = \"SAME_UPPER\">(z)",
     "n.*strides is .1, 1., expected one entry for each of 1 spatial axes"),
    ("z = Unsqueeze(x, a) [n] y = MaxPool<kernel_shape = [-2], auto_pad = \"SAME_UPPER\">(z)", "n.*1 or more"),
    ("z = Unsqueeze(x, a) [n] y = Conv<strides = [-1], auto_pad = \"SAME_UPPER\">(z, z)", "n.*1 or more"),
    ("z = Unsqueeze(x, a) [n] y = ConvTranspose<output_padding = [1, 1], output_shape = [4]>(z, z)",
     "n.*output_padding is .1, 1., expected one entry of 0 or more"),
    ("[n] y = Scan<num_scan_inputs = 1, scan_input_axes = [3], body = b (float e) => (float f) { f = Neg(e) }>(x)",
     "n.*no axis 3"),
    ("[n] y = Scan<num_scan_inputs = 1, scan_input_axes = [0, 0], body = b (float e) => (float f) { f = Neg(e) }>(x)",
     "n.*scan_input_axes has 2 entries"),
    ("[n] y = Scan<num_scan_inputs = 2, body = b (float e) => (float f) { f = Neg(e) }>(x)", "n.*num_scan_inputs is 2"),
]  # fmt: skip


@pytest.mark.parametrize("nodes, reason", TEXTS, ids=[reason for _, reason in TEXTS])
def test_nodes_that_cannot_be(nodes: str, reason: str) -> None:
    made = parse_model(f"g (float[2] x) => (float[2] y) <int64[2] a = {{0, 1}}> {{ {nodes} }}", opset=18)
    with pytest.raises(GraphirError, match=reason):
        from_model(made)


def sparse(indices: Any, shape: list[int], data_type: int = 7) -> Change:
    """Add a sparse initializer of one value."""
    def change(made: Any) -> None:
        values = onnx.helper.make_tensor("w", 1, [1], [5.0])
        stated = onnx.helper.make_tensor("i", data_type, np.shape(indices), np.ravel(indices))
        made.graph.sparse_initializer.add(values=values, indices=stated, dims=shape)

    return change


def function(**fields: Any) -> Change:
    """Add a function."""
    imports = fields.pop("opset_import", [onnx.helper.make_opsetid("", 17)])
    return lambda made: made.functions.add(domain="own", name="f", opset_import=imports, **fields)


ODD = onnx.NodeProto(op_type="Neg", input=["a"], output=["b"])
CHANGES: list[tuple[str, Change, type[GraphirError], str]] = [
    ("no outputs", lambda made: made.graph.node[0].ClearField("output"), UnsupportedOpError, "Neg.*has no outputs"),
    ("version of a domain", lambda made: made.opset_import.add(domain="own", version=1 << 40), FormatError,
     "domain own has the version 1099511627776"),
    ("version 0", lambda made: made.opset_import.add(domain="own", version=0), FormatError, "domain own has the ver"),
    ("opset of a function", function(opset_import=[onnx.helper.make_opsetid("", 99)]), FormatError,
     "function f: opset 99 is unknown"),
    ("float indices", sparse([1.0], [2], 1), ImportFailure, "initializer w: .*float32.*indices"),
    ("negative size", sparse([0], [-2]), ImportFailure, "initializer w: .*-2"),
    ("index out of range", sparse([2], [2]), ImportFailure, "initializer w: an index lies outside"),
    ("a name", function(input=["q1q"]), FormatError, "not UTF-8"),
    ("a node's name", function(node=[onnx.NodeProto(op_type="Neg", name="q1q")]), FormatError, "not UTF-8"),
    ("an attribute's name", function(attribute=["q1q"]), FormatError, "not UTF-8"),
    ("a domain", lambda made: made.opset_import.add(domain="q1q", version=1), FormatError, "not UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize("change, error, reason", [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_models_that_cannot_be(change: Change, error: type[GraphirError], reason: str) -> None:
    made = parse_model("g (float[2] x) => (float[2] y) { [n] y = Neg(x) }")
    change(made)
    with pytest.raises(error, match=reason):
        from_model(made.SerializeToString().replace(b"q1q", b"q\xffq"))


def test_a_weight_that_cannot_be_read_is_the_only_problem() -> None:
    made = parse_model("g (float[2] x) => (float[2] y) { t = Add(x, w) y = Neg(t) }")
    made.graph.initializer.add(name="w", data_type=1, dims=[2], raw_data=b"1234567")
    with pytest.raises(ImportFailure, match=r"^initializer w: 7 bytes of elements, but float32\[2\] takes 8$"):
        from_model(made)


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_known_elements_of_a_single_operand_stay(operator: str) -> None:
    graph = from_model(parse_model(f"g (float[2] x) => (int64[1] y) {{ s = Shape(x) y = {operator}(s) }}"))
    assert graph["y"].known == Known((1,), (2,))


def held(operator: str) -> Any:
    """The graph of a model at opset 12 whose foreign operator holds a graph of one node."""
    made = parse_model("g (float[2] x) => (float[2] y) { y = own.Thing(x) }", opset=12, domains={"own": 1})
    inner = onnx.helper.make_graph([onnx.helper.make_node(operator, ["a"], ["b"])], "inner", [], [])
    made.graph.node[0].attribute.add(name="body", type=5, g=inner)
    return from_model(made)


def test_graphs_in_foreign_operators_that_mean_the_same_are_written() -> None:
    (node,) = to_model(held("Neg"), opset=13).graph.node
    assert [inner.op_type for inner in node.attribute[0].g.node] == ["Neg"]


@pytest.mark.parametrize("operator, opset", [("Softmax", 13), ("ReduceSum", 13)])
def test_graphs_in_foreign_operators_that_would_mean_something_else_are_refused(operator: str, opset: int) -> None:
    with pytest.raises(UnsupportedOpError, match=f"{operator}, which mean something else at opset {opset}.* own, 12"):
        to_model(held(operator), opset=opset)
