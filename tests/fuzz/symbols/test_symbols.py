"""Random MXNet symbols: live MXNet, the numpy reference and the ONNX model agree, and nothing crashes.

GRAPHIR_FUZZ_CASES and GRAPHIR_FUZZ_SEED make it longer and other; `python -m tests.fuzz.symbols` sorts what it finds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.fuzz.symbols.draw import draw, rows
from tests.fuzz.symbols.judge import Kind, LiveMXNet, Outcome, verdict
from tests.requirements import needing

CASES = int(os.environ.get("GRAPHIR_FUZZ_CASES", "500"))
SEED = int(os.environ.get("GRAPHIR_FUZZ_SEED", "0"))
FAULTS = (Kind.WRONG, Kind.CRASH)


@pytest.fixture(scope="module")
def live() -> Iterator[LiveMXNet]:
    """Live MXNet for the module."""
    with LiveMXNet() as found:
        yield found


@pytest.mark.live
@pytest.mark.parametrize("index", range(CASES))
def test_all_roads_agree(index: int, live: LiveMXNet) -> None:
    drawn = draw(SEED, index)
    with needing("MXNet"):
        found = verdict(live, drawn)
    assert [outcome for outcome in (found.onnx, found.reference) if outcome.kind in FAULTS] == [], str(drawn)


@pytest.mark.live
def test_most_symbols_are_mxnets(live: LiveMXNet) -> None:
    with needing("MXNet"):
        runs = [verdict(live, draw(SEED, index)).runs for index in range(120)]
    assert sum(runs) > 40


def test_a_case_is_drawn_alike_twice() -> None:
    first, second = draw(SEED, 17), draw(SEED, 17)
    assert (first.symbol, str(first)) == (second.symbol, str(second))


def test_every_operator_with_rows_is_drawn() -> None:
    count = len(rows())
    assert len({draw(SEED, index).case.op for index in range(count)}) == count


def test_a_cause_has_no_numbers_of_its_case() -> None:
    assert Outcome(Kind.WRONG, "3 of 12 elements, at 4 found -1.5e-07").cause == "# of # elements, at # found #"
