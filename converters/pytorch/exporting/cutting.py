"""Where a network is cut into pieces that may be parts of blocks: wherever a single value leads on.

Besides that value a stretch of the network may read others as they are: what lives through more than half of it, as a
mask or what a U-Net hands across, or of a part with blocks of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count, pairwise
from types import MappingProxyType

from graphir.converters.pytorch.exporting.block_arguments import skeleton
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
    may be read anywhere. `tied` are attributes that no block has alone, `kinds` says how each is made."""

    def __init__(
        self, statements: Sequence[Statement], outputs: Sequence[Expr], inputs: Sequence[int], tied: Iterable[str],
        kinds: Mapping[str, str],
    ) -> None:
        self._statements, self._outputs, self._inputs, self._kinds = statements, outputs, inputs, kinds
        # What leads on: no size or device of an input.
        self.computed = {number for each in statements if not each.is_setting for number in each.targets}.union(inputs)
        # Attributes that are not a block's alone: statements in several pieces read them, or they are tied.
        self._shared = set(tied)
        self._forms: dict[object, int] = {}
        # The numbers of forms of statements, and of attributes by how they are made.
        self._codes: dict[object, int] = {}
        names: set[str] = set()
        for statement in statements:
            attributes = statement.attributes if len(statement.attributes) < 2 else set(statement.attributes)
            self._shared.update(names.intersection(attributes))
            names.update(attributes)

    def pieces(self) -> list[Piece]:
        """Return the statements between cuts. What cannot be part of a block has a form of its own."""
        last = last_reads([statement.reads for statement in self._statements], self._outputs)
        return self.cut(self._statements, last, self._inputs)

    def cut(self, statements: Sequence[Statement], last: Mapping[int, int], live: Collection[int] = ()) -> list[Piece]:
        """Return the pieces of statements; `last` says where values are read last. `live` are the values of those
        before that they read."""
        return self._between(statements, _ends(statements, last, live), last)

    def _between(
        self, statements: Sequence[Statement], ends: Iterable[int], last: Mapping[int, int], start: int = 0
    ) -> list[Piece]:
        """Return the pieces that end behind so many statements, the first of which has the place `start`."""
        pieces: list[Piece] = []
        begin = 0
        for end in ends:
            part, behind = tuple(statements[begin:end]), start + end
            targets = part[0].assigns if len(part) == 1 else targets_of(part)
            exits = [number for number in targets if number in last and last[number] >= behind]
            pieces.append(self._piece(part, targets, exits))
            begin = end
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
        """Return the parts of a piece that begins at this place."""
        leading = [number for number in piece.inputs if number in self.computed]
        ends = _inner_ends(piece.statements, piece.inputs, leading, last, start + len(piece.statements))
        return self._between(piece.statements, ends, last, start) if len(ends) > 1 else [piece]

    def piece(self, statements: Sequence[Statement], exits: Iterable[int]) -> Piece:
        """Return the statements as a piece, which can be part of a block if it gives one value."""
        return self._piece(tuple(statements), targets_of(statements), exits)

    def _piece(self, statements: tuple[Statement, ...], targets: Collection[int], exits: Iterable[int]) -> Piece:
        inputs, attributes = reads_of(statements, targets)
        exits = tuple(dict.fromkeys(exits))
        form = self.form(statements, inputs, attributes, exits[0]) if len(exits) == 1 else None
        return Piece(statements, inputs, exits, attributes, object() if form is None else form)

    def form(
        self, statements: Sequence[Statement], inputs: Sequence[int], attributes: Sequence[str], output: int
    ) -> int | None:
        """Return a number for what pieces have in common that one class stands for, None for those with attributes
        that others use, and for what is no plain statement."""
        if not self._shared.isdisjoint(attributes):
            return None
        numbers, places = dict(zip(inputs, count())), dict(zip(attributes, count()))
        codes, form = self._codes, []
        for statement in statements:
            if statement.blocks or statement.keeps:
                return None
            for number in statement.targets:
                numbers.setdefault(number, len(numbers))
            code = codes.get(statement)
            form.append(self._code(statement, statement.form) if code is None else code)
            form += map(numbers.__getitem__, statement.reads)
            form += map(places.__getitem__, statement.attributes)
        form.append(numbers[output])
        for text in map(self._kinds.__getitem__, attributes):
            code = codes.get(text)
            form.append(self._code(text, skeleton(text)) if code is None else code)
        return self._number(tuple(form))

    def _number(self, form: object) -> int:
        return self._forms.setdefault(form, len(self._forms))

    def _code(self, key: object, form: object) -> int:
        """Return the number of the form of a statement or of a text that makes an attribute, found once."""
        self._codes[key] = code = self._number(form)
        return code


def _ends(
    statements: Sequence[Statement], last: Mapping[int, int], live: Iterable[int],
    context: Mapping[int, int] = MappingProxyType({}),
) -> list[int]:
    """Return behind how many statements a single value leads on. Those of the `context` count up to another place than
    where they are read last, where no other value leads on."""
    until = {**last, **context} if context else last
    live, ends = set(live), []
    for place, statement in enumerate(statements):
        for number in statement.reads:
            if until[number] <= place:
                live.discard(number)
        if not statement.is_setting:
            leads = bool(live)
            for number in statement.targets:
                if until.get(number, -1) > place and not (leads and number in context):
                    live.add(number)
        if len(live) <= 1 or place == len(statements) - 1:
            ends.append(place + 1)
    return ends


def _inner_ends(
    statements: Sequence[Statement], inputs: Sequence[int], leading: Sequence[int], until: Mapping[int, int],
    behind: int,
) -> list[int]:
    """Return where a piece is cut that reads these inputs and ends in front of the place `behind`; `until` says where
    values are read last. What nothing reads for more than half of it, as what a U-Net hands across, leads on up to
    there."""
    size = len(statements)
    places = defaultdict[int, list[int]](list, {number: [0] for number in inputs})
    last: dict[int, int] = {}
    for place, statement in enumerate(statements):
        for number in statement.reads:
            places[number].append(place)
            last[number] = place
        for number in statement.targets:
            places[number].append(place)
    for number, given in places.items():
        if until.get(number, -1) >= behind:
            last[number] = size
            given.append(size)
    spans, before = _long_spans(places, size), 0
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
        live = [n for n in leading if n not in context] or [n for n in leading if context[n] >= 0]
        ends = _ends(statements, last, live, context)
        if len(ends) > 1:
            return ends
    return [size]


def _long_spans(places: Mapping[int, Sequence[int]], size: int) -> dict[int, tuple[int, int, int]]:
    """Return of values that live through much of so many places: how long they do, how long nothing reads them at most,
    and where that begins."""
    spans: dict[int, tuple[int, int, int]] = {}
    for number, given in places.items():
        length = given[-1] - given[0]
        if length * max(SHARES) > size:
            gap, begin = max([(after - before, -before) for before, after in pairwise(given)])
            spans[number] = length, gap, -begin
    return spans
