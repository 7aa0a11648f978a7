"""What is said while two models are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from graphir.converters.formats import Reference
from graphir.converters.mxnet.references import ReferenceEvaluator
from graphir.safety.counted import duration
from graphir.verification.progress import Progress
from graphir.verification.running.references import Recalled
from tests.runtime.test_providers import FEEDS
from tests.verification import models


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_steps_and_an_estimate() -> None:
    said: list[str] = []
    clock = Clock()
    progress = Progress(said.append, clock)
    for _ in progress.values(4):
        clock.now += 2
    assert said == [
        "comparing, value 1 of 4",
        "comparing, value 2 of 4, about 6 s left",
        "comparing, value 3 of 4, about 4 s left",
        "comparing, value 4 of 4, about 2 s left",
    ]


def test_sets_that_follow_count_as_those_before() -> None:
    said: list[str] = []
    clock = Clock()
    progress = Progress(said.append, clock)
    for place, (name, seconds) in enumerate({"normal": 50, "edges": 3, "wide": 3}.items(), 1):
        progress.begin_set(name, place, 4)
        clock.now += seconds
    progress.begin_set("mask", 4, 4)
    assert said[-1] == "comparing on inputs 'mask' (4 of 4)"
    progress.begin_set("mask", 3, 4)
    for _ in progress.values(2):
        clock.now += 10
    assert said[-1] == "comparing on inputs 'mask' (3 of 4), value 2 of 2, about 13 s left"


def test_one_value_is_no_step() -> None:
    said: list[str] = []
    assert list(Progress(said.append, Clock()).values(1)) == [0]
    assert said == []


def test_a_reference_that_is_told_of_is_the_same() -> None:
    said: list[str] = []
    source = models.net_source()
    plain = ReferenceEvaluator(source.symbol, source.plain_tensors())
    told = Recalled(plain, 0, Progress(said.append))
    assert (told.label, told.outputs, told.values(), told.quantized) == (
        plain.label, plain.outputs, plain.values(), False,
    )  # fmt: skip
    names = plain.values()
    assert [name for name, _ in told.stream(FEEDS, names)] == [name for name, _ in plain.stream(FEEDS, names)]
    assert len(said) == len(names)
    assert said[-1].startswith(f"comparing, value {len(names)} of {len(names)}")


class Short(Reference):
    """A reference that gives fewer values than it was asked for."""

    label, outputs = "short", ("a", "b", "c")

    def values(self) -> list[str]:
        return list(self.outputs)

    def stream(self, feeds: object, names: object) -> Iterator[tuple[str, Any]]:
        yield "a", 1


def test_fewer_values_than_asked_for() -> None:
    found: list[Any] = list(Recalled(Short(), 0).stream({}, ["a", "b", "c"]))
    assert found == [("a", 1)]


@pytest.mark.parametrize("seconds, text", [(3599, "1 h 0 min"), (89, "1 min"), (91, "2 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_a_comparison_tells() -> None:
    said: list[str] = []
    report = models.held_against(models.net_source(), models.net_graph(), per_layer=True, tell=said.append)
    assert report.ok
    assert said[0] == "comparing on inputs 'normal' (1 of 4)"
    assert "comparing on inputs 'mask' (4 of 4)" in said
    assert [text for text in said if f"value {len(report.layers)} of {len(report.layers)}" in text]
