"""Live TensorFlow for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from numpy.typing import NDArray

from graphir.converters.tensorflow.live.process import live_python
from tests.requirements import missing, needing
from tests.tensorflow.case import Case
from tests.tensorflow.live import Live

# Programs that live TensorFlow runs: they import it.
collect_ignore = ["stateful_keras.py", "stateful_models.py"]


class Oracle:
    """What live TensorFlow computes for cases, each asked for once."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self._held: dict[str, list[NDArray[Any]]] = {}

    def __call__(self, case: Case) -> list[NDArray[Any]]:
        """The case's results; skips without TensorFlow, unless GRAPHIR_REQUIRE_TENSORFLOW wants it."""
        if case.name not in self._held:
            with needing("TensorFlow"):
                self._held[case.name] = self.live.run(case.graph(), case.feeds(), case.outputs)
        return self._held[case.name]


@pytest.fixture(scope="session")
def tensorflow() -> Iterator[Oracle]:
    """Live TensorFlow."""
    with Live() as live:
        yield Oracle(live)


@pytest.fixture(scope="session")
def live_tensorflow() -> None:
    """For tests that let graphir itself start TensorFlow; they are skipped where no interpreter has it."""
    if live_python() is None:
        missing("TensorFlow", "live TensorFlow cannot be imported")
