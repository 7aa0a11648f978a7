"""MXNet's graph of gradients: a walk back through the symbol, which sums what arrives and asks each operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphir.analysis.memory.program import Phase
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph
from graphir.converters.mxnet.memory.entries import Typed, work_of
from graphir.converters.mxnet.memory.full_graph import Entry, FullGraph, FullNode
from graphir.converters.mxnet.memory.gradients import (
    COPIED,
    EITHER,
    IDENTITY,
    IN_PLACE,
    PASSED,
    ZEROS,
    Gradient,
    Pairs,
    gradient_of,
)
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.errors import Gap, UnsupportedOpError

_SHAPE_ONLY = frozenset(("_identity_with_attr_like_rhs", "reshape_like"))  # of their second input
_ZERO_OPERATORS = frozenset(("_zeros", "zeros_like", "_zeros_without_dtype"))


@dataclass(frozen=True)
class Training:
    """What is differentiated: the arguments that get a gradient, and the symbol's nodes that are recomputed.

    `sum_cap` (MXNET_EXEC_INPLACE_GRAD_SUM_CAP): from so many gradients on they are summed two by two.
    """

    wanted: frozenset[str]
    recomputed: frozenset[int] = frozenset()
    sum_cap: int = 8


def forward_graph(graph: NNVMGraph, types: Sequence[Sequence[Typed]]) -> FullGraph:
    """Return the symbol's own nodes, under their own numbers."""
    full = FullGraph()
    for number, node in enumerate(graph.nodes):
        operands = [types[source][slot] for source, slot in node.inputs]
        full.add(
            FullNode(
                node.op, node.name, list(node.inputs), list(types[number]),
                in_place=IN_PLACE.get(node.op, ()),
                ignored=(1,) if node.op in _SHAPE_ONLY else (),
                work=work_of(node, types[number], operands),
            )
        )  # fmt: skip
    return full


class Differentiation:
    """The gradients of a graph, added to the nodes of `full`."""

    def __init__(self, graph: NNVMGraph, full: FullGraph, training: Training) -> None:
        self.graph, self.full, self.training = graph, full, training
        self.twins: dict[int, int] = {}
        self.arrived: dict[Entry, list[Entry]] = {}
        self.summed: dict[Entry, Entry] = {}

    def run(self) -> tuple[list[Entry], list[Entry]]:
        """Outputs (the symbol's own, then the gradients in the order of its arguments), and the gradients alone.

        Raises UnsupportedOpError with all operators whose gradient is not known.
        """
        graph = self.graph
        order = self.full.order(graph.heads)
        self._need_gradients(order)
        for number, head in enumerate(graph.heads):
            typed = self._typed(head)
            given = self.full.add(FullNode(VARIABLE, f"_head_grad_{number}", [], [typed]))
            begin = FullNode("_identity_with_attr_like_rhs", f"_head_grad_{number}_id", [(given, 0), head], [typed],
                             Phase.BACKWARD, in_place=IDENTITY, ignored=(1,))  # fmt: skip
            self.arrived.setdefault(head, []).append((self.full.add(begin), 0))
        self._twin(order)
        for number in reversed(order):
            if graph.nodes[number].op != VARIABLE and graph.nodes[number].inputs:
                self._differentiate(number)
        gradients: list[Entry] = []
        for number in order:
            node = graph.nodes[number]
            if node.op == VARIABLE and node.name in self.training.wanted:
                result = self._sum((number, 0))
                if result in gradients:
                    result = self._add("_copy", "copy", [result], self._typed(result), IDENTITY)
                gradients.append(result)
        return [*graph.heads, *gradients], gradients

    def _need_gradients(self, order: list[int]) -> None:
        gaps: dict[str, list[str]] = {}
        for number in order:
            node = self.graph.nodes[number]
            if node.op != VARIABLE and node.inputs and gradient_of(node.op, typed_attributes(node)) is None:
                gaps.setdefault(node.op, []).append(node.name)
        if gaps:
            raise UnsupportedOpError(
                "what training needs memory for cannot be told, as it is not known what these operators' gradients "
                "read; inference can be planned",
                [Gap(operator, "no gradient known", tuple(names)) for operator, names in gaps.items()],
            )

    def _twin(self, order: list[int]) -> None:
        """Second nodes for what is recomputed; they read second nodes where there are some."""
        for number in order:
            if number in self.training.recomputed:
                node = self.full.nodes[number]
                inputs = [(self.twins.get(source, source), slot) for source, slot in node.inputs]
                twin = replace(node, name=f"{node.name}_mirror", inputs=inputs, phase=Phase.RECOMPUTED)
                self.twins[number] = self.full.add(twin)

    def _differentiate(self, number: int) -> None:
        """Add the gradient of one node; its inputs receive their parts."""
        record = self.graph.nodes[number]
        node = self.full.nodes[self.twins.get(number, number)]
        arrived = [self._sum((number, slot)) for slot in range(len(node.results))]
        gradient = gradient_of(record.op, typed_attributes(record))
        assert gradient is not None
        for source, part in zip(record.inputs, self._parts(number, node, gradient, arrived), strict=False):
            self.arrived.setdefault(source, []).append(part)

    def _parts(self, number: int, node: FullNode, gradient: Gradient, arrived: list[Entry]) -> list[Entry]:
        """Return the gradient of each input."""
        source = self.twins.get(number, number)
        if all(self.full.nodes[entry[0]].op in ("_zeros", "zeros_like") for entry in arrived):
            return [self._add("zeros_like", f"{node.name}_in{slot}_backward", [], self._typed(entry))
                    for slot, entry in enumerate(node.inputs)]  # fmt: skip
        if gradient is COPIED:
            return [self._add("_copy", f"{node.name}_backward", [arrived[0]], self._typed(entry), IDENTITY, [source])
                    for entry in node.inputs]  # fmt: skip
        if gradient is PASSED:
            return [arrived[0]] * len(node.inputs)
        if gradient is ZEROS:
            name = f"{node.name}_backward" if len(node.inputs) == 1 else f"{node.name}_in{{}}_backward"
            return [self._add("zeros_like", name.format(slot), [entry], self._typed(entry), waits=[source])
                    for slot, entry in enumerate(node.inputs)]  # fmt: skip
        result = self._nodes(node, source, gradient, arrived)
        slots = gradient.slots or "".join(map(chr, range(48, 48 + len(node.inputs))))
        return [
            self._add("zeros_like", f"{node.name}_backward", [entry], self._typed(entry), waits=[source])
            if slot == "z" else result[ord(slot) - 48]
            for slot, entry in zip(slots, node.inputs, strict=False)
            if slot == "z" or ord(slot) - 48 < len(result)
        ]  # fmt: skip

    def _nodes(self, node: FullNode, source: int, gradient: Gradient, arrived: list[Entry]) -> list[Entry]:
        """Return the results of the nodes that compute a gradient."""
        groups: dict[str, list[Entry]] = {
            "g": arrived, "i": node.inputs, "o": [(source, slot) for slot in range(len(node.results))]
        }  # fmt: skip
        operator = gradient.operator or f"_backward_{node.op.removeprefix('_')}"
        several = gradient.reads.split("|")
        result: list[Entry] = []
        receivers = [entry for slot, entry in zip(gradient.slots, node.inputs, strict=False) if slot != "z"]
        for place, reads in enumerate(several):
            read = [entry for token in reads.split() for entry in _picked(groups[token[0]], token[1:])]
            given = (receivers or node.inputs)[: gradient.gives] if len(several) == 1 else [node.inputs[place]]
            results = [self._typed(entry) for entry in given]
            outcome = self.full.add(FullNode(operator, f"{node.name}_backward", read, results, Phase.BACKWARD, [source],
                                          gradient.in_place))  # fmt: skip
            result += [(outcome, slot) for slot in range(len(results))]
        return result

    def _sum(self, entry: Entry) -> Entry:
        """Return the gradient of a value: the sum of what arrived at it."""
        if entry not in self.summed:
            self.summed[entry] = self._added(entry, self.arrived.get(entry, []))
        return self.summed[entry]

    def _added(self, entry: Entry, parts: list[Entry]) -> Entry:
        typed = self._typed(entry)
        if not parts:
            return self._add("_zeros_without_dtype", "zeros_without_dtype", [], typed)
        parts = [part for part in parts if self.full.nodes[part[0]].op not in _ZERO_OPERATORS] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        if len(parts) < self.training.sum_cap:
            return self._add("add_n", "sum_grad", parts, typed, ((0, 0, False),))
        total = parts[0]
        for place, part in enumerate(parts[1:]):
            self.full.nodes[part[0]].waits.append(total[0])
            total = self._add("_grad_add", f"sum_grad_{place + 1}", [total, part], typed, EITHER)
        return self._add("_copy", "sum_grad_final", [total], typed, IDENTITY)

    def _add(
        self, operator: str, name: str, inputs: list[Entry], typed: Typed, in_place: Pairs = (),
        waits: list[int] | None = None,
    ) -> Entry:  # fmt: skip
        return self.full.add(FullNode(operator, name, inputs, [typed], Phase.BACKWARD, waits or [], in_place)), 0

    def _typed(self, entry: Entry) -> Typed:
        return self.full.nodes[entry[0]].results[entry[1]]


def _picked(group: list[Entry], which: str) -> list[Entry]:
    if which == "*":
        return group
    place = int(which)
    return group[place : place + 1]
