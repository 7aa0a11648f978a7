"""onnx's own backend suite, executed by live MXNet: every case does what the committed table says of it."""

from __future__ import annotations

import re
from itertools import islice

import onnx
import pytest

from tests.equivalence.live import Live, LivePair
from tests.onnx_backend import Sample, samples
from tests.onnx_backend_mxnet import TABLE, Outcome, Written, attempt, follow, in_live_mxnet, read_again
from tests.requirements import missing, needing

PARTS = 4
LOST_ON_THE_WAY_BACK = re.compile(
    r"test_bernoulli"  # random numbers, which onnxruntime draws for itself
    r"|test_mod_float_edge_cases_fmod_0"  # remainders by infinity: ONNX has no float Mod with the divisor's sign
    r"|test_.*attention_.*(bf16|fp16)"  # other last digits
    r"|test_dft_inverse"  # zeros that come out as what rounding leaves of them, more than the suite's 1e-7
)
LEAST = 1000


@pytest.fixture(scope="module")
def page() -> str:
    """The committed table; it speaks of one version of onnx."""
    text = TABLE.read_text(encoding="ascii")
    if f"onnx {onnx.__version__} ships" not in text:
        missing("MXNet", f"{TABLE.name} is of another version of onnx than {onnx.__version__}")
    return text


@pytest.fixture(scope="module")
def live() -> None:
    """Live MXNet, or a skip; with GRAPHIR_REQUIRE_MXNET a failure."""
    with Live() as found, needing("MXNet"):
        found.run('{"nodes": [{"op": "_ones", "name": "x", "inputs": [], "attrs": {"shape": "(1,)"}}], '
                  '"arg_nodes": [], "heads": [[0, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}', {})


def test_the_table_says_that_enough_pass() -> None:
    found = re.search(r"^(\d+) of the (\d+) models", TABLE.read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    assert int(found[1]) >= LEAST


@pytest.fixture(scope="module", params=range(PARTS))
def written(request: pytest.FixtureRequest) -> list[tuple[Sample, Written | Outcome]]:
    """One part of the suite's models, written as MXNet once for both roads."""
    return [(sample, attempt(sample)) for sample in islice(samples(), request.param, None, PARTS)]


@pytest.mark.live
@pytest.mark.usefixtures("live")
def test_outcomes_are_those_of_the_table(written: list[tuple[Sample, Written | Outcome]], page: str) -> None:
    with LivePair() as runner:
        outcomes = [follow(sample, made, in_live_mxnet(runner)) for sample, made in written]
    lines = set(page.splitlines())
    stated = {line for line in lines if line.count(" | ") == 2}
    named = {tuple(line.split(" | ")[:2]) for line in stated}
    stale = [
        outcome.line
        for outcome in outcomes
        if (outcome.line not in lines if outcome.verdict != "as is" else tuple(outcome.line.split(" | ")[:2]) in named)
    ]
    assert not stale, f"not what {TABLE.name} says; is that right, then write it: tests/onnx_backend_mxnet.py --write"


def test_symbols_are_read_back(written: list[tuple[Sample, Written | Outcome]], page: str) -> None:
    lost = set(re.findall(r"^\| (\S+ \| \S+) \| (?:refused|fails|wrong): ", page, re.MULTILINE))
    chosen = [(sample, made) for sample, made in written if f"{sample.kind} | {sample.name}" not in lost]
    failed = [outcome for outcome in (follow(*each, read_again) for each in chosen) if not outcome.passes]
    assert not [outcome.line for outcome in failed if not LOST_ON_THE_WAY_BACK.match(outcome.sample.name)]
