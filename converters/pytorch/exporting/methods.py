"""A long `forward` in parts: methods that hand on as few values as possible, named after what the source calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphir.converters.pytorch.exporting.block_arguments import ATTRIBUTE
from graphir.converters.pytorch.exporting.compose import Body, Parameter, targets_of, texts_of
from graphir.converters.pytorch.exporting.expression import Expr, Reference, references
from graphir.converters.pytorch.exporting.naming import OF_MODULES, Names
from graphir.converters.pytorch.exporting.state import Statement
from graphir.graph import Value
from graphir.types import ANYTHING, Type

# Lines of a `forward`, and statements of a part: what is joined and what has comments makes about as many lines.
MOST_LINES = 60
FEWEST, MOST = 20, 36


@dataclass
class Method:
    """A method that computes `outputs` of its inputs, with the types of both; None is a Python integer or a device."""

    name: str
    inputs: list[Parameter]
    statements: list[Statement]
    outputs: list[Expr]
    types: Sequence[Type | None]
    results: Sequence[Type] = field(default_factory=lambda: [ANYTHING])


def parts_of(forward: Method, values: Mapping[int, Value]) -> list[Method]:
    """The method, behind its parts where it is long. Linear in the number of statements."""
    body = Body(forward.statements, forward.outputs, forward.inputs, values)
    if sum(1 for _ in body.lines()) <= MOST_LINES:
        return [forward]
    settings = [statement for statement in forward.statements if statement.is_setting]
    statements = [statement for statement in forward.statements if not statement.is_setting]
    live = _live(statements, forward.outputs)
    size = max(MOST, len(statements) // MOST_LINES)
    methods: list[Method] = []
    calls: list[Statement] = []
    names = Names({*OF_MODULES, *(name for text in texts_of(statements) for name in ATTRIBUTE.findall(text))})
    start = 0
    while start < len(statements):
        end = _end(live, start, size, len(statements))
        part = statements[start:end]
        given = set(targets_of(part))
        read = list(dict.fromkeys(number for text in texts_of(part) for number in references(text)))
        inputs = [number for number in read if number not in given]
        results = [number for number in live[end - 1] if number in given]
        method = _method(names.take(_scope(part), "part"), part, inputs, results, settings)
        methods.append(method)
        text = f"self.{method.name}({', '.join(str(Reference(number)) for number in inputs)})"
        value = values.get(results[0]) if len(results) == 1 else None
        calls.append(Statement(tuple(results), text, value))
        start = end
    whole = Method("forward", forward.inputs, [*settings, *calls], forward.outputs, forward.types, forward.results)
    return [*methods, whole]


def _method(
    name: str, part: list[Statement], inputs: Sequence[int], results: Sequence[int], settings: Sequence[Statement]
) -> Method:
    said = {statement.targets[0]: statement.names[0] for statement in settings}
    names = Names(("self",))
    parameters, types = [], []
    for number in inputs:
        parameters.append(Parameter(number, names.take(said.get(number, "x"), "x")))
        types.append(None if number in said else ANYTHING)
    outputs: list[Expr] = [Reference(number) for number in results]
    return Method(name, parameters, part, outputs, types, [ANYTHING] * len(outputs))


def _live(statements: Sequence[Statement], outputs: Sequence[Expr]) -> list[list[int]]:
    """Behind each statement, the values of those before that are still read."""
    last: dict[int, int] = {}
    for place, statement in enumerate(statements):
        last.update((number, place) for text in texts_of([statement]) for number in references(text))
    last.update((number, len(statements)) for text in outputs for number in references(text))
    result: list[list[int]] = []
    current: dict[int, None] = {}
    for place, statement in enumerate(statements):
        current |= dict.fromkeys(statement.targets)
        current = {number: None for number in current if last.get(number, -1) > place}
        result.append(list(current))
    return result


def _end(live: Sequence[Sequence[int]], start: int, size: int, count: int) -> int:
    """Where a part ends that begins here: where the fewest values lead on, late rather than early."""
    if count - start <= size:
        return count
    choices = range(start + FEWEST, start + size + 1)
    return min(choices, key=lambda end: (len(live[end - 1]), -end))


def _scope(part: Sequence[Statement]) -> str:
    """What the layers of a part have in common in their names, else what its first one is called."""
    names = [name for text in texts_of(part) for name in ATTRIBUTE.findall(text)]
    if not names:
        return "part"
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    length = next((place for place, (one, other) in pairs if one != other), len(first))
    return f"run_{first[: first.rfind('_', 0, length)] if '_' in first[:length] else names[0]}"


__all__ = ["Method", "parts_of"]
