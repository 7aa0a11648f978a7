"""A long `forward` in parts: methods that hand on as few values as possible, named after what the source calls them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from graphir.converters.pytorch.exporting.compose import ForwardArgument, ForwardBody
from graphir.converters.pytorch.exporting.expression import Expr, ValueReference
from graphir.converters.pytorch.exporting.naming import OF_FILE, OF_MODULES, Identifiers, common_length
from graphir.converters.pytorch.exporting.ordering import READS, TARGETS, last_reads, targets_of
from graphir.converters.pytorch.exporting.state import Statement
from graphir.converters.pytorch.exporting.value_names import CHAIN, value_name
from graphir.graph import Value
from graphir.types import ANYTHING, Type

# Lines of a method, and statements of a part: what is joined and what has comments makes about as many lines. A line
# stands for this many statements at most.
MOST_LINES = 60
FEWEST, MOST = 20, 36
MOST_PER_LINE = 4


@dataclass
class Method:
    """A method that computes `outputs` of its inputs, with the types of both; None is a Python integer or a device.
    `values` are the graph's values by number."""

    name: str
    inputs: list[ForwardArgument]
    statements: list[Statement]
    outputs: list[Expr]
    types: Sequence[Type | None]
    values: Mapping[int, Value]
    results: Sequence[Type] = field(default_factory=lambda: [ANYTHING])
    _lines: dict[tuple[bool, str], list[str]] = field(default_factory=dict, init=False)

    def lines(self, *, says_shapes: bool = True, scope: str = "") -> list[str]:
        """Return the lines of its body, computed once."""
        key = says_shapes, scope
        if key not in self._lines:
            parts = self.statements, self.outputs, self.inputs, self.values
            body = ForwardBody(*parts, says_shapes=says_shapes, scope=scope)
            self._lines[key] = list(body.lines())
        return self._lines[key]

    @property
    def is_short(self) -> bool:
        """Return whether the method, its first lines included, is no longer than MOST_LINES."""
        if len(self.statements) > MOST_PER_LINE * MOST_LINES:
            return False
        return len(self.lines()) + min(len(self.inputs), 8) + 3 <= MOST_LINES


def parts_of(forward: Method) -> list[Method]:
    """Return the method, behind its parts where it is long. Linear in the number of statements."""
    if forward.is_short:
        return [forward]
    settings = [statement for statement in forward.statements if statement.is_setting]
    names = Identifiers(OF_MODULES.union(*(statement.attributes for statement in forward.statements)))
    splitter = _Splitter(settings, forward.values, names)
    whole = forward
    while not whole.is_short:
        statements = [statement for statement in whole.statements if not statement.is_setting]
        calls = splitter.split(statements, forward.outputs, MOST)
        if len(calls) == len(statements):
            break
        whole = replace(forward, statements=[*settings, *calls])
    return [*splitter.methods, whole]


class _Splitter:
    """Makes methods of statements; `settings` are the sizes and devices that `forward` reads of its inputs."""

    def __init__(self, settings: Sequence[Statement], values: Mapping[int, Value], names: Identifiers) -> None:
        self._settings = {statement.targets[0]: statement.names[0] for statement in settings}
        self._values, self._names = values, names
        self.methods: list[Method] = []

    def split(self, statements: Sequence[Statement], outputs: Sequence[Expr], size: int) -> list[Statement]:
        """Return the calls of methods of `size` statements at most, of fewer where these are more than a page."""
        last = last_reads([statement.reads for statement in statements], outputs)
        first: dict[int, int] = {}
        for place, statement in enumerate(statements):
            for number in statement.targets:
                first.setdefault(number, place)
        counts = _count_live(first, last, len(statements))
        calls: list[Statement] = []
        start = 0
        while start < len(statements):
            end = _end(counts, start, size)
            part = statements[start:end]
            targets = dict.fromkeys(chain.from_iterable(map(TARGETS, part)))
            results = [number for number in targets if last.get(number, -1) >= end]
            earlier = [number for number in targets if first[number] < start]
            calls += self._calls(part, sorted(results, key=first.__getitem__), earlier, size)
            start = end
        return calls

    def _calls(
        self, part: Sequence[Statement], results: Sequence[int], earlier: Collection[int], size: int
    ) -> list[Statement]:
        """Return the calls of a part's methods; `earlier` is what it assigns that has a value before."""
        given = {*targets_of(part)} - {*earlier}
        inputs = [number for number in dict.fromkeys(chain.from_iterable(map(READS, part))) if number not in given]
        if len(part) == 1 and len(part[0].reads) == len(inputs) and not part[0].blocks:
            return list(part)
        method = self._method(part, inputs, [ValueReference(number) for number in results])
        if len(part) > 1 and not method.is_short:
            return self.split(part, method.outputs, min(size, len(part)) // 2)
        method.name = self._names.take(_scope(part), "part")
        self.methods.append(method)
        text = f"self.{method.name}({', '.join(str(ValueReference(number)) for number in inputs)})"
        value = self._values.get(results[0]) if len(results) == 1 else None
        return [Statement(tuple(results), text, value)]

    def _method(self, part: Sequence[Statement], inputs: Sequence[int], outputs: list[Expr]) -> Method:
        names = Identifiers(OF_FILE)
        values = [number for number in inputs if number not in self._settings]
        called = {number: value_name(self._values[number]) for number in values[1:] if number in self._values}
        called |= self._settings
        parameters = [ForwardArgument(number, names.take(called.get(number, CHAIN), CHAIN)) for number in inputs]
        types = [None if number in self._settings else ANYTHING for number in inputs]
        return Method("", parameters, list(part), outputs, types, self._values, [ANYTHING] * len(outputs))


def _count_live(first: Mapping[int, int], last: Mapping[int, int], count: int) -> list[int]:
    """Return how many values are still read behind each of so many statements, of those that they give up to it."""
    changes = [0] * (count + 1)
    for number, place in first.items():
        if (end := last.get(number, -1)) > place:
            changes[place] += 1
            changes[end] -= 1
    return list(accumulate(changes[:-1]))


def _end(live: Sequence[int], start: int, size: int) -> int:
    """Return where a part ends that begins here: where the fewest values lead on, late rather than early."""
    if len(live) - start <= size:
        return len(live)
    choices = range(start + min(FEWEST, (size + 1) // 2), start + size + 1)
    return min(choices, key=lambda end: (live[end - 1], -end))


def _scope(part: Sequence[Statement]) -> str:
    """Return what the layers of a part have in common in their names, else the first word of its first one."""
    names = [name for statement in part for name in statement.attributes]
    if not names:
        return "part"
    first, length = names[0], common_length(names)
    scope = first[: first.rfind("_", 0, length)] if "_" in first[:length] else first.partition("_")[0]
    return f"forward_{scope}"
