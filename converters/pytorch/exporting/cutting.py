"""Where a network is cut into pieces that may be parts of blocks: wherever a single value leads on.

Besides that value a stretch of the network may read others as they are: what lives through more than half of it, as a
mask or what a U-Net hands across, or of a part with blocks of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from graphir.converters.pytorch.exporting.expression import Expr
from graphir.converters.pytorch.exporting.ordering import last_reads, reads_of, targets_of
from graphir.converters.pytorch.exporting.pieces import LEAST_STATEMENTS, Piece
from graphir.converters.pytorch.exporting.state import Statement

# Times that stretches are cut, the larger half of them each time; and of how much of one a value that it reads as it is
# has to live through more than: half, or less where there are several rows of blocks.
MOST_CUTS = 12
SHARES = (2, 4)


class Cutter:
    """Cuts the statements of a network with these outputs. `inputs` are what leads on at first; of several inputs each
    may be read anywhere. `tied` are attributes that no block has alone, `kind_of` is equal for those that may be one of
    a block."""

    def __init__(
        self, statements: Sequence[Statement], outputs: Sequence[Expr], inputs: Sequence[int], tied: Iterable[str],
        kind_of: Callable[[str], object],
    ) -> None:
        self._statements, self._outputs, self._inputs, self._kind_of = statements, outputs, inputs, kind_of
        # What leads on: no size or device of an input.
        self.computed = {number for each in statements if not each.is_setting for number in each.targets}.union(inputs)
        # Attributes that are not a block's alone: statements in several pieces read them, or they are tied.
        self._shared = set(tied)
        self._forms: dict[object, int] = {}
        names: set[str] = set()
        for statement in statements:
            attributes = statement.attributes if len(statement.attributes) < 2 else set(statement.attributes)
            self._shared.update(names.intersection(attributes))
            names.update(attributes)

    def pieces(self) -> list[Piece]:
        """Return the statements between cuts. What cannot be part of a block has a form of its own."""
        last = last_reads([statement.reads for statement in self._statements], self._outputs)
        return self.cut(self._statements, last, self._inputs)

    def cut(
        self, statements: Sequence[Statement], last: Mapping[int, int], live: Collection[int] = (),
        context: Mapping[int, int] = MappingProxyType({}), start: int = 0,
    ) -> list[Piece]:
        """Return the pieces of statements, the first of which has the place `start`; `last` says where values are read
        last. `live` are the values of those before that they read. Those of the `context` count up to another place,
        where no other value leads on."""
        ends = {**last, **context}
        pieces: list[Piece] = []
        live, begin = set(live), 0
        for place, statement in enumerate(statements):
            live.difference_update([number for number in statement.reads if ends[number] <= start + place])
            if not statement.is_setting:
                given = [number for number in statement.targets if ends.get(number, -1) > start + place]
                live.update([number for number in given if not (live and number in context)])
            if len(live) <= 1 or place == len(statements) - 1:
                part = statements[begin : place + 1]
                begin = place + 1
                pieces.append(self.piece(part, [n for n in targets_of(part) if last.get(n, -1) >= start + begin]))
        return pieces

    def refine(self, pieces: list[Piece]) -> list[Piece]:
        """Return the pieces, those that are alone in their form cut where one value leads on besides those that live
        through more than half of them: such a one belongs to no block of several. Large ones come first, so that what
        is inside them may be like a small one. Linear in statements."""
        last = last_reads([statement.reads for piece in pieces for statement in piece.statements], self._outputs)
        done: set[object] = set()
        for _ in range(MOST_CUTS):
            counts = Counter([piece.form for piece in pieces])
            alone = [piece for piece in pieces if counts[piece.form] == 1 and piece.form not in done]
            large = max((len(piece.statements) for piece in alone), default=0)
            if large < LEAST_STATEMENTS:
                break
            chosen = {piece.form for piece in alone if 2 * len(piece.statements) > large}
            done |= chosen
            result: list[Piece] = []
            place = 0
            for piece in pieces:
                result += self._refined(piece, place, last) if piece.form in chosen else [piece]
                place += len(piece.statements)
            pieces = result
        return pieces

    def _refined(self, piece: Piece, start: int, last: Mapping[int, int]) -> list[Piece]:
        """Return the parts of a piece that begins at this place. What nothing reads for more than half of it, as what a
        U-Net hands across, leads on up to there."""
        size = len(piece.statements)
        places: dict[int, list[int]] = {number: [0] for number in piece.inputs}
        for place, statement in enumerate(piece.statements):
            for number in (*statement.reads, *statement.targets):
                places.setdefault(number, []).append(place)
        spans: dict[int, tuple[int, int, int]] = {}
        for number, given in places.items():
            ends = [*given, size] if last.get(number, -1) >= start + size else given
            gap, begin = max([(after - before, -before) for before, after in pairwise(ends)], default=(0, 0))
            spans[number] = ends[-1] - ends[0], gap, start - begin
        inputs = [number for number in piece.inputs if number in self.computed]
        before = 0
        for share in SHARES:
            context: dict[int, int] = {}
            for number, (length, gap, end) in spans.items():
                if gap * share > size:
                    context[number] = end
                elif length * share > size and 2 * gap <= length:
                    context[number] = -1
            if len(context) == before:
                continue
            before = len(context)
            live = [n for n in inputs if n not in context] or [n for n in inputs if context[n] >= start]
            parts = self.cut(piece.statements, last, live, context, start)
            if len(parts) > 1:
                return parts
        return [piece]

    def piece(self, statements: Sequence[Statement], exits: Iterable[int]) -> Piece:
        """Return the statements as a piece, which can be part of a block if it gives one value."""
        inputs, attributes = reads_of(statements, set(targets_of(statements)))
        exits = tuple(dict.fromkeys(exits))
        form: object | None = None
        if len(exits) == 1 and not any(statement.blocks or statement.keeps for statement in statements):
            form = self.form(statements, inputs, attributes, exits[0])
        return Piece(tuple(statements), inputs, exits, attributes, object() if form is None else form)

    def form(
        self, statements: Sequence[Statement], inputs: Sequence[int], attributes: Sequence[str], output: int
    ) -> int | None:
        """Return a number for what pieces have in common that one class stands for, None for those with attributes
        that others use."""
        if not self._shared.isdisjoint(attributes):
            return None
        numbers = {number: place for place, number in enumerate(inputs)}
        places = {name: place for place, name in enumerate(attributes)}
        forms: list[object] = []
        for statement in statements:
            for number in statement.targets:
                numbers.setdefault(number, len(numbers))
            forms.append(statement.form)
            forms.append(tuple([numbers[number] for number in statement.reads]))
            forms.append(tuple([places[name] for name in statement.attributes]))
        forms.append(numbers[output])
        forms += [self._kind_of(name) for name in attributes]
        return self._forms.setdefault(tuple(forms), len(self._forms))
