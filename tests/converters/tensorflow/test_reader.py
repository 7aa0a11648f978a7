"""Files to records: weights stay where they lie, tensors come in every way that there is, bad files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import graphir
from graphir.converters.tensorflow.files.reader import read_graph
from graphir.converters.tensorflow.files.records import Bound, Endpoint, FunctionCall
from graphir.converters.tensorflow.files.tensors import TensorSource
from graphir.converters.tensorflow.files.text_format import parse
from graphir.converters.tensorflow.opening import open_model
from graphir.converters.tensorflow.schema.operators import operator_schema, output_slots
from graphir.errors import FormatError, ImportFailure
from graphir.types import UNKNOWN, DType
from tests.tensorflow.graphdef import const, graph_def, node, placeholder
from tests.typed import present


def tensor(text: str) -> NDArray[Any] | None:
    """The elements of a TensorProto in text format."""
    return TensorSource().tensor(parse(text, "TensorProto"), "w").numpy()


SHAPE = "tensor_shape { dim { size: 2 } dim { size: 2 } }"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dtype: DT_FLOAT tensor_shape { } float_val: 2.5", np.float32(2.5)),
        (f"dtype: DT_FLOAT {SHAPE} float_val: [1, 2, 3, 4]", np.array([[1, 2], [3, 4]], np.float32)),
        (f"dtype: DT_FLOAT {SHAPE} float_val: 7", np.full((2, 2), 7, np.float32)),
        (f"dtype: DT_INT32 {SHAPE} int_val: [1, 2]", np.array([[1, 2], [2, 2]], np.int32)),
        (f"dtype: DT_DOUBLE {SHAPE}", np.zeros((2, 2))),
        (f"dtype: DT_HALF {SHAPE} half_val: [15360, 49152]", np.array([[1, -2], [-2, -2]], np.float16)),
        ("dtype: DT_BFLOAT16 tensor_shape { } half_val: 16256", np.array(1, ml_dtypes.bfloat16)),
        ("dtype: DT_INT64 tensor_shape { dim { size: 0 } }", np.zeros(0, np.int64)),
        ("dtype: DT_UINT8 tensor_shape { dim { size: 1 } } int_val: 200", np.array([200], np.uint8)),
        ("dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: [true, false]", np.array([True, False])),
        ("dtype: DT_UINT64 tensor_shape { } uint64_val: 18446744073709551615", np.uint64(2**64 - 1)),
        ("dtype: DT_COMPLEX64 tensor_shape { } scomplex_val: [1, 2]", np.complex64(1 + 2j)),
        (r'dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "a" string_val: "\303\244"',
         np.array(["a", "\u00e4"], object)),
        (r'dtype: DT_INT16 tensor_shape { dim { size: 2 } } tensor_content: "\001\000\377\377"',
         np.array([1, -1], np.int16)),
        ("dtype: DT_FLOAT tensor_shape { dim { size: 100 } dim { size: 100 } } float_val: 3",
         np.full((100, 100), 3, np.float32)),
    ],
)  # fmt: skip
def test_tensors(text: str, expected: np.generic | NDArray[Any]) -> None:
    found = tensor(text)
    assert (present(found).dtype, present(found).shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(present(found), expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: [1, 2]", "2 elements for"),
        (r'dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: "abcd"', "4 bytes of elements"),
        ("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", "not fixed"),
        ("dtype: DT_FLOAT tensor_shape { unknown_rank: true }", "not fixed"),
        ("dtype: DT_RESOURCE tensor_shape { }", "resource"),
        ("tensor_shape { }", "type none"),
        ("dtype: 77 tensor_shape { }", "type 77"),
    ],
)
def test_bad_tensors(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        tensor(text)


def test_weights_of_a_file_are_regions_of_it(tmp_path: Path) -> None:
    weights = np.arange(600, dtype=np.float32).reshape(20, 30)
    path = tmp_path / "model.pb"
    path.write_bytes(graph_def(const("w", weights), node("Identity", "y", ["w"], T="float32")))
    held = open_model(path).graph.nodes[0].attrs["value"]
    assert held.region.path == str(path)
    np.testing.assert_array_equal(held.numpy(), weights)


TEXT = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "s" op: "Split" input: "a" input: "^x" input: "x:2" device: "/cpu:0"
       attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "num_split" value { i: 2 } } }
node { name: "f" op: "F" attr { key: "f" value { func { name: "g" attr { key: "T" value { type: DT_INT32 } } } } }
       attr { key: "l" value { list { } } } attr { key: "e" value { } } attr { key: "p" value { placeholder: "T" } }
       attr { key: "b" value { s: "\\377" } } attr { key: "u" value { shape { unknown_rank: true } } } }
versions { producer: 27 }
library { function { signature { name: "g" input_arg { name: "a" } output_arg { name: "b" } }
  node_def { name: "n" op: "Neg" input: "a" input: "^c" } ret { key: "b" value: "n:y:0" } } }
"""


def test_records() -> None:
    graph = read_graph(parse(TEXT, "GraphDef"), TensorSource())
    x, s, f = graph.nodes
    assert x.attrs == {"dtype": DType.FLOAT32, "shape": (UNKNOWN, 3)}
    assert (s.inputs, s.controls) == ((Endpoint("a"), Endpoint("x", 2)), ("x",))
    assert s.attrs == {"T": DType.FLOAT32, "num_split": 2}
    assert f.attrs == {
        "f": FunctionCall("g", {"T": DType.INT32}), "l": (), "e": (), "p": Bound("T"), "b": b"\xff", "u": None,
    }  # fmt: skip
    assert graph.producer == 27
    function = graph.functions["g"]
    assert (function.arguments, function.outputs, function.results) == (("a",), ("b",), ("n:y:0",))
    assert [held.inputs for held in function.nodes] == [("a",)]


def test_text_and_binary_files_are_the_same_model(tmp_path: Path) -> None:
    text = tmp_path / "model.pbtxt"
    text.write_text(
        'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
        'attr { key: "shape" value { shape { dim { size: 2 } } } } }\n'
        'node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }\n'
        "versions { producer: 1882 }"
    )
    binary = tmp_path / "model.pb"
    binary.write_bytes(graph_def(placeholder("x", "float32", (2,)), node("Relu", "y", ["x"], T="float32")))
    assert str(graphir.load(text)) == str(graphir.load(binary))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("model.pb", b"", "empty"),
        ("model.pb", b"version https://git-lfs.github.com/spec/v1", "Git LFS"),
        ("model.pb", b"<!DOCTYPE html>", "HTML"),
        ("model.pb", b"PK\x03\x04", "zip"),
        ("model.pb", b"\x00\x00\x00\x00TFL3", "TensorFlow Lite"),
        ("model.pb", graph_def(placeholder("x", "float32", (2,)))[:-9], "cut short"),
        ("model.pb", b"\x0a\x00", "no operator"),
        ("model.pb", b"\x22\x00", "no nodes"),
        (
            "model.pb",
            graph_def(placeholder("x", "float32", ()), placeholder("x", "float32", ())),
            "two nodes are called 'x'",
        ),
        ("model.pbtxt", b"node {\n oops: 1 }", "line 2"),
        ("model.pbtxt", b"node {\xff", "UTF-8"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=reason) as raised:
        graphir.load(path, format="tensorflow")
    assert str(path) in str(raised.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="cannot read"):
        graphir.load(tmp_path / "none.pb", format="tensorflow")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x", Endpoint("x")), ("x:0", Endpoint("x")), ("a/b:12", Endpoint("a/b", 12)), ("odd:name", Endpoint("odd:name"))],
)
def test_endpoints(text: str, expected: Endpoint) -> None:
    assert Endpoint.of(text) == expected


def test_schema() -> None:
    schema = operator_schema("Conv2D")
    assert schema is not None
    assert schema.defaults["dilations"] == (1, 1, 1, 1)
    assert operator_schema("NoSuchOp") is None
    assert output_slots("TopKV2", {"T": DType.FLOAT32}) == {"values": 0, "indices": 1}
    assert output_slots("Split", {"num_split": 3, "T": DType.FLOAT32}) == {"output": 0}
