"""A worklist: each node of a graph is written once, and so is what stands in the place of one that MXNet cannot say.

Nodes are written in order. One that is refused waits until another asks for what it gives. Only then it is said in
simpler terms (see `lowering`), and what it is made of comes next; the one that asked follows. Where the graph is
changed as a whole, nodes that stand as they were written, on operands of which the same holds, are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.kernel.terms import Terms
from graphir.converters.mxnet.exporting.context import Entry, Export, NeedsNumpyShape, Refusal
from graphir.converters.mxnet.exporting.dtypes import Unwritten, check_held
from graphir.converters.mxnet.exporting.lowering import Lowering
from graphir.converters.mxnet.exporting.nodes import write_node as write_node
from graphir.converters.mxnet.exporting.ops import export_table
from graphir.decisions import DecisionKind
from graphir.errors import Gap, GraphError
from graphir.graph import Graph, Node, Value


class Writer:
    """One graph on its way into a symbol: as a classic one or, if it has tensors that only they have, of np_shape.

    `graph` is the one that is written: as it was given, or a copy in simpler terms. `refusals` holds the nodes that
    outputs depend on and that nothing says, with the reason, and outputs that were refused themselves.
    """

    def __init__(self, graph: Graph, terms: Terms) -> None:
        self.graph = graph
        self._terms = terms
        self.heads: list[Entry] = []
        self.refusals: list[tuple[Node | Value, Refusal]] = []
        self._table = dict(export_table())
        self._lowering: Lowering | None = None
        self._begin(np_shape=any(value.rank == 0 for value in graph.outputs))

    def _begin(self, *, np_shape: bool) -> None:
        """Begin with the first node of the graph as it now stands."""
        self.export = Export(self.graph, np_shape=np_shape)
        self._pending = list(self.graph.nodes)[::-1]
        self._asked_again: set[Value] = set()
        self._given_up: list[Node] = []

    def write(self) -> None:
        """Write all nodes and the outputs."""
        while True:
            try:
                self._write_nodes()
                self._write_heads()
                if not self.refusals or not self._lowered().settle():
                    break
                self._begin(np_shape=self.export.np_shape)
            except NeedsNumpyShape:
                if self.export.np_shape:
                    raise
                self._begin(np_shape=True)
        if self.export.np_shape:
            why = "it has tensors without axes or elements: run the symbol under mx.util.np_shape()"
            self.export.decide(DecisionKind.NP_SHAPE, self.graph.name, why)
        self.refusals = [*self._reached(), *self.refusals]

    def gaps(self) -> list[Gap]:
        """Return what could not be written."""
        return self._lowered().gaps(self.refusals) if self.refusals else []

    def _write_nodes(self) -> None:
        """Write what is pending and what outputs, or nodes that nothing says, want besides."""
        wants = True
        while wants:
            while self._pending:
                self._write(self._pending.pop())
            wants = self._want_outputs() or self._want_operands()

    def _want_outputs(self) -> bool:
        """Ask for the outputs; whether one of them is not written yet. One that is refused is noted with the heads."""
        self.export.begin(None)
        for value in self.graph.outputs:
            try:
                check_held(value.name, value.type)
                self.export.raw(value)
            except NeedsNumpyShape:
                raise
            except Refusal:
                continue
            except Unwritten as wanted:
                self._provide(wanted.value)
                return True
        return False

    def _want_operands(self) -> bool:
        """Lower what nodes that nothing says are computed of, so that all that is left over is told at once."""
        lowered = 0 if self._lowering is None else self._lowering.changes
        while self._given_up:
            refused, hopeless = self.export.refused, self.export.hopeless
            for value in self._given_up.pop().inputs:
                if value is not None and value.producer in refused and value.producer not in hopeless:
                    self._provide(value)
        if self._lowering is None or self._lowering.changes == lowered:
            return False
        self._begin(np_shape=self.export.np_shape)
        return True

    def _write(self, node: Node) -> None:
        """Write one node, or note why not: that counts only if an output depends on it."""
        export = self.export
        if node.graph is not self.graph or node in export.written or node in export.refused:
            return
        export.begin(node)
        stated = len(export.decisions)
        try:
            write_node(export, node, self._table)
        except (Refusal, Unwritten) as reason:
            export.take_back([node])
            for decision in list(export.decisions)[stated:]:
                del export.decisions[decision]
            if isinstance(reason, Refusal):
                export.refused[node] = reason
                return
            self._pending.append(node)
            self._provide(reason.value)
        else:
            export.end(node)

    def _provide(self, value: Value) -> None:
        """See to it that the node of a value comes next, in other terms if it was refused."""
        assert value.producer is not None
        refusal = self.export.refused.get(value.producer)
        if refusal is None:
            self._write_again(value.producer, value)
        elif isinstance(refusal, NeedsNumpyShape) and not self.export.np_shape:
            raise refusal
        else:
            self._lower(value.producer, refusal)

    def _write_again(self, node: Node, value: Value) -> None:
        """A node whose result was not needed, or part of what another one wrote, until something else asked for it."""
        if value in self._asked_again:
            raise GraphError(f"writing {node.op.name} ({node.name}) for MXNet gives nothing for {value.name}")
        self._asked_again.add(value)
        self.export.take_back([node])
        self._pending.append(node)

    def _lower(self, node: Node, refusal: Refusal) -> None:
        """Put other terms in the place of a refused node, or give it up."""
        lowering = self._lowered()
        node = lowering.images.get(node, node)
        outcome = lowering.step(node, refusal)
        export = self.export
        self._table.update(lowering.further)
        if not outcome.changed:
            export.hopeless.add(node)
            self._given_up.append(node)
        elif outcome.made:
            del export.refused[node]
            self._pending.extend(reversed(outcome.made))
        elif export.hopeless:  # variables stand for what may have become something else
            self._begin(np_shape=export.np_shape)
        else:
            self._go_on()

    def _go_on(self) -> None:
        """The graph changed as a whole: what was refused, and what changed, is tried again."""
        export = self.export
        export.take_back(export.changed())
        export.refused.clear()
        self._asked_again.clear()
        self._pending = [node for node in self.graph.nodes if node not in export.written][::-1]

    def _lowered(self) -> Lowering:
        """Return the lowering of the graph, on whose copy writing goes on."""
        if self._lowering is None:
            self._lowering = Lowering(self.graph, self._terms)
            self.graph = self._lowering.graph
            images = self._lowering.images
            self.export.move(self.graph, self._lowering.values, images)
            self._pending = [images[node] for node in self._pending]
            self._given_up = [images[node] for node in self._given_up]
            self._asked_again = {self._lowering.values[value] for value in self._asked_again}
        return self._lowering

    def _write_heads(self) -> None:
        self.export.node = None
        self.heads, self.refusals = [], []
        for value in self.graph.outputs:
            try:
                self.heads.append(self.export.head(value))
            except NeedsNumpyShape:
                raise
            except Refusal as error:
                self.refusals.append((value, error))

    def _reached(self) -> Sequence[tuple[Node | Value, Refusal]]:
        """Return the refusals of nodes that outputs depend on, in the order of the nodes."""
        export = self.export
        reached: set[Node] = set()
        stack: list[Value] = list(export.asked(None))
        while stack:
            producer = stack.pop().producer
            if producer is None or producer in reached:
                continue
            reached.add(producer)
            if producer in export.hopeless:
                stack.extend(value for value in producer.inputs if value is not None)
            elif producer not in export.refused:
                stack.extend(export.asked(producer))
        reached &= export.hopeless
        return [(node, export.refused[node]) for node in self.graph.nodes if node in reached]
