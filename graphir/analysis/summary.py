"""What a model is made of: its layers with their parameters and multiply-accumulates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from graphir.graph import Graph, Node, Value
from graphir.ops.control import If, Loop, Scan
from graphir.passes.inline import is_needed
from graphir.structure.record import record
from graphir.symbolic.dims import dim_max
from graphir.tensor import Tensor
from graphir.types import Dim, DType, Sym, TensorType, Unknown


@record
class Layer:
    """One node: its name, operator, the types of its results, its parameters and its multiply-accumulates.

    `parameters` counts elements that no earlier layer has counted; `shared` those that one has. `macs` is a number, an
    expression in symbolic sizes, or None where a size is unknown.
    """

    name: str
    operator: str
    outputs: tuple[str, ...]
    parameters: int
    shared: int
    macs: Dim | None


@record
class Summary:
    """A model's layers, those of subgraphs behind the node that holds them, and their totals.

    `parameters` are those of the model's file that its layers use, each once, `folded` ones included: weights that are
    part of others now (a batch normalization's in a convolution's), which no layer counts. `unsized` are parameters
    without a known shape, which count nothing. `unused` are weights of the file that no layer reads (a gamma that is
    forced to 1), `unused_parameters` their elements; the totals do not hold them.

    `macs` are those of one run: of an If the branch with the most, of a loop all its runs where their number is known,
    else one run (`open_loops` names such loops).
    """

    layers: tuple[Layer, ...]
    parameters: int
    parameter_bytes: int
    macs: Dim | None
    unsized: tuple[str, ...]
    unused: tuple[str, ...] = ()
    unused_parameters: int = 0
    folded: tuple[str, ...] = ()
    folded_parameters: int = 0
    open_loops: tuple[str, ...] = ()


def weights(graph: Graph, *, used: bool = True) -> dict[str, Tensor]:
    """The elements of the source's weights, those in subgraphs included, by name; of those that are `used` only."""
    found: dict[str, Tensor] = {}
    for value in used_weights(graph) if used else _parameters(graph):
        if value.sources and value.tensor is not None:
            name = value.name if value.name not in found else f"{value.graph.name}/{value.name}"
            found[name] = value.tensor
    return found


def used_weights(graph: Graph) -> Iterator[Value]:
    """The parameters that are weights of the source and that something uses, those in subgraphs included."""
    return (value for value in _parameters(graph) if value.sources and is_needed(value))


def _parameters(graph: Graph) -> Iterator[Value]:
    yield from graph.parameters
    for node in graph.nodes:
        for inner in node.subgraphs:
            yield from _parameters(inner)


def stored_bytes(tensor: Tensor) -> int:
    """How many bytes the elements take, of strings those of their UTF-8 texts."""
    if tensor.dtype is not DType.STRING:
        return tensor.nbytes
    return sum(
        len(text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape"))
        for text in tensor.numpy().flat
    )


def count_operators(graph: Graph) -> dict[str, int]:
    """How many nodes there are of each operator, those of subgraphs included."""
    found: Counter[str] = Counter()
    pending = [graph]
    while pending:
        for node in pending.pop().nodes:
            found[node.op.name] += 1
            pending.extend(node.subgraphs)
    return dict(found)


def visible_outputs(node: Node) -> list[Value]:
    """The results of a node that something reads, and always the first; mostly nothing reads a pooling's indices."""
    outputs = set(node.graph.outputs) if node.graph is not None and len(node.outputs) > 1 else set()
    return [value for value in node.outputs if value.index == 0 or value.uses or value in outputs]


def summarize(
    graph: Graph, stored: Mapping[str, Tensor] | None = None, folded: Mapping[str, Tensor] | None = None
) -> Summary:
    """The summary of a graph whose types are inferred.

    `stored` are the weights of its source by the source's names, `folded` those of them that are part of others now.
    Cost: linear in nodes; no weight is read, but for the sizes of texts.
    """
    gone = folded or {}
    count = _Counting()
    total = count.graph(graph, "")
    known = {name for value in count.counted for name in (value.name, *value.sources)}
    unused = {
        name: tensor.size for name, tensor in (stored or {}).items() if name not in known and name not in gone
    }
    held = [tensor for name, tensor in (stored or {}).items() if name not in unused]
    is_whole = not gone  # else the layers hold what was made of the file's weights
    return Summary(
        layers=tuple(count.layers),
        parameters=sum(layer.parameters for layer in count.layers) if is_whole else sum(each.size for each in held),
        parameter_bytes=count.nbytes if is_whole else sum(map(stored_bytes, held)),
        macs=total,
        unsized=tuple(count.unsized),
        unused=tuple(unused),
        unused_parameters=sum(unused.values()),
        folded=tuple(gone),
        folded_parameters=sum(tensor.size for tensor in gone.values()),
        open_loops=tuple(count.open_loops),
    )


class _Counting:
    """The walk through a graph and its subgraphs: each weight belongs to the first layer that reads it."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.counted: set[Value] = set()
        self.unsized: list[str] = []
        self.open_loops: list[str] = []
        self.nbytes = 0

    def graph(self, graph: Graph, around: str) -> Dim | None:
        """Add the layers of a graph; the MACs of one run of it, None where a size is unknown."""
        total: Dim | None = 0
        for node in graph.nodes:
            macs = self.node(node, around)
            total = None if total is None or macs is None else total + macs
        return total

    def node(self, node: Node, around: str) -> Dim | None:
        """Add a node's layer, and those of its subgraphs; the MACs of all of them."""
        own = shared = 0
        for value in dict.fromkeys(node.inputs):
            if value is None or not value.sources or not value.is_parameter:
                continue
            elements = elements_of(value)
            if value in self.counted:
                shared += elements or 0
                continue
            self.counted.add(value)
            if elements is None:
                self.unsized.append(value.name)
                continue
            own += elements
            self.nbytes += _bytes(value, elements)
        outputs = tuple(str(value.type) for value in visible_outputs(node))
        place = len(self.layers)
        self.layers.append(Layer(f"{around}{node.name}", node.op.name, outputs, own, shared, _macs(node)))
        if not node.subgraphs:
            return self.layers[place].macs
        from graphir.inference.explain import subgraph_path

        inner = [
            self.graph(graph, f"{around}{subgraph_path(node, number)}") for number, graph in enumerate(node.subgraphs)
        ]
        macs = self._together(node, inner)
        self.layers[place] = replace(self.layers[place], macs=macs)
        return macs

    def _together(self, node: Node, inner: list[Dim | None]) -> Dim | None:
        """The MACs of a node by those of one run of its subgraphs."""
        if any(macs is None for macs in inner):
            return None
        most: Dim = 0
        for macs in inner:
            assert macs is not None
            most = dim_max(most, macs)
        if isinstance(node.op, If) or most == 0:
            return None if isinstance(most, Unknown) else most
        runs = _runs(node)
        if runs is None:
            self.open_loops.append(node.name)
            return most
        found = most * runs
        return None if isinstance(found, Unknown) else found


def _runs(node: Node) -> Dim | None:
    """How often a loop's body runs, None where that is decided while it runs."""
    if isinstance(node.op, Scan):
        scanned = node.inputs[len(node.inputs) - node.op.num_scan_inputs :]
        value, axis = scanned[0], (node.op.scan_input_axes or (0,))[0]
        shape = None if value is None else value.shape
        size = None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
        return size if isinstance(size, int | Sym) else None
    if not isinstance(node.op, Loop) or not node.inputs or node.inputs[0] is None:
        return None
    limit, condition = node.inputs[0].known, node.subgraphs[0].outputs[0]
    always = condition.known is not None and condition.known.elements == (1,)
    passed = condition in node.subgraphs[0].inputs  # the condition that it began with
    if limit is None or not (always or passed) or len(limit.elements) != 1:
        return None
    runs = limit.elements[0]
    return runs if isinstance(runs, int | Sym) else None


def _bytes(value: Value, elements: int) -> int:
    if value.tensor is not None:
        return stored_bytes(value.tensor)
    return (elements * (value.dtype or DType.FLOAT32).bits + 7) // 8


def elements_of(value: Value) -> int | None:
    """How many elements a parameter has, None where its shape is not known."""
    if value.tensor is not None:
        return value.tensor.size
    count = value.type.elements() if isinstance(value.type, TensorType) else None
    return count if isinstance(count, int) else None


def _macs(node: Node) -> Dim | None:
    operands: list[TensorType | None] = []
    for value in node.inputs:
        if value is not None and not isinstance(value.type, TensorType):
            return 0
        operands.append(None if value is None else value.type)  # type: ignore[arg-type]
    results: Any = tuple(value.type for value in node.outputs)
    if not all(isinstance(result, TensorType) for result in results):
        return 0
    found = node.op.macs(tuple(operands), results)
    return None if isinstance(found, Unknown) else found


__all__ = [
    "Layer",
    "Summary",
    "count_operators",
    "elements_of",
    "stored_bytes",
    "summarize",
    "used_weights",
    "visible_outputs",
    "weights",
]
