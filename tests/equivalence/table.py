"""All cases of all families, for tests that walk them: every module beside this one that has CASES."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.equivalence.case import Case

OTHERS = {"__init__", "case", "live", "table"}
FAMILIES = tuple(
    importlib.import_module(f"tests.equivalence.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem not in OTHERS and not path.stem.startswith("test_")
)

CASES: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.CASES)
REFUSED: tuple[Case, ...] = tuple(row for family in FAMILIES for row in family.REFUSED)
