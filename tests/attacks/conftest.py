"""The worker that all attacks of one process of pytest run in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.driver import Worker


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A process with limits of time and memory; it starts again after a case that ended it."""
    made = Worker(tmp_path_factory.mktemp("attacks") / "stacks")
    yield made
    made.close()


# Programs that run in an interpreter with TensorFlow; no module for others to import.
collect_ignore = ["linked_models.py", "live_models.py"]
