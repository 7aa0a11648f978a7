"""Detections whose scores tie stand in any order; nothing else of them may."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.verification.grading.row_order import in_order
from graphir.verification.numbers.limits import GradingLimits
from graphir.verification.running.bench import Asked

Floats = NDArray[np.float32]
ASKED = [Asked("rows", "rows", "rows", True), Asked("logits (before the head)", "logits", "logits")]
PRODUCERS = {"rows": ("Gather", ("boxes", "kept")), "kept": ("NonMaxSuppression", ("boxes",))}
BENCH: Any = SimpleNamespace(
    limits=GradingLimits(), candidate=SimpleNamespace(structure=SimpleNamespace(producers=PRODUCERS))
)
# Of the places 0 to 9 the scores of 3 and 4 tie, and those of 8 and 9.
SCORES = [0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2]


def rows(order: list[int], **changed: float) -> Floats:
    """Rows of class, score and box that stand in this order; a change names the place and the column."""
    generator = np.random.default_rng(0)
    table = np.concatenate([
        generator.integers(0, 3, (10, 1)), np.array(SCORES)[:, None], generator.uniform(0, 100, (10, 4))
    ], axis=1)  # fmt: skip
    for where, number in changed.items():
        _, row, column = where.split("_")
        table[int(row), int(column)] = number
    return table[order][None].astype(np.float32)


def logits(order: list[int]) -> Floats:
    return np.random.default_rng(1).normal(size=(1, 10, 4)).astype(np.float32)[:, order]


PLAIN = list(range(10))
SWAPPED = [0, 1, 2, 4, 3, 5, 6, 7, 8, 9]
REFERENCE = {"rows": rows(PLAIN), "logits": logits(PLAIN)}


@pytest.mark.parametrize(
    ("candidate", "note"),
    [
        (rows(SWAPPED), "another order: 2"),
        (rows([0, 1, 2, 3, 4, 5, 6, 7, 9, 8]), "another order: 2"),
    ],
)
def test_rows_of_equal_scores_are_in_the_order_of_the_reference(candidate: Floats, note: str) -> None:
    ordered, said = in_order(BENCH, ASKED, REFERENCE, {"rows": candidate, "logits": logits([9, *range(9)])})
    assert said[0].endswith(note)
    assert (ordered["rows"] == REFERENCE["rows"]).all()
    assert (ordered["logits"] == REFERENCE["logits"]).all()


@pytest.mark.parametrize(
    "candidate",
    [
        rows(PLAIN),
        rows([1, 0, *range(2, 10)]),
        rows(SWAPPED, at_4_2=17.0),
        rows(SWAPPED, at_9_2=17.0),
        rows(SWAPPED, at_4_0=4),
        rows(SWAPPED, at_1_1=0.81),
        rows(SWAPPED, at_9_1=0.1),
    ],
)
def test_other_rows_stay_where_they_are(candidate: Floats) -> None:
    results = {"rows": candidate, "logits": logits(PLAIN)}
    ordered, said = in_order(BENCH, ASKED, REFERENCE, results)
    assert ordered is results
    assert not said


def test_an_order_is_no_choice_where_most_rows_tie() -> None:
    changed = {f"at_{place}_1": 1.0 for place in range(10)}
    expected, found = rows(PLAIN, **changed), rows(PLAIN[::-1], **changed)
    results = {"rows": found, "logits": logits(PLAIN)}
    ordered, _ = in_order(BENCH, ASKED, {"rows": expected, "logits": logits(PLAIN)}, results)
    assert ordered is results


def test_a_value_before_the_head_that_differs_stays_what_it_is() -> None:
    found = logits(PLAIN) * 1.01
    ordered, said = in_order(BENCH, ASKED, REFERENCE, {"rows": rows(SWAPPED), "logits": found})
    assert said
    assert (ordered["logits"] == found).all()


def test_a_row_before_the_head_that_has_no_equal_leaves_all_where_they_are() -> None:
    found = logits([1, 0, *range(2, 10)])
    found[0, 5, 2] += 1
    ordered, _ = in_order(BENCH, ASKED, REFERENCE, {"rows": rows(SWAPPED), "logits": found})
    assert (ordered["logits"] == found).all()


@pytest.mark.filterwarnings("error")
def test_infinite_scores_are_no_scores_that_agree() -> None:
    endless = rows(SWAPPED, at_0_1=np.inf)
    results = {"rows": endless, "logits": logits(PLAIN)}
    ordered, _ = in_order(BENCH, ASKED, {"rows": endless, "logits": logits(PLAIN)}, results)
    assert ordered is results
