"""What an .onnx file computes, without its weights: names, and which operator makes which value from what."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graphir.converters.onnx.dtypes import CODES
from graphir.converters.onnx.files.stripped import stripped_file
from graphir.errors import FormatError
from graphir.files.reading import open_plain
from graphir.graph import Graph
from graphir.ops import traits_of
from graphir.ops.lost import lost_by_sums
from graphir.ops.traits import Rounding
from graphir.structure.extract import uses_of
from graphir.structure.reaching import reachable

COARSE_STEPS = {10: 2.0**-10, 16: 2.0**-7}  # float16, bfloat16
FLOAT = 1
REAL_TYPES = frozenset({FLOAT, *COARSE_STEPS, 11, 14, 15})  # double, and complex numbers of both sizes
PERTURBED = frozenset({FLOAT, 10, 11})  # what numpy has of them
OF_ONE = frozenset({Rounding.OF_ONE, Rounding.EXPONENTIAL, Rounding.STATES})
RESCALING = frozenset({Rounding.PRODUCTS, Rounding.STATISTICS})


@dataclass(frozen=True)
class Structure:
    """The main graph of a model. `producers` holds, for each result in the file's order, its operator and operands, one
    tuple for all results of a node; `external` says whether weights lie in other files. `captured` are the values that
    the graphs inside a node use, `bodies` the operators in these (of a file) that read something, by that node's
    results; `typed` are those whose ONNX element type is stated (weights, inputs, casts, constants), `random` those
    that are drawn. `weights` are the element types and shapes of the model's weights, `defaults` those of them that are
    defaults of inputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    producers: dict[str, tuple[str, tuple[str, ...]]]
    external: bool
    captured: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bodies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    typed: Mapping[str, int] = field(default_factory=dict)
    random: frozenset[str] = frozenset()
    weights: Mapping[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()

    @property
    def quantizes(self) -> bool:
        """Whether real numbers are rounded to quantized ones on the way."""
        return any(traits_of(operator).rounding is Rounding.QUANTIZES for operator, _ in self.producers.values())

    @cached_property
    def steps(self) -> dict[str, float]:
        """The step of the coarsest type that each value came through; those that came through none are left out."""
        steps = {name: COARSE_STEPS[code] for name, code in self.typed.items() if code in COARSE_STEPS}
        for name in self.producers:
            step = max((steps.get(operand, 0.0) for operand in self.operands(name)), default=0.0)
            if step > steps.get(name, 0.0):
                steps[name] = step
        return steps

    @cached_property
    def drawn(self) -> frozenset[str]:
        """The values that depend on random numbers."""
        return self.behind(self.random)

    @cached_property
    def live(self) -> frozenset[str]:
        """The values that depend on an input, or on random numbers."""
        return self.behind([*self.inputs, *self.random])

    @property
    def lost_by_sums(self) -> float:
        """What sums of products with weights lose, of all layers one after the other: a weight has as many terms for
        each result as its elements make without its longest axis, or more."""
        products = [names for operator, names in self.producers.values()
                    if traits_of(operator).rounding is Rounding.PRODUCTS]  # fmt: skip
        shapes = [[self.weights[name][1] for name in names if name in self.weights] for names in products]
        return lost_by_sums(
            max((math.prod(shape) // max(shape) for shape in each if shape and min(shape) > 0), default=0)
            for each in shapes
        )

    @cached_property
    def bounded(self) -> frozenset[str]:
        """The values that come from functions whose results are computed to some units in the last place of 1, not of
        themselves, up to the next sum of products."""
        names = [
            name for name, (operator, _) in self.producers.items()
            if any(traits_of(within).rounding in OF_ONE for within in (operator, *self.bodies.get(name, ())))
        ]  # fmt: skip
        return self.behind(names, unless=RESCALING)

    def origins(self, name: str) -> set[str]:
        """Return the operators that compute a value's elements, with those that move or average them behind these."""

        def moved(reached: str) -> Sequence[str]:
            operator, operands = self.producers.get(reached, ("", ()))
            within = self.bodies.get(reached) or (operator,)
            hands_on = all(traits_of(each).nonexpansive for each in within)
            return self.captured.get(reached, operands[:1]) if hands_on else ()

        return {self.producers[reached][0] for reached in reachable([name], moved) if reached in self.producers}

    @cached_property
    def real(self) -> frozenset[str]:
        """The values that depend on real numbers, on more than their sizes."""
        return self.behind([name for name, code in self.typed.items() if code in REAL_TYPES], unless=(Rounding.SIZES,))

    def first_weights(self) -> Iterator[str]:
        """Yield the weights of real numbers, those that meet the inputs first come first."""
        seen: set[str] = set()
        fed = self.behind(self.inputs)
        for name in self.producers:
            if name in fed:
                pending = [operand for operand in self.operands(name) if operand not in fed]
                while pending:
                    operand = pending.pop()
                    if operand in self.weights and operand not in seen and self.weights[operand][0] in PERTURBED:
                        yield operand
                    seen.add(operand)
                    pending += [more for more in self.producers.get(operand, ("", ()))[1] if more not in seen]

    def operands(self, name: str) -> tuple[str, ...]:
        """Return what a computed value depends on directly, what graphs inside its node use included."""
        return (*self.producers[name][1], *self.captured.get(name, ()))

    def before(self, name: str, through: Callable[[str], bool] = lambda name: True) -> list[str]:
        """Return the computed values that a value depends on, the nearest first, by paths through values that `through`
        allows."""

        def reads(reached: str) -> list[str]:
            is_open = reached in self.producers and (reached == name or through(reached))
            return [operand for operand in self.operands(reached) if operand in self.producers] if is_open else []

        return list(reachable([name], reads))[1:]

    def with_siblings(self, names: Collection[str]) -> set[str]:
        """Return these values, and the other results of the nodes that make them."""
        nodes = {id(self.producers[name]) for name in names if name in self.producers}
        return {*names, *(name for name, node in self.producers.items() if id(node) in nodes)}

    def behind(self, names: Collection[str], unless: Collection[Rounding] = ()) -> frozenset[str]:
        """Return the values that depend on any of these, they themselves included, not through operators that round
        so."""
        result = set(names)
        for name, (operator, _) in self.producers.items():
            if traits_of(operator).rounding not in unless and not result.isdisjoint(self.operands(name)):
                result.add(name)
        return frozenset(result)


def read_structure(path: str | os.PathLike[str]) -> Structure:
    """Return the structure of an .onnx file. Its weights are not read. Raises FormatError for what is no ONNX model."""
    import onnx

    message = _message(path)
    if not message:
        raise FormatError("the file is empty, not an ONNX model", path=path)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(message)
    except Exception as error:  # protobuf's DecodeError, whose module depends on its version
        raise FormatError(f"not an ONNX model: {error}", path=path) from error
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    inside = {name: list(nodes_inside(node)) for node in graph.node if _has_graphs(node) for name in node.output}
    return Structure(
        inputs=tuple(item.name for item in graph.input if item.name not in weights),
        outputs=tuple(item.name for item in graph.output),
        producers=_producers(graph),
        captured={
            name: tuple({operand: None for node in nodes for operand in node.input}) for name, nodes in inside.items()
        },
        bodies={name: frozenset(node.op_type for node in nodes if node.input) for name, nodes in inside.items()},
        typed=_element_types(graph, inside),
        weights={tensor.name: (tensor.data_type, tuple(tensor.dims)) for tensor in graph.initializer},
        defaults=frozenset(item.name for item in graph.input if item.name in weights),
        random=frozenset(
            name
            for node in graph.node
            for name in node.output
            if name and any(map(_draws, (node, *inside.get(name, ()))))
        ),
        external=any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer),
    )


def structure_of(graph: Graph) -> Structure:
    """Return the structure of a graph, each value by all names that it has here and in the model it came from."""
    values = [*graph.inputs, *graph.parameters, *(value for node in graph.nodes for value in node.outputs)]
    named = [(name, value) for value in values for name in (value.name, *value.sources)]
    nodes = {node: (node.op.name, tuple(value.name for value in uses_of(node))) for node in graph.nodes}
    drawing = {node for node in graph.nodes if node.op.rounding is Rounding.DRAWS}
    return Structure(
        inputs=tuple(name for name, value in named if value.producer is None and value.tensor is None),
        outputs=tuple(value.name for value in graph.outputs),
        producers={name: nodes[value.producer] for name, value in named if value.producer is not None},
        external=False,
        typed={name: CODES[value.dtype] for name, value in named if value.dtype is not None},
        random=frozenset(name for name, value in named if value.producer in drawing),
    )


def _producers(graph: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    producers: dict[str, tuple[str, tuple[str, ...]]] = {}
    for node in graph.node:
        producers |= dict.fromkeys(filter(None, node.output), (node.op_type, tuple(node.input)))
    return producers


def _has_graphs(node: Any) -> bool:
    return any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)


def nodes_inside(node: Any) -> Iterator[Any]:
    """Yield the nodes of the graphs in a node, at any depth."""
    pending = [node]
    while pending:
        for attribute in pending.pop().attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from graph.node
                pending += graph.node


def _draws(node: Any) -> bool:
    """Return whether a node draws numbers: a Dropout does where it is told whether it trains, which is not looked
    up."""
    draws = traits_of(node.op_type).rounding is Rounding.DRAWS
    return draws or (node.op_type == "Dropout" and len(node.input) > 2 and bool(node.input[2]))


def _element_types(graph: Any, inside: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Return the stated element types of weights, inputs and results; of several that a node states, the coarsest."""
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    types |= {item.name: item.type.tensor_type.elem_type for item in graph.input}
    for node in graph.node:
        nodes = (node, *inside.get(node.output[0] if node.output else "", ()))
        codes = [code for node in nodes for code in _stated_types(node)]
        if codes:
            code = max(codes, key=lambda code: (COARSE_STEPS.get(code, 0.0), code in REAL_TYPES))
            types |= dict.fromkeys(filter(None, node.output), code)
    return types


def _stated_types(node: Any) -> Iterator[int]:
    """Yield the element types that a node's attributes state: of a cast, a constant, drawn numbers."""
    for attribute in node.attribute:
        if attribute.name in ("to", "dtype"):
            yield attribute.i
        elif attribute.HasField("t"):
            yield attribute.t.data_type
        elif attribute.name in ("value_float", "value_floats"):
            yield FLOAT


def _message(path: str | os.PathLike[str]) -> bytes:
    """Return the file without its weights."""
    return stripped_file(path).message


def mapped_bytes(path: str | os.PathLike[str]) -> memoryview:
    """Return a file's bytes, mapped. The map goes with the last view of it: one that an error's traceback still holds
    cannot be closed, which would hide that error."""
    with open_plain(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def graph_message(path: str | os.PathLike[str]) -> Any:
    """Return the main graph of an .onnx file as protobuf has it, without the elements of its weights."""
    import onnx

    model = onnx.ModelProto()
    model.ParseFromString(_message(path))
    return model.graph


def check_external(path: str | os.PathLike[str]) -> None:
    """Raise FormatError where an .onnx file that is handed to onnxruntime as it is names data outside of its folder.

    Not every release of onnxruntime refuses that itself. What is no ONNX model is left to onnxruntime.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    from graphir.converters.onnx.files.tensors import external_place

    try:
        message = _message(path)
    except FormatError:
        return
    if b"location" not in message:
        return
    model = onnx.ModelProto()
    try:
        model.ParseFromString(message)
    except DecodeError:
        return
    for tensor in tensors_of(model.graph, *(function.node for function in model.functions)):
        for entry in tensor.external_data:
            if entry.key == "location" and tensor.data_location == onnx.TensorProto.EXTERNAL:
                external_place(Path(path), entry.value, f"tensor {tensor.name}")


def tensors_of(graph: Any, *bodies: Any) -> Iterator[Any]:
    """Yield every tensor of a graph and of lists of nodes, those of the graphs inside them included."""
    graphs, nodes = [graph], list(bodies)
    while graphs or nodes:
        if graphs:
            current = graphs.pop()
            yield from current.initializer
            for sparse in current.sparse_initializer:
                yield from (sparse.values, sparse.indices)
            nodes.append(current.node)
            continue
        for node in nodes.pop():
            for attribute in node.attribute:
                yield from (attribute.t, *attribute.tensors)
                for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                    yield from (sparse.values, sparse.indices)
                graphs += [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs
