"""Runs in sequences of labels, written as texts: a letter is a label."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphir.drawing.repeats import Repetition, find_runs, widen_runs

FLAT = 0.0


def runs(text: str, cuts: list[float] | None = None) -> list[str]:
    """The runs of a text, as in `2x(abc)@1`."""
    labels = [ord(letter) for letter in text]
    found = find_runs(labels, [1] * len(labels), cuts or [FLAT] * (len(labels) + 1))
    return [f"{run.times}x({text[run.start : run.start + run.period]})@{run.start}" for run in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", []),
        ("abcdefgh", []),
        ("abcabc", ["2x(abc)@0"]),
        ("xabcabcabcy", ["3x(abc)@1"]),
        ("abababab", []),  # two nodes four times: short enough to be read
        ("ab" * 8, ["8x(ab)@0"]),
        ("a" * 13, ["13x(a)@0"]),
        ("aaaa", []),
        ("abcabcdabcabcd", ["2x(abc)@0", "2x(abc)@7"]),  # what is inside comes first
        ("abcdeabcdeabcdexyzxyz", ["3x(abcde)@0"]),  # what comes often before what comes twice
        ("abcabcabcd" * 2, ["3x(abc)@0", "3x(abc)@10"]),
    ],
)
def test_runs(text: str, expected: list[str]) -> None:
    assert runs(text) == expected


def test_a_run_begins_where_the_cut_is_least() -> None:
    cuts = [2.0, 1.0, 2.0] * 4 + [2.0]
    assert runs("abcabcabcabc", cuts) == ["3x(bca)@1"]


def test_a_run_is_widened_by_what_is_alike() -> None:
    assert widen_runs([Repetition(3, 9, 3)], [1, 2, 3] * 4) == [Repetition(0, 12, 3)]
    assert widen_runs([Repetition(3, 9, 3)], [1, 2, 4, *[1, 2, 3] * 3]) == [Repetition(3, 12, 3)]
    runs = [Repetition(0, 6, 3), Repetition(6, 12, 2)]
    assert widen_runs(runs, [1, 1, 1] * 4) == runs


@given(st.text("abc", max_size=60))
def test_runs_repeat_and_keep_apart(text: str) -> None:
    labels = [ord(letter) for letter in text]
    found = find_runs(labels, [1] * len(labels), [FLAT] * (len(labels) + 1))
    assert all(before.stop <= behind.start for before, behind in pairwise(found))
    assert all(text[run.start : run.start + run.period] * run.times == text[run.start : run.stop] for run in found)
