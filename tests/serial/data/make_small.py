"""Writes small.graphir.json and small.graphir.safetensors beside itself: one of everything that the format holds.

Run it once for each version of the format and never again for that version: the files show what that version wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from graphir.decisions import DecisionKind
from graphir.graph import Graph
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add, Cast, Identity
from graphir.ops.foreign import Foreign
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.shape import Reshape
from graphir.padding import Explicit, Same, SameMode
from graphir.serial.writer import save_graph
from graphir.tensor import Tensor
from graphir.types import UNKNOWN, DType, OptionalType, SequenceType, SparseTensorType, TensorType, symbol


def small() -> Graph:
    """The graph in the files."""
    graph = Graph("small")
    graph.metadata = {"producer": "make_small.py", "title": "caf\u00e9 \u2028 \U0001f600"}
    graph.decide(DecisionKind.PADDING, "pool", "SAME_LOWER kept as a policy")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (symbol("N"), 3, symbol("H"), 2 * symbol("H") + 1)))
    data.sources = ("input:0",)
    graph.add_input("anything")
    graph.add_input("rest", TensorType(None, (UNKNOWN, 2)))
    graph.add_input("list", SequenceType(OptionalType(TensorType(DType.STRING, None))))
    graph.add_input("sparse", SparseTensorType(DType.BFLOAT16, (5, 5)))
    weight = graph.add_parameter("conv/weight", Tensor.of(np.arange(108, dtype=np.float32).reshape(4, 3, 3, 3) / 8))
    weight.sources = ("arg:conv_weight",)
    bias = graph.add_parameter("conv/bias", None, TensorType(DType.FLOAT32, (4,)))
    shape = graph.add_parameter("shape", Tensor.of(np.array([0, -1])))
    graph.add_parameter("double", Tensor.of(np.array([0.1, float("nan"), -0.0, 5e-324])))
    graph.add_parameter("complex", Tensor.of(np.array([1 + 2j], np.complex64)))
    graph.add_parameter("packed", Tensor.of(np.array([1, -8, 7]).astype(DType.INT4.numpy()), DType.INT4))
    graph.add_parameter("strings", Tensor.of(np.array(["a", b"\xff", "\u00e9"], object), DType.STRING))
    graph.add_parameter("flags", Tensor.of(np.array([[True, False]])))
    graph.add_parameter("none", Tensor.of(np.zeros((0, 3), np.float16)))
    graph.add_parameter("__metadata__", Tensor.of(np.ones(3, np.uint8).view(np.int8).repeat(40)))
    conv = graph.add(Conv(kernel_shape=(3, 3), strides=(2, 2), padding=Explicit(((1, 1), (0, 2)))), data, weight, bias,
                     name="conv")
    conv.sources = ("conv", "relu")
    pool = graph.add(AveragePool(kernel_shape=(2, 2), padding=Same(SameMode.LOWER), count_include_pad=True), conv,
                     name="pool")
    largest = graph.add_node(MaxPool(kernel_shape=(2, 2)), [pool], name="largest", output_names=["largest", "where"])
    flat = graph.add(Reshape(), largest.outputs[0], shape, name="flat")
    items = {
        "none": None,
        "truth": True,
        "count": 3,
        "ratio": 0.1,
        "endless": float("-inf"),
        "text": "t",
        "raw": b"\0\xff",
        "nested": ((1, 2.0), ()),
        "dtype": DType.INT2,
        "size": symbol("N") + 1,
        "type": SequenceType(TensorType()),
        "small": Tensor.of(np.array([7])),
        "large": Tensor.of(np.eye(3)),
    }
    body = Graph("body", parent=graph)
    hidden = body.add(Identity(), flat, output="data")
    body.set_outputs([body.add(Add(), hidden, flat, output="sum"), flat, data])
    odd = Foreign("com.example", "Odd", tuple(items.items()), 2)
    strange = graph.add_node(odd, [flat, None, data], name="odd", output_names=["p", "q"], subgraphs=[body])
    type_ = TensorType(DType.FLOAT16, (symbol("N"), UNKNOWN))
    graph.retype(strange.outputs[0], type_, type_)
    graph.set_outputs([graph.add(Cast(DType.FLOAT64), strange.outputs[0], name="cast"), data])
    return graph


if __name__ == "__main__":
    save_graph(small(), Path(sys.argv[0]).with_name("small.graphir.json"), hashes=True)
