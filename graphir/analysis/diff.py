"""What differs between two models as graphs: operators, attributes, weights, wiring, inputs and outputs.

Names and the order of nodes are no difference. What a difference entails further down (another shape behind another
stride) is none of its own.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property

from graphir.analysis.attributes import attributes_of, shown
from graphir.analysis.change import GraphDifference, differing, weight_changes
from graphir.analysis.completion import Counterparts, pair_inputs
from graphir.analysis.skeleton import SCALING
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import COMMUTATIVE
from graphir.ops.linear import Gemm
from graphir.ops.normalization import BatchNormalization
from graphir.serial.equal import same_attribute, same_tensor
from graphir.structure.views import captured
from graphir.tensor import Tensor
from graphir.types import Sym, Type

WORD = re.compile(r"[A-Za-z_]\w*")


class Status(enum.Enum):
    """How a node stands to its counterpart."""

    SAME = "same"
    CHANGED = "changed"
    FIRST = "only in the first"
    SECOND = "only in the second"


@dataclass(frozen=True)
class Row:
    """Two nodes side by side. `place` leads to the subgraph that they are in, "" for the model itself."""

    left: Node | None
    right: Node | None
    status: Status
    changes: tuple[GraphDifference, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class Difference:
    """Every node of two models side by side, and what differs about their inputs and outputs."""

    rows: tuple[Row, ...]
    ends: tuple[GraphDifference, ...]

    @property
    def is_equal(self) -> bool:
        """Whether there is no difference."""
        return not self.ends and all(row.status is Status.SAME for row in self.rows)

    def count(self, status: Status) -> int:
        """Return how many rows have a status."""
        return sum(row.status is status for row in self.rows)


def compare(left: Graph, right: Graph, counterparts: Counterparts | None = None) -> Difference:
    """Return what differs between two models, with their pairs of nodes if `counterparts` has them. Neither changes.

    Weights are read one at a time, those of aligned nodes once more to compare them. Near linear in nodes and linear
    in weights. Raises what reading weights raises.
    """
    comparison = _PairedGraphs(left, right, {}, "", counterparts=counterparts)
    rows = tuple(comparison.rows())
    return Difference(rows, tuple(comparison.ends()))


class _PairedGraphs:
    """Two graphs whose nodes have been paired; `names` maps symbolic sizes of the first to those of the second."""

    def __init__(
        self, left: Graph, right: Graph, outer: dict[Value, Value], path: str, names: dict[str, str] | None = None,
        counterparts: Counterparts | None = None,
    ) -> None:  # fmt: skip
        self.left, self.right, self.path = left, right, path
        self.counterparts = Counterparts(left, right, outer) if counterparts is None else counterparts
        self.names = {} if names is None else names
        self._sources: dict[Value, Value] = {}
        for value, other in pair_inputs(left.inputs, right.inputs):
            self._learn_names(value, other)

    def rows(self) -> Iterator[Row]:
        """Yield all nodes; those of subgraphs behind the node that holds them."""
        for node, other in self.counterparts.alignment().pairs:
            if node is None or other is None:
                status = Status.FIRST if other is None else Status.SECOND
                yield Row(node, other, status, tuple(self._explain_alone(node, other)), self.path)
                continue
            changes = tuple(self._changes(node, other))
            yield Row(node, other, Status.CHANGED if changes else Status.SAME, changes, self.path)
            for slot, (inner, partner) in enumerate(zip(node.subgraphs, other.subgraphs, strict=False)):
                path = f"{self.path}{node.name}[{slot}]/"
                nested = _PairedGraphs(inner, partner, self._pairs_around(inner, partner), path, self.names)
                yield from nested.rows()
                ends = tuple(nested.ends())
                if ends:
                    yield Row(node, other, Status.CHANGED, ends, path)

    def _pairs_around(self, inner: Graph, partner: Graph) -> dict[Value, Value]:
        """Return the pairs of values of this graph and those around it that two subgraphs use."""
        used = [*captured(inner), *(self._partners[value] for value in captured(partner) if value in self._partners)]
        return {value: self.counterparts.values[value] for value in used if value in self.counterparts.values}

    @cached_property
    def _partners(self) -> dict[Value, Value]:
        """The values of the first graph by those of the second."""
        return {other: value for value, other in self.counterparts.values.items()}

    def ends(self) -> Iterator[GraphDifference]:
        """Yield what differs about inputs and outputs."""
        for what in ("inputs", "outputs"):
            ours, theirs = getattr(self.left, what), getattr(self.right, what)
            if len(ours) != len(theirs):
                yield GraphDifference(what, f"{_list_names(ours)} in the first, {_list_names(theirs)} in the second")
        for value, other in pair_inputs(self.left.inputs, self.right.inputs):
            if not self._same_type(value.type, other.type):
                name = _join_names(value.name, other.name)
                yield differing("input", name, value.type, other.type)
        pairs = self._output_pairs()
        for slot, index in pairs.items():
            value, other = self.left.outputs[slot], self.right.outputs[index]
            if not self._same_output(value, other):
                origin = _origin(self._source(value, first=True))
                other_origin = _origin(self._source(other, first=False))
                name = _join_names(value.name, other.name)
                yield differing("output", name, origin, other_origin)
        if list(pairs.values()) != sorted(pairs.values()):
            orders = [[value.name for value in graph.outputs] for graph in (self.left, self.right)]
            first, second = (", ".join(names) for names in orders)
            yield differing("outputs", "order", first, second)

    def _output_pairs(self) -> dict[int, int]:
        """Return the places of outputs by those in the first: the same results, then the same names, the others in
        order. Of several that would do the one at the same place is taken."""
        pairs: dict[int, int] = {}
        taken: set[int] = set()
        keys: tuple[Callable[[Value, bool], Hashable], ...] = (
            self._result_key, lambda value, first: value.name, lambda value, first: None
        )  # fmt: skip
        for key in keys:
            indices: dict[Hashable, list[int]] = {}
            for index, value in reversed(list(enumerate(self.right.outputs))):
                if index not in taken:
                    indices.setdefault(key(value, False), []).append(index)
            theirs = {index: name for name, alike in indices.items() for index in alike}
            for slot, value in enumerate(self.left.outputs):
                if slot in pairs:
                    continue
                name = key(value, True)
                free = indices.get(name, [])
                while free and free[-1] in taken:
                    free.pop()
                if free:
                    pairs[slot] = slot if slot not in taken and theirs.get(slot, self) == name else free.pop()
                    taken.add(pairs[slot])
        return dict(sorted(pairs.items()))

    def _result_key(self, value: Value, first: bool) -> Hashable:
        """Return what outputs with the same result share."""
        source = self._source(value, first=first)
        if source.tensor is not None and source.producer is None:
            return self.counterparts.prints.number(source.tensor)
        return self._counterpart(source) or source if first else source

    def _same_output(self, value: Value, other: Value) -> bool:
        source, other_source = self._source(value, first=True), self._source(other, first=False)
        return self._counterpart(source) is other_source or _same_constants(source, other_source)

    def _explain_alone(self, node: Node | None, other: Node | None) -> Iterator[GraphDifference]:
        """Yield a hint at why a node has no counterpart, where there is a likely one."""
        present = node or other
        assert present is not None
        if not isinstance(present.op, BatchNormalization):
            return
        producer = present.inputs[0].producer if present.inputs[0] is not None else None
        pairs = self.counterparts.forward if node is not None else self.counterparts.backward
        partner = None if producer is None else pairs.get(producer)
        if producer is not None and partner is not None and _weights_differ(producer, partner):
            yield GraphDifference("structure", f"its scale is most likely part of the weights of {partner.name} there")

    def _changes(self, node: Node, other: Node) -> Iterator[GraphDifference]:
        if type(node.op) is not type(other.op):
            yield GraphDifference("operator", f"{node.op.name} in the first, {other.op.name} in the second")
        else:
            yield from self._attribute_changes(node, other)
        operands = list(self._operand_changes(node, other))
        yield from operands
        if len(node.outputs) != len(other.outputs):
            counts = f"{len(node.outputs)} results in the first, {len(other.outputs)} in the second"
            yield GraphDifference("type", counts)
        if len(node.subgraphs) != len(other.subgraphs):
            counts = f"{len(node.subgraphs)} subgraphs in the first, {len(other.subgraphs)} in the second"
            yield GraphDifference("structure", counts)

    def _attribute_changes(self, node: Node, other: Node) -> Iterator[GraphDifference]:
        ours, theirs = attributes_of(node), attributes_of(other)
        for name in ours:
            if isinstance(node.op, Gemm) and name == "transB" and _constant(node, 1) and _constant(other, 1):
                continue  # the weights are compared as they are multiplied
            if not same_attribute(ours[name], theirs[name]):
                yield differing("attribute", name, shown(ours[name]), shown(theirs[name]))

    def _operand_changes(self, node: Node, other: Node) -> Iterator[GraphDifference]:
        if type(node.op) in COMMUTATIVE and self._are_swapped(node, other):
            return
        for slot in range(max(len(node.inputs), len(other.inputs))):
            ours, theirs = (side.operand(slot) for side in (node, other))
            name = _slot_name(node, slot)
            if ours is None or theirs is None:
                if ours is not theirs:
                    present, where = (ours, "first") if ours is not None else (theirs, "second")
                    assert present is not None
                    yield GraphDifference("operand", f"{name} ({present.name}) is there in the {where} only")
                continue
            tensor, other_tensor = _constants(node, other, slot)
            if tensor is not None and other_tensor is not None:
                if type(node.op) not in SCALING or not _same_scalar(tensor, other_tensor):
                    names = _join_names(ours.name, theirs.name)
                    yield from weight_changes(names, tensor, other_tensor, self.counterparts.prints)
                continue
            if _is_parameter(ours) and _is_parameter(theirs):
                yield from self._unfilled_changes(ours, theirs)
                continue
            source, counterpart = self._source(ours, first=True), self._source(theirs, first=False)
            if self._counterpart(source) is counterpart or _same_constants(source, counterpart):
                continue
            yield differing("operand", name, _origin(source), _origin(counterpart))

    def _are_swapped(self, node: Node, other: Node) -> bool:
        """Return whether two nodes read the same two values in the other order."""
        if len(node.inputs) != 2 or len(other.inputs) != 2 or None in (*node.inputs, *other.inputs):
            return False
        sources = [self._source(value, first=True) for value in node.inputs if value is not None]
        others = [self._source(value, first=False) for value in other.inputs[::-1] if value is not None]
        return all(
            self._counterpart(a) is b or _same_constants(a, b) for a, b in zip(sources, others, strict=True)
        )

    def _source(self, value: Value, *, first: bool) -> Value:
        """Return the value over nodes that only its own model has. Each such node is looked at once."""
        pairs = self.counterparts.forward if first else self.counterparts.backward
        graph = self.left if first else self.right
        passed = []
        while value not in self._sources and value.producer is not None and value.graph is graph:
            before = next((read for read in value.producer.inputs if read is not None), None)
            if value.producer in pairs or before is None:
                break
            passed.append(value)
            value = before
        source = self._sources.get(value, value)
        self._sources.update(dict.fromkeys(passed, source))
        return source

    def _counterpart(self, value: Value) -> Value | None:
        return self.counterparts.values.get(value)

    def _unfilled_changes(self, ours: Value, theirs: Value) -> Iterator[GraphDifference]:
        """Yield what differs between two parameters of which one or both have no elements."""
        name = _join_names(ours.name, theirs.name)
        if (ours.tensor is None) != (theirs.tensor is None):
            filled = "second" if ours.tensor is None else "first"
            yield GraphDifference("weight", f"{name} has elements in the {filled} only")
        elif not self._same_type(ours.type, theirs.type):
            yield differing("weight", name, ours.type, theirs.type)

    def _learn_names(self, value: Value, other: Value) -> None:
        """Symbolic sizes of an input stand for those in the same place of the other."""
        for dim, other_dim in zip(value.shape or (), other.shape or (), strict=False):
            open_sizes = isinstance(dim, Sym) and isinstance(other_dim, Sym)
            if open_sizes and WORD.fullmatch(str(dim)) and WORD.fullmatch(str(other_dim)):
                self.names.setdefault(str(dim), str(other_dim))

    def _same_type(self, left: Type, right: Type) -> bool:
        translated = WORD.sub(lambda word: self.names.get(word[0], word[0]), str(left))
        return translated == str(right)


def _is_parameter(value: Value) -> bool:
    return value.producer is None and not value.graph.is_input(value)


def _same_scalar(left: Tensor, right: Tensor) -> bool:
    """Return whether both are one number, with however many axes."""
    return left.size == right.size == 1 and same_tensor(left.reshaped(()), right.reshaped(()))


def _constant(node: Node, slot: int) -> Tensor | None:
    """Return the elements of an operand that is not computed."""
    value = node.operand(slot)
    return None if value is None or value.producer is not None else value.tensor


def _constants(node: Node, other: Node, slot: int) -> tuple[Tensor | None, Tensor | None]:
    """Return the elements of an operand of both nodes; the weights of two Gemms as they are multiplied if that
    differs."""
    tensor, other_tensor = _constant(node, slot), _constant(other, slot)
    if slot == 1 and isinstance(node.op, Gemm) and isinstance(other.op, Gemm) and node.op.transB != other.op.transB:
        return _as_multiplied(node.op, tensor), _as_multiplied(other.op, other_tensor)
    return tensor, other_tensor


def _as_multiplied(op: Gemm, tensor: Tensor | None) -> Tensor | None:
    return tensor.transposed((1, 0)) if tensor is not None and op.transB and len(tensor.shape) == 2 else tensor


def _weights_differ(node: Node, other: Node) -> bool:
    pairs = [_constants(node, other, slot) for slot in range(1, len(node.inputs))]
    return any(a is not None and (b is None or not same_tensor(a, b)) for a, b in pairs)


def _same_constants(left: Value, right: Value) -> bool:
    if left.tensor is None or right.tensor is None or left.producer is not None or right.producer is not None:
        return False
    return same_tensor(left.tensor, right.tensor)


def _slot_name(node: Node, slot: int) -> str:
    """Return what the operator calls an operand."""
    names = node.op.inputs
    if slot < len(names) and not names[slot].rstrip("?").endswith("*"):
        return f"operand {names[slot].rstrip('?')}"
    return f"operand {slot}"


def _origin(value: Value) -> str:
    if value.producer is not None:
        return f"{value.name} ({value.producer.op.name})"
    if value.graph.is_input(value):
        return f"the input {value.name}"
    return f"the {value.dtype} parameter {value.name}" if value.dtype else f"the parameter {value.name}"


def _join_names(left: str, right: str) -> str:
    return left if left == right else f"{left} / {right}"


def _list_names(values: tuple[Value, ...]) -> str:
    names = [*(value.name for value in values[:4]), *["..."] * (len(values) > 4)]
    return f"{len(values)} ({', '.join(names)})" if values else "none"
