"""How much work a model's file may ask for: the limits, and what is used up of them while a model is read and written.

A file says little of what it costs: 20 bytes ask for a billion outputs, or for a table of a terabyte. What a file
asks for without holding it is counted here, before it is made, and refused with a LimitError beyond the limits. What
a file holds is not limited: weights of many GB and 100,000 nodes are honest.

Whoever opens a file does it inside `limited`; what is made is charged by `charge_elements`, `charge_nodes` and
`check_depth`. Outside of `limited`, as when a program builds a graph of its own, nothing is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from typing import ParamSpec, TypeVar, cast

from graphir.errors import GraphirError, LimitError
from graphir.structure.record import mutable_record, record

UNCOUNTED = 4096
P = ParamSpec("P")
R = TypeVar("R")


@record
class Limits:
    """What one model may ask for beyond what its files hold; each can be raised, by name.

    `elements`: elements of constants that are made of attributes (ranges, identity matrices, tables of positions), all
    of them together; tensors that hold one value throughout cost nothing and are not counted.
    `nodes`: nodes and results that are made of others or of numbers (functions called again, results and layers that an
    attribute counts), all of them together.
    `expansion`: how many times more than a file holds may be made of it on top of these: elements of a sparse tensor
    for each one stored, nodes for each node of the file, bytes for each compressed one.
    `depth`: how deep graphs, functions and lists may stand in one another.

    >>> Limits.of("nodes=1000000,depth=60")
    Limits(elements=16777216, nodes=1000000, expansion=200, depth=60)
    """

    elements: int = 1 << 24
    nodes: int = 5_000
    expansion: int = 200
    depth: int = 32

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if type(value) is not int or value < 0:
                raise GraphirError(f"the limit {entry.name} is {value!r}, expected a number of at least 0")

    @staticmethod
    def of(stated: Limits | Mapping[str, int] | str | None) -> Limits:
        """Return the limits of a text (`nodes=100000,depth=60`) or a mapping, the defaults for the others.

        Raises GraphirError for a name that is no limit and for a value that is no number.
        """
        if isinstance(stated, Limits):
            return stated
        if isinstance(stated, str):
            stated = dict(map(_pair, stated.split(",")))
        known = [entry.name for entry in fields(Limits)]
        unknown = [name for name in stated or {} if name not in known]
        if unknown:
            raise GraphirError(f"there is no limit {', '.join(map(repr, unknown))}; the limits are {', '.join(known)}")
        return Limits(**(stated or {}))


Stated = Limits | Mapping[str, int] | str | None


def _pair(text: str) -> tuple[str, int]:
    name, _, value = text.strip().partition("=")
    digits = value.replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise GraphirError(f"{text!r} is no limit; write name=number, as in nodes=100000")
    return name, int(digits)


@mutable_record
class _Budget:
    """What is used of the limits, and what the files hold."""

    limits: Limits
    elements: int = 0
    nodes: int = 0
    file_nodes: int = 0


_current: ContextVar[_Budget | None] = ContextVar("graphir_limits", default=None)


@contextmanager
def limited(stated: Stated = None) -> Iterator[None]:
    """While a model is read: what is charged in here counts together. Inside another the outer one goes on to count,
    unless limits are stated. Raises GraphirError for what are no limits."""
    if stated is None and _current.get() is not None:
        yield
        return
    token = _current.set(_Budget(Limits.of(stated)))
    try:
        yield
    finally:
        _current.reset(token)


def bounded(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that opens or converts files, run inside `limited` with what its keyword `limits` states, if it
    has one."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with limited(cast("Stated", kwargs.get("limits"))):
            return function(*args, **kwargs)

    return run


def current() -> Limits:
    """Return the limits that hold here."""
    budget = _current.get()
    return Limits() if budget is None else budget.limits


def hold_nodes(count: int) -> None:
    """Say that a file holds so many nodes, in proportion to which more may be made."""
    budget = _current.get()
    if budget is not None:
        budget.file_nodes += count


def charge_nodes(count: int, what: str) -> None:
    """Count nodes or results that are to be made of others or of a number. Raises LimitError beyond the limit."""
    budget = _current.get()
    if budget is None:
        return
    allowed = budget.limits.nodes + budget.limits.expansion * budget.file_nodes
    if budget.nodes + count > allowed:
        raise _excess(what, "nodes and results", budget.nodes + count, allowed, "nodes")
    budget.nodes += count


def check_count(count: int, what: str) -> None:
    """Raise LimitError for a number of results, operands or layers that one node alone may not have."""
    budget = _current.get()
    if budget is None:
        return
    allowed = budget.limits.nodes + budget.limits.expansion * budget.file_nodes
    if count > allowed:
        raise _excess(what, "in one node", count, allowed, "nodes")


def charge_elements(count: int, what: str) -> None:
    """Count elements that are to be made of numbers. Raises LimitError beyond the limit."""
    budget = _current.get()
    if budget is None:
        return
    if budget.elements + count > budget.limits.elements:
        raise _excess(what, "elements", budget.elements + count, budget.limits.elements, "elements")
    budget.elements += count


def charge_list(count: int, what: str) -> None:
    """`charge_elements` for a list of numbers; short ones, which every model has many of, are not counted."""
    if count > UNCOUNTED:
        charge_elements(count, what)


def check_expansion(count: int, stored: int, what: str, unit: str = "elements") -> None:
    """Raise LimitError where `count` elements (or bytes) come out of far fewer stored ones."""
    limits = current()
    allowed = limits.elements + limits.expansion * stored
    if count > allowed:
        raise _excess(what, f"{unit} of {stored} stored", count, allowed, "expansion")


def check_depth(depth: int, what: str) -> None:
    """Raise LimitError for what stands deeper in itself than the limit."""
    allowed = current().depth
    if depth > allowed:
        raise _excess(what, "levels", depth, allowed, "depth")


def _excess(what: str, unit: str, count: int, allowed: int, name: str) -> LimitError:
    shown = str(count) if count < 10**30 else "more than 10**30"
    return LimitError(
        f"{what}: {shown} {unit}, at most {allowed} are made; where this is meant, raise the limit {name!r} "
        f"(--limits {name}=NUMBER, limits= in the library)"
    )
