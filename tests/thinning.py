"""Which tests and rows run: CONTRIBUTING.md, "Rows and skips", is the page for readers.

Of a test with more than LARGE rows one of eight runs, as `@pytest.mark.one_of(8)` says. Another N, and groups, are what
`@pytest.mark.one_of(N, by="case.op")` is for: one row of N proves as much as all of them while nothing is wrong, as
long as each group keeps one: the rows that `by` gives the same value (a parameter's name, or an attribute of it). N
divides SLICES, and which rows run rotates with the commit: the rows of SLICES slices are all rows.

What takes seconds takes turns: the files, tests and rows that `turns.txt` names run in one slice, whole, and all of a
file in the same, because they share what is prepared. The files are dealt to the slices so that each takes as long.

The same rows run whether a file, a folder or nothing is named, with `-k` and without. All run with `--full`, and so do
the rows of a test that is named itself (`file.py::test`). The guards, the tests of the repository itself, always run.

`--sample N` thins every table that far, marked or not, and keeps at least one row of each test. A test that draws its
cases, or asks others about them, does so more often with `--full` (it reads the option `FULL`).
"""

from __future__ import annotations

import functools
import subprocess
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FULL = "--full"
SAMPLE = "--sample"
SLICE = "--slice"
# A mark may divide its table by any divisor of this.
SLICES = 8
# Of how many rows on one of how many runs, where no mark says it.
LARGE, USUAL = 16, 8
GUARDS = ("tests/test_", "tests/docs/")
# The seconds of processor of files, tests and rows that take turns. `pytest --full --durations 0` measures them.
TURNS = Path(__file__).with_name("turns.txt")
LEFT_OUT = pytest.StashKey[int]()
ROWS = pytest.StashKey[Counter[str]]()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a test before pytest makes an item of it."""

    nodeid: str
    definition: pytest.Item
    # pytest's record of the row's parameters and marks.
    callspec: Any

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        """Return the mark of that name: the row's, or else the test's."""
        marks = (mark for mark in self.callspec.marks if mark.name == name)
        return next(marks, None) or self.definition.get_closest_marker(name)


def add_options(parser: pytest.Parser) -> None:
    """Add --full, --slice and --sample."""
    group = parser.getgroup("rows of tests")
    group.addoption(FULL, action="store_true", help="run every row of every test, whosever turn it is")
    group.addoption(
        SLICE, type=int, metavar="K", choices=range(1, SLICES + 1), dest="slice",
        help=f"run slice K of {SLICES}, not the one that follows from the number of commits",
    )  # fmt: skip
    group.addoption(
        SAMPLE, type=int, default=1, metavar="N", help="run one of N rows of every test, and at least one of each"
    )


def choose_slice(config: pytest.Config) -> None:
    """Set the slice that nobody chose, from the number of commits; workers of xdist get it with the options."""
    if config.option.slice is None:
        config.option.slice = count_commits(Path(__file__).parent) % SLICES + 1


def count_commits(folder: Path) -> int:
    """Return the number of commits that led here, 0 outside a repository."""
    command = ["git", "-C", str(folder), "rev-list", "--count", "HEAD"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return 0
    return int(run.stdout) if run.returncode == 0 else 0


def thin_early(metafunc: pytest.Metafunc) -> None:
    """Where nothing is selected, let pytest make items only of the rows of a test that run, and of one at least.

    An item takes a quarter of a millisecond and some kilobytes in each worker, and three of four would be removed.
    """
    config, test, specs = metafunc.config, metafunc.definition.nodeid, metafunc._calls
    options = config.option
    if options.keyword or options.markexpr or any("::" in argument for argument in config.args):
        return
    rows = [Row(f"{test}[{spec.id}]", metafunc.definition, spec) for spec in specs]
    config.stash.setdefault(ROWS, Counter())[test] = len(rows)
    stay = _stay(config, rows)
    specs[:] = [row.callspec for row in rows if row.nodeid in stay] or specs[:1]
    config.stash[LEFT_OUT] = config.stash.get(LEFT_OUT, 0) + len(rows) - len(specs)


def count_rows(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Remember how many rows each test has, before anything is selected."""
    config.stash[ROWS] = Counter(map(_test, items)) | config.stash.get(ROWS, Counter())


def thin(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the rows that need not run, and count them."""
    stay = _stay(config, items) | named(config, items)
    gone = [item for item in items if item.nodeid not in stay]
    config.stash[LEFT_OUT] = config.stash.get(LEFT_OUT, 0) + len(gone)
    if gone:
        items[:] = [item for item in items if item.nodeid in stay]
        config.hook.pytest_deselected(items=gone)


def _stay(config: pytest.Config, items: Iterable[pytest.Item | Row]) -> set[str]:
    sample = config.getoption(SAMPLE)
    if sample < 1:
        raise pytest.UsageError(f"{SAMPLE} {sample}: expected 1 or more")
    number = None if config.getoption(FULL) else config.option.slice
    rows = config.stash[ROWS]
    return set(kept(items, sample, number, rows, _turns()))


@functools.cache
def _turns() -> dict[str, int]:
    return read_turns(TURNS.read_text(encoding="ascii"))


def named(config: pytest.Config, items: Iterable[pytest.Item]) -> set[str]:
    """Return the rows whose test, or which themselves, the command line names, as in `file.py::test`."""
    pairs = [argument.partition("::")[::2] for argument in config.args]
    wanted = [(config.invocation_params.dir / path, name) for path, name in pairs if name]
    return {
        item.nodeid
        for file, name in wanted
        for item in items
        if file == item.path and f"{item.nodeid.partition('::')[2]}[".startswith((f"{name}[", f"{name}::"))
    }


def read_turns(text: str) -> dict[str, int]:
    """Return the slice in which each file, test or row of a list runs, whose lines are seconds and a name.

    All of a file run in one slice: the file that takes longest goes to the slice that has least to do, and so on.
    """
    files: dict[str, dict[str, float]] = defaultdict(dict)
    for line in text.splitlines():
        seconds, name = line.split(maxsplit=1)
        files[name.partition("::")[0]][name] = float(seconds)
    busy = [0.0] * SLICES
    turns: dict[str, int] = {}
    for _, tests in sorted(files.items(), key=lambda item: (-sum(item[1].values()), item[0])):
        place = busy.index(min(busy))
        busy[place] += sum(tests.values())
        turns |= dict.fromkeys(tests, place + 1)
    return turns


def kept(
    items: Iterable[pytest.Item | Row],
    sample: int,
    slice_number: int | None,
    rows: Mapping[str, int],
    turns: Mapping[str, int],
) -> Iterable[str]:
    """Yield the rows that stay: those of the slice, and of a group that has none there the next ones.

    `rows` says how many a test has, `turns` in which slice a file, a test or a row runs. Without a slice neither they
    nor marks count.
    """
    groups: dict[tuple[str, object], list[tuple[int, str]]] = {}
    for item in items:
        test, mark, count = _test(item), None, 1
        names = (item.nodeid, test, test.partition("::")[0]) if slice_number else ()
        turn = next((turns[name] for name in names if name in turns), None)
        if turn is None and slice_number:
            mark = item.get_closest_marker("one_of")
            count = _count(item, mark, rows[test])
        elif turn != slice_number:
            continue
        count *= sample
        distance = _distance(item.nodeid, slice_number or 1, count)
        if distance == 0:
            yield item.nodeid
        for key in {(test, None), (test, _subject(item, mark) if sample == 1 else None)}:
            groups.setdefault(key, []).append((distance, item.nodeid))
    for candidates in groups.values():
        distance, name = min(candidates)
        if distance:
            yield name


def _test(item: pytest.Item | Row) -> str:
    return item.nodeid.partition("[")[0]


def _distance(name: str, slice_number: int, count: int) -> int:
    """Return how many slices later than this one a name is next, of `count` slices that follow from names alone."""
    return (zlib.crc32(name.encode()) - slice_number + 1) % count


def _count(item: pytest.Item | Row, mark: pytest.Mark | None, rows: int) -> int:
    """Return of how many rows one runs. Raise UsageError if that does not divide SLICES: slices would miss rows."""
    if mark is None:
        return USUAL if rows > LARGE and not item.nodeid.startswith(GUARDS) else 1
    count: int = mark.args[0]
    if SLICES % count:
        raise pytest.UsageError(f"one_of({count}) at {item.nodeid}: expected a number that divides {SLICES}")
    return count


def _subject(item: pytest.Item | Row, mark: pytest.Mark | None) -> object:
    """Return what the mark groups by, None where it does not say."""
    path = mark.kwargs.get("by", "") if mark else ""
    if not path:
        return None
    name, *attributes = path.split(".")
    subject: object = item.callspec.params[name]  # type: ignore[union-attr]
    for attribute in attributes:
        subject = getattr(subject, attribute)
    return str(subject)


def summary(config: pytest.Config, left_out: int) -> str:
    """Return the line for the end of a run that says which rows it left out, empty if it left out none."""
    if not left_out:
        return ""
    which = "" if config.getoption(FULL) else f"slice {config.option.slice} of {SLICES} of the suite; "
    return f"{which}rows left out: {left_out:,} ({FULL} runs all, {SLICE} K another slice)"


__all__ = [
    "FULL",
    "LARGE",
    "LEFT_OUT",
    "SLICES",
    "TURNS",
    "USUAL",
    "add_options",
    "choose_slice",
    "count_rows",
    "kept",
    "read_turns",
    "summary",
    "thin",
    "thin_early",
]
