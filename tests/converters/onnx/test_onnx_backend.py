"""onnx's own backend suite: what onnxruntime gets right, it gets right after ONNX -> graph -> ONNX."""

from __future__ import annotations

import pytest

from tests.onnx_backend import KINDS, Sample, judge, samples


@pytest.fixture(scope="module", params=KINDS)
def suite(request: pytest.FixtureRequest) -> list[Sample]:
    """The samples of one kind."""
    return list(samples([request.param]))


def test_nothing_is_lost(suite: list[Sample]) -> None:
    lost = [outcome for outcome in map(judge, suite) if outcome.verdict == "lost"]
    waiting = [outcome for outcome in lost if "cannot be imported" in outcome.text]
    wrong = [f"{outcome.sample.name}: {outcome.text}" for outcome in lost if outcome not in waiting]
    assert not wrong
    if waiting:
        pytest.xfail(f"{len(waiting)} models wait for the import of operators such as {waiting[0].operator}")
