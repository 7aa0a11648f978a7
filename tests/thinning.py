"""Which rows of the large tables of tests run: CONTRIBUTING.md, "Rows and skips", is the page for readers.

`@pytest.mark.one_of(N, by="case.op")` says that one row of N proves as much as all of them while nothing is wrong, as
long as each group keeps one: the rows that `by` gives the same value (a parameter's name, or an attribute of it). N
divides SLICES, and which rows run rotates with the commit: the rows of SLICES slices are all rows. The same rows run
whether a file, a folder or nothing is named, with `-k` and without. All run with `--full`, and so do the rows of a test
that is named itself (`file.py::test`).

`@pytest.mark.rotates(N)` is for what takes seconds: all such tests of a file run in one slice of N, and in no other.

`--sample N` thins every table that far, marked or not, and keeps at least one row of each test. A test that draws its
cases, or asks others about them, does so more often with `--full` (it reads the option `FULL`).
"""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest

FULL = "--full"
SAMPLE = "--sample"
SLICE = "--slice"
# A mark may divide its table by any divisor of this.
SLICES = 8
LEFT_OUT = pytest.StashKey[int]()


def add_options(parser: pytest.Parser) -> None:
    """Add --full, --slice and --sample."""
    group = parser.getgroup("rows of tests")
    group.addoption(FULL, action="store_true", help="run every row of tests that are marked one_of(N) or rotates(N)")
    group.addoption(
        SLICE, type=int, metavar="K", choices=range(1, SLICES + 1), dest="slice",
        help=f"run slice K of {SLICES} of those tests, not the one that follows from the number of commits",
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


def thin(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the rows that need not run, and count them."""
    sample = config.getoption(SAMPLE)
    if sample < 1:
        raise pytest.UsageError(f"{SAMPLE} {sample}: expected 1 or more")
    number = None if config.getoption(FULL) else config.option.slice
    stay = set(kept(items, sample, number)) | named(config, items)
    gone = [item for item in items if item.nodeid not in stay]
    config.stash[LEFT_OUT] = len(gone)
    if gone:
        items[:] = [item for item in items if item.nodeid in stay]
        config.hook.pytest_deselected(items=gone)


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


def kept(items: Iterable[pytest.Item], sample: int, slice_number: int | None) -> Iterable[str]:
    """Yield the rows that stay: those of the slice, and of a group that has none there the next ones.

    Without a slice marks count for nothing.
    """
    groups: dict[tuple[str, object], list[tuple[int, str]]] = {}
    for item in items:
        if slice_number and not _has_turn(item, slice_number):
            continue
        mark = item.get_closest_marker("one_of") if slice_number else None
        count = (_count(item, mark) if mark else 1) * sample
        distance = _distance(item.nodeid, slice_number or 1, count)
        test = item.nodeid.partition("[")[0]
        if distance == 0:
            yield item.nodeid
        for key in {(test, None), (test, _subject(item, mark) if sample == 1 else None)}:
            groups.setdefault(key, []).append((distance, item.nodeid))
    for rows in groups.values():
        distance, name = min(rows)
        if distance:
            yield name


def _has_turn(item: pytest.Item, slice_number: int) -> bool:
    """Return whether tests of the item's file that rotate run in the slice, or the item is none of them."""
    mark = item.get_closest_marker("rotates")
    return mark is None or _distance(item.nodeid.partition("::")[0], slice_number, _count(item, mark)) == 0


def _distance(name: str, slice_number: int, count: int) -> int:
    """Return how many slices later than this one a name is next, of `count` slices that follow from names alone."""
    return (zlib.crc32(name.encode()) - slice_number + 1) % count


def _count(item: pytest.Item, mark: pytest.Mark) -> int:
    """Return the N of a mark. Raise UsageError if it does not divide SLICES, so that slices would miss rows."""
    count: int = mark.args[0]
    if SLICES % count:
        raise pytest.UsageError(f"{mark.name}({count}) at {item.nodeid}: expected a number that divides {SLICES}")
    return count


def _subject(item: pytest.Item, mark: pytest.Mark | None) -> object:
    """Return what the mark groups by, None where it does not say."""
    path = mark.kwargs.get("by", "") if mark else ""
    if not path:
        return None
    name, *attributes = path.split(".")
    subject: object = item.callspec.params[name]  # type: ignore[attr-defined]
    for attribute in attributes:
        subject = getattr(subject, attribute)
    return str(subject)


def summary(config: pytest.Config, left_out: int) -> str:
    """Return the line for the end of a run that says which rows it left out, empty if it left out none."""
    if not left_out:
        return ""
    which = "" if config.getoption(FULL) else f"slice {config.option.slice} of {SLICES} of the large tables; "
    return f"{which}rows left out: {left_out:,} ({FULL} runs all, {SLICE} K another slice)"


__all__ = ["FULL", "LEFT_OUT", "SLICES", "add_options", "choose_slice", "kept", "summary", "thin"]
