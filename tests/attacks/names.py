"""Models whose names, attributes and texts hold what a terminal obeys and what misleads a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import graphir
from graphir.converters.mxnet import write_params
from graphir.decisions import DecisionKind
from graphir.ops.activation import Relu
from graphir.ops.convolution import Conv
from graphir.types import DType, TensorType
from tests.tensorflow.graphdef import encode

# Screen, bell, carriage return, backspace, C1's own CSI, delete, direction, no width, line ends of Unicode, a tag.
ACTS = "\x1b[2J\x1b]0;t\x07\r\x08\x9b31m\x7f\u202e\u2066\u200b\u2028\u2029\ufeff\U000e0041"
FORGED = "\ngraphir: everything is fine\n"


def evil(name: str) -> str:
    """A name that acts."""
    return f"{name}{ACTS}{FORGED}{name}"


def mxnet_model(folder: Path, *, operator: str = "Activation", with_params: bool = True) -> Path:
    """A convolution, a batch normalization whose gamma is not 1, and an activation."""
    names = {"w": "w", "b": "b", "gamma": "gamma", "beta": "beta", "mean": "mean", "var": "var"}
    held = {key: evil(name) for key, name in names.items()}

    def variable(name: str, **attributes: str) -> dict[str, Any]:
        return {"op": "null", "name": name, "attrs": attributes, "inputs": []}

    nodes = [
        variable(evil("data"), __shape__="(1, 3, 8, 8)", **{evil("__note__"): evil("text")}),
        variable(held["w"]),
        variable(held["b"]),
        {
            "op": "Convolution", "name": evil("conv"), "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
            "attrs": {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)", evil("colour"): evil("red")},
        },
        *(variable(held[key]) for key in ("gamma", "beta", "mean", "var")),
        {
            "op": "BatchNorm", "name": evil("bn"), "attrs": {"fix_gamma": "True"},
            "inputs": [[3, 0, 0], [4, 0, 0], [5, 0, 0], [6, 0, 0], [7, 0, 0]],
        },
        {"op": operator, "name": evil("act"), "attrs": {"act_type": "relu"}, "inputs": [[8, 0, 0]]},
    ]  # fmt: skip
    document = {
        "nodes": nodes, "arg_nodes": [0, 1, 2, 4, 5, 6, 7], "heads": [[9, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
    }  # fmt: skip
    symbol = folder / "evil-symbol.json"
    symbol.write_text(json.dumps(document))
    if with_params:
        ones = {key: np.full(4, 2, np.float32) for key in ("gamma", "beta", "mean", "var", "b")}
        arrays = {"w": np.ones((4, 3, 3, 3), np.float32), **ones}
        kinds = {"mean": "aux", "var": "aux"}
        named = {f"{kinds.get(key, 'arg')}:{held[key]}": array for key, array in arrays.items()}
        write_params(folder / "evil-0000.params", named)
    return symbol


def onnx_model(folder: Path, *, operator: str = "Relu", name: str = "evil.onnx") -> Path:
    """A convolution and another operator, of a stranger's domain if it is not ONNX's."""
    make = onnx.helper
    domain = "" if operator == "Relu" else evil("domain")
    nodes = [
        make.make_node("Conv", [evil("x"), evil("w")], [evil("c")], name=evil("conv"), pads=[1, 1, 1, 1]),
        make.make_node(operator, [evil("c")], [evil("y")], name=evil("act"), domain=domain),
    ]
    if domain:
        nodes[1].attribute.append(make.make_attribute(evil("colour"), evil("red")))
    graph = make.make_graph(
        nodes, evil("graph"),
        [make.make_tensor_value_info(evil("x"), 1, [evil("N"), 3, 8, 8])],
        [make.make_tensor_value_info(evil("y"), 1, None)],
        [onnx.numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), evil("w"))],
    )  # fmt: skip
    opsets = [make.make_opsetid("", 17)] + ([make.make_opsetid(domain, 1)] if domain else [])
    model = make.make_model(graph, opset_imports=opsets, ir_version=8, producer_name=evil("producer"))
    entry = model.metadata_props.add()
    entry.key, entry.value = evil("key"), evil("value")
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def tensorflow_model(folder: Path, *, operator: str = "Relu") -> Path:
    """A convolution with SAME padding and another operator."""
    kernel = np.ones((3, 3, 3, 4), np.float32)
    value = {
        "tensor": {
            "dtype": 1, "tensor_shape": {"dim": [{"size": size} for size in kernel.shape]},
            "tensor_content": kernel.tobytes(),
        }
    }  # fmt: skip
    shape = {"shape": {"dim": [{"size": size} for size in (1, 8, 8, 3)]}}
    float32 = {"type": 1}
    nodes = [
        {"name": evil("x"), "op": "Placeholder", "attr": {"dtype": float32, "shape": shape}},
        {"name": evil("w"), "op": "Const", "attr": {"dtype": float32, "value": value}},
        {
            "name": evil("conv"), "op": "Conv2D", "input": [evil("x"), evil("w")],
            "attr": {
                "T": float32, "strides": {"list": {"i": [1, 2, 2, 1]}}, "padding": {"s": b"SAME"},
                "data_format": {"s": b"NHWC"}, evil("colour"): {"s": evil("red").encode()},
            },
        },
        {"name": evil("act"), "op": operator, "input": [evil("conv")], "attr": {"T": float32}},
    ]  # fmt: skip
    path = folder / "evil.pb"
    path.write_bytes(encode("GraphDef", {"node": nodes, "versions": {"producer": 1882}}))
    return path


def own_model(folder: Path) -> Path:
    """The same in graphir's own format."""
    graph = graphir.Graph(evil("graph"))
    data = graph.add_input(evil("x"), TensorType(DType.FLOAT32, (1, 3, 8, 8)))
    weight = graph.add_parameter(evil("w"), graphir.Tensor.of(np.ones((4, 3, 3, 3), np.float32)))
    weight.sources = (evil("w"),)
    found = graph.add(Conv(), data, weight, name=evil("conv"), output=evil("c"))
    graph.set_outputs([graph.add(Relu(), found, name=evil("act"), output=evil("y"))])
    graph.metadata[evil("key")] = evil("value")
    graph.decide(DecisionKind.OTHER, evil("node"), evil("text"))
    path = folder / "evil.graphir.json"
    graphir.save(graph, path)
    path.write_text(path.read_text(encoding="ascii").replace('"other"', json.dumps(evil("kind"))), encoding="ascii")
    return path


__all__ = ["evil", "mxnet_model", "onnx_model", "own_model", "tensorflow_model"]
