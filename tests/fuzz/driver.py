"""Hands cases to a worker, ends one that hangs, and gathers what was found."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.worker import HANG, Order, Outcome, serve

START = 120.0  # seconds that a worker may take on a busy machine to import everything, or to make a format's seeds


@dataclass
class Tally:
    """What became of the cases of one format; like findings are kept once, with their number."""

    format: str
    seed: int
    cases: int = 0
    converted: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, str], list[Outcome]] = field(default_factory=dict)
    slowest: Outcome | None = None
    largest: Outcome | None = None

    def add(self, outcome: Outcome) -> None:
        """Count a case."""
        self.cases += 1
        self.converted += outcome.converted
        if outcome.refusal:
            self.refusals[outcome.refusal] += 1
        if outcome.finding:
            self.findings.setdefault((outcome.finding, outcome.where), []).append(outcome)
        if self.slowest is None or outcome.seconds > self.slowest.seconds:
            self.slowest = outcome
        if self.largest is None or outcome.memory > self.largest.memory:
            self.largest = outcome

    def __str__(self) -> str:
        refused = ", ".join(f"{count} {name}" for name, count in self.refusals.most_common())
        lines = [f"{self.format}, seed {self.seed}: {self.cases} cases, {self.converted} converted, refused: {refused}"]
        if self.slowest is not None and self.largest is not None:
            lines.append(
                f"  slowest {self.slowest.seconds:.2f} s of CPU (case {self.slowest.number}), "
                f"most memory {self.largest.memory >> 20} MB (case {self.largest.number})"
            )
        for (finding, where), outcomes in sorted(self.findings.items()):
            numbers = ", ".join(str(outcome.number) for outcome in outcomes[:5])
            lines.append(f"  {finding}, {len(outcomes)} times: {where} (case {numbers})")
        return "\n".join(lines)


class Worker:
    """One child process and the pipe to it."""

    def __init__(self, dump: Path) -> None:
        self.dump = dump
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, str(self.dump)), daemon=True)
        self.process.start()
        theirs.close()
        self.ready: set[str] = set()  # formats whose seeds are made

    def run(self, order: Order) -> Outcome:
        """Run a case. The process is a new one after a case that hangs or ends it."""
        name, _, number = order if isinstance(order, tuple) else ("", 0, 0)
        try:
            self.connection.send(order)
            if not self.connection.poll(HANG if name in self.ready else START + HANG):
                found = self._stack()
                self.close()
                self._start()
                return Outcome(number, "hang", found)
            outcome = self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join(5)
            status = self.process.exitcode
            self.close()
            self._start()
            return Outcome(number, "died", f"exit status {status}")
        self.ready.add(name)
        assert isinstance(outcome, Outcome)
        return outcome

    def _stack(self) -> str:
        lines = [line.strip() for line in self.dump.read_text().splitlines() if line.strip().startswith("File")]
        own = [line for line in lines if "/tests/" not in line and ("/converters/" in line or "/graphir/" in line)]
        return " < ".join(line.rpartition("/")[2] for line in own[:3])

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def fuzz(
    format: str, seed: int, numbers: Iterable[int], *, seconds: float | None = None,
    tell: Callable[[Outcome], None] | None = None,
    worker: Worker | None = None,
) -> Tally:  # fmt: skip
    """Run cases of a format until the numbers, or the seconds, are used up; in a worker of its own if none is given."""
    if worker is None:
        with tempfile.TemporaryDirectory() as folder:
            own = Worker(Path(folder, "stacks"))
            try:
                return fuzz(format, seed, numbers, seconds=seconds, tell=tell, worker=own)
            finally:
                own.close()
    tally = Tally(format, seed)
    ends = None if seconds is None else time.monotonic() + seconds
    for number in numbers:
        if ends is not None and time.monotonic() > ends:
            break
        outcome = worker.run((format, seed, number))
        tally.add(outcome)
        if outcome.finding and tell is not None:
            tell(outcome)
    return tally


__all__ = ["Tally", "Worker", "fuzz"]
