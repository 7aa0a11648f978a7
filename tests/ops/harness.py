"""One harness for the rules of all operators: tables of rows in, tests out.

    test_results = good(GOOD)          operator, operands, the results' types
    test_refused = bad(BAD)            operator or `late(...)`, operands, what the error says (a regular expression)
    test_operands = backward(BACKWARD) operator, operands, results, what the operands must be
    test_elements = followed(VALUES)   operator, operands, the elements of the results that are known
    test_elements = propagated(VALUES) the same as the operator's rule alone says it, in one word
    test_macs = macs(MACS)             operator, operands, multiply-accumulate operations

How operands are written: see `rule`. The rows that became tests are counted by `test_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from graphir.errors import GraphError, ShapeError
from graphir.inference import infer_outputs
from graphir.ops.base import Operator
from graphir.types import TensorType

from . import rule
from .late import Late

Row = tuple[Any, ...]
Test = Callable[..., None]
REFUSALS = (ShapeError, GraphError)
GOOD: list[Row] = []
BAD: list[Row] = []


def check_good(op: Operator, operands: object, expected: object) -> None:
    """Fail unless these are the results' types."""
    assert rule.results(op, *rule.as_row(operands)) == rule.texts(expected)


def check_bad(op: Operator | Late, operands: object, text: str) -> None:
    """Fail unless the operator, or a node with these operands, is refused with such a text."""
    with pytest.raises(REFUSALS, match=text):
        rule.results(op, *rule.as_row(operands))


def good(rows: Iterable[Row]) -> Test:
    """A test of types that follow."""
    rows = tuple(rows)
    GOOD.extend(rows)

    @pytest.mark.parametrize(("op", "operands", "expected"), rows, ids=str)
    def test_results(op: Operator, operands: object, expected: object) -> None:
        check_good(op, operands, expected)

    return test_results


def bad(rows: Iterable[Row]) -> Test:
    """A test of what is refused."""
    rows = tuple(rows)
    BAD.extend(rows)

    @pytest.mark.parametrize(("op", "operands", "text"), rows, ids=str)
    def test_refused(op: Operator | Late, operands: object, text: str) -> None:
        check_bad(op, operands, text)

    return test_refused


def backward(rows: Iterable[Row]) -> Test:
    """A test of what operands must be, given all types."""

    @pytest.mark.parametrize(("op", "operands", "found", "wanted"), tuple(rows), ids=str)
    def test_operands(op: Operator, operands: object, found: object, wanted: object) -> None:
        assert rule.backwards(op, operands, found) == rule.texts(wanted)

    return test_operands


def followed(rows: Iterable[Row]) -> Test:
    """A test of elements that are known: a text for each result, None for one without."""

    @pytest.mark.parametrize(("op", "operands", "expected"), tuple(rows), ids=str)
    def test_elements(op: Operator, operands: object, expected: object) -> None:
        assert rule.elements(op, *rule.as_row(operands)) == expected

    return test_elements


def propagated(rows: Iterable[Row]) -> Test:
    """A test of what the operator's own rule says of elements, before they are held to what the dtype can hold."""

    @pytest.mark.parametrize(("op", "operands", "expected"), tuple(rows), ids=str)
    def test_elements(op: Operator, operands: object, expected: str) -> None:
        given = rule.pairs(*rule.as_row(operands))
        found = op.propagate(rule.types(*rule.as_row(operands)), tuple(elements for _, elements in given))
        assert found == (rule.stated(expected),)

    return test_elements


def macs(rows: Iterable[Row]) -> Test:
    """A test of costs, which follow from the types of operands and results."""

    @pytest.mark.parametrize(("op", "operands", "count"), tuple(rows), ids=str)
    def test_macs(op: Operator, operands: object, count: object) -> None:
        given = rule.types(*rule.as_row(operands))
        found = infer_outputs(op, given, (None,) * len(given))
        assert op.macs(given, tuple(type_ for type_ in found if isinstance(type_, TensorType))) == count

    return test_macs


def class_of(op: Operator | Late) -> type[Operator]:
    """The operator's class, whether it is made or not yet."""
    return op.operator if isinstance(op, Late) else type(op)


__all__ = [
    *("BAD", "GOOD", "backward", "bad", "check_bad", "check_good", "class_of", "followed", "good", "macs"),
    "propagated",
]
