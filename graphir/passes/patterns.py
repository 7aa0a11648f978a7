"""Patterns of nodes: how a value is computed, written as nested operators with names for what may be anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, permutations
from typing import Any, TypeAlias

from graphir.graph import Graph, Value
from graphir.ops.base import Operator
from graphir.ops.elementwise import COMMUTATIVE, Identity
from graphir.types import DType

Operand: TypeAlias = "Pattern | str | float | None"
Names: TypeAlias = dict[str, Value]


class Pattern:
    """An operator class with its operands: a Pattern, a name that an operand is bound to, a number, None for none.

    `Pattern(Mul, "x", Pattern(Sigmoid, "x"))` describes `x * sigmoid(x)`: a name that comes twice is one value.
    Operands are matched in the order in which they are written; those of an operator that commutes in any order. A
    number is a parameter with this one element, to the last digits of its dtype. `where` tests the operator.
    """

    __slots__ = ("kinds", "op", "operands", "where")

    def __init__(
        self, op: type[Operator], *operands: Operand, where: Callable[[Any], bool] | None = None
    ) -> None:
        self.op = op
        self.operands = operands
        self.where = where
        # By operand: the operators that may compute it, NoneType for what no node computes.
        self.kinds = [kinds for kinds in map(_kinds_of, operands) if kinds]

    @property
    def roots(self) -> frozenset[type[Operator]]:
        """The operators that may compute the value."""
        return frozenset({self.op})

    @property
    def needs(self) -> list[frozenset[type]]:
        """By alternative what a graph has where it matches: operators, and `float` for a parameter of one element."""
        parts = [frozenset.intersection(*operand.needs) for operand in self.operands if isinstance(operand, Pattern)]
        numbers = [frozenset({float}) for operand in self.operands if isinstance(operand, float)]
        return [frozenset({self.op}).union(*parts, *numbers)]

    def match(self, value: Value) -> Names | None:
        """Return the values by name if the value is computed as described, else None. Linear in the pattern, but for
        operators that commute, of which each doubles it at most."""
        return next(self.matches(value, {}), None)

    def matches(self, value: Value | None, names: Names) -> Iterator[Names]:
        """Yield the values by name for each way in which the value is computed as described, given some of them."""
        node = value.producer if value is not None else None
        if node is None or not isinstance(node.op, self.op) or len(node.inputs) != len(self.operands):
            return
        if self.where is None or self.where(node.op):
            if self.kinds:
                producers = [None if value is None else value.producer for value in node.inputs]
                ops = [None if producer is None else producer.op for producer in producers]
                if not all(any(isinstance(op, kinds) for op in ops) for kinds in self.kinds):
                    return
            for order in permutations(node.inputs) if type(node.op) in COMMUTATIVE else (node.inputs,):
                yield from _bind(tuple(zip(order, self.operands, strict=True)), names)


class Either(Pattern):
    """A value that is computed as one of several patterns describe, which are tried in this order."""

    __slots__ = ("patterns",)

    def __init__(self, *patterns: Operand) -> None:
        super().__init__(Identity)
        self.patterns = patterns

    @property
    def roots(self) -> frozenset[type[Operator]]:
        """The operators that may compute the value."""
        return frozenset().union(*(pattern.roots for pattern in self.patterns if isinstance(pattern, Pattern)))

    @property
    def needs(self) -> list[frozenset[type]]:
        """What a graph has where one of the patterns matches."""
        nothing: list[frozenset[type]] = [frozenset()]
        return [needs for each in self.patterns for needs in (each.needs if isinstance(each, Pattern) else nothing)]

    def matches(self, value: Value | None, names: Names) -> Iterator[Names]:
        """Yield the values by name for each way in which one of the patterns describes the value."""
        for pattern in self.patterns:
            yield from _bind(((value, pattern),), names)


def _kinds_of(operand: Operand) -> tuple[type, ...]:
    """Return the types of what may compute an operand, none where that may be anything."""
    if isinstance(operand, Either):
        kinds = [_kinds_of(pattern) for pattern in operand.patterns]
        return tuple(chain(*kinds)) if all(kinds) else ()
    if isinstance(operand, Pattern):
        return (operand.op,)
    return () if isinstance(operand, str) else (type(None),)


def _bind(pairs: tuple[tuple[Value | None, Operand], ...], names: Names) -> Iterator[Names]:
    """Yield the names with those of the operands, for each way in which all of them are as expected."""
    if not pairs:
        yield names
        return
    (operand, expected), rest = pairs[0], pairs[1:]
    if isinstance(expected, Pattern):
        for bound in expected.matches(operand, names):
            yield from _bind(rest, bound)
    elif isinstance(expected, str):
        if operand is not None and names.get(expected, operand) is operand:
            yield from _bind(rest, {**names, expected: operand})
    elif (operand is None) if expected is None else is_number(operand, expected):
        yield from _bind(rest, names)


def kinds_in(graph: Graph | None, *, ever: bool = False) -> set[type]:
    """Return what patterns may need of a graph and those around it: the operators of its nodes with their bases, and
    `float` if there is a parameter of one element. With `ever` it is what there may be or have been, which is known
    without a look at nodes and parameters."""
    kinds: set[type] = {float} if ever else set()
    while graph is not None:
        kinds.update(*[kind.__mro__ for kind in (graph.kinds if ever else {type(node.op) for node in graph.nodes})])
        if not ever and any(value.tensor is not None and value.tensor.size == 1 for value in graph.parameters):
            kinds.add(float)
        graph = graph.parent
    return kinds


def number_of(value: Value | None) -> float | None:
    """Return the only element of a parameter of floats, None for other values."""
    tensor = None if value is None or value.producer is not None else value.tensor
    if tensor is None or tensor.size != 1 or not tensor.dtype.is_float:
        return None
    return float(tensor.numpy().reshape(-1)[0])


def is_number(value: Value | None, expected: float) -> bool:
    """Return whether a value is a parameter with this number as its only element, to two units in the last place."""
    number = number_of(value)
    dtype = None if value is None else value.dtype
    return number is not None and dtype is not None and is_near(number, expected, dtype)


def is_near(number: float, expected: float, dtype: DType) -> bool:
    """Return whether a number is the expected one, to two units in the last place of a dtype."""
    if number == expected:
        return True
    import numpy as np

    rounded = np.array(expected, dtype.numpy())
    unit = float(np.nextafter(rounded, np.array(np.inf, rounded.dtype))) - float(rounded)
    return abs(number - float(rounded)) <= 2 * unit
