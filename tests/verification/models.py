"""Small models that the tests of running and verifying share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from graphir.converters.mxnet.references import judges
from graphir.converters.mxnet.source import MXNetSource, open_source
from graphir.graph import Graph
from graphir.tensor import Tensor
from graphir.verification.models import verify_conversion
from graphir.verification.options import ComparisonOptions
from graphir.verification.report import VerificationReport

Array = NDArray[Any]

NET = """{"nodes": [
{"op": "null", "name": "data", "inputs": []},
{"op": "null", "name": "conv0_weight", "inputs": []},
{"op": "null", "name": "conv0_bias", "inputs": []},
{"op": "Convolution", "name": "conv0", "attrs": {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)",
 "stride": "(2, 2)"}, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]},
{"op": "null", "name": "bn0_gamma", "inputs": []},
{"op": "null", "name": "bn0_beta", "inputs": []},
{"op": "null", "name": "bn0_moving_mean", "inputs": []},
{"op": "null", "name": "bn0_moving_var", "inputs": []},
{"op": "BatchNorm", "name": "bn0", "attrs": {"eps": "0.001", "fix_gamma": "True"},
 "inputs": [[3, 0, 0], [4, 0, 0], [5, 0, 0], [6, 0, 0], [7, 0, 0]]},
{"op": "Activation", "name": "relu0", "attrs": {"act_type": "relu"}, "inputs": [[8, 0, 0]]},
{"op": "null", "name": "conv1_weight", "inputs": []},
{"op": "Convolution", "name": "conv1", "attrs": {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)",
 "no_bias": "True"}, "inputs": [[9, 0, 0], [10, 0, 0]]},
{"op": "Activation", "name": "relu1", "attrs": {"act_type": "relu"}, "inputs": [[11, 0, 0]]},
{"op": "null", "name": "fc_weight", "inputs": []},
{"op": "null", "name": "fc_bias", "inputs": []},
{"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "4"},
 "inputs": [[12, 0, 0], [13, 0, 0], [14, 0, 0]]},
{"op": "null", "name": "softmax_label", "inputs": []},
{"op": "SoftmaxOutput", "name": "softmax", "inputs": [[15, 0, 0], [16, 0, 0]]}],
"arg_nodes": [0, 1, 2, 4, 5, 6, 7, 10, 13, 14, 16], "heads": [[17, 0, 0]],
 "attrs": {"mxnet_version": ["int", 10901]}}"""

SHAPES = {
    "conv0_weight": (4, 3, 3, 3),
    "conv0_bias": (4,),
    "bn0_gamma": (4,),
    "bn0_beta": (4,),
    "bn0_moving_mean": (4,),
    "bn0_moving_var": (4,),
    "conv1_weight": (4, 4, 3, 3),
    "fc_weight": (4, 64),
    "fc_bias": (4,),
}
DATA = {"data": (2, 3, 8, 8)}


def net_params(scale: float = 1.0) -> dict[str, Array]:
    """Seeded parameters of `NET`; the last layer's are multiplied by `scale`, which saturates the softmax."""
    generator = np.random.Generator(np.random.PCG64(7))
    found = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    found["bn0_moving_var"] = np.abs(found["bn0_moving_var"]) + np.float32(0.5)
    found["fc_weight"] *= np.float32(scale)
    return found


def net_source(scale: float = 1.0, symbol: str = NET) -> MXNetSource:
    """The small net, opened."""
    return open_source(symbol, net_params(scale))


def net_graph(scale: float = 1.0, symbol: str = NET) -> Graph:
    """The small net as a graph."""
    return net_source(scale, symbol).to_graph(DATA)


def held_against(source: MXNetSource, candidate: Graph, **options: Any) -> VerificationReport:
    """A graph that an MXNet model became, held against that model."""
    how = ComparisonOptions(**options)
    asked = judges(source.symbol, source.plain_tensors(), how.against)
    return verify_conversion(asked, candidate, candidate, candidate, how)


def damaged(graph: Graph, parameter: str, change: Any) -> Graph:
    """The graph with a parameter's array passed through `change`."""
    value = graph[parameter]
    assert value.tensor is not None
    graph.set_tensor(value, Tensor.of(change(value.tensor.numpy().copy())))
    return graph


def onnx_model(
    nodes: list[Any],
    inputs: dict[str, tuple[int, list[Any]]],
    outputs: dict[str, tuple[int, list[Any]]],
    weights: dict[str, Array] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    """A model of `make_node`s; types are (element type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, *type_) for name, type_ in inputs.items()],
        [helper.make_tensor_value_info(name, *type_) for name, type_ in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def identity(element: int, shape: list[Any]) -> bytes:
    """A model that gives its input back."""
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    return onnx_model(nodes, {"x": (element, shape)}, {"y": (element, shape)}, opset=19).SerializeToString()


def affine(folder: Path, weight: float = 2.0, names: tuple[str, str] = ("sum", "twice"), swap: bool = False) -> Path:
    """An .onnx of two outputs: x + 1 and `weight` * x."""
    one, factor = np.array([1.0], np.float32), np.array([weight], np.float32)
    nodes = [helper.make_node("Add", ["x", "one"], [names[0]]), helper.make_node("Mul", ["x", "factor"], [names[1]])]
    outputs: dict[str, tuple[int, list[Any]]] = {
        name: (TensorProto.FLOAT, [2, 3]) for name in (reversed(names) if swap else names)
    }
    model = onnx_model(nodes, {"x": (TensorProto.FLOAT, [2, 3])}, outputs, {"one": one, "factor": factor})
    path = folder / f"affine-{weight}-{'-'.join(names)}-{swap}.onnx"
    onnx.save(model, path)
    return path
