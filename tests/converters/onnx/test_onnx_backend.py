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
    assert not [f"{outcome.sample.name}: {outcome.text}" for outcome in lost]
