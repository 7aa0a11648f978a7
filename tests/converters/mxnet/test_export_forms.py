"""Several ONNX operators that are one of MXNet's: what is written is what an MXNet user would have written."""

from __future__ import annotations

import json

import numpy as np
import onnx.parser
import pytest

from graphir.converters.mxnet import to_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import from_model
from tests.building import parse_model
from tests.converters.mxnet.exporting import Array, normal, onnx_outputs

FORMS: tuple[tuple[str, str, list[str]], ...] = (
    ("normalized channels", """
        agraph (float[N, 3, 4, 5] x) => (float[N, 3, 4, 5] y)
        <int64[1] axes = {1}, float epsilon = {0.001}> {
            squares = ReduceSumSquare (x, axes)
            raised = Add (squares, epsilon)
            root = Sqrt (raised)
            y = Div (x, root)
        }""", ["L2Normalization"]),
    ("normalized samples", """
        agraph (float[N, 3, 4] x) => (float[N, 3, 4] y)
        <int64[2] axes = {1, -1}, float epsilon = {0.5}> {
            squares = Mul (x, x)
            total = ReduceSum (squares, axes)
            raised = Add (epsilon, total)
            root = Sqrt (raised)
            y = Div (x, root)
        }""", ["L2Normalization"]),
    ("another sum is none", """
        agraph (float[2, 3, 4] x) => (float[2, 3, 4] y)
        <int64[1] axes = {0}, float epsilon = {0.5}> {
            squares = Mul (x, x)
            total = ReduceSum (squares, axes)
            raised = Add (epsilon, total)
            root = Sqrt (raised)
            y = Div (x, root)
        }""", ["broadcast_mul", "sum", "_plus_scalar", "sqrt", "broadcast_div"]),
    ("statistics of constants", """
        agraph (float[2, 3, 4, 5] x) => (float[2, 3, 4, 5] y)
        <float[3] scale = {1.0, 2.0, 0.5}, float[3] shift = {0.0, 0.5, 1.0}, int64[1] count = {3}> {
            mean = ConstantOfShape <value: tensor = float[1] {0.25}> (count)
            variance = ConstantOfShape <value: tensor = float[1] {1.5}> (count)
            y = BatchNormalization (x, scale, shift, mean, variance)
        }""", ["BatchNorm"]),
    ("the size of another image", """
        agraph (float[N, 2, H, W] x, float[N, 1, A, B] like) => (float[N, 2, A, B] y)
        <int64[1] begin = {2}, int64[1] end = {4}, int64[1] axis = {0}> {
            sizes = Shape <start = 2, end = 4> (like)
            y = Resize <mode = "linear", axes = [2, 3]> (x, , , sizes)
        }""", ["_contrib_BilinearResize2D"]),
    ("regions with their image", """
        agraph (float[2, 3, 6, 7] x, float[R, 5] regions) => (float[R, 3, 2, 2] y)
        <int64 first = {0}, int64[1] one = {1}, int64[1] five = {5}> {
            numbers = Gather <axis = 1> (regions, first)
            images = Cast <to = 7> (numbers)
            corners = Slice (regions, one, five, one)
            y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, corners, images)
        }""", ["_contrib_ROIAlign"]),
    ("an affine grid", """
        agraph (float[2, 3, 6, 7] x, float[2, 2, 3] theta) => (float[2, 3, 4, 5] y)
        <int64[4] size = {2, 3, 4, 5}> {
            grid = AffineGrid <align_corners = 1> (theta, size)
            y = GridSample <align_corners = 1> (x, grid)
        }""", ["Reshape", "GridGenerator", "BilinearSampler"]),
)  # fmt: skip
SIZES = {"N": 2, "H": 5, "W": 6, "A": 7, "B": 4, "R": 3}


def feeds(source: onnx.ModelProto) -> dict[str, Array]:
    """Numbers for every input; regions lie in one of two images."""
    found = {}
    for info in source.graph.input:
        dims = info.type.tensor_type.shape.dim
        found[info.name] = normal(*(SIZES[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims))
    if "regions" in found:
        found["regions"] = np.array([[0, 0, 0, 3, 4], [1, 1, 1, 5, 5], [1, 0, 2, 6, 5]], np.float32)
    return found


@pytest.mark.parametrize(("text", "operators"), [row[1:] for row in FORMS], ids=[row[0] for row in FORMS])
def test_what_is_written(text: str, operators: list[str]) -> None:
    source = parse_model(text, opset=20)
    symbol, params = to_symbol(from_model(source.SerializeToString()))
    assert [node["op"] for node in json.loads(symbol)["nodes"] if node["op"] != "null"] == operators
    data = feeds(source)
    stated = {name.partition(":")[2]: array for name, array in params.items()}
    (found,) = evaluate(read_symbol(symbol), stated | data).values()
    (expected,) = onnx_outputs(source, data)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)
