"""What an older opset cannot say: operators whose types came later are refused by name, all at once."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.errors import UnsupportedOpError
from tests.building import parse_model

TYPES = [
    ("g (float8e4m3fn[2] x) => (float[2] y) { [n] y = Cast<to = 1>(x) }", 19, 18,
     r"Cast: 1 node \(n\): ONNX's Cast has no tensor\(float8e4m3fn\) as input at opset 18; from opset 19 on it does"),
    ("g (float[2] x) => (int4[2] y) { [n] y = Cast<to = 22>(x) }", 21, 20, r"n.*tensor\(int4\) as output.*opset 21"),
    ("g (string[2] x) => (bool[2] y) { [n] y = Equal(x, x) }", 19, 18, r"n.*Equal.*tensor\(string\).*opset 19"),
    ("g (bfloat16[2] x) => (bfloat16[2] y) { [n] y = Elu(x) }", 22, 21, r"n.*Elu.*tensor\(bfloat16\).*opset 22"),
    ("g (bool[2] x) => (bool y) { [n] y = ReduceMax<keepdims = 0>(x) }", 20, 18, r"n.*tensor\(bool\).*opset 20"),
    ("g (float[2] x) => (seq(float[2]) y) { s = SequenceConstruct(x) [n] y = Identity(s) }", 14, 13,
     r"n.*Identity.*seq\(tensor\(float\)\).*opset 14"),
    ("g (float[2] x) => (float[2] y, float[2] z) { [n] y = Gelu(x) t = Cast<to = 17>(x) [m] z = Cast<to = 1>(t) }",
     20, 18,
     r"(?s)2 node.*Cast.*float8e4m3fn.*t, m|m"),
]  # fmt: skip


@pytest.mark.parametrize("text, opset, older, reason", TYPES, ids=[row[0] for row in TYPES])
def test_types_that_an_older_opset_lacks_are_refused(text: str, opset: int, older: int, reason: str) -> None:
    graph = from_model(parse_model(text, opset=opset))
    onnx.checker.check_model(to_model(graph, opset=opset), full_check=True)
    with pytest.raises(UnsupportedOpError, match=reason):
        to_model(graph, opset=older)


def test_a_model_comes_back_at_its_own_opset_whatever_its_types() -> None:
    made = parse_model("g (bfloat16[2] x) => (bfloat16[2] y) { y = Elu(x) }", opset=18)
    assert [node.op_type for node in to_model(from_model(made), opset=18).graph.node] == ["Elu"]


def test_a_cast_that_saturates_or_not_is_the_same_to_older_types() -> None:
    made = parse_model("g (float[2] x) => (int32[2] y) { y = Cast<to = 6, saturate = 0>(x) }", opset=19)
    assert [entry.name for entry in to_model(from_model(made), opset=18).graph.node[0].attribute] == ["to"]


@pytest.mark.parametrize("opset", [13, 18, 21, 22])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_ceil_mode_that_adds_no_window_passes_onnx_own_inference(operator: str, opset: int) -> None:
    text = f"y = {operator}<kernel_shape = [1], strides = [2], pads = [0, 1], ceil_mode = 1>(x)"
    graph = from_model(parse_model(f"g (float[1, 1, 3] x) => (float[1, 1, 2] y) {{ {text} }}", opset=22))
    onnx.checker.check_model(to_model(graph, opset=opset), full_check=True)


@pytest.mark.parametrize("opset", [13, 18, 22])
@pytest.mark.parametrize("policy", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_ceil_mode_means_nothing_beside_same_padding(operator: str, policy: str, opset: int) -> None:
    text = f'y = {operator}<kernel_shape = [1, 2], strides = [2, 3], auto_pad = "{policy}", ceil_mode = 1>(x)'
    graph = from_model(parse_model(f"g (float[1, 1, 5, 8] x) => (float[1, 1, 3, 3] y) {{ {text} }}", opset=22))
    written = to_model(graph, opset=opset)
    onnx.checker.check_model(written, full_check=True)
    x = np.arange(40, dtype=np.float32).reshape(1, 1, 5, 8)
    assert session(written).run(None, {"x": x})[0].shape == (1, 1, 3, 3)


def session(made: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """An onnxruntime session."""
    return onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("size", [4, 5, 6])
@pytest.mark.parametrize("axis", [0, -1, 1])
def test_uneven_parts_of_an_unknown_size(axis: int, size: int) -> None:
    text = f"g (float[N, M] x) => (float[A, B] a, float[C, D] b) {{ a, b = Split<num_outputs = 2, axis = {axis}>(x) }}"
    x = np.arange(size * size, dtype=np.float32).reshape(size, size)
    written = to_model(from_model(parse_model(text, opset=18)), opset=17)
    half = (size + 1) // 2
    for found, expected in zip(session(written).run(None, {"x": x}), np.split(x, [half], axis), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("opset", [13, 17, 22])
def test_same_padding_with_indices_of_an_unknown_size_is_stated(opset: int) -> None:
    text = 'y, i = MaxPool<kernel_shape = [2], strides = [3], auto_pad = "SAME_UPPER">(x)'
    source = parse_model(f"g (float[1, 1, N] x) => (float[1, 1, A] y, int64[1, 1, A] i) {{ {text} }}", opset=opset)
    x = np.array([[[3, 1, 2, 5, 4]]], np.float32)
    found = session(to_model(from_model(source), opset=opset)).run(None, {"x": x})
    assert [array.tolist() for array in found] == [array.tolist() for array in session(source).run(None, {"x": x})]


@pytest.mark.parametrize("stated", ["", "<min = 0.0>", "<max = 0.0>"])
@pytest.mark.parametrize("opset", [6, 10])
def test_old_clip_limits_infinities_to_the_largest_numbers(stated: str, opset: int) -> None:
    source = parse_model(f"g (float[3] x) => (float[3] y) {{ y = Clip{stated}(x) }}", opset=opset)
    x = np.array([-np.inf, 1, np.inf], np.float32)
    (found,) = session(to_model(from_model(source), opset=13)).run(None, {"x": x})
    (expected,) = session(source).run(None, {"x": x})
    np.testing.assert_array_equal(found, expected)
