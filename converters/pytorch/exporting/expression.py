"""Python expressions as text, with what decides where they need parentheses; and references to values inside them.

Which name a value has is decided once all statements are known. Until then a text holds a mark for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# How tightly Python binds; a name, a call and a subscript bind most.
LEVELS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 4),
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8,
    **dict.fromkeys(("+", "-"), 9), **dict.fromkeys(("*", "@", "/", "//", "%"), 10), "**": 12,
}  # fmt: skip
UNARY, ATOM = 11, 13
# A reference is the number of its value and the level that what replaces it needs, between these.
EDGE = "\x00"
MARK = re.compile(f"{EDGE}(\\d+){EDGE}(\\d+){EDGE}")
# What ruff writes without spaces around a power: names, attributes of names, numbers.
SIMPLE = re.compile(f"-?[A-Za-z0-9_.]+|{MARK.pattern}")
# Where any expression may stand: as an argument, an element, an index, a whole statement.
_OPEN = ("(", "[", "{", ", ", "= ", "=", "return ", ": ", "if ", "while ", " in ")
_CLOSED = ("", ")", "]", "}", ",", ":")


class Expr(str):
    """The text of an expression; `level` says how tightly it binds."""

    __slots__ = ("level",)
    level: int

    def __new__(cls, text: str, level: int = ATOM) -> Expr:
        """Return an expression of this text."""
        instance = str.__new__(cls, text)
        instance.level = level
        return instance

    def within(self, level: int) -> str:
        """Return the text where something stands beside it that binds at this level."""
        return str(self) if self.level >= level else f"({self})"

    @property
    def atom(self) -> str:
        """The text where an attribute, a call or an index follows."""
        return self.within(ATOM)


class ValueReference(Expr):
    """A value by its number, until it has a name."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, number: int) -> ValueReference:
        """Return a reference to a value."""
        instance = str.__new__(cls, f"{EDGE}{number}{EDGE}0{EDGE}")
        instance.level, instance.number = ATOM, number
        return instance

    def within(self, level: int) -> str:
        """Return the mark, with the level that what replaces it needs."""
        return f"{EDGE}{self.number}{EDGE}{level}{EDGE}"


def level_of(text: str) -> int:
    """Return the level of a text: that of an expression, or of a call for what an export function wrote itself."""
    return text.level if isinstance(text, Expr) else ATOM


def expr(text: str) -> Expr:
    """Return a text as an expression."""
    return text if isinstance(text, Expr) else Expr(text)


def binary(operator: str, left: str, right: str) -> Expr:
    """`left operator right`, in parentheses where they are needed.

    >>> str(binary("*", binary("+", "a", "b"), "c")), str(binary("**", "a", "2"))
    ('(a + b) * c', 'a**2')
    """
    level = LEVELS[operator]
    if operator == "**":
        first, second = expr(left).within(ATOM), expr(right).within(UNARY)
        space = "" if SIMPLE.fullmatch(first) and SIMPLE.fullmatch(second) else " "
        return Expr(f"{first}{space}**{space}{second}", level)
    compares = level == LEVELS["=="]
    return Expr(f"{expr(left).within(level + compares)} {operator} {expr(right).within(level + 1)}", level)


def unary(operator: str, operand: str) -> Expr:
    """`-operand` or `~operand`."""
    return Expr(f"{operator}{expr(operand).within(UNARY)}", UNARY)


def call(function: str, *arguments: object, **named: str | None) -> str:
    """Return a call with the arguments that are not None."""
    given = [str(argument) for argument in arguments if argument is not None]
    if named:
        given += [f"{name}={value}" for name, value in named.items() if value is not None]
    return f"{function}({', '.join(given)})"


def tuple_of(items: Iterable[object]) -> str:
    """Return a tuple.

    >>> tuple_of([1]), tuple_of([1, 2])
    ('(1,)', '(1, 2)')
    """
    parts = list(map(str, items))
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def axes_text(axes: Sequence[object]) -> str:
    """Axes or sizes: a single one as a number, else a tuple."""
    return str(axes[0]) if len(axes) == 1 else tuple_of(axes)


def list_of(items: Iterable[object]) -> str:
    """Return a list."""
    return f"[{', '.join(map(str, items))}]"


def short(numbers: Iterable[object]) -> str:
    """Return what layers take for each axis: one number where all are equal, else a tuple.

    >>> short([3, 3]), short([3, 5])
    ('3', '(3, 5)')
    """
    parts = list(map(str, numbers))
    return parts[0] if parts and len(set(parts)) == 1 else tuple_of(parts)


def references(text: str) -> tuple[int, ...]:
    """Return the numbers of the values that a text refers to, each as often as it does."""
    return tuple(map(int, text.split(EDGE)[1::3])) if EDGE in text else ()


def with_names(text: str, names: Mapping[int, str]) -> str:
    """Return the text with a name in place of each reference."""
    parts = text.split(EDGE)
    parts[1::3] = [names[int(number)] for number in parts[1::3]]
    del parts[2::3]
    return "".join(parts)


def length_of(text: str, name: int) -> int:
    """Return how long a text is whose only reference has a name of one letter; of several each has one of `name`."""
    parts = text.split(EDGE)[::3]
    count = len(parts) - 1
    return sum(map(len, parts)) + count * (1 if count == 1 else name)


def with_reference(text: str, number: int, other: int) -> Expr:
    """Return the text with a reference to another value in place of each one to a value."""
    parts = text.split(EDGE)
    parts[1::3] = [str(other) if part == str(number) else part for part in parts[1::3]]
    return Expr(EDGE.join(parts), level_of(text))


def replace_first(text: str, replacement: Expr) -> str:
    """Return the text with an expression in place of its first reference, in parentheses where it needs them."""
    before, _, stated, behind = text.split(EDGE, 3)
    is_open = (not before or before.endswith(_OPEN)) and behind[:1] in _CLOSED
    return f"{before}{replacement.within(int(stated) or (0 if is_open else ATOM))}{behind}"
