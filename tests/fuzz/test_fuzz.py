"""The fuzzer's short form: some cases of every format, the same each time. GRAPHIR_FUZZ_CASES asks for more of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.fuzz.driver import Worker, fuzz
from tests.fuzz.formats import FORMATS

CASES = int(os.environ.get("GRAPHIR_FUZZ_CASES", "20"))
SEED = int(os.environ.get("GRAPHIR_FUZZ_SEED", "1"))


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One process for the short form of all formats."""
    made = Worker(tmp_path_factory.mktemp("fuzz") / "stacks")
    yield made
    made.close()


@pytest.mark.parametrize("name", FORMATS)
def test_no_case_of_a_format_is_a_finding(name: str, worker: Worker) -> None:
    tally = fuzz(name, SEED, range(CASES), worker=worker)
    assert tally.cases == CASES
    assert not tally.findings, str(tally)
