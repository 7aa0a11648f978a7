"""All cases of all families, for tests that go through them: every module here and in `rare` that has CASES."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from graphir.converters.mxnet.importing import rare
from tests.equivalence.case import Case

OTHERS = {"case", "live", "table"}
ROOMS = ("tests.equivalence", "tests.equivalence.rare")
FAMILIES = tuple(
    importlib.import_module(f"{room}.{path.stem}")
    for room in ROOMS
    for path in sorted(Path(__file__).parents[2].joinpath(*room.split(".")).glob("[!_]*.py"))
    if path.stem not in OTHERS and not path.stem.startswith("test_")
)

CASES: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.CASES)
REFUSED: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.REFUSED)


def rare_operators() -> set[str]:
    """Return the operators that no network of a model zoo has."""
    tables: list[Mapping[str, Any]] = [
        importlib.import_module(f"{rare.__name__}.{family}").IMPORTS for family in rare.FAMILIES
    ]
    return {name for table in tables for name in table}


RARE_OPERATORS = rare_operators()


def thinned(cases: Iterable[Case]) -> list[Any]:
    """Return the cases as rows of a test, of which one of eight runs, and one of each operator that is not rare."""
    rare, common = pytest.mark.one_of(8), pytest.mark.one_of(8, by="case.op")
    return [
        pytest.param(case, id=case.name, marks=rare if case.op in RARE_OPERATORS else common) for case in cases
    ]
