"""Every operator has rows that it takes and rows that it refuses, counted by running them."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

import pytest

import tests.ops
from graphir.ops import Operator, operator_table
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Add
from tests.ops import harness

# Of a Foreign operator nothing is known: it takes what it is given.
ANYTHING_GOES = {"Foreign"}


@cache
def rows(kind: str) -> dict[type[Operator], list[harness.Row]]:
    """The rows that the families' files made tests, by operator."""
    for module in pkgutil.iter_modules(tests.ops.__path__):
        if module.name.startswith("test_"):
            import_module(f"tests.ops.{module.name}")
    found: dict[type[Operator], list[harness.Row]] = {}
    for row in {"good": harness.GOOD, "bad": harness.BAD}[kind]:
        found.setdefault(harness.class_of(row[0]), []).append(row)
    return found


def held(check: Callable[..., None], found: list[harness.Row]) -> int:
    """How many rows there are, each run. Fails where one does not hold."""
    for row in found:
        check(*row)
    return len(found)


@pytest.mark.parametrize("name", sorted(set(operator_table()) - ANYTHING_GOES))
def test_an_operator_has_rows_that_hold(name: str) -> None:
    cls = operator_table()[name]
    where = f"tests/ops/test_{cls.__module__.rpartition('.')[2]}.py"
    assert held(harness.check_good, rows("good").get(cls, [])), f"{name} has no row in GOOD of {where}"
    assert held(harness.check_bad, rows("bad").get(cls, [])), f"{name} has no row in BAD of {where}"


@pytest.mark.parametrize(("check", "row"), [
    (harness.check_good, (Relu(), "f[2]", "f[3]")),
    (harness.check_good, (Add(), "f[2,1] f[3]", ["float32[2]"])),
    (harness.check_bad, (Relu(), "b[2]", "another text")),
])  # fmt: skip
def test_a_row_that_does_not_hold_fails(check: Callable[..., None], row: harness.Row) -> None:
    with pytest.raises(AssertionError):
        held(check, [row])


def test_a_bad_row_that_is_taken_fails() -> None:
    with pytest.raises(pytest.fail.Exception):
        held(harness.check_bad, [(Relu(), "f[2]", "X")])
