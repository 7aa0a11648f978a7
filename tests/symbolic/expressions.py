"""Random expressions over sizes, each as a dimension and as the arithmetic of integers that it must agree with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hypothesis import strategies as st

from graphir.symbolic.dims import Dim, ceildiv, dim_max, dim_min, symbol

NAMES = ("H", "N", "W")
Sizes = Mapping[str, int]


class Expression(NamedTuple):
    """An expression: `dim` as graphir has it, `value` what it is for given sizes (ZeroDivisionError included)."""

    dim: Dim
    value: Callable[[Sizes], int]
    text: str = ""


def number(value: int) -> Expression:
    return Expression(value, lambda sizes: value, str(value))


def size(name: str) -> Expression:
    return Expression(symbol(name), lambda sizes: sizes[name], name)


FUNCTIONS: tuple[tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]], ...] = (
    (operator.add, operator.add),
    (operator.sub, operator.sub),
    (operator.mul, operator.mul),
    (operator.floordiv, operator.floordiv),
    (operator.mod, operator.mod),
    (dim_max, max),
    (dim_min, min),
    (ceildiv, lambda left, right: -(-left // right)),
)


@st.composite
def joined(draw: st.DrawFn, parts: st.SearchStrategy[Expression]) -> Expression:
    """Two expressions joined by a function; what cannot be a divisor is added."""
    left, right = draw(parts), draw(parts)
    symbolic, numeric = draw(st.sampled_from(FUNCTIONS))
    rounds_up = symbolic is ceildiv
    if right.dim == 0 or (rounds_up and not (isinstance(right.dim, int) and right.dim > 0)):
        symbolic, numeric = FUNCTIONS[0]
    text = f"{numeric.__name__}({left.text}, {right.text})"
    return Expression(symbolic(left.dim, right.dim), lambda sizes: numeric(left.value(sizes), right.value(sizes)), text)


leaves = st.one_of(st.integers(-6, 6).map(number), st.sampled_from(NAMES).map(size))
expressions = st.recursive(leaves, joined, max_leaves=10)
sizes = st.fixed_dictionaries({name: st.integers(1, 40) for name in NAMES})
