"""Which rows run: every test keeps one, every group keeps one, and the same ones stay in every run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.thinning import kept


def rows(count: int, operators: int, mark: pytest.Mark | None = None) -> list[Any]:
    """Rows of one test, each of an operator."""
    return [
        SimpleNamespace(
            nodeid=f"tests/test_x.py::test_y[{index}]",
            get_closest_marker=lambda name: mark,
            callspec=SimpleNamespace(params={"case": SimpleNamespace(op=f"op{index % operators}")}),
        )
        for index in range(count)
    ]


MARK = pytest.mark.one_of(4, by="case.op").mark


def test_without_marks_all_rows_run() -> None:
    items = rows(100, 10, MARK)
    assert set(kept(items, 1, marks=False)) == {item.nodeid for item in items}


def test_one_of_four_runs_and_one_of_each_group() -> None:
    items = rows(1000, 300, MARK)
    found = set(kept(items, 1, marks=True))
    assert {item.callspec.params["case"].op for item in items if item.nodeid in found} == {
        f"op{number}" for number in range(300)
    }
    assert 300 <= len(found) < 500
    assert found == set(kept(rows(1000, 300, MARK)[::-1], 1, marks=True))


def test_a_sample_keeps_one_row_of_each_test() -> None:
    assert 200 < len(set(kept(rows(1000, 300), 4, marks=True))) < 300
    assert len(set(kept(rows(3, 3), 1000, marks=True))) == 1
