"""Where a live framework runs, what it may take, and the errors of one that did not answer."""

from __future__ import annotations

import math
import os

from graphir.errors import ArgumentError, VerificationError
from graphir.safety.arguments import expect, expect_path
from graphir.structure.record import record

SECONDS, MEMORY = "GRAPHIR_LIVE_SECONDS", "GRAPHIR_LIVE_MEMORY"
DEFAULTS = {SECONDS: 600, MEMORY: 16}
OPTIONS = {SECONDS: "--live-seconds", MEMORY: "--live-memory"}
GIB = 1 << 30


class LiveFailed(VerificationError):
    """A live framework that gave no answer, and how: another judge can be asked instead."""


class LiveCrashed(LiveFailed):
    """Its process ended, or said what is no answer."""


class LiveTooSlow(LiveFailed):
    """It took more time than it may."""


class LiveOutOfMemory(LiveFailed):
    """It needed more memory than it may take, or than there was."""


@record
class ChildLimits:
    """What a child may take: seconds for the answers to one request, and bytes of memory."""

    seconds: float
    memory: int

    @staticmethod
    def of_environment() -> ChildLimits:
        """Return the defaults, or what the environment says (seconds, and memory in GiB). Raises VerificationError."""
        limits = {}
        for name, default in DEFAULTS.items():
            text = os.environ.get(name) or str(default)
            try:
                limits[name] = float(text)
            except ValueError:
                limits[name] = 0
            if not 0 < limits[name] < 1e9:
                raise VerificationError(f"{name} is {text!r}, expected a number above 0")
        return ChildLimits(limits[SECONDS], int(limits[MEMORY] * GIB))


@record
class Live:
    """Where a live framework runs and what it may take.

    `python` is the interpreter that has the framework (None: the one that the framework's environment variable names,
    or this one), `seconds` the time that the answers to one set of inputs may take, `memory` what it may allocate, in
    GiB (None: what the environment says, or the defaults). Raises ArgumentError for numbers that are no limits.
    """

    python: str | None = None
    seconds: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        expect(self.python, (str, type(None)), "python", "the path of an interpreter")
        for name, value in (("live_seconds", self.seconds), ("live_memory", self.memory)):
            expect(value, (int, float, type(None)), name)
            if value is not None and not (math.isfinite(value) and 0 < value < 1e9):
                raise ArgumentError(f"{name}: expected a number above 0, found {value}")

    @staticmethod
    def of(given: str | os.PathLike[str] | Live | None) -> Live:
        """Return what a caller gives as `python`: an interpreter, or all of it. Raises ArgumentError for anything
        else."""
        if isinstance(given, Live):
            return given
        return Live() if given is None else Live(os.fspath(expect_path(given, "python (if not a Live)")))

    def elsewhere(self) -> Live:
        """Return the same limits in another interpreter: that of another framework."""
        return Live(None, self.seconds, self.memory)

    def limits(self) -> ChildLimits:
        """Return the limits that are stated, for others those of the environment."""
        limits = ChildLimits.of_environment()
        return ChildLimits(
            limits.seconds if self.seconds is None else self.seconds,
            limits.memory if self.memory is None else int(self.memory * GIB),
        )


def raises(name: str) -> str:
    """Return what to say of a limit that was reached."""
    return f"{OPTIONS[name]} or {name} raises the limit"
