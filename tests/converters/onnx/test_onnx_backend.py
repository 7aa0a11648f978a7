"""onnx's own backend suite: what onnxruntime gets right, it gets right after ONNX -> graph -> ONNX, and more."""

from __future__ import annotations

import pytest

from tests.onnx_backend import KINDS, Outcome, judge, provide_locale, samples

# What onnxruntime 1.31 gets right of onnx 1.23 as it is, what it runs with other numbers than the suite states, and at
# least how many more it gets right when they are written at an opset that it knows; of how many of the rest at least
# onnx's reference finds the numbers unchanged.
COUNTS = {
    "node": (1556, 22, 190, 90),
    "simple": (21, 0, 0, 0),
    "pytorch-converted": (59, 0, 23, 0),
    "pytorch-operator": (24, 0, 11, 0),
    "light": (9, 0, 0, 0),
}
TEXTS = {"node": 4, "simple": 4}  # models that change the case of texts, which takes a locale that a system may lack


@pytest.fixture(scope="module", params=KINDS)
def outcomes(request: pytest.FixtureRequest) -> tuple[str, list[Outcome]]:
    """The models of one kind, judged."""
    provide_locale()
    return request.param, [judge(sample) for sample in samples([request.param])]


def of_verdict(outcomes: list[Outcome], verdict: str) -> list[str]:
    """The models with a verdict, and what is said of them."""
    return [f"{outcome.sample.name}: {outcome.text}" for outcome in outcomes if outcome.verdict == verdict]


def test_nothing_is_lost(outcomes: tuple[str, list[Outcome]]) -> None:
    assert not of_verdict(outcomes[1], "lost")


def test_what_is_right_stays_so(outcomes: tuple[str, list[Outcome]]) -> None:
    kind, judged = outcomes
    missing = 0 if provide_locale() else TEXTS.get(kind, 0)
    assert len(of_verdict(judged, "right")) >= COUNTS[kind][0] - missing


def test_what_the_suite_does_not_call_right_stays_as_it_is(outcomes: tuple[str, list[Outcome]]) -> None:
    kind, judged = outcomes
    assert len(of_verdict(judged, "same")) >= COUNTS[kind][1]


def test_what_onnxruntime_lacks_is_gained_by_another_opset_or_the_same_in_the_reference(
    outcomes: tuple[str, list[Outcome]]
) -> None:
    """All verdicts together: a newer onnxruntime runs as they are what an older one lacks."""
    kind, judged = outcomes
    missing = 0 if provide_locale() else TEXTS.get(kind, 0)
    held = sum(len(of_verdict(judged, verdict)) for verdict in ("right", "same", "gained", "reference"))
    assert held >= sum(COUNTS[kind]) - missing
