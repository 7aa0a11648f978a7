"""Constant folding: what is computed from constants alone becomes a constant.

Integers that inference follows need no computation. The rest is computed by the evaluator, all of it at once, so that
the numbers are those that running the graph would give; what it cannot compute stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.decisions import DecisionKind
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops.activation import Dropout
from graphir.ops.creation import Fill
from graphir.ops.elementwise import Identity
from graphir.ops.foreign import Foreign
from graphir.ops.linear import Einsum, is_empty
from graphir.ops.selection import Compress, NonZero, Unique
from graphir.ops.traits import Rounding
from graphir.ops.work import is_open
from graphir.safety.foreign_text import listing
from graphir.structure.frozen import expect_open
from graphir.structure.record import mutable_record
from graphir.tensor import Tensor, byte_size
from graphir.types import UNKNOWN, Dim, DType, TensorType

from .dead_code import remove_dead_code
from .evaluator import Evaluator
from .outcome import Outcome

LIMIT = 1 << 16
LIMIT_OF_OPEN = 1 << 11  # elements of an operator whose work nobody can tell before it runs
MOST_WORK = 10_000_000
BOUNDED = frozenset({NonZero, Compress, Unique})
Arrays = dict[Value, NDArray[Any]]


@mutable_record
class Budget:
    """How large tensors may be: parameters have at most `limit` elements, as have results, but for `left` bytes, those
    of larger results of all graphs and rounds together."""

    limit: int = LIMIT
    left: int = 0

    def has(self, value: Value) -> bool:
        """Return whether a value is a parameter that may be computed with."""
        return value.tensor is not None and value.tensor.size <= self.limit

    def allows(self, value: Value) -> bool:
        """Return whether a result of known sizes may be computed."""
        return _elements(value) <= self.limit or 0 < _bytes(value) <= self.left

    def refused(self, nodes: Iterable[Node]) -> set[Node]:
        """Return the nodes whose large results do not fit together. The smallest are taken: then more nodes fit."""
        left, refused = self.left, set()
        large = (value for node in nodes for value in node.outputs if _elements(value) > self.limit)
        for value in sorted(large, key=_bytes):
            left -= _bytes(value)
            if left < 0 and value.producer is not None:
                refused.add(value.producer)
        return refused


def _elements(value: Value) -> int:
    """Return the number of elements, 0 where it is not known."""
    count = value.type.elements() if isinstance(value.type, TensorType) else None
    return count if isinstance(count, int) else 0


def _bytes(value: Value) -> int:
    """Return the bytes of the elements, 0 where they are not known."""
    return 0 if value.dtype in (None, DType.STRING) else byte_size(value.dtype, (_elements(value),))


def fold_constants(graph: Graph, *, evaluator: Evaluator | None, budget: Budget | None = None) -> Outcome:
    """Fold known integers and what depends on constants alone into parameters; without an evaluator, the former.

    Nodes that take a parameter of more elements than the `budget` states are not computed, so that weights stay where
    they are, and those that give larger tensors only as far as it goes (by default they do not). Results keep their
    names; one that is an output becomes a copy of the constant. Where floats were computed that is a decision. Linear
    in nodes. Raises what the evaluator raises, such as ProviderError where it is not there.
    """
    outcome, budget = fold_known(graph), budget or Budget()
    arrays = {} if evaluator is None else _Evaluation(graph, evaluator, budget).of_frontier()
    if evaluator is not None and arrays:
        floats = [value.name for value in arrays if value.dtype is not None and value.dtype.is_float]
        if floats:
            graph.decide(DecisionKind.CONSTANTS_COMPUTED, "-", f"by {evaluator.name}: {listing(floats, 5)}")
        for value, array in arrays.items():
            outcome.note(value.name, "it depends on constants alone")
            budget.left -= array.nbytes if array.size > budget.limit else 0
            _replace(graph, value, array)
        remove_dead_code(graph)
    return outcome


def fold_known(graph: Graph) -> Outcome:
    """Replace results whose elements inference knows by constants. Linear in nodes."""
    outcome = Outcome()
    for node in list(graph.nodes):
        for value in node.outputs:
            if value.known is None or _is_copy_for_output(graph, node):
                continue
            known = value.known.integers()
            if known is not None and value.dtype is not None and value.is_needed:
                array = np.array(known, dtype=value.dtype.numpy()).reshape(value.known.shape)
                outcome.note(value.name, "its elements are known")
                _replace(graph, value, array)
    if outcome:
        remove_dead_code(graph)
    return outcome


def evaluated(graph: Graph, wanted: Sequence[Value], evaluator: Evaluator | None) -> Arrays:
    """Return the elements of those of the wanted values that depend on constants alone and that the evaluator can
    compute.

    None without an evaluator. Raises what it raises.
    """
    return {} if evaluator is None else _Evaluation(graph, evaluator, Budget()).of(wanted)


def _numpy(value: Value, array: NDArray[Any]) -> object:
    return array.dtype if value.dtype is None else value.dtype.numpy()


def _frontier(graph: Graph, budget: Budget, failed: set[Node]) -> list[Value]:
    """Return the values that nodes of constants, besides those that failed, give to others, or to the outside. Those
    whose results the budget does not reach fail here."""
    inside: set[Node] = set()
    for node in graph.nodes:
        if node in failed or _is_copy_for_output(graph, node):
            continue
        for value in node.inputs:
            if value is not None and value.producer not in inside and not budget.has(value):
                break
        else:
            if _is_fit(node, budget):
                inside.add(node)
    refused = budget.refused(inside)
    if refused:
        failed |= refused
        return _frontier(graph, budget, failed)
    return [
        value
        for node in (graph.nodes if inside else ())
        if node in inside
        for value in node.outputs
        if value.is_held or any(user not in inside for user in value.users())
    ]


def _cone(wanted: Iterable[Value], budget: Budget) -> dict[Node, None]:
    """Return the nodes that the wanted values are computed by, in order, of those that depend on constants alone."""
    verdicts: dict[Node, bool] = {}
    order: dict[Node, None] = {}
    stack = [value.producer for value in wanted if value.producer is not None][::-1]
    while stack:
        node = stack[-1]
        if node in verdicts:
            stack.pop()
            continue
        before = [value.producer for value in node.inputs if value is not None and value.producer is not None]
        open_ones = [producer for producer in before if producer not in verdicts]
        if open_ones and _is_fit(node, budget):
            stack.extend(open_ones)
            continue
        stack.pop()
        verdicts[node] = _is_fit(node, budget) and all(
            value is None or (budget.has(value) if value.producer is None else verdicts[value.producer])
            for value in node.inputs
        )
        if verdicts[node]:
            order[node] = None
    return order


def _is_fit(node: Node, budget: Budget) -> bool:
    """Return whether the node gives the same tensors each time, all of them of a fit size, and is little work.

    A result of unknown size may be of any, unless the operator gives no more than it takes; once what its size depends
    on is computed, the next round knows it. Texts have no size: a few nodes make them as long as memory.
    """
    if node.op.rounding is Rounding.DRAWS or isinstance(node.op, Dropout | Fill | Foreign) or node.subgraphs:
        return False
    if isinstance(node.op, Einsum) and is_empty(node.inputs):
        return False
    work = _work(node)
    for value in node.outputs:
        if value.dtype is DType.STRING or not isinstance(value.type, TensorType):
            return False
        count = value.type.elements()
        if not isinstance(count, int):
            if type(node.op) not in BOUNDED:
                return False
        elif (count > min(budget.limit, LIMIT_OF_OPEN)) if is_open(work) else not budget.allows(value):
            return False
    if is_open(work):
        types = [value.type for value in node.inputs if value is not None]
        counts = [type_.elements() for type_ in types if isinstance(type_, TensorType)]
        return all(isinstance(count, int) and count <= LIMIT_OF_OPEN for count in counts)
    return not isinstance(work, int) or work <= MOST_WORK


def _work(node: Node) -> Dim:
    """Multiply-accumulate operations and other steps of a node."""
    operands = tuple([value.type if value is not None and isinstance(value.type, TensorType) else None
                      for value in node.inputs])  # fmt: skip
    results = tuple([value.type for value in node.outputs if isinstance(value.type, TensorType)])
    steps = node.op.work.steps(node.op, operands, results) if node.op.work is not None and results else 0
    return UNKNOWN if is_open(steps) else node.op.macs(operands, results) + steps


def _is_copy_for_output(graph: Graph, node: Node) -> bool:
    """Return whether the node is what folding leaves of an output: a copy of a parameter."""
    if not isinstance(node.op, Identity) or not graph.is_output(node.outputs[0]):
        return False
    return node.inputs[0] is not None and node.inputs[0].tensor is not None


def _computable(nodes: Sequence[Node], known: Arrays) -> list[Node]:
    """Return the nodes whose operands are there."""
    kept: dict[Node, None] = {}
    for node in nodes:
        if all(
            value is None or value.producer is None or value in known or value.producer in kept
            for value in node.inputs
        ):
            kept[node] = None
    return list(kept)


class _Evaluation:
    """The computation of parts of a graph that depend on constants alone; `failed` are nodes that nothing computes."""

    def __init__(self, graph: Graph, evaluator: Evaluator, budget: Budget) -> None:
        self.graph = graph
        self.evaluator = evaluator
        self.budget = budget
        self.failed: set[Node] = set()

    def of_frontier(self) -> Arrays:
        """Return all that the constant part gives to the rest."""
        arrays: Arrays = {}
        count = -1
        while len(self.failed) > count:  # what a node without kernel takes is wanted, too, once that is known
            wanted = _frontier(self.graph, self.budget, self.failed)
            count = len(self.failed)
            arrays = self.of(wanted)
        return arrays

    def of(self, wanted: Sequence[Value]) -> Arrays:
        """Return the elements of those of the wanted values that can be computed."""
        nodes = _cone(wanted, self.budget)
        if not nodes:
            return {}
        targets = [value for value in wanted if value.producer is not None and value.producer in nodes]
        return {
            value: array
            for value, array in self._compute(list(nodes), targets, {}).items()
            if (array.size <= self.budget.limit or array.nbytes <= self.budget.left)
            and array.dtype == _numpy(value, array)
        }

    def _compute(self, nodes: Sequence[Node], wanted: Sequence[Value], known: Arrays) -> Arrays:
        """Return the wanted values that can be computed; `known` holds those of nodes before these.

        If one node cannot be, the halves are computed one after the other, and so on, down to that node, which has
        failed.
        """
        nodes = _computable(nodes, known)
        inside = set(nodes)
        results = [value for value in wanted if value.producer in inside]
        if not results:
            return {}
        arrays = self._run(nodes, results, known)
        if arrays is not None:
            return arrays
        if len(nodes) == 1:
            self.failed.update(nodes)
            return {}
        middle = len(nodes) // 2
        first, second = nodes[:middle], nodes[middle:]
        needed = {value for node in second for value in node.inputs if value is not None}
        between = [value for node in first for value in node.outputs if value in needed]
        before = self._compute(first, list(dict.fromkeys([*results, *between])), known)
        after = self._compute(second, results, {**known, **before})
        chosen = set(results)
        return {value: array for value, array in {**before, **after}.items() if value in chosen}

    def _run(self, nodes: Sequence[Node], wanted: Sequence[Value], known: Arrays) -> Arrays | None:
        """Return the wanted values, None if the nodes cannot be computed together."""
        expect_open(self.graph)  # before it costs anything: what is computed is put into the graph
        part = Graph("constants")
        part.metadata = dict(self.graph.metadata)
        images: dict[Value, Value] = {}
        try:
            for node in nodes:
                for value in node.inputs:
                    if value is not None and value not in images:
                        tensor = value.tensor if value.tensor is not None else Tensor.of(known[value])
                        images[value] = part.add_parameter(part.fresh_name("constant"), tensor)
                operands = [None if value is None else images[value] for value in node.inputs]
                copy = part.add_node(node.op, operands, name=node.name)
                images.update(zip(node.outputs, copy.outputs, strict=True))
        except GraphirError:
            return None
        part.set_outputs([images[value] for value in wanted])
        names = {images[value].name: value for value in wanted}
        arrays = self.evaluator(part)
        return None if arrays is None else {names[name]: array for name, array in arrays.items()}


def _replace(graph: Graph, value: Value, array: NDArray[Any]) -> None:
    """Let a parameter stand for the value, which is a result that nothing uses any more then.

    It takes the value's name; for an output a copy of it does, because an output must be a result to keep its name.
    """
    name, producer = value.name, value.producer
    assert producer is not None
    is_output = graph.is_output(value)
    parameter = graph.add_parameter(graph.fresh_name(f"{name}_value"), Tensor.of(array))
    parameter.sources = value.sources
    graph.rename(value, graph.fresh_name(f"{name}_computed"))
    if is_output:
        graph.replace_uses(value, parameter, outputs=False)
        graph.replace_uses(value, graph.add(Identity(), parameter, name=name, output=name, before=producer))
    else:
        graph.replace_uses(value, parameter)
        graph.rename(parameter, name)
