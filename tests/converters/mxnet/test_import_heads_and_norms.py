"""What the import of activations, normalizations and loss heads decides, and how little ONNX it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import onnx
import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from graphir.graph import Graph
from graphir.types import TensorType
from tests.building import run_model

STATISTICS = ("gamma", "beta", "moving_mean", "moving_var")


def symbol_json(op: str, inputs: tuple[str, ...], attrs: Mapping[str, str]) -> str:
    """One operator called `op` on variables."""
    nodes: list[dict[str, object]] = [{"op": "null", "name": name, "inputs": []} for name in inputs]
    nodes.append(
        {"op": op, "name": "op", "attrs": dict(attrs), "inputs": [[slot, 0, 0] for slot in range(len(inputs))]}
    )
    return json.dumps(
        {
            "nodes": nodes,
            "arg_nodes": list(range(len(inputs))),
            "heads": [[len(inputs), 0, 0]],
            "attrs": {"mxnet_version": ["int", 10901]},
        }
    )


def batch_norm(gamma: tuple[float, ...], **attrs: str) -> Graph:
    """BatchNorm with this gamma, over data of a symbolic size."""
    ones = np.ones(len(gamma), np.float32)
    params = dict.fromkeys(STATISTICS, ones) | {"gamma": np.array(gamma, np.float32)}
    text = symbol_json("BatchNorm", ("data", *STATISTICS), attrs)
    return from_symbol(text, params, {"data": ("N", len(gamma), "H", "W")})


def decisions(graph: Graph) -> list[tuple[str, str]]:
    """Kind and text of every decision about the operator."""
    return [(decision.kind, decision.text) for decision in graph.decisions if decision.node == "op"]


def onnx_nodes(graph: Graph, opset: int = 17) -> list[str]:
    """The ONNX operators in order."""
    return [node.op_type for node in to_model(graph, opset=opset).graph.node]


@pytest.mark.parametrize(
    ("gamma", "attrs", "text"),
    [
        ((2.5, 0.5), {}, "fix_gamma is not stated, but MXNet's default; the stored gamma differs from 1 by 1.5"),
        ((1.0, 1.0), {"fix_gamma": "True"}, "fix_gamma is stated; the stored gamma is 1 too"),
    ],
)
def test_fixed_gamma_is_recorded(gamma: tuple[float, ...], attrs: dict[str, str], text: str) -> None:
    graph = batch_norm(gamma, eps="1e-05", **attrs)
    assert decisions(graph) == [("fixed gamma", f"gamma is 1 ({text})")]
    assert onnx_nodes(graph) == ["BatchNormalization"]
    assert {value.name for value in graph.parameters} == set(STATISTICS)
    assert graph["gamma"].tensor is not None
    assert graph["gamma"].tensor.numpy().tolist() == [1, 1]


def test_a_gamma_that_others_read_stays_what_it_is() -> None:
    variables = [{"op": "null", "name": name, "inputs": []} for name in ("data", *STATISTICS)]
    first = [[slot, 0, 0] for slot in range(5)]
    nodes = [
        *variables,
        {"op": "BatchNorm", "name": "fixed", "attrs": {"fix_gamma": "True"}, "inputs": first},
        {"op": "BatchNorm", "name": "free", "attrs": {"fix_gamma": "False"}, "inputs": [[5, 0, 0], *first[1:]]},
    ]
    attributes = {"mxnet_version": ["int", 10901]}
    text = json.dumps({"nodes": nodes, "arg_nodes": [0, 1, 2, 3, 4], "heads": [[6, 0, 0]], "attrs": attributes})
    generator = np.random.default_rng(0)
    arrays = {name: generator.uniform(0.5, 2, 3).astype(np.float32) for name in STATISTICS}
    arrays["data"] = generator.standard_normal((2, 3, 4, 5)).astype(np.float32)
    graph = from_symbol(text, {name: arrays[name] for name in STATISTICS}, {"data": (2, 3, 4, 5)})
    (found,) = run_model(graph, {"data": arrays["data"]}).values()
    (expected,) = evaluate(read_symbol(text), arrays).values()
    assert np.allclose(found, expected, 1e-5, 1e-5)


def test_unstated_eps_is_recorded() -> None:
    graph = batch_norm((1.0, 2.0), fix_gamma="False")
    assert decisions(graph) == [("default", "eps is not stated: it is 0.001, MXNet's default (others have 1e-5)")]
    assert graph["gamma"].tensor is not None


@pytest.mark.parametrize(
    ("op", "attrs", "shape", "nodes"),
    [
        ("SoftmaxOutput", {}, ("N", 10), ["Softmax"]),
        ("SoftmaxOutput", {}, ("N", 10, 1, 1), ["Softmax"]),
        ("SoftmaxOutput", {}, ("N", 10, 4), ["Reshape", "Softmax", "Reshape"]),
        ("SoftmaxOutput", {"multi_output": "True"}, None, ["Softmax"]),
        ("SoftmaxOutput", {"preserve_shape": "True"}, None, ["Softmax"]),
        ("LogisticRegressionOutput", {}, None, ["Sigmoid"]),
        ("LinearRegressionOutput", {}, ("N", 3), ["Identity"]),
        ("SVMOutput", {}, ("N", 3), ["Identity"]),
    ],
)
@pytest.mark.parametrize("keep_loss", [False, True])
def test_labels_are_no_inputs(
    op: str, attrs: dict[str, str], shape: tuple[object, ...] | None, nodes: list[str], keep_loss: bool
) -> None:
    shapes = {} if shape is None else {"data": shape}
    graph = from_symbol(symbol_json(op, ("data", "label"), attrs), {}, shapes, keep_loss=keep_loss)
    assert [value.name for value in graph.inputs] == ["data"]
    assert [node.op.name for node in graph.nodes] == nodes


def test_softmax_over_a_flattened_sample_is_recorded() -> None:
    graph = from_symbol(symbol_json("SoftmaxOutput", ("data", "label"), {}), {}, {"data": ("N", 10, "T")})
    assert [kind for kind, _ in decisions(graph)] == ["softmax axis", "loss head"]
    assert graph.outputs[0].type == TensorType(graph.inputs[0].dtype, graph.inputs[0].shape)


@pytest.mark.parametrize(
    ("op", "attrs", "kind", "text"),
    [
        ("Dropout", {"p": "0.3"}, "dropout removed", "p 0.3, without effect at inference"),
        ("Dropout", {"mode": "always"}, "dropout removed", "at random at inference too"),
        ("LeakyReLU", {"act_type": "rrelu"}, "random slope", "the mean slope 0.2295"),
        ("SoftmaxActivation", {}, "softmax axis", "along the last axis"),
        ("LRN", {"nsize": "5"}, "default", "knorm is not stated: it is 2"),
    ],
)
def test_choices_are_recorded(op: str, attrs: dict[str, str], kind: str, text: str) -> None:
    graph = from_symbol(symbol_json(op, ("data",), attrs), {}, {"data": ("N", 3, "H", "W")})
    ((found, said),) = decisions(graph)
    assert found == kind
    assert text in said


@pytest.mark.parametrize(
    ("op", "attrs", "opset", "nodes"),
    [
        ("LeakyReLU", {"act_type": "gelu"}, 20, ["Gelu"]),
        ("LeakyReLU", {"act_type": "gelu"}, 17, ["Mul", "Erf", "Add", "Mul", "Mul"]),
        ("LeakyReLU", {"act_type": "elu"}, 13, ["Elu"]),
        ("softmax", {"axis": "1"}, 13, ["Softmax"]),
        ("softmin", {"temperature": "2.0"}, 13, ["Div", "Softmax"]),
        ("L2Normalization", {"mode": "channel"}, 18, ["ReduceSumSquare", "Add", "Sqrt", "Div"]),
        ("LRN", {"nsize": "5"}, 13, ["LRN"]),
    ],
)
def test_onnx_is_small(op: str, attrs: dict[str, str], opset: int, nodes: list[str]) -> None:
    graph = from_symbol(symbol_json(op, ("data",), attrs), {}, {"data": ("N", 3, "H", "W")})
    assert sorted(onnx_nodes(graph, opset)) == sorted(nodes)


@pytest.mark.parametrize(
    ("op", "opset", "attrs", "shape", "nodes"),
    [
        ("LayerNorm", 17, {}, ("N", "T", 4), ["LayerNormalization"]),
        ("LayerNorm", 17, {"axis": "1"}, ("N", 4, "T"), ["Transpose", "LayerNormalization", "Transpose"]),
        ("InstanceNorm", 13, {}, ("N", 4, "H", "W"), ["InstanceNormalization"]),
        ("GroupNorm", 13, {"num_groups": "4"}, ("N", 8, "T"), ["Reshape", "InstanceNormalization", "Reshape"]),
        ("GroupNorm", 13, {"num_groups": "4"}, ("N", 4, "T"), ["InstanceNormalization"]),
        ("GroupNorm", 21, {"num_groups": "2"}, ("N", 4, "T"), ["GroupNormalization"]),
    ],
)
def test_affine_norms_are_small(
    op: str, opset: int, attrs: dict[str, str], shape: tuple[object, ...], nodes: list[str]
) -> None:
    ones = np.ones(4, np.float32)
    graph = from_symbol(
        symbol_json(op, ("data", "gamma", "beta"), attrs), {"gamma": ones, "beta": ones}, {"data": shape}
    )
    assert onnx_nodes(graph, opset) == nodes


def test_prelu_slope_is_reshaped_on_the_way_in() -> None:
    slopes = np.arange(3, dtype=np.float32)
    graph = from_symbol(
        symbol_json("LeakyReLU", ("data", "gamma"), {"act_type": "prelu"}),
        {"gamma": slopes},
        {"data": ("N", 3, "H", "W")},
    )
    assert onnx_nodes(graph) == ["PRelu"]


@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize("axis", [-1, 1, -2])
def test_lengths_along_a_symbolic_axis(axis: int, opset: int) -> None:
    shapes = {"data": ("N", "T", "K"), "length": ("N", "T" if axis == -1 else "K")}
    text = symbol_json("softmax", ("data", "length"), {"axis": str(axis), "use_length": "True"})
    model = to_model(from_symbol(text, {}, shapes, dtypes={"length": "int32"}), opset=opset)
    onnx.checker.check_model(model, full_check=True)
    data = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    length = np.full((2, 3 if axis == -1 else 4), 2, np.int32)
    (found,) = run_model(model, {"data": data, "length": length}).values()
    powers = np.exp(np.moveaxis(data, axis, -1))
    powers[..., 2:] = 0
    wanted = np.moveaxis(powers / powers.sum(axis=-1, keepdims=True), -1, axis)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "reason"),
    [
        ("LRN", ("data",), {"nsize": "4"}, "nsize 4 is even"),
        ("log_softmax", ("data",), {"use_length": "True"}, "use_length without the input length"),
        ("L2Normalization", ("data",), {"mode": "channel"}, "at least 3 axes"),
        ("SoftmaxActivation", ("data",), {"mode": "channel"}, "at least 3 axes"),
    ],
)
def test_refused_with_a_reason(op: str, inputs: tuple[str, ...], attrs: dict[str, str], reason: str) -> None:
    with pytest.raises(UnsupportedOpError, match=reason):
        from_symbol(symbol_json(op, inputs, attrs), {}, {"data": (2, 3)})


@pytest.mark.parametrize(
    ("op", "inputs", "attrs"),
    [
        ("BatchNorm", ("data", *STATISTICS), {}),
        ("SoftmaxOutput", ("data", "label"), {}),
        ("L2Normalization", ("data",), {"mode": "spatial"}),
        ("L2Normalization", ("data",), {}),
        ("InstanceNorm", ("data", "gamma", "beta"), {}),
        ("LayerNorm", ("data", "gamma", "beta"), {}),
        ("GroupNorm", ("data", "gamma", "beta"), {"num_groups": "2"}),
        ("LRN", ("data",), {"nsize": "3"}),
        ("softmax", ("data",), {"axis": "1"}),
    ],
)
def test_nothing_known_imports(op: str, inputs: tuple[str, ...], attrs: dict[str, str]) -> None:
    graph = from_symbol(symbol_json(op, inputs, attrs))
    graph.check()
    assert "data" in graph
