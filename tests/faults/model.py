"""ONNX models that are cut open: read, changed in place, run by onnxruntime alone. Nothing here imports graphir."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from graphir.runtime.session import EXACT_8_BIT_PRODUCTS

Array = NDArray[Any]
Node = onnx.NodeProto
QUIET = 4
"""onnxruntime's severity for fatal errors only: candidates that do not run are tried on purpose."""


class Model:
    """A model with unique node names, and `seen`: its values on one set of inputs, which tell shapes and ranges.

    Methods that change it are meant for clones. Nodes are known by their names, which stay.
    """

    def __init__(self, proto: onnx.ModelProto, seen: Mapping[str, Array]) -> None:
        self.proto = proto
        self.seen = seen

    def clone(self) -> Model:
        """A copy to change."""
        return Model(copy.deepcopy(self.proto), self.seen)

    @property
    def graph(self) -> onnx.GraphProto:
        """The main graph."""
        return self.proto.graph

    def nodes(self, *kinds: str) -> list[Node]:
        """The nodes of the main graph with these operators, or all."""
        return [node for node in self.graph.node if not kinds or node.op_type in kinds]

    def node(self, name: str) -> Node:
        """The node of a name. Raises KeyError."""
        for node in self.graph.node:
            if node.name == name:
                return node
        raise KeyError(name)

    def producer(self, value: str) -> Node | None:
        """The node that makes a value; None for inputs and weights."""
        return next((node for node in self.graph.node if value in node.output), None)

    def users(self, value: str) -> list[tuple[Node, int]]:
        """The nodes of the main graph that take a value, with the slot."""
        return [(node, slot) for node in self.graph.node for slot, name in enumerate(node.input) if name == value]

    def sole_user(self, value: str) -> Node | None:
        """The only node that takes a value which is no output of the graph; None otherwise."""
        found = self.users(value)
        return found[0][0] if len(found) == 1 and value not in self.outputs else None

    @property
    def inputs(self) -> list[str]:
        """The names of the graph's inputs."""
        return [item.name for item in self.graph.input]

    @property
    def outputs(self) -> list[str]:
        """The names of the graph's outputs."""
        return [item.name for item in self.graph.output]

    def weights(self) -> dict[str, Array]:
        """Every initializer."""
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}

    def weight(self, name: str) -> Array | None:
        """The elements of an initializer; None for what is none."""
        for tensor in self.graph.initializer:
            if tensor.name == name:
                return np.array(numpy_helper.to_array(tensor))
        return None

    def operand(self, node: Node, slot: int) -> Array | None:
        """The elements of an operand that is an initializer."""
        return self.weight(node.input[slot]) if slot < len(node.input) and node.input[slot] else None

    def shape(self, value: str) -> tuple[int, ...] | None:
        """The shape that a value was seen to have."""
        found = self.seen.get(value)
        if found is None:
            found = self.weight(value)
        return None if found is None else tuple(found.shape)

    def fresh(self, wanted: str) -> str:
        """A name that nothing has."""
        taken = {name for node in self.graph.node for name in (node.name, *node.output)}
        taken |= {tensor.name for tensor in self.graph.initializer} | set(self.inputs)
        number = 0
        while (name := f"{wanted}{number or ''}") in taken:
            number += 1
        return name

    def constant(self, elements: object, wanted: str = "made") -> str:
        """A new initializer."""
        name = self.fresh(wanted)
        self.graph.initializer.append(numpy_helper.from_array(np.array(elements, order="C"), name))
        return name

    def put(self, name: str, elements: Array) -> None:
        """Other elements for an initializer."""
        for tensor in self.graph.initializer:
            if tensor.name == name:
                tensor.CopyFrom(numpy_helper.from_array(np.array(elements, order="C"), name))
                return
        raise KeyError(name)

    def give(self, node: Node, slot: int, elements: Array) -> None:
        """Other elements for one node's operand; an initializer that others share stays as it is for them."""
        name = node.input[slot]
        if len(self.users(name)) == 1:
            self.put(name, elements)
        else:
            node.input[slot] = self.constant(elements, f"{name}_own")

    def insert(
        self, position: int, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> Node:
        """A new node at a position of the list."""
        name = self.fresh(f"{kind.lower()}_made")
        made = helper.make_node(kind, list(inputs), list(outputs), name=name, **attributes)
        self.graph.node.insert(position, made)
        return self.graph.node[position]

    def position(self, node: Node) -> int:
        """Where a node stands."""
        return next(index for index, held in enumerate(self.graph.node) if held.name == node.name)

    def after(self, node: Node, kind: str, *others: str, slot: int = 0, **attributes: Any) -> Node:
        """A node between a node's result and all that use it; the result keeps its name for its users."""
        old = node.output[slot]
        node.output[slot] = inner = self.fresh(f"{old}_inner")
        return self.insert(self.position(node) + 1, kind, [inner, *others], [old], **attributes)

    def before(self, node: Node, slot: int, kind: str, *others: str, **attributes: Any) -> Node:
        """A node in front of one operand of a node."""
        made = self.fresh(f"{node.name}_before")
        found = self.insert(self.position(node), kind, [node.input[slot], *others], [made], **attributes)
        self.node(node.name).input[slot] = made
        return found

    def become(self, node: Node, kind: str, inputs: Sequence[str] | None = None, **attributes: Any) -> None:
        """Another operator in a node's place, with its name and results."""
        made = helper.make_node(kind, list(node.input if inputs is None else inputs), list(node.output), **attributes)
        made.name = node.name
        node.CopyFrom(made)

    def bypass(self, node: Node, slot: int = 0) -> None:
        """Let an operand through in the node's place."""
        self.become(node, "Identity", [node.input[slot]])

    def remove(self, node: Node) -> None:
        """Take a node out."""
        del self.graph.node[self.position(node)]

    def shapes_forgotten(self) -> None:
        """Forget the shapes stated for outputs, which an edit has changed: a file that contradicts itself is another
        fault."""
        for item in self.graph.output:
            item.type.tensor_type.ClearField("shape")


def get(node: Node, name: str, default: Any = None) -> Any:
    """An attribute's value; texts as str."""
    for attribute in node.attribute:
        if attribute.name == name:
            value = helper.get_attribute_value(attribute)
            return value.decode() if isinstance(value, bytes) else value
    return default


def put(node: Node, name: str, value: Any) -> None:
    """Set an attribute; None takes it away."""
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    if value is not None:
        node.attribute.append(helper.make_attribute(name, value))


def session(proto: onnx.ModelProto, *, optimize: bool = False) -> onnxruntime.InferenceSession:
    """The model in onnxruntime on one thread. Raises what onnxruntime raises for models that it does not take."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = QUIET
    options.add_session_config_entry(EXACT_8_BIT_PRODUCTS, "1")
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(held: onnxruntime.InferenceSession, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Every output by name."""
    names = [item.name for item in held.get_outputs()]
    return dict(zip(names, held.run(None, dict(feeds)), strict=True))


def every_value(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The values of the main graph on these inputs, the inputs themselves among them."""
    extended = copy.deepcopy(proto)
    del extended.graph.output[:]
    for name in inner_values(proto):
        extended.graph.output.append(onnx.ValueInfoProto(name=name))
    return {**feeds, **run(session(extended), feeds)}


def inner_values(proto: onnx.ModelProto) -> Iterator[str]:
    """The names of all results in the main graph."""
    yield from (name for node in proto.graph.node for name in node.output if name)


__all__ = ["Array", "Model", "Node", "every_value", "get", "inner_values", "put", "run", "session"]
