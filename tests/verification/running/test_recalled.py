"""References that are not run again for what they gave on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.formats import Reference
from graphir.verification.running.references import FEEDS_KEPT, KEPT_SHARE, Recalled

Feeds = Mapping[str, NDArray[Any]]
SIZES = {"small": 1, "middle": 100, "large": 1000}
# Room for the small and the middle one of a run.
MEMORY = KEPT_SHARE * 500
X, Y = {"x": np.ones(1, np.float32)}, {"x": np.ones(1, np.float32)}


class Counted(Reference):
    """A reference whose values tell in which of its runs they were computed."""

    label = "counted"
    outputs = list(SIZES)

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def values(self) -> list[str]:
        return list(SIZES)

    def stream(self, feeds: Feeds, names: Iterable[str]) -> Iterator[tuple[str, NDArray[Any]]]:
        self.asked.append(list(names))
        for name in self.asked[-1]:
            yield name, np.full(SIZES[name], len(self.asked), np.float32)


def numbers(found: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    return {name: int(array[0]) for name, array in found.items()}


def test_what_is_small_is_not_asked_again() -> None:
    own = Counted()
    reference = Recalled(own, MEMORY)
    assert numbers(dict(reference.stream(X, ["small", "large"]))) == {"small": 1, "large": 1}
    assert numbers(dict(reference.stream(X, ["large", "small"]))) == {"small": 1, "large": 2}
    assert numbers(reference.run(X, ["small", "middle"])) == {"small": 1, "middle": 3}
    assert numbers(reference.run(X)) == {"small": 1, "middle": 3, "large": 4}
    assert list(reference.run(X)) == list(SIZES)
    assert own.asked == [["small", "large"], ["large"], ["middle"], ["large"], ["large"]]
    assert numbers(dict(reference.stream(X, ["small"]))) == {"small": 1}
    assert len(own.asked) == 5


def test_equal_feeds_are_others() -> None:
    own = Counted()
    reference = Recalled(own, MEMORY)
    for feeds in (X, Y, X, Y, dict(X)):
        reference.run(feeds, ["small"])
    assert len(own.asked) == 3


def test_the_last_feeds_are_kept() -> None:
    own = Counted()
    reference = Recalled(own, MEMORY)
    many = [{"x": np.full(1, turn, np.float32)} for turn in range(FEEDS_KEPT)]
    for feeds in [X, *many[:-1], X, many[-1], X]:
        reference.run(feeds, ["small"])
    assert len(own.asked) == 1 + FEEDS_KEPT
    reference.run(many[0], ["small"])
    assert len(own.asked) == 2 + FEEDS_KEPT


def test_the_reference_itself_is_run_each_time() -> None:
    own = Counted()
    reference = Recalled(own, MEMORY)
    assert (reference.label, reference.itself) == ("counted", own)
    reference.run(X, ["small"])
    assert numbers(reference.itself.run(X, ["small"])) == {"small": 2}
