"""Loops that are recurrent layers become LSTM, GRU and RNN.

A Loop or Scan is taken for layers only if its body is proved, node by node, to compute what the operators compute; all
others stay as they are. Nothing is approximated: weights are rearranged, and the biases of a gate are summed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from graphir.decisions import DecisionKind
from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.inference import infer_graph
from graphir.ops.control import Loop, Scan
from graphir.ops.recurrent import LSTM, Direction
from graphir.ops.shape import Transpose
from graphir.passes.dead_code import remove_dead_code
from graphir.passes.inline import GraphNames, InlinedGraph, take_place
from graphir.passes.outcome import Outcome
from graphir.passes.rewrite import put_in_place
from graphir.types import UNKNOWN, Dim, DType, Sym, TensorType

from .build import LayerMaker
from .cells import Cell, find_cells
from .frames import Frame, frame_of, is_zero
from .results import drop_whole_gathers, find_zero_padding, forward_source, last_takers, reversals, take_last
from .terms import BodyReader
from .views import Unlike, through

KIND = DecisionKind.RECURRENT_LOOP
# The dtypes for which onnxruntime has kernels of the recurrent operators, float16 by way of float32.
DTYPES = frozenset({DType.FLOAT32, DType.FLOAT16})


def recognize_recurrent_loops(
    graph: Graph,
    *,
    dtypes: Collection[DType] = DTYPES,
    layer_name: Callable[[str], str] = lambda name: name,
) -> Outcome:
    """Put LSTM, GRU and RNN in place of the loops that compute them, in bodies of others too.

    `layer_name` says what the layer is called by the name of the loop's node. Each layer is a decision, and so is that
    one of another dtype than `dtypes` stays a loop. Linear in nodes.
    """
    if not _has_loops(graph):
        return Outcome()
    outcome = _recognize(graph, graph, dtypes, layer_name, GraphNames(graph))
    if outcome:
        infer_graph(graph)
    return outcome


def _has_loops(graph: Graph) -> bool:
    return any(
        isinstance(node.op, Loop | Scan) or any(_has_loops(inner) for inner in node.subgraphs) for node in graph.nodes
    )


def _recognize(
    graph: Graph, root: Graph, dtypes: Collection[DType], layer_name: Callable[[str], str], names: GraphNames
) -> Outcome:
    outcome = Outcome()
    for node in list(graph.nodes):
        for inner in node.subgraphs:
            outcome |= _recognize(inner, root, dtypes, layer_name, names)
        if isinstance(node.op, Loop | Scan):
            recognition = _Recognition(graph, node, layer_name(node.name), names)
            if recognition.run(root, dtypes):
                kinds = " and ".join(layer.cell.kind.__name__ for layer in recognition.layers)
                outcome.note(node.name, f"its body computes {kinds}")
    if outcome:
        outcome |= remove_dead_code(graph)
    return outcome


@dataclass
class _Found:
    """A cell of a loop and the sequence it runs over, or the cell whose results it takes.

    `rows` and `lasts`, by state, are the results of its layer, once that is there.
    """

    cell: Cell
    sequence: Value | None
    below: _Found | None
    rows: Value | None = None
    lasts: dict[int, Value] = field(default_factory=dict)


class _Recognition:
    """One loop."""

    def __init__(self, graph: Graph, node: Node, name: str, names: GraphNames) -> None:
        self.graph = graph
        self.node = node
        self.name = name
        self.names = names
        self.layers: list[_Found] = []
        self.assumptions: list[str] = []
        self.obsolete: list[Node] = []

    def run(self, root: Graph, dtypes: Collection[DType]) -> bool:
        """Put layers in the loop's place; whether that was done."""
        try:
            frame = frame_of(self.node)
            frame.unmask()
            self._order(frame, find_cells(frame.body, frame.states, frame.following))
            owners = self._owners(frame)
            self._check_types(frame)
        except Unlike:
            return False
        dtype = self._sequence.dtype
        if dtype not in dtypes:
            kinds = " and ".join(layer.cell.kind.__name__ for layer in self.layers)
            text = f"it computes {kinds} of {dtype}, for which runtimes have no kernels: it stays a loop"
            root.decide(KIND, self.name, text)
            return False
        return self._replace(frame, owners, root)

    @property
    def _sequence(self) -> Value:
        """The sequence of the first layer."""
        sequence = self.layers[0].sequence
        assert sequence is not None
        return sequence

    def _order(self, frame: Frame, cells: list[Cell]) -> None:
        """The cells in an order in which each stands behind the one whose results it takes. Raises Unlike."""
        terms = BodyReader(frame.body)
        while cells:
            for cell in cells:
                x = terms.source(cell.x)
                sequence = frame.sequence(x)
                below = next((layer for layer in self.layers if layer.cell.after == x), None)
                if sequence is not None or below is not None:
                    break
            else:
                raise Unlike(f"{cells[0].x.value.name} is no slice of a sequence")
            if sequence is not None and not frame.has_all_steps(sequence):
                self._find_fillings(frame, sequence)
            if frame.lengths is not None and not frame.masked.issuperset(cell.slots):
                raise Unlike("a state goes on where a sequence has ended")
            cells.remove(cell)
            self.layers.append(_Found(cell, sequence, below))

    def _find_fillings(self, frame: Frame, sequence: Value) -> None:
        """Where there are as many steps as the longest sequence has, find the zeros behind them. Raises Unlike."""
        assert sequence.shape is not None
        for value in self.node.outputs[len(frame.states) :]:
            join = find_zero_padding(value, sequence.shape[0])
            if value.is_needed and join is None:
                raise Unlike(f"{value.name} has as many rows as the longest sequence")
            if join is not None and join not in self.obsolete:
                self.obsolete.append(join)

    def _owners(self, frame: Frame) -> dict[int, _Found | None]:
        """Return which layer gives each result of the loop that is needed, None for a state that never changes.

        Raises Unlike for a result that no layer gives.
        """
        terms, owners = BodyReader(frame.body), dict[int, _Found | None]()
        for slot, result in enumerate(self.node.outputs):
            if not result.is_needed:
                continue
            if slot < len(frame.states):
                owner = next((layer for layer in self.layers if slot in layer.cell.slots), None)
                if owner is None and (slot in frame.masked or through(frame.following[slot]) is not frame.states[slot]):
                    raise Unlike(f"{result.name} is carried by no layer")
            else:
                columns = terms.source(terms.whole(frame.rows[slot - len(frame.states)]))
                owner = next((layer for layer in self.layers if layer.cell.after == columns), None)
                if owner is None:
                    raise Unlike(f"{result.name} holds other rows than a layer's results")
            owners[slot] = owner
        return owners

    def _check_types(self, frame: Frame) -> None:
        """Raise Unlike unless all is of one dtype, and all states have as many rows as the sequence.

        Two sizes that are not known are taken to be the same: runtimes refuse others.
        """
        dtype, batch = self._sequence.dtype, _size(self._sequence, 1)
        if dtype is None:
            raise Unlike(f"the dtype of {self._sequence.name} is not known")
        for layer in self.layers:
            if layer.sequence is not None:
                self._check_rows(layer.sequence, _size(layer.sequence, 1), batch)
            for slot in layer.cell.slots:
                state = frame.initial[slot]
                if state.dtype is not dtype or _size(state, 1) != layer.cell.hidden:
                    raise Unlike(f"{state.name} is {state.type}")
                self._check_rows(state, _size(state, 0), batch)
            for gate in layer.cell.gates:
                if gate.input_weight.dtype is not dtype or gate.state_weight.dtype is not dtype:
                    raise Unlike(f"the weights are not of {dtype}")
        if frame.lengths is not None:
            self._check_rows(frame.lengths, _size(frame.lengths, 0), batch)

    def _check_rows(self, value: Value, size: Dim | None, batch: Dim | None) -> None:
        if size == batch and isinstance(size, int | Sym):
            return
        if isinstance(size, int) or isinstance(batch, int):
            if size == 1 and value.rank == 2 and is_zero(value):
                return
            raise Unlike(f"{value.name} has {size} rows, the sequence {batch}")
        text = f"{value.name} is taken to have as many rows ({size}) as {self._sequence.name} ({batch})"
        if text not in self.assumptions:
            self.assumptions.append(text)

    def _replace(self, frame: Frame, owners: dict[int, _Found | None], root: Graph) -> bool:
        """Return the layers in the loop's place; False, with nothing changed, if types of the graph contradict them."""
        rows = [result for result in self.node.outputs[len(frame.states) :] if result.is_needed]
        if self.obsolete:
            rows = [self._fill_rows(join) for join in self.obsolete]
        for value in rows:
            drop_whole_gathers(self.graph, value)
        takers = {} if frame.lengths is not None else self._takers(rows, owners)
        turned = self._find_reversals(frame, rows, list(takers))
        makers: list[InlinedGraph] = []
        for index, layer in enumerate(self.layers):
            name = self.name if len(self.layers) == 1 else f"{self.name}_{index}"
            makers.append(InlinedGraph(frame.body, self.graph, self.names, self.names.fresh(name)))
            self._add(makers[-1], frame, layer, turned)
        results: list[Value] = []
        for slot, result in enumerate(self.node.outputs):
            owner = owners.get(slot)
            if slot not in owners:
                results.append(result)
            elif owner is None:
                results.append(frame.initial[slot])
            else:
                results.append(owner.lasts[slot] if slot < len(frame.states) else _rows(owner))
        try:
            take_place(self.graph, self.node, results, [node for maker in makers for node in maker.new_nodes])
        except GraphirError:
            for maker in reversed(makers):
                maker.take_back()
            return False
        self._decide(root, makers, frame, is_reverse=turned is not None)
        for node, layer in takers.items():
            take_last(self.graph, node, layer.lasts[layer.cell.slots[0]])
        for node in (*self.obsolete, *(turned or ())):
            assert node.inputs[0] is not None
            put_in_place(self.graph, node, node.inputs[0])
        for layer in self.layers:
            drop_whole_gathers(self.graph, _rows(layer))
        return True

    def _takers(self, rows: list[Value], owners: dict[int, _Found | None]) -> dict[Node, _Found]:
        """Return the nodes that take the last of the loop's rows, with the layer whose last state that is.

        Found before anything is turned round: the last row of a layer that runs backwards instead is another one.
        """
        takers: dict[Node, _Found] = {}
        for value in rows:
            join = value.producer
            source = value if join is self.node or join is None else join.inputs[0]
            owner = None if source is None else owners.get(source.index)
            if owner is not None:
                takers.update(dict.fromkeys(last_takers(self.graph, value), owner))
        return takers

    def _fill_rows(self, join: Node) -> Value:
        """Rows with the zeros behind them, as many as the sequence has elements."""
        filled, length = join.outputs[0], _size(self._sequence, 0)
        self.graph.refine(filled, TensorType(None, (UNKNOWN if length is None else length, UNKNOWN, UNKNOWN)))
        return filled

    def _find_reversals(self, frame: Frame, rows: list[Value], takers: list[Node]) -> list[Node] | None:
        """Return the nodes that turn all rows round again, for a layer that can run backwards instead; None if it
        cannot."""
        sequences = {layer.sequence for layer in self.layers if layer.sequence is not None}
        if len(sequences) != 1 or forward_source(self._sequence, frame.lengths) is None:
            return None
        result: list[Node] = []
        for value in rows:
            nodes = reversals(self.graph, value, takers, frame.lengths)
            if nodes is None:
                return None
            result += nodes
        return result

    def _add(self, maker: InlinedGraph, frame: Frame, recurrence: _Found, turned: list[Node] | None) -> None:
        """The layer, and its results without the axis of directions."""
        cell, dtype = recurrence.cell, self._sequence.dtype
        assert dtype is not None
        layer = LayerMaker(maker, self.node, cell, dtype)
        if recurrence.sequence is None:
            sequence = _rows(recurrence.below)
        else:
            sequence = recurrence.sequence
            if turned is not None:
                sequence = self._forward(maker, sequence, frame.lengths)
        states = [None if is_zero(frame.initial[slot]) else frame.initial[slot] for slot in cell.slots]
        direction = Direction.FORWARD if turned is None else Direction.REVERSE
        node = layer.add(sequence, states, frame.lengths, direction)
        recurrence.rows = layer.squeezed(node.outputs[0], 1, "rows")
        for index, slot in enumerate(cell.slots):
            suffix = "last_cell" if cell.kind is LSTM and index else "last"
            last, initial = layer.squeezed(node.outputs[1 + index], 0, suffix), states[index]
            if frame.lengths is not None and initial is not None:
                last = layer.kept(last, initial, frame.lengths)
            recurrence.lasts[slot] = last

    def _forward(self, maker: InlinedGraph, sequence: Value, lengths: Value | None) -> Value:
        """Return the sequence as it was before it was turned round."""
        source = forward_source(sequence, lengths)
        assert source is not None
        value, perms = source
        for perm in reversed(perms):
            value = maker.add(Transpose(perm), [value], self.node, "forward").output
        return value

    def _decide(self, root: Graph, makers: list[InlinedGraph], frame: Frame, *, is_reverse: bool) -> None:
        length = _size(self._sequence, 0)
        for maker, layer in zip(makers, self.layers, strict=True):
            kind = layer.cell.kind.__name__
            source = "the results of the one before" if layer.sequence is None else layer.sequence.name
            text = f"the loop is {'a' if kind == 'GRU' else 'an'} {kind} over {source}, {layer.cell.hidden} wide"
            text += ", backwards" if is_reverse else ""
            text += "" if frame.lengths is None else f", each as long as {frame.lengths.name} says"
            text += "" if isinstance(length, int) else "; it is taken to have at least one step"
            root.decide(KIND, maker.prefix, "; ".join([text, *self.assumptions]))


def _rows(layer: _Found | None) -> Value:
    """Return the rows of a layer that is there."""
    assert layer is not None
    assert layer.rows is not None
    return layer.rows


def _size(value: Value, axis: int) -> Dim | None:
    return None if value.shape is None or axis >= len(value.shape) else value.shape[axis]
