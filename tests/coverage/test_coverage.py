"""graphir knows more of the suite's and of real models' shapes than onnx and onnxruntime do, and nothing wrong."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.thinning import FULL

from .judge import PASSES, Score, compare
from .models import Case, shared_models, suite

# Shares of all values whose types are known fully, as measured, rounded down.
LEAST = {"as declared": 0.966, "constants given": 0.993, "symbolic sizes": 0.992}
# onnxruntime takes a computed start of a Slice to be positive, which graphir cannot know.
GUESSED = "present_state (Slice)"


def scored(cases: Iterable[Case], *, thrifty: bool) -> dict[str, Score]:
    scores = {name: Score() for name in PASSES}
    for case in cases:
        for name, score in scores.items():
            compare(PASSES[name](case), score, thrifty=thrifty)
    return scores


@pytest.fixture(scope="module")
def thrifty(request: pytest.FixtureRequest) -> bool:
    """Whether the other tools are asked only where they may know more, and now and then; `--full` asks them all."""
    return not request.config.getoption(FULL)


@pytest.fixture(scope="module")
def suite_scores(thrifty: bool) -> dict[str, Score]:
    return scored(suite(), thrifty=thrifty)


@pytest.fixture(scope="module")
def model_scores(shared: Path, thrifty: bool) -> dict[str, Score]:
    return scored(shared_models(shared), thrifty=thrifty)


def beaten(score: Score) -> list[str]:
    return [text for text in score.beaten if GUESSED not in text]


def share(score: Score, tool: str) -> float:
    return score.verdicts[tool]["known"] / score.values


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
def test_knows_more_of_the_suite_than_the_others(suite_scores: dict[str, Score], name: str) -> None:
    score = suite_scores[name]
    assert (score.failures, score.wrong, beaten(score)) == ([], [], [])
    assert share(score, "graphir") >= LEAST[name]
    assert share(score, "graphir") > max(share(score, tool) for tool in score.verdicts if tool != "graphir")


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
def test_knows_all_of_real_models(model_scores: dict[str, Score], name: str) -> None:
    score = model_scores[name]
    assert (score.failures, score.wrong, score.beaten) == ([], [], [])
    assert share(score, "graphir") >= max(share(score, tool) for tool in score.verdicts)
