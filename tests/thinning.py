"""Which rows of the large tables of tests run.

`@pytest.mark.one_of(N, by="case.op")` says that one row of N proves as much as all of them while nothing is wrong, as
long as each group keeps one: the rows that `by` gives the same value (a parameter's name, or an attribute of it). All
rows run with `--full`, and wherever a file, a test or `-k` names what shall run. `--sample N` thins every table that
far, marked or not, and keeps at least one row of each test; it goes together with the marks. A test that draws its
cases, or asks others about them, does so more often with `--full` (it reads the option `FULL`).

Which rows stay follows from their names alone: the same ones in every run and every process, others in each test, so
that what one road leaves out another takes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import pytest

FULL = "--full"
SAMPLE = "--sample"


def add_options(parser: pytest.Parser) -> None:
    """--full and --sample."""
    group = parser.getgroup("rows of tests")
    group.addoption(FULL, action="store_true", help="run every row of tests that are marked one_of(N)")
    group.addoption(
        SAMPLE, type=int, default=1, metavar="N", help="run one of N rows of every test, and at least one of each"
    )


def _is_full(config: pytest.Config) -> bool:
    """Whether marks count for nothing: all rows are wanted, or somebody named what he wants to see."""
    named = any(".py" in argument for argument in config.args)
    return bool(config.getoption(FULL) or config.getoption("keyword") or named)


def thin(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take away what need not run."""
    sample = config.getoption(SAMPLE)
    if sample < 1:
        raise pytest.UsageError(f"{SAMPLE} {sample}: expected 1 or more")
    stay = set(kept(items, sample, marks=not _is_full(config)))
    gone = [item for item in items if item.nodeid not in stay]
    if gone:
        items[:] = [item for item in items if item.nodeid in stay]
        config.hook.pytest_deselected(items=gone)


def kept(items: Iterable[pytest.Item], sample: int, *, marks: bool) -> Iterable[str]:
    """The rows that stay: those whose number falls on the first of N, and the lowest of a group that has none."""
    groups: dict[tuple[str, object], list[tuple[int, str]]] = {}
    for item in items:
        mark = item.get_closest_marker("one_of") if marks else None
        count = (mark.args[0] if mark else 1) * sample
        number = zlib.crc32(item.nodeid.encode())
        test = item.nodeid.partition("[")[0]
        if number % count == 0:
            yield item.nodeid
        for key in {(test, None), (test, _subject(item, mark) if sample == 1 else None)}:
            groups.setdefault(key, []).append((number % count, item.nodeid))
    for rows in groups.values():
        lowest = min(rows)
        if lowest[0]:
            yield lowest[1]


def _subject(item: pytest.Item, mark: pytest.Mark | None) -> object:
    """What the mark groups by, None where it does not say."""
    path = mark.kwargs.get("by", "") if mark else ""
    if not path:
        return None
    name, *attributes = path.split(".")
    found: object = item.callspec.params[name]  # type: ignore[attr-defined]
    for attribute in attributes:
        found = getattr(found, attribute)
    return str(found)


__all__ = ["FULL", "add_options", "kept", "thin"]
