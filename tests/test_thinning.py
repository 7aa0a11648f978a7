"""Which rows run: every table and every group keeps one, the slices together are all rows, and names change nothing."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.thinning import LARGE, SLICES, TURNS, USUAL, count_commits, kept, read_turns

ROOT = Path(__file__).resolve().parents[1]


TEST = "tests/x/test_x.py::test_y"


def rows(count: int, operators: int, mark: pytest.Mark | None = None, test: str = TEST) -> list[Any]:
    """Return rows of one test, each of an operator."""
    return [
        SimpleNamespace(
            nodeid=f"{test}[{index}]",
            get_closest_marker={"one_of": mark}.get,
            callspec=SimpleNamespace(params={"case": SimpleNamespace(op=f"op{index % operators}")}),
        )
        for index in range(count)
    ]


def run_of(items: list[Any], number: int | None, turns: Mapping[str, int] | None = None, sample: int = 1) -> set[str]:
    """Return the names of the rows that run in a slice."""
    sizes = Counter(item.nodeid.partition("[")[0] for item in items)
    return set(kept(items, sample, number, sizes, turns or {}))


MARKS = {count: pytest.mark.one_of(count, by="case.op").mark for count in (2, 4, 8)}


def test_without_a_slice_all_rows_run() -> None:
    items = rows(100, 10, MARKS[4])
    assert run_of(items, None, {TEST: 3}) == {item.nodeid for item in items}


@pytest.mark.parametrize("number", range(1, SLICES + 1))
def test_a_slice_has_one_row_of_each_group(number: int) -> None:
    items = rows(1000, 300, MARKS[4])
    names = run_of(items, number)
    assert {item.callspec.params["case"].op for item in items if item.nodeid in names} == {
        f"op{operator}" for operator in range(300)
    }
    assert 300 <= len(names) < 500
    assert names == run_of(rows(1000, 300, MARKS[4])[::-1], number)


@pytest.mark.parametrize("count", MARKS)
def test_the_slices_are_all_rows(count: int) -> None:
    items = rows(1000, 3, MARKS[count])
    slices = [run_of(items, number) for number in range(1, SLICES + 1)]
    assert set().union(*slices) == {item.nodeid for item in items}
    assert max(map(len, slices)) < 1.3 * len(items) / count


def test_of_a_large_table_one_row_of_eight_runs() -> None:
    items = rows(LARGE, 1)
    assert len(run_of(items, 1)) == LARGE
    items = rows(1000, 1)
    slices = [run_of(items, number) for number in range(1, SLICES + 1)]
    assert max(map(len, slices)) < 1.3 * len(items) / USUAL
    assert set().union(*slices) == {item.nodeid for item in items}
    assert run_of(items, 1) == run_of(items, 1 + USUAL)


def test_of_what_is_selected_the_same_rows_run() -> None:
    items, sizes = rows(1000, 1), {TEST: 1000}
    assert set(kept(items[:8], 1, 1, sizes, {})) <= set(kept(items, 1, 1, sizes, {}))


@pytest.mark.parametrize("guard", ["tests/test_x.py::test_y", "tests/docs/test_pages.py::test_y"])
def test_guards_always_run(guard: str) -> None:
    assert len(run_of(rows(1000, 1, test=guard), 1)) == 1000


@pytest.mark.parametrize("name", [TEST.partition("::")[0], TEST, f"{TEST}[1]"])
def test_what_takes_turns_runs_whole_in_one_slice(name: str) -> None:
    items = rows(3, 3, MARKS[8])
    taking = [item.nodeid for item in items if item.nodeid.startswith(name)]
    ran = [run_of(items, number, {name: 5}) & set(taking) for number in range(1, SLICES + 1)]
    assert [len(names) for names in ran] == [0, 0, 0, 0, len(taking), 0, 0, 0]


def test_turns_are_dealt_by_file_and_by_seconds() -> None:
    lines = [f"{10 - number}.0 tests/test_{number}.py::test_x" for number in range(SLICES)]
    turns = read_turns("\n".join([*lines, "0.5 tests/test_7.py::test_y[a row]"]))
    assert sorted(turns.values()) == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert turns["tests/test_7.py::test_x"] == turns["tests/test_7.py::test_y[a row]"] == SLICES


def test_what_takes_turns_exists() -> None:
    names = [line.split(maxsplit=1)[1] for line in TURNS.read_text(encoding="ascii").splitlines()]
    assert names == sorted(set(names))
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in {name.partition("::")[0] for name in names}}
    tests = [name.partition("[")[0].split("::") for name in names if "::" in name]
    assert [(file, test) for file, test in tests if f"def {test}(" not in texts[file]] == []


def test_a_table_is_divided_by_a_divisor_of_the_slices() -> None:
    with pytest.raises(pytest.UsageError, match=r"one_of\(3\).*test_y.*divides 8"):
        run_of(rows(10, 2, pytest.mark.one_of(3).mark), 1)


def test_a_sample_keeps_one_row_of_each_test() -> None:
    assert 200 < len(run_of(rows(1000, 300, pytest.mark.one_of(1).mark), 1, sample=4)) < 300
    assert len(run_of(rows(3, 3), 1, sample=1000)) == 1


TESTS = """
import pytest

@pytest.mark.parametrize("row", range(100))
def test_rows(row): pass

@pytest.mark.parametrize("row", range(10))
def test_skips(row):
    if row % 2:
        pytest.skip(f"reason {row % 4}")
"""
CONFTEST = "from tests.conftest import *\nfrom tests.thinning import add_options as pytest_addoption\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of tests that is thinned as this repository's are."""
    folder = tmp_path_factory.mktemp("thinned")
    (folder / "conftest.py").write_text(CONFTEST, encoding="ascii")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\nmarkers = one_of(N)\n", encoding="ascii")
    (folder / "test_all.py").write_text(TESTS, encoding="ascii")
    return folder


@functools.cache
def run(folder: Path, *arguments: str) -> str:
    """Return what pytest prints."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *arguments]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def count(printed: str) -> int:
    """Return how many tests passed."""
    return int(re.findall(r"(\d+) passed", printed)[0])


def test_names_change_nothing(folder: Path) -> None:
    printed = [run(folder, "--slice", "3", *names) for names in ([], ["."], ["test_all.py"], ["-k", "test_"])]
    assert len({count(text) for text in printed}) == 1
    assert count(printed[0]) < 50


def test_rows_that_do_not_run_are_not_even_made(folder: Path) -> None:
    printed = run(folder, "--collect-only", "--slice", "3")
    skipped = 5
    assert int(re.findall(r"\n(\d+) tests collected", printed)[0]) == count(run(folder, "--slice", "3")) + skipped


def test_named_tests_and_full_run_all_rows(folder: Path) -> None:
    assert [count(run(folder, *names)) for names in (["--full"], ["test_all.py::test_rows"])] == [105, 100]
    assert "left out" not in run(folder, "--full")
    assert count(run(folder, "test_all.py::test_rows[7]")) == 1


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_what_did_not_run_is_written(folder: Path, workers: list[str]) -> None:
    printed = run(folder, "--slice", "3", *workers)
    left_out = 105 - count(printed)
    assert f"slice 3 of 8 of the suite; rows left out: {left_out} (--full runs all" in printed
    assert set(re.findall(r"SKIPPED \[(\d+)\] .*: (reason \d)", printed)) == {("3", "reason 1"), ("2", "reason 3")}


def test_the_slice_follows_from_the_number_of_commits(tmp_path: Path) -> None:
    assert count_commits(tmp_path) == 0
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for number in (1, 2):
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "m"], check=True)
        assert count_commits(tmp_path) == number
