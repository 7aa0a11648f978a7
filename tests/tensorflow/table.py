"""All cases of all families, for tests that walk them."""

from __future__ import annotations

from importlib import import_module

from graphir.converters.tensorflow.importing import ops
from tests.tensorflow.case import Case

# The families whose cases are in files of another name: recurrent loops are a table of their own.
ELSEWHERE = {"recurrent": "fused_recurrent"}


def _families() -> list[object]:
    """The modules of cases of every family that imports something."""
    names = [ELSEWHERE.get(name, name) for name in ops.FAMILIES if import_module(f"{ops.__name__}.{name}").IMPORTS]
    return [import_module(f"tests.tensorflow.{name}") for name in (*names, "networks")]


FAMILIES = _families()
CASES: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.CASES)  # type: ignore[attr-defined]
REFUSED: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.REFUSED)  # type: ignore[attr-defined]
