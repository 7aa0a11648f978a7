"""A model cut at some of its values: whatever reads one of them reads an input instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphir.arrays import Array

ENDING = " fed"


class CutModel:
    """A serialized model of which parts are run between values that are fed and values that are wanted."""

    def __init__(self, message: bytes) -> None:
        import onnx

        self._model = onnx.ModelProto()
        self._model.ParseFromString(message)
        self._makers = {
            name: index for index, node in enumerate(self._model.graph.node) for name in node.output if name
        }
        taken = {name for node in _all_nodes(self._model.graph.node) for name in (*node.input, *node.output)}
        self._ending = next(ENDING + "'" * count for count in range(len(taken) + 1) if _is_new(ENDING, count, taken))

    @property
    def results(self) -> list[str]:
        """Return the values that the nodes of the main graph make, in their order."""
        return list(self._makers)

    @property
    def outputs(self) -> list[str]:
        """Return the names of the model's outputs."""
        return [output.name for output in self._model.graph.output]

    def producer(self, value: str) -> tuple[str, list[str]]:
        """Return the operator that makes a value, and what it reads; "" and nothing for an input or a weight."""
        index = self._makers.get(value)
        node = None if index is None else self._model.graph.node[index]
        return ("", []) if node is None else (node.op_type, list(node.input))

    def nodes(self, wanted: Iterable[str], fed: Collection[str]) -> list[tuple[str, str]]:
        """Return names and operators of the nodes that make the wanted values from the fed ones, in their order."""
        nodes = self._model.graph.node
        return [(nodes[index].name, nodes[index].op_type) for index in sorted(self._nodes_between(wanted, fed)[0])]

    def edges(self, wanted: Iterable[str], fed: Collection[str]) -> set[str]:
        """Return the fed values that the wanted ones are made from together."""
        return self._nodes_between(wanted, fed)[1]

    def reads(self, wanted: Iterable[str], fed: Collection[str]) -> dict[str, set[str]]:
        """Return the fed values that each wanted one is made from, with others fed or not between."""
        names: dict[str, set[str]] = {}
        for name in wanted:
            _, names[name] = self._nodes_between([name], fed)
        return names

    def part(self, fed: Mapping[str, Array], wanted: Collection[str]) -> tuple[Any, dict[str, str]]:
        """Return the model of the part that gives the `wanted` values, and the names of its new inputs by the values
        that they stand for.

        Values that are `fed` are read from inputs of the types and ranks of these arrays, within the bodies of nodes
        too, and may be wanted themselves. Only the nodes, inputs and weights that this takes stay.
        """
        import onnx

        graph = self._model.graph
        indices, read = self._nodes_between(wanted, fed)
        names = {value: value + self._ending for value in fed if value in read}
        model = onnx.ModelProto(ir_version=self._model.ir_version)
        model.opset_import.extend(self._model.opset_import)
        model.functions.extend(self._model.functions)
        part = model.graph
        part.name = graph.name
        nodes = [graph.node[index] for index in sorted(indices)]
        # onnxruntime loses what bodies capture of two Casts that undo each other, if the first one reads an input.
        cast = {node.input[0] for node in nodes if node.op_type == "Cast"}
        copies = {value: name + self._ending for value, name in names.items() if value in cast}
        part.node.extend(onnx.helper.make_node("Identity", [names[value]], [copy]) for value, copy in copies.items())
        read_by_cast = {**names, **copies}
        for node in nodes:
            part.node.add().CopyFrom(node)
            _rename(part.node[-1], read_by_cast if node.op_type == "Cast" else names)
        used = {name for node in part.node for name in _uses(node)}
        part.input.extend(given for given in graph.input if given.name in used)
        part.initializer.extend(tensor for tensor in graph.initializer if tensor.name in used)
        part.sparse_initializer.extend(tensor for tensor in graph.sparse_initializer if tensor.values.name in used)
        for value, name in names.items():
            code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(fed[value].dtype))
            part.input.append(onnx.helper.make_tensor_value_info(name, code, [None] * fed[value].ndim))
        part.output.extend(onnx.ValueInfoProto(name=name) for name in wanted if name in self._makers)
        return model, names

    def _nodes_between(self, wanted: Iterable[str], fed: Collection[str]) -> tuple[set[int], set[str]]:
        """Return the places of the nodes that make what is wanted, back to what is fed, and what of that they read."""
        indices: set[int] = set()
        read: set[str] = set()
        pending = [self._makers[name] for name in wanted if name in self._makers]
        while pending:
            index = pending.pop()
            if index in indices:
                continue
            indices.add(index)
            for name in _uses(self._model.graph.node[index]):
                if name in fed:
                    read.add(name)
                elif name in self._makers:
                    pending.append(self._makers[name])
        return indices, read


def _is_new(ending: str, count: int, taken: Collection[str]) -> bool:
    return not any(name.endswith(ending + "'" * count) for name in taken)


def _all_nodes(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield node
        for body in _bodies(node):
            yield from _all_nodes(body.node)


def _bodies(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _defined_names(body: Any) -> set[str]:
    """Return the names that a body gives a meaning of its own."""
    local_names = {given.name for given in body.input} | {tensor.name for tensor in body.initializer}
    return local_names | {name for inner in body.node for name in inner.output}


def _uses(node: Any) -> Iterator[str]:
    """Yield what a node reads, with what its bodies capture."""
    yield from filter(None, node.input)
    for body in _bodies(node):
        local_names = _defined_names(body)
        for inner in body.node:
            yield from (name for name in _uses(inner) if name not in local_names)
        yield from (result.name for result in body.output if result.name not in local_names)


def _rename(node: Any, names: Mapping[str, str]) -> None:
    """Have a node and its bodies read the inputs in place of the values."""
    for slot, name in enumerate(node.input):
        if name in names:
            node.input[slot] = names[name]
    for body in _bodies(node):
        local_names = _defined_names(body)
        outer = {value: name for value, name in names.items() if value not in local_names}
        for inner in body.node:
            _rename(inner, outer)
        for result in body.output:
            result.name = outer.get(result.name, result.name)
