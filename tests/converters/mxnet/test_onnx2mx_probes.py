"""Every probe that MXNet's own ONNX importer was tried with: live MXNet computes what onnxruntime does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphir.converters.mxnet import to_symbol
from graphir.converters.onnx import from_model
from tests.converters.mxnet.exporting import Array, difference, mxnet_outputs, onnxruntime_outputs, operators
from tests.equivalence.live import LivePair

RANDOM = np.random.default_rng(37)
Probe = tuple[str, str, Mapping[str, Array], Mapping[str, Array], int, tuple[str, ...] | None]


def normal(*shape: int) -> Array:
    """Numbers of a normal distribution."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def numbers(*elements: int) -> Array:
    """An int64 vector."""
    return np.array(elements, np.int64)


def probe(
    name: str, node: str, data: Mapping[str, Array], constants: Mapping[str, Array] | None = None, *, opset: int = 13,
    computes: tuple[str, ...] | None = None,
) -> Probe:  # fmt: skip
    """A row: nodes in onnx's text form, what is fed, what the model holds, and the MXNet operators that come out."""
    return name, node, data, constants or {}, opset, computes


IMAGE = {"x": normal(1, 3, 8, 8)}
MATRIX = {"x": normal(3, 4)}
CUBE = {"x": normal(2, 3, 4)}
WEIGHT = {"w": normal(4, 3, 3, 3)}
TURNED = {"w": normal(3, 3, 4, 4)}
STATISTICS = {"s": np.abs(normal(3)) + 1, "b": normal(3), "m": normal(3), "v": np.abs(normal(3)) + 1}
PROBES: tuple[Probe, ...] = (
    probe("Conv pads sym", "y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)", IMAGE, WEIGHT,
          computes=("Convolution",)),
    probe("Conv auto_pad SAME_UPPER",
          'y = Conv <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x, w)',
          IMAGE, WEIGHT, computes=("Pad", "Convolution")),
    probe("Conv no kernel_shape", "y = Conv(x, w)", IMAGE, WEIGHT, computes=("Convolution",)),
    probe("Conv, initializer not in graph.input", "y = Conv <kernel_shape = [3, 3]> (x, w)", IMAGE, WEIGHT,
          computes=("Convolution",)),
    probe("ConvTranspose pads", "y = ConvTranspose <kernel_shape = [4, 4], pads = [2, 1, 2, 1]> (x, w)", IMAGE, TURNED,
          computes=("Deconvolution",)),
    probe("ConvTranspose output_padding",
          "y = ConvTranspose <kernel_shape = [4, 4], strides = [2, 2], output_padding = [1, 1]> (x, w)",
          {"x": normal(1, 3, 4, 4)}, TURNED, computes=("Deconvolution",)),
    probe("AveragePool count_include_pad=0 pads",
          "y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 0> (x)", IMAGE,
          computes=("Pooling",)),
    probe("MaxPool ceil_mode", "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)", IMAGE,
          computes=("Pooling",)),
    probe("MaxPool dilations", "y = MaxPool <kernel_shape = [2, 2], dilations = [2, 2]> (x)", IMAGE),
    probe("Gemm no C", "y = Gemm <transB = 1> (x, w)", MATRIX, {"w": normal(5, 4)}, computes=("FullyConnected",)),
    probe("Gemm transA", "y = Gemm <transA = 1> (x, w, c)", MATRIX, {"w": normal(3, 5), "c": normal(5)}),
    probe("ReduceMean default axes", "y = ReduceMean(x)", MATRIX, computes=("mean",)),
    probe("ReduceSum axes input (13)", "y = ReduceSum(x, a)", CUBE, {"a": numbers(1)}, computes=("sum",)),
    probe("Squeeze axes input (13)", "y = Squeeze(x, a)", {"x": normal(2, 1, 4)}, {"a": numbers(1)},
          computes=("squeeze",)),
    probe("Unsqueeze axes input (13)", "y = Unsqueeze(x, a)", MATRIX, {"a": numbers(0, 3)},
          computes=("expand_dims", "expand_dims")),
    probe("Split uneven", "t, y = Split <axis = 1> (x, s)", {"x": normal(2, 7)}, {"s": numbers(2, 5)},
          computes=("_split_v2",)),
    probe("Slice steps", "y = Slice(x, b, e, a, s)", {"x": normal(6, 7)},
          {"b": numbers(0, 5), "e": numbers(6, 0), "a": numbers(0, 1), "s": numbers(2, -2)}, computes=("slice",)),
    probe("Softmax axis=1 4D opset13", "y = Softmax <axis = 1> (x)", IMAGE, computes=("softmax",)),
    probe("Softmax opset11 default axis 3D", "y = Softmax(x)", CUBE, opset=11),
    probe("Reshape -1,0", "y = Reshape(x, s)", CUBE, {"s": numbers(0, -1)}, computes=("Reshape",)),
    probe("Flatten axis=2", "y = Flatten <axis = 2> (x)", CUBE, computes=("Reshape",)),
    probe("Clip", "y = Clip(x, low, high)", MATRIX,
          {"low": np.array(-0.5, np.float32), "high": np.array(0.75, np.float32)}, computes=("clip",)),
    probe("Clip no min/max", "y = Clip(x)", MATRIX, computes=("_copy",)),
    probe("MatMul 2Dx3D broadcast", "y = MatMul(x, w)", MATRIX, {"w": normal(2, 4, 5)}),
    probe("LogSoftmax", "y = LogSoftmax <axis = -1> (x)", MATRIX, computes=("log_softmax",)),
    probe("Constant node", "c = Constant <value = float[1, 4] {0.5, -1.0, 2.0, 0.25}> ()\n y = Add(x, c)", MATRIX,
          computes=("broadcast_add",)),
    probe("PRelu (C,1,1)", "y = PRelu(x, s)", IMAGE, {"s": normal(3, 1, 1)}, computes=("LeakyReLU",)),
    probe("BatchNormalization", "y = BatchNormalization(x, s, b, m, v)", IMAGE, STATISTICS, computes=("BatchNorm",)),
    probe("Sigmoid/HardSigmoid", "t = Sigmoid(x)\n y = HardSigmoid <alpha = 0.3, beta = 0.4> (t)", MATRIX,
          computes=("Activation", "hard_sigmoid")),
    probe("TopK", "t, y = TopK <axis = 1> (x, k)", MATRIX, {"k": numbers(2)}),
    probe("Resize nearest", 'y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", '
          'nearest_mode = "floor"> (x, "", scales)', IMAGE, {"scales": np.array([1, 1, 2, 2], np.float32)},
          computes=("UpSampling",)),
    probe("Erf", "y = Erf(x)", MATRIX, computes=("erf",)),
    probe("Where/Greater", "t = Greater(x, z)\n y = Where(t, x, z)", MATRIX, {"z": normal(3, 4)},
          computes=("broadcast_greater", "where")),
)  # fmt: skip


def model_of(nodes: str, data: Mapping[str, Array], constants: Mapping[str, Array], opset: int) -> onnx.ModelProto:
    """The model; all its results are outputs, unless another node takes them."""
    graph: Any = onnx.parser.parse_graph(f"probe () => () {{ {nodes} }}")
    for name, array in data.items():
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape))
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    taken = {name for node in graph.node for name in node.input}
    for node in graph.node:
        results = [helper.make_empty_tensor_value_info(name) for name in node.output if name not in taken]
        graph.output.extend(results)
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    return onnx.shape_inference.infer_shapes(made, strict_mode=True)


@pytest.mark.live
@pytest.mark.parametrize(
    ("nodes", "data", "constants", "opset", "computes"), [row[1:] for row in PROBES], ids=[row[0] for row in PROBES]
)
def test_probe(
    nodes: str, data: Mapping[str, Array], constants: Mapping[str, Array], opset: int,
    computes: tuple[str, ...] | None, live_pair: LivePair,
) -> None:  # fmt: skip
    model = model_of(nodes, data, constants, opset)
    text, params = to_symbol(from_model(model.SerializeToString()))
    held = {name.partition(":")[2]: array for name, array in params.items()}
    assert not difference(mxnet_outputs(live_pair, text, held, data), onnxruntime_outputs(model, dict(data)))
    assert computes is None or tuple(operators(text)) == computes


def test_no_probe_is_left_out(shared: Path) -> None:
    lines = (shared / "facts" / "onnx2mx_failures.txt").read_text().splitlines()
    listed = [re.split(r"\s+(?:OK|WRONG|FAIL)\b", line)[0] for line in lines if line and not line.startswith("#")]
    assert [row[0] for row in PROBES] == listed
