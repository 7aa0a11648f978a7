"""Dimensions as text: reading back what `str` of a dimension writes."""

from __future__ import annotations

import re
from typing import Any

from .dims import UNKNOWN, Dim, dim_max, dim_min, symbol


def parse_dim(text: str) -> Dim:
    """The dimension that `str` wrote: an integer, `?`, or an expression of symbols with `+ - * //`, max and min.

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
        self.place = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise ValueError(f"not a dimension: {self.text!r} (found {token or 'its end'!r}"
                             + (f", expected {expected!r})" if expected else ")"))
        self.place += 1
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


__all__ = ["parse_dim"]
