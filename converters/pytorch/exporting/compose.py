"""The body of `forward`: which statements are written inside others, and what values are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from graphir.converters.pytorch.exporting.expression import (
    EDGE,
    MARK,
    Expr,
    ValueReference,
    expr,
    length_of,
    level_of,
    references,
    replace_first,
    with_names,
)
from graphir.converters.pytorch.exporting.layout import INDENT, lines_of
from graphir.converters.pytorch.exporting.naming import OF_FILE, identifier
from graphir.converters.pytorch.exporting.ordering import READS, last_reads
from graphir.converters.pytorch.exporting.state import Statement
from graphir.converters.pytorch.exporting.value_names import (
    CHAIN,
    LAYER_CALL,
    SPARE,
    candidates,
    is_numbered,
    layer_words,
    role_of,
    value_name,
)
from graphir.graph import Value
from graphir.types import Shape, TensorType

# A statement that is written inside the next one: its own length, that of both, and how many are inside each other.
LONGEST_INSIDE = 48
LONGEST_TOGETHER = 70
DEEPEST = 3
# What export functions call a step on the way that may be CHAIN too, where nothing else is.
CHAINED = ("padded", "rows")
# What calls begin with that have a type: a layer's call has none for type checkers, so that its result is assigned
# to a variable of a type, and neither has a maximum pooling.
TYPED, UNTYPED = ("F.", "torch."), ("F.max_pool", "F.adaptive_max_pool")
# Names before an assignment, in characters: more of them have a line each.
MOST_TARGETS = 50
USUAL_NAME = 18
LONGEST_SHAPE = 76


class ForwardArgument(NamedTuple):
    """An argument of `forward`: the number of its value, and what it is called."""

    number: int
    name: str


class Line(NamedTuple):
    """A statement with the text that it has once others are written inside it, all that this reads, and how many are
    inside each other."""

    statement: Statement
    text: str
    reads: tuple[int, ...]
    depth: int = 0


class ForwardBody:
    """The statements of a `forward` and what it returns, as lines. `values` are the graph's values by number; `inputs`
    are the arguments. With `says_shapes` comments give shapes where they change, with `records` every value is told to
    a function `record`. Names lose the `scope` that they begin with."""

    def __init__(
        self,
        statements: Sequence[Statement],
        outputs: Sequence[Expr],
        inputs: Sequence[ForwardArgument],
        values: Mapping[int, Value],
        *,
        says_shapes: bool = True,
        scope: str = "",
        records: bool = False,
    ) -> None:
        self._scope = scope
        self._values = values
        self._says_shapes = says_shapes and not records
        self._records = records
        self.recorded: list[str] = []
        self._outputs = list(outputs)
        if records:
            self._lines = [Line(statement, statement.text, statement.reads) for statement in statements]
        else:
            counts = Counter(chain.from_iterable(map(READS, statements)))
            counts.update([number for text in outputs for number in references(text)])
            self._lines = _joined(statements, counts)
        self._names: dict[int, str] = {}
        self._holders: dict[str, int] = {}
        self._last_use = last_reads([line.reads for line in self._lines], outputs)
        for number, name in inputs:
            self._take(number, name)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the body, the last one returns the outputs."""
        shown: object = None
        typed = tuple(f"{name}{sign}" for name in self._holders for sign in (".", " ", "["))
        for place, (statement, text, *_) in enumerate(self._lines):
            value = statement.value
            shape = value.type.shape if value is not None and isinstance(value.type, TensorType) else None
            comment = ""
            if shape is not None and shape != shown and len(shape) > 1:
                comment, shown = _shape_text(shape), shape
            comment = comment if self._says_shapes else ""
            if place == len(self._lines) - 1 and self._is_result(statement):
                result = with_names(text, self._names)
                if result.startswith((*typed, *TYPED)) and not result.startswith(UNTYPED):
                    yield from lines_of(f"return {result}", 2, comment)
                    return
            yield from self._statement(statement, text, place, 2, comment)
        result = ", ".join(with_names(text, self._names) for text in self._outputs)
        yield from lines_of(f"return ({result})" if len(result) > 70 else f"return {result}", 2)

    def _is_result(self, statement: Statement) -> bool:
        """Return whether a statement gives what the body returns and nothing else."""
        if self._records or statement.blocks or statement.pattern:
            return False
        return [expr(text) for text in self._outputs] == [ValueReference(number) for number in statement.targets]

    def _statement(
        self, statement: Statement, text: str, place: int, depth: int, comment: str = "", *, in_block: bool = False
    ) -> Iterator[str]:
        if statement.targets:
            self._name_targets(statement, place, in_block=in_block or bool(statement.blocks))
        for header, block in statement.blocks:
            if header:
                yield from lines_of(with_names(header, self._names), depth)
            for inner in block:
                yield from self._statement(inner, inner.text, place, depth + bool(header), in_block=True)
            if header and not block:
                yield from lines_of("pass", depth + 1)
        if not statement.blocks:
            text = with_names(text, self._names)
            if statement.targets:
                names = [self._names.get(number, "_") for number in statement.targets]
                left = statement.pattern.format(*names) if statement.pattern else ", ".join(names)
                if len(left) > MOST_TARGETS and len(names) > 1 and not statement.pattern:
                    yield from (f"{INDENT * depth}{line}" for line in ("(", *(f"{INDENT}{name}," for name in names)))
                    left = ")"
                text = f"{left} = {text}" if text != left else ""
            yield from lines_of(text, depth, comment) if text else ()
        if self._records and not in_block:
            for number in statement.targets:
                if number in self._values and number in self._names:
                    name = self._values[number].name
                    self.recorded.append(name)
                    yield f"{INDENT * depth}record({name!a}, {self._names[number]})"

    def _name_targets(self, statement: Statement, place: int, *, in_block: bool) -> None:
        """Name what a statement gives. In a block everything has a name of its own, which nothing else gets."""
        targets = statement.targets
        for index, number in enumerate(targets):
            if number in self._names and in_block:
                continue
            if number not in self._last_use and (len(targets) > 1 or statement.pattern):
                self._names.pop(number, None)
                continue
            name, value = statement.names[index] if index < len(statement.names) else "", self._values.get(number)
            is_chain = not in_block and len(targets) == 1
            if name:
                wanted = iter([CHAIN, name] if is_chain and name in CHAINED else [identifier(name) or "value"])
            elif is_chain and value and self._is_chained(value) and self._is_free(CHAIN, place):
                self._take(number, CHAIN)
                continue
            else:
                wanted = self._wanted(value, self._lines[place] if is_chain else None, place)
            # A block may read anything again that it reads once.
            self._take(number, self._free_name(wanted, place - 1 if in_block else place))
            if in_block:
                self._last_use[number] = len(self._lines) + 1

    def _is_chained(self, value: Value) -> bool:
        """Return whether a value may be called CHAIN."""
        return isinstance(value.type, TensorType) and not self._records

    def _wanted(self, value: Value | None, line: Line | None, place: int) -> Iterator[str]:
        """Yield what a value may be called otherwise; `line` gives it alone. One that the source only numbers is called
        after its layer, what it is computed from if nothing else reads that, or its operator. In a class that is used
        several times it has no number of the whole network."""
        if value is None:
            return
        if self._records:
            yield from candidates(value)
            return
        counted = is_numbered(value)
        if counted and line is None:
            yield from (value_name(value), *SPARE)
        elif counted and line is not None:
            if called := LAYER_CALL.match(line.text):
                yield from layer_words(called[1])
            operands = {number for number in line.reads if number in self._values and number in self._names}
            if len(operands) == 1 and self._last_use[number := operands.pop()] <= place:
                yield self._names[number]
            yield from SPARE if called else (role_of(value), *SPARE)
        elif self._says_shapes:
            yield from candidates(value)
            return
        names = [re.sub(r"_?\d+$", "", text.removeprefix(self._scope)) or text for text in candidates(value)]
        yield names[0].rpartition("_")[2] or names[0]
        yield from names

    def _free_name(self, wanted: Iterable[str], place: int = -1) -> str:
        """Return the first of the names, as identifiers, that no value has which is read behind this statement: a part
        of a name may be a number or a keyword."""
        last = "value"
        for name in filter(None, map(identifier, wanted)):
            if name != CHAIN:
                last = name
            if name not in OF_FILE and self._is_free(name, place):
                return name
        number = 2
        while not self._is_free(f"{last}_{number}", place):
            number += 1
        return f"{last}_{number}"

    def _is_free(self, name: str, place: int) -> bool:
        holder = self._holders.get(name)
        return holder is None or (place >= 0 and self._last_use.get(holder, -1) <= place)

    def _take(self, number: int, name: str) -> None:
        self._names[number] = name
        self._holders[name] = number


def _shape_text(shape: Shape) -> str:
    """Return a shape for a comment; of a long one each size has an equal part of the line, `?` stands for those that
    take more."""
    sizes = [str(dim) for dim in shape]
    if sum(map(len, sizes)) + 2 * len(sizes) > LONGEST_SHAPE:
        sizes = [text if len(text) + 2 <= LONGEST_SHAPE // len(sizes) else "?" for text in sizes]
    return f"({', '.join(sizes)})"


def _joined(statements: Sequence[Statement], counts: Mapping[int, int]) -> list[Line]:
    """Return the statements, short ones that a single other one reads first inside of that one."""
    kept: list[Line] = []
    for current in statements:
        reads, depth = current.reads, 0
        text = start = current.blocks[0][0] if current.blocks else current.text
        while kept and kept[-1].depth < DEEPEST and _fits(kept[-1], text, len(current.targets), counts):
            inner = kept.pop()
            text, reads, depth = replace_first(text, expr(inner.text)), reads + inner.reads, max(depth, inner.depth + 1)
        if current.blocks:
            blocks = [(header, _joined_block(block, counts)) for header, block in current.blocks]
            current, text = replace(current, blocks=[(text, blocks[0][1]), *blocks[1:]]), current.text
        elif text is not start:
            text = Expr(text, level_of(start))
        kept.append(Line(current, text, reads, depth))
    return kept


def _joined_block(block: Sequence[Statement], counts: Mapping[int, int]) -> list[Statement]:
    """Return the statements of a block with those inside others that fit."""
    return [replace(statement, text=text) for statement, text, *_ in _joined(block, counts)]


def _fits(line: Line, text: str, targets: int, counts: Mapping[int, int]) -> bool:
    """Return whether a statement may stand inside the text of the one behind it, which has so many targets: as what
    that begins with, and short."""
    inner = line.statement
    if len(inner.targets) != 1 or counts[number := inner.targets[0]] != 1:
        return False
    if inner.keeps or inner.blocks or inner.names or inner.pattern:
        return False
    start = text.find(EDGE)
    if start < 0 or not text.startswith(f"{EDGE}{number}{EDGE}", start) or text.startswith("while "):
        return False
    if start == 0 and MARK.fullmatch(text):
        return True
    length = length_of(line.text, USUAL_NAME)
    if length > LONGEST_INSIDE:
        return False
    return length + length_of(text, USUAL_NAME) + USUAL_NAME * max(0, targets - 1) <= LONGEST_TOGETHER
