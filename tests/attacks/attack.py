"""One hostile model, and what has to become of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.case import Case, Model
from tests.fuzz.driver import Worker
from tests.fuzz.worker import Outcome


@dataclass(frozen=True)
class Attack:
    """Files as `Model` has them, and a part of the text that refuses them; "" where they may be converted.

    What takes long to make is given as `later` and made when it is tried, for every process of pytest makes the rows.
    Whatever becomes of it, the worker's limits of time and memory hold, and nothing is destroyed or left behind.
    """

    name: str
    entry: str
    files: Mapping[str, bytes] = field(repr=False)
    refused: str = ""
    target: str = "result.onnx"
    options: Mapping[str, Any] = field(default_factory=dict)
    later: Callable[[], Mapping[str, bytes]] = dict

    def run(self, worker: Worker) -> Outcome:
        """Convert it in a worker."""
        files = {**self.files, **self.later()}
        return worker.run(Case(Model(self.entry, files, self.options), self.target))


def judge(attack: Attack, outcome: Outcome) -> None:
    """Fail unless the attack was harmless and, where it has to be refused, was refused for the right reason."""
    assert not outcome.finding, f"{outcome.finding}: {outcome.where}\n{outcome.text}"
    if attack.refused:
        assert not outcome.converted
        assert attack.refused in outcome.text, outcome.text


__all__ = ["Attack", "judge"]
