"""Dimensions as text: reading back what `str` of a dimension writes; and dimensions as people give them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import index
from typing import Any, SupportsIndex, cast

from graphir.errors import ShapeError

from .dims import UNKNOWN, Dim, Shape, Sym, Unknown, dim_max, dim_min, symbol

# The types of what is a dimension as it stands.
DIMENSIONS = frozenset({int, Sym, Unknown})


def parse_dim(text: str) -> Dim:
    """Return the dimension that `str` wrote: an integer, `?`, or an expression of symbols with `+ - * //`, max and min.

    The text means what it means in Python. Raises ValueError for any other text.

    >>> parse_dim("(H+1)//2") == (symbol("H") + 1) // 2
    True
    """
    text = text.strip()
    if text == "?":
        return UNKNOWN
    parser = _Parser(text)
    try:
        result: Dim = parser.sum()
    except (RecursionError, ZeroDivisionError) as error:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise ValueError(f"not a dimension: {shown!r} ({error})") from None
    parser.finish()
    return result


class _Parser:
    """Recursive descent over the grammar that `str(dim)` writes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = re.findall(r"//|[A-Za-z_][\w.:]*|\d+|[-+*(),]|\S", text)
        self.index = 0

    def peek(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise ValueError(f"not a dimension: {self.text!r} (found {token or 'its end'!r}"
                             + (f", expected {expected!r})" if expected else ")"))
        self.index += 1
        return token

    def finish(self) -> None:
        if self.peek():
            raise ValueError(f"not a dimension: {self.text!r} (found {self.peek()!r} after its end)")

    def sum(self) -> Any:
        total = self.product()
        while self.peek() in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> Any:
        result = self.factor()
        while self.peek() in ("*", "//"):
            result = result * self.factor() if self.take() == "*" else result // self.factor()
        return result

    def factor(self) -> Any:
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "(":
            inner = self.sum()
            self.take(")")
            return inner
        if token.isdecimal():
            return int(token)
        if token in ("max", "min") and self.peek() == "(":
            self.take("(")
            left = self.sum()
            self.take(",")
            right = self.sum()
            self.take(")")
            return dim_max(left, right) if token == "max" else dim_min(left, right)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:]*", token):
            raise ValueError(f"not a dimension: {self.text!r} (found {token!r})")
        return symbol(token)


def dimensions(shape: object) -> Shape:
    """Return the shape of what was given for one: integers, names, texts as `parse_dim` reads them, and None, in a
    sequence.

    Raises ShapeError for what is none.

    >>> dimensions([1, "N", None])
    (1, Sym('N'), UNKNOWN)
    """
    try:
        if isinstance(shape, str):
            raise TypeError("a text is no sequence of sizes")
        return tuple(map(_dimension, cast("Iterable[object]", shape)))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"not a shape: {shape!r}: {error}") from None


def _dimension(dim: object) -> Dim:
    if dim is None:
        return UNKNOWN
    if isinstance(dim, str):
        return parse_dim(dim)
    return dim if isinstance(dim, Sym | Unknown) else index(cast("SupportsIndex", dim))
