"""onnx's own backend suite: what onnxruntime gets right, it gets right after ONNX -> graph -> ONNX, and more."""

from __future__ import annotations

import pytest

from tests.onnx_backend import KINDS, Outcome, judge, samples

# What onnxruntime 1.31 gets right of onnx 1.23 as it is, and at least how many more when they are written at an opset
# that it knows.
COUNTS = {
    "node": (1512, 160),
    "simple": (17, 0),
    "pytorch-converted": (59, 21),
    "pytorch-operator": (24, 10),
    "light": (9, 0),
}


@pytest.fixture(scope="module", params=KINDS)
def outcomes(request: pytest.FixtureRequest) -> tuple[str, list[Outcome]]:
    """The models of one kind, judged."""
    return request.param, [judge(sample) for sample in samples([request.param])]


def of_verdict(outcomes: list[Outcome], verdict: str) -> list[str]:
    """The models with a verdict, and what is said of them."""
    return [f"{outcome.sample.name}: {outcome.text}" for outcome in outcomes if outcome.verdict == verdict]


def test_nothing_is_lost(outcomes: tuple[str, list[Outcome]]) -> None:
    assert not of_verdict(outcomes[1], "lost")


def test_what_is_right_stays_so(outcomes: tuple[str, list[Outcome]]) -> None:
    kind, judged = outcomes
    assert len(of_verdict(judged, "right")) >= COUNTS[kind][0]


def test_another_opset_gains_models(outcomes: tuple[str, list[Outcome]]) -> None:
    kind, judged = outcomes
    assert len(of_verdict(judged, "gained")) >= COUNTS[kind][1]
