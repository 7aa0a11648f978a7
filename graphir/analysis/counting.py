"""The walk that counts what the layers of a graph hold and compute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphir.analysis.contents import has_source_names, stored_bytes
from graphir.graph import Graph, Node, Value
from graphir.ops.control import If, Loop, Scan
from graphir.ops.normalization import BatchNormalization
from graphir.structure.record import record
from graphir.symbolic.dims import dim_max
from graphir.types import Dim, DType, Sym, TensorType, Unknown

STATISTICS = (3, 4)
UNSIZED = "sizes are not known"


@record
class Layer:
    """One node: its name, operator, the types of its results, its parameters and what one run of it computes.

    `parameters` counts elements that no earlier layer has counted, `auxiliary` those of them that are running means and
    variances; `shared` those that one has. `macs`, `flops` and `activation_bytes` (of the results that something reads)
    are numbers, expressions in symbolic sizes, or None where they are not known; `why` says it then. Those of a node
    with subgraphs are the sums over what it runs.
    """

    name: str
    operator: str
    outputs: tuple[str, ...]
    parameters: int
    shared: int
    macs: Dim | None
    auxiliary: int = 0
    flops: Dim | None = 0
    activation_bytes: Dim | None = 0
    why: str = ""


@dataclass(slots=True)
class Totals:
    """The sums over nodes of what is known of them; `is_whole` says whether all of their MACs are."""

    nodes: int = 0
    parameters: int = 0
    macs: Dim = 0
    steps: Dim = 0
    activation_bytes: Dim = 0
    is_whole: bool = True

    @property
    def flops(self) -> Dim:
        """Two for each multiply-accumulate, one for each step."""
        return self.macs * 2 + self.steps

    def add(self, other: Totals, runs: Dim = 1) -> None:
        """Add what runs so often. Nodes, parameters and bytes are there once."""
        self.nodes += other.nodes
        self.parameters += other.parameters
        self.macs = self.macs + other.macs * runs
        self.steps = self.steps + other.steps * runs
        self.activation_bytes = self.activation_bytes + other.activation_bytes
        self.is_whole = self.is_whole and other.is_whole

    def without_work(self) -> Totals:
        """Return the same nodes where they do not run."""
        return replace(self, macs=0, steps=0)


@dataclass(slots=True)
class Tally(Totals):
    """A count, and its parts by operator."""

    operators: dict[str, Totals] = field(default_factory=dict)

    def take(self, operator: str, count: Totals, runs: Dim = 1) -> None:
        """Add what nodes of an operator count."""
        self.add(count, runs)
        self.operators.setdefault(operator, Totals()).add(count, runs)


class Counting:
    """The walk through a graph and its subgraphs: each weight belongs to the first layer that reads it.

    `stored` are the elements of the source's weights by name, if it is known; without them every parameter counts that
    the source has a name for.
    """

    def __init__(self, graph: Graph, stored: Mapping[str, int] | None = None) -> None:
        self.layers: list[Layer] = []
        self.counted: set[Value] = set()
        self._left = dict(stored or {})  # of each weight, the elements that no layer has counted
        self._seen: set[object] = set()
        # Where the elements of weights are not there, what has elements was computed from none.
        self._named = has_source_names(graph)
        self._bare = not stored and any(value.tensor is None and value.sources for value in graph.parameters)
        self.unsized: list[str] = []
        self.open_loops: list[str] = []
        self.nbytes = 0

    def graph(self, graph: Graph, around: str) -> Tally:
        """Add the layers of a graph; what one run of it computes."""
        total = Tally()
        for node in graph.nodes:
            self._node(node, around, total)
        return total

    def _node(self, node: Node, around: str, total: Tally) -> None:
        """Add a node's layer, and those of its subgraphs, to the layers and to the total."""
        parameters, auxiliary, shared = self._parameters(node)
        visible = visible_outputs(node)
        macs, steps, why = work_of(node)
        size = bytes_of(visible)
        layer = Layer(
            f"{around}{node.name}", node.op.shown_name, tuple([str(value.type) for value in visible]), parameters,
            shared, macs, auxiliary, None if macs is None or steps is None else macs * 2 + steps, size, why,
        )  # fmt: skip
        count = Totals(1, parameters, macs or 0, steps or 0, size or 0, macs is not None)
        index = len(self.layers)
        self.layers.append(layer)
        total.take(node.op.name, count)
        if node.subgraphs:
            self.layers[index] = self._with_subgraphs(node, around, layer, total)

    def _with_subgraphs(self, node: Node, around: str, layer: Layer, total: Tally) -> Layer:
        from graphir.inference.explain import subgraph_path

        inner = [
            self.graph(graph, f"{around}{subgraph_path(node, number)}") for number, graph in enumerate(node.subgraphs)
        ]
        runs = 1 if isinstance(node.op, If) else self._runs(node, inner)
        chosen = _heaviest(inner)
        work = Tally()
        for body in inner:
            for name, count in body.operators.items():
                work.take(name, count if body is chosen or chosen is None else count.without_work(), runs)
        if chosen is None:  # which branch computes the most depends on sizes: they count as the If's own
            work.macs, work.steps = _largest([each.macs for each in inner]), _largest([each.steps for each in inner])
            for count in work.operators.values():
                count.macs = count.steps = 0
            work.operators.setdefault(node.op.name, Totals()).add(Totals(0, 0, work.macs, work.steps))
        for name, count in work.operators.items():
            total.operators.setdefault(name, Totals()).add(count)
        total.add(work)
        whole = work.is_whole and not isinstance(work.macs, Unknown)
        known = whole and not isinstance(work.steps, Unknown)
        return replace(layer, macs=work.macs if whole else None, flops=work.flops if known else None)

    def _runs(self, node: Node, inner: Iterable[Tally]) -> Dim:
        """Return how often a loop runs; once where only a run can tell, which is noted if it computes anything."""
        runs = trips(node)
        if runs is None and any(body.macs != 0 or body.steps != 0 for body in inner):
            self.open_loops.append(node.name)
        return 1 if runs is None else runs

    def _parameters(self, node: Node) -> tuple[int, int, int]:
        """Return the elements of the source's weights that a node is the first to read, of those the running
        statistics, and the elements that another has counted."""
        parameters = auxiliary = shared = 0
        seen: set[Value] = set()
        for slot, value in enumerate(node.inputs):
            if value is None or value in seen or not self._is_weight(value):
                continue
            seen.add(value)
            elements = elements_of(value)
            if value in self.counted:
                shared += elements or 0
                continue
            self.counted.add(value)
            if elements is None:
                self.unsized.append(value.name)
                continue
            fresh = self._count_new(value, elements)
            parameters, shared = parameters + fresh, shared + elements - fresh
            auxiliary += fresh if slot in STATISTICS and isinstance(node.op, BatchNormalization) else 0
            self.nbytes += _stored_bytes(value, elements) if fresh else 0
        return parameters, auxiliary, shared

    def _is_weight(self, value: Value) -> bool:
        """Return whether a value is one of the source's weights, or a part of one, and no constant of its own."""
        if not value.is_parameter or (self._named and not value.sources):
            return False
        if value.tensor is None:
            return True
        return not self._bare and (not self._left or any(name in self._left for name in _names(value)))

    def _count_new(self, value: Value, elements: int) -> int:
        """Return how many elements no layer has counted yet, of this value or of another that is the same weight."""
        name = next((name for name in _names(value) if name in self._left), None)
        if name is not None:
            count = min(elements, self._left[name])
            self._left[name] -= count
            return count
        key = (value.graph, value.sources, value.shape) if value.tensor is None else id(value.tensor)
        is_known = key in self._seen
        self._seen.add(key)
        return 0 if is_known else elements


def _names(value: Value) -> tuple[str, ...]:
    return (value.name, *value.sources)


def _heaviest(inner: list[Tally]) -> Tally | None:
    """Return the one that computes the most; None where that depends on sizes."""
    if len(inner) == 1:
        return inner[0]
    counts = [(body.macs, body.flops) for body in inner]
    if not all(isinstance(count, int) for pair in counts for count in pair):
        return inner[0] if all(pair == counts[0] for pair in counts) else None
    return max(inner, key=lambda body: (body.macs, body.flops))


def _largest(counts: list[Dim]) -> Dim:
    largest: Dim = 0
    for count in counts:
        largest = dim_max(largest, count)
    return largest


def trips(node: Node) -> Dim | None:
    """Return how often a loop's body runs, None where that is decided while it runs."""
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


def work_of(node: Node) -> tuple[Dim | None, Dim | None, str]:
    """Return the MACs and the steps of one run of a node, without its subgraphs'; None where they are not known, and
    why."""
    work = node.op.work
    if work is None:
        return None, None, f"{node.op.name} states no cost"
    operands: list[TensorType | None] = []
    for value in node.inputs:
        if value is not None and not isinstance(value.type, TensorType):
            return (None, None, work.why) if work.is_open else (0, 0, "")  # sequences are handed on, not computed with
        operands.append(None if value is None else value.type)  # type: ignore[arg-type]
    results: Any = tuple([value.type for value in node.outputs])
    if not all(isinstance(result, TensorType) for result in results):
        return (None, None, work.why) if work.is_open else (0, 0, "")
    macs = _known_count(node.op.macs(tuple(operands), results))
    steps = _known_count(work.steps(node.op, tuple(operands), results))
    if macs is not None and steps is not None:
        return macs, steps, ""
    is_sized = all(type_ is None or not isinstance(type_.elements(), Unknown) for type_ in (*operands, *results))
    return macs, steps, work.why if work.is_open or (is_sized and work.why) else UNSIZED


def _known_count(count: Dim) -> Dim | None:
    return None if isinstance(count, Unknown) else count


def bytes_of(values: Iterable[Value]) -> Dim | None:
    """Return the bytes of tensors together, None where a size or a dtype is not known."""
    total: Dim = 0
    for value in values:
        if not isinstance(value.type, TensorType) or value.dtype is None or value.dtype is DType.STRING:
            return None
        bits = value.type.elements() * value.dtype.bits
        size = bits // 8 if value.dtype.bits % 8 == 0 else (bits + 7) // 8
        if isinstance(size, Unknown):
            return None
        total = total + size
    return total


def visible_outputs(node: Node) -> list[Value]:
    """Return the results of a node that something reads, and always the first; mostly nothing reads a pooling's
    indices."""
    outputs = set(node.graph.outputs) if node.graph is not None and len(node.outputs) > 1 else set()
    return [value for value in node.outputs if value.index == 0 or value.uses or value in outputs]


def _stored_bytes(value: Value, elements: int) -> int:
    if value.tensor is not None:
        return stored_bytes(value.tensor)
    return (elements * (value.dtype or DType.FLOAT32).bits + 7) // 8


def elements_of(value: Value) -> int | None:
    """Return how many elements a parameter has, None where its shape is not known."""
    if value.tensor is not None:
        return value.tensor.size
    count = value.type.elements() if isinstance(value.type, TensorType) else None
    return count if isinstance(count, int) else None
