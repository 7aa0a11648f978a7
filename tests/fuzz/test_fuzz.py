"""The fuzzer's short form: some cases of every format, the same each time. GRAPHIR_FUZZ_CASES asks for more of them."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.driver import fuzz
from tests.fuzz.formats import FORMATS

CASES = int(os.environ.get("GRAPHIR_FUZZ_CASES", "60"))
SEED = int(os.environ.get("GRAPHIR_FUZZ_SEED", "1"))


@pytest.mark.parametrize("name", FORMATS)
def test_no_case_of_a_format_is_a_finding(name: str) -> None:
    tally = fuzz(name, SEED, range(CASES))
    assert tally.cases == CASES
    assert not tally.findings, str(tally)
