"""Cells of recurrent layers, told by what a loop's body computes: LSTM, GRU and the plain RNN.

A cell is matched as a whole or not at all: each of its gates is a function of x W + h R + b, x and h are the same in
all of them, and the next state is what ONNX's operator makes of the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

from graphir.graph import Graph, Value
from graphir.ops.recurrent import GRU, LSTM, RNN

from .terms import Bias, BodyReader, Columns, GateFunction, Other, Product, Scaled
from .views import Unlike, View

Kind = type[RNN | GRU | LSTM]


@dataclass
class Gate:
    """A function of x W + h R + biases, in an LSTM perhaps with the cell times a vector (the peephole)."""

    function: GateFunction
    x: Columns
    input_weight: View
    state_weight: View
    biases: list[Bias] = field(default_factory=list)
    state_biases: list[Bias] = field(default_factory=list)
    peephole: View | None = None


@dataclass
class Cell:
    """A layer's step. `gates` stand in ONNX's order, `slots` are the states h and, of an LSTM, c.

    `functions` are those that ONNX's operator lists, `after` is the next h where it is computed.
    """

    kind: Kind
    gates: tuple[Gate, ...]
    functions: tuple[GateFunction, ...]
    slots: tuple[int, ...]
    after: Columns
    linear_before_reset: bool = False

    @property
    def x(self) -> Columns:
        """What the cell is given at each step."""
        return self.gates[0].x

    @property
    def hidden(self) -> int:
        """The width of the state."""
        return self.after.size


def find_cells(body: Graph, states: Sequence[Value], following: Sequence[Value]) -> list[Cell]:
    """Return the cells that carry these inputs of a body on: each state and what it becomes. States may be left over.

    Raises Unlike, for the first state, if there is none.
    """
    finder = _Finder(body, states, following)
    reasons: list[Unlike] = []
    cells: list[Cell] = []
    for slot in range(len(states)):
        if any(slot in cell.slots for cell in cells):
            continue
        try:
            cells.append(finder.cell(slot))
        except Unlike as error:
            reasons.append(error)
    taken = [slot for cell in cells for slot in cell.slots]
    if not cells:
        raise reasons[0] if reasons else Unlike("it carries no state")
    if len(set(taken)) < len(taken):
        raise Unlike("a state belongs to two cells")
    return cells


class _Finder:
    """The matching of one body."""

    def __init__(self, body: Graph, states: Sequence[Value], following: Sequence[Value]) -> None:
        self.terms = BodyReader(body)
        self.states = states
        self.following = following

    def cell(self, slot: int) -> Cell:
        """Return the cell whose h is this state. Raises Unlike."""
        h = self.terms.whole(self.states[slot])
        after = self.terms.source(self.terms.whole(self.following[slot]))
        if after.size != h.size:
            raise Unlike(f"{h.value.name} becomes {after.size} wide")
        last = Unlike("")
        for match in (self._lstm, self._gru, self._rnn):
            try:
                return _first(lambda turns, match=match: match(slot, h, after, turns))  # type: ignore[misc]
            except Unlike as error:
                last = error
        raise last

    def _lstm(self, slot: int, h: Columns, after: Columns, turns: Sequence[bool]) -> Cell:
        """h' = o * g(c'), c' = f * c + i * z. `turns` says which operands stand the other way round."""
        terms = self.terms
        out, shaped = _swap_if(terms.factors(after), turns[0])
        shape, inner = terms.function(shaped)
        new_cell = terms.source(inner)
        cell_slot = self._slot_of(new_cell, slot)
        cell = terms.whole(self.states[cell_slot])
        kept, added = _swap_if(terms.addends(new_cell), turns[1])
        forget, state = _swap_if(terms.factors(kept), turns[2])
        if state != cell:
            raise Unlike(f"{new_cell.value.name} keeps no part of {cell.value.name}")
        first, second = _swap_if(terms.factors(added), turns[3])
        gates = (
            self._gate(first, h, cell), self._gate(out, h, new_cell), self._gate(forget, h, cell), self._gate(second, h)
        )  # fmt: skip
        if not gates[0].function == gates[1].function == gates[2].function:
            raise Unlike("the gates have different functions")
        functions = (gates[0].function, gates[3].function, shape)
        return _check_cell(Cell(LSTM, gates, functions, (slot, cell_slot), after))

    def _slot_of(self, new_cell: Columns, slot: int) -> int:
        """Return the state that becomes the new cell."""
        for other, value in enumerate(self.following):
            if other != slot and value.rank == 2 and self.terms.source(self.terms.whole(value)) == new_cell:
                return other
        raise Unlike(f"{new_cell.value.name} is not carried on")

    def _gru(self, slot: int, h: Columns, after: Columns, turns: Sequence[bool]) -> Cell:
        """h' = z * h + (1 - z) * n."""
        terms = self.terms
        kept, added = _swap_if(terms.addends(after), turns[0])
        update, state = _swap_if(terms.factors(kept), turns[1])
        rest, fresh = _swap_if(terms.factors(added), turns[2])
        if state != h or terms.one_less(rest) != update:
            raise Unlike(f"{after.value.name} does not mix {h.value.name} with a new state")
        gate = self._gate(update, h)
        reset, new, is_late = self._new_state(fresh, h, turns[3])
        if gate.function != reset.function:
            raise Unlike("the gates have different functions")
        return _check_cell(Cell(GRU, (gate, reset, new), (gate.function, new.function), (slot,), after, is_late))

    def _new_state(self, columns: Columns, h: Columns, is_turned: bool) -> tuple[Gate, Gate, bool]:
        """Return the reset gate, the new state, and whether the product h R is reset, not h itself."""
        terms = self.terms
        function, inner = terms.function(columns)
        parts = _Parts()
        for term in terms.terms(inner):
            if isinstance(term, Other):
                reset, product_ = _swap_if(terms.factors(term.columns), is_turned)
                parts.inside = [*parts.inside, (reset, product_)]
            elif isinstance(term, Product) and self._is_reset(term.left, h, is_turned):
                reset, _ = _swap_if(terms.factors(term.left), is_turned)
                parts.recurrent.append((reset, term))
            else:
                parts.take(term)
        if parts.inside and not parts.recurrent and len(parts.inside) == 1:
            reset, columns = parts.inside[0]
            state_parts = _Parts()
            for term in terms.terms(columns):
                state_parts.take(term)
            gate = parts.gate(function, state_parts.product(h))
            gate.state_biases = state_parts.biases
            if state_parts.products:
                raise Unlike(f"{columns.value.name} takes more than the state")
            return self._gate(reset, h), gate, True
        if parts.inside or len(parts.recurrent) != 1:
            raise Unlike(f"{columns.value.name} resets no state")
        reset, term = parts.recurrent[0]
        return self._gate(reset, h), parts.gate(function, term), False

    def _is_reset(self, left: Columns, h: Columns, is_turned: bool) -> bool:
        """Return whether a matrix is a gate times the state."""
        try:
            return _swap_if(self.terms.factors(left), is_turned)[1] == h
        except Unlike:
            return False

    def _rnn(self, slot: int, h: Columns, after: Columns, turns: Sequence[bool]) -> Cell:
        """h' = f(x W + h R + b)."""
        gate = self._gate(after, h)
        return _check_cell(Cell(RNN, (gate,), (gate.function,), (slot,), after))

    def _gate(self, columns: Columns, h: Columns, cell: Columns | None = None) -> Gate:
        """Return a gate. Raises Unlike for anything else."""
        function, inner = self.terms.function(columns)
        parts = _Parts()
        for term in self.terms.terms(inner):
            parts.take(term, cell)
        return parts.gate(function, parts.product(h))


class _Parts:
    """The terms of a gate, sorted."""

    def __init__(self) -> None:
        self.products: list[Product] = []
        self.biases: list[Bias] = []
        self.peepholes: list[View] = []
        self.inside: list[tuple[Columns, Columns]] = []
        self.recurrent: list[tuple[Columns, Product]] = []

    def take(self, term: Product | Scaled | Other | Bias, cell: Columns | None = None) -> None:
        """Sort a term in. Raises Unlike for one that no gate has."""
        if isinstance(term, Product):
            self.products.append(term)
        elif isinstance(term, View | float):
            self.biases.append(term)
        elif isinstance(term, Scaled) and term.left == cell:
            self.peepholes.append(term.weight)
        else:
            source = term.left if isinstance(term, Scaled) else term.columns
            raise Unlike(f"{source.value.name} is added as it is")

    def product(self, left: Columns) -> Product:
        """Return the only product with this matrix, taken out."""
        terms = [term for term in self.products if term.left == left]
        if len(terms) != 1:
            raise Unlike(f"{left.value.name} is multiplied {len(terms)} times for one gate")
        self.products.remove(terms[0])
        return terms[0]

    def gate(self, function: GateFunction, state: Product) -> Gate:
        """Return the gate of what is left and the product with the state."""
        if len(self.products) != 1 or len(self.peepholes) > 1:
            raise Unlike(f"a gate takes {len(self.products)} inputs besides {state.left.value.name}")
        (given,) = self.products
        peephole = self.peepholes[0] if self.peepholes else None
        return Gate(function, given.left, given.weight, state.weight, self.biases, peephole=peephole)


def _first(match: Callable[[tuple[bool, ...]], Cell]) -> Cell:
    """Return the match for the first order of operands that has one. Raises Unlike, for the plain order, if none
    has."""
    reason: Unlike | None = None
    for turns in product((False, True), repeat=4):
        try:
            return match(turns)
        except Unlike as error:
            reason = reason or error
    assert reason is not None
    raise reason


def _swap_if(pair: list[Columns], is_turned: bool) -> tuple[Columns, Columns]:
    if len(pair) != 2:
        raise Unlike(f"{len(pair)} operands where a cell has two")
    return (pair[1], pair[0]) if is_turned else (pair[0], pair[1])


def _check_cell(cell: Cell) -> Cell:
    """Return the cell, unless its gates do not fit together. Raises Unlike."""
    x = cell.x
    if any(gate.x != x for gate in cell.gates):
        raise Unlike("the gates take different inputs")
    for gate in cell.gates:
        shapes = gate.input_weight.shape, gate.state_weight.shape
        if shapes != ((x.size, cell.hidden), (cell.hidden, cell.hidden)):
            raise Unlike(f"weights of the shapes {shapes[0]} and {shapes[1]}")
    return cell
