"""Small models with several inputs of one shape, the same in every source format: the order shows in numbers only."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import onnx
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.tensorflow.graphdef import graph_def, node, placeholder
from tests.typed import untyped

Array = NDArray[Any]
# The name of an input, or `sub` (a - b) or `product` (a times b transposed) of two trees.
Tree = Union[str, tuple[str, "Tree", "Tree"]]
NAMES = ("zeta", "b", "a", "m_1", "m")
SIZE = 3


@dataclass(frozen=True)
class Program:
    """Outputs as trees over inputs, which `inputs` lists in the order in which a format is to state them."""

    outputs: tuple[Tree, ...]
    inputs: tuple[str, ...]

    def arrays(self) -> list[Array]:
        """One array an input, in their order."""
        generator = np.random.default_rng(len(self.inputs))
        return [generator.normal(size=(SIZE, SIZE)).astype(np.float32) for _ in self.inputs]

    def expected(self) -> list[Array]:
        """The outputs in plain numpy."""
        held = dict(zip(self.inputs, self.arrays(), strict=True))
        return [_value(tree, held) for tree in self.outputs]

    def met(self) -> tuple[str, ...]:
        """The inputs in the order in which a walk from the outputs meets them."""
        return tuple(dict.fromkeys(name for tree in self.outputs for name in _leaves(tree)))


def programs(*, unused: bool = True) -> st.SearchStrategy[Program]:
    """Programs whose inputs stand in any order, some of them used by nothing."""

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.tuples(st.sampled_from(("sub", "product")), inner, inner)

    trees = grow(st.recursive(st.sampled_from(NAMES), grow, max_leaves=5))
    outputs = st.lists(trees, min_size=1, max_size=2, unique=True).map(tuple)
    inputs = st.permutations(NAMES).map(tuple)
    if unused:
        return st.builds(Program, outputs, inputs)
    return st.builds(Program, outputs, inputs).map(_pruned)


def _pruned(program: Program) -> Program:
    met = program.met()
    return Program(program.outputs, tuple(name for name in program.inputs if name in met))


def _leaves(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [name for part in tree[1:] for name in _leaves(part)]


def _value(tree: Tree, held: dict[str, Array]) -> Array:
    if isinstance(tree, str):
        return held[tree]
    left, right = (_value(part, held) for part in tree[1:])
    return left - right if tree[0] == "sub" else left @ right.T


def _written(program: Program, write: Callable[[str, str, str, str], None]) -> list[str]:
    """Call `write(kind, name, left, right)` for every inner tree; the names of the outputs."""
    names: dict[Tree, str] = {}

    def visit(tree: Tree) -> str:
        if isinstance(tree, str):
            return tree
        if tree not in names:
            left, right = (visit(part) for part in tree[1:])
            names[tree] = f"n{len(names)}"
            write(tree[0], names[tree], left, right)
        return names[tree]

    return [visit(tree) for tree in program.outputs]


def as_symbol(program: Program) -> str:
    """An MXNet symbol; its variables stand in the file in the program's order, which MXNet does not go by."""
    nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in program.inputs]
    places = {name: place for place, name in enumerate(program.inputs)}

    def write(kind: str, name: str, left: str, right: str) -> None:
        attrs = {"num_hidden": str(SIZE), "no_bias": "True"} if kind == "product" else {}
        places[name] = len(nodes)
        op = "FullyConnected" if kind == "product" else "elemwise_sub"
        inputs = [[places[left], 0, 0], [places[right], 0, 0]]
        nodes.append({"op": op, "name": name, "attrs": attrs, "inputs": inputs})

    heads = [[places[name], 0, 0] for name in _written(program, write)]
    arguments = list(range(len(program.inputs)))
    attributes = {"mxnet_version": ["int", 10901]}
    return json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": heads, "attrs": attributes})


def as_onnx(program: Program) -> onnx.ModelProto:
    """An ONNX model whose graph.input has the program's order."""
    nodes = []

    def write(kind: str, name: str, left: str, right: str) -> None:
        attrs = {"transB": 1} if kind == "product" else {}
        nodes.append(
            onnx.helper.make_node("Gemm" if kind == "product" else "Sub", [left, right], [name], **untyped(attrs))
        )

    def info(name: str) -> onnx.ValueInfoProto:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [SIZE, SIZE])

    outputs = [info(name) for name in _written(program, write)]
    graph = onnx.helper.make_graph(nodes, "g", [info(name) for name in program.inputs], outputs)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def as_graph_def(program: Program, order: Sequence[str] | None = None) -> bytes:
    """A frozen TensorFlow graph whose placeholders stand in the program's order (or `order`)."""
    nodes = []

    def write(kind: str, name: str, left: str, right: str) -> None:
        attrs = {"transpose_a": False, "transpose_b": True} if kind == "product" else {}
        nodes.append(node("MatMul" if kind == "product" else "Sub", name, [left, right], T="float32", **attrs))

    _written(program, write)
    return graph_def(*(placeholder(name, "float32", (SIZE, SIZE)) for name in order or program.inputs), *nodes)


def output_names(program: Program) -> list[str]:
    """The names of the nodes that give the outputs."""
    return _written(program, lambda kind, name, left, right: None)
