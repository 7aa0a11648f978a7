"""The first of many layers that differs, found with few questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphir.verification.causes.unaligned import first_divergence


class Asked:
    """Answers from a set of wrong layers, and counts the questions."""

    def __init__(self, wrong: set[str]) -> None:
        self.wrong = wrong
        self.sizes: list[int] = []

    def __call__(self, names: Sequence[str]) -> Mapping[str, bool]:
        self.sizes.append(len(names))
        return {name: name in self.wrong for name in names}


def names(count: int) -> list[str]:
    return [f"layer{index}" for index in range(count)]


@given(st.integers(1, 400), st.data(), st.integers(1, 20))
def test_a_chain(count: int, data: st.DataObject, probes: int) -> None:
    layers = names(count)
    start = data.draw(st.integers(0, count - 1))
    asked = Asked(set(layers[start:]))
    assert first_divergence(layers, asked, probes=probes) == layers[start]
    assert max(asked.sizes) <= probes


@pytest.mark.parametrize(("count", "probes", "most"), [(1000, 15, 4), (100_000, 15, 6), (100_000, 1, 18)])
def test_few_questions(count: int, probes: int, most: int) -> None:
    layers = names(count)
    asked = Asked(set(layers[count // 3 :]))
    assert first_divergence(layers, asked, probes=probes) == layers[count // 3]
    assert len(asked.sizes) <= most


@pytest.mark.parametrize("layers", [[], ["a"], ["a", "b", "c"]])
def test_nothing_differs(layers: list[str]) -> None:
    assert first_divergence(layers, Asked(set())) is None


def test_a_difference_in_another_branch_is_followed_back() -> None:
    """x1 x2 and y1 y2 are branches that the sum joins; the order of computation has one after the other."""
    layers = ["stem", "x1", "x2", "y1", "y2", "sum", "end"]
    before = {"sum": ["x2", "y2"], "x2": ["x1"], "y2": ["y1"], "x1": ["stem"], "y1": ["stem"], "end": ["sum"]}
    asked = Asked({"x1", "x2", "sum", "end"})
    found = first_divergence(layers, asked, lambda name: before.get(name, ()), probes=1)
    assert found == "x1"


@given(st.data())
def test_what_is_found_differs_and_its_operands_agree(data: st.DataObject) -> None:
    """On random graphs, with differences that spread and may vanish."""
    count = data.draw(st.integers(1, 40))
    layers = names(count)
    before = {
        layers[index]: data.draw(st.lists(st.sampled_from(layers[:index]), max_size=3)) if index else []
        for index in range(count)
    }
    wrong = set(data.draw(st.lists(st.sampled_from(layers), max_size=5)))
    wrong |= {name for name in layers if wrong & set(before[name])} if data.draw(st.booleans()) else set()
    found = first_divergence(layers, Asked(wrong), lambda name: before[name], probes=data.draw(st.integers(1, 6)))
    assert (found is None) == (layers[-1] not in wrong)
    assert found is None or (found in wrong and not wrong & set(before[found]))
