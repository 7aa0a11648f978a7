"""A child process that runs a live framework: starting it, asking it, and saying what went wrong in it.

It works under limits (`child_limits`): of memory, of the time that an answer may take, of what it may write.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError

Array = NDArray[Any]
read_array: Any = np.lib.format.read_array
LIMITS = Path(__file__).with_name("child_limits.py")
# Seconds that a child has to end by itself after it said what is no answer.
GRACE = 5
PIECE = 1 << 20
SECONDS, MEMORY = "GRAPHIR_LIVE_SECONDS", "GRAPHIR_LIVE_MEMORY"
DEFAULTS = {SECONDS: 600, MEMORY: 16}


class Limits(NamedTuple):
    """What a child may take: seconds for the answers to one request, and bytes of memory."""

    seconds: float
    memory: int

    @staticmethod
    def of_environment() -> Limits:
        """The defaults, or what the environment says (seconds, and memory in GiB). Raises VerificationError."""
        found = {}
        for name, default in DEFAULTS.items():
            text = os.environ.get(name) or str(default)
            try:
                found[name] = float(text)
            except ValueError:
                found[name] = 0
            if not 0 < found[name] < 1e9:
                raise VerificationError(f"{name} is {text!r}, expected a number above 0")
        return Limits(found[SECONDS], int(found[MEMORY] * (1 << 30)))


class _TooLong(Exception):
    """The time that the answers to a request may take is over."""


class _Answers:
    """What a child says, read with a limit of the time that is spent waiting for it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._descriptor = pipe.fileno()
        self._held = bytearray()
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self.left = 0.0

    def _more(self) -> bytes:
        started = time.monotonic()
        ready = self._poll.poll(max(0.0, self.left) * 1000)
        self.left -= time.monotonic() - started
        if not ready:
            raise _TooLong
        return os.read(self._descriptor, PIECE)

    def readline(self) -> bytes:
        """A line, or what there is of one before the end."""
        while b"\n" not in self._held:
            data = self._more()
            self._held += data
            if not data:
                break
        end = self._held.find(b"\n") + 1 or len(self._held)
        line = bytes(self._held[:end])
        del self._held[:end]
        return line

    def read(self, count: int) -> bytes:
        """At most so many bytes, none at the end. numpy asks until it has enough."""
        data = bytes(self._held[:count]) if self._held else b""
        del self._held[: len(data)]
        if not data:
            data = self._more()
            self._held += data[count:]
        return data[:count]


class ChildProcess:
    """A program beside a folder, through which it is given arrays. Its answers are lines of JSON, arrays among them.

    A subclass names the framework and the errors: `missing` if the interpreter cannot import it, `refuses` if it cannot
    compute what it was asked for.
    """

    framework: ClassVar[str]
    missing: ClassVar[type[VerificationError]]
    refuses: ClassVar[type[VerificationError]] = VerificationError

    def __init__(self, python: str) -> None:
        self.python = python
        prefix = f"graphir-{self.framework.lower()}-"
        self._folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        self.place = Path(self._folder.name)
        self._limits = Limits.of_environment()
        self._words: deque[bytes] = deque(maxlen=50)

    def start(self, script: Path, words: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Run the script with the folder and the words; its first answer. `version` is the framework's.

        Raises `missing` if the interpreter cannot be started or cannot import the framework, and VerificationError if
        the program ends.
        """
        seconds = int(self._limits.seconds * (os.cpu_count() or 1)) + 1
        limits = json.dumps({"memory": self._limits.memory, "seconds": seconds})
        own = {"TMPDIR": str(self.place), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            self._child = subprocess.Popen(
                [self.python, str(LIMITS), limits, str(script), str(self.place), *words],
                env={**os.environ, **own, **environment},
                cwd=self.place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            reason = error.strerror or error
            raise self.missing(f"cannot start {self.python} to run {self.framework}: {reason}") from error
        self._finalizer = weakref.finalize(self, _end, self._child, self._folder)
        assert self._child.stdout is not None
        self._listener = threading.Thread(target=_listen, args=(self._child.stderr, self._words), daemon=True)
        self._listener.start()
        self._answers = _Answers(self._child.stdout)
        self._answers.left = self._limits.seconds
        first = self._answer()
        if "missing" in first:
            raise self.missing(f"{self.python} cannot import {self.framework}: {first['missing']}")
        return first

    def ask(self) -> Iterator[tuple[str, Array]]:
        """The named arrays that answer the request in the folder, one after the other. All of them must be taken before
        the next request. Raises `refuses` with the framework's message, VerificationError if the program ends."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(b"evaluate\n")
            self._child.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        self._answers.left = self._limits.seconds
        while True:
            answer = self._answer()
            if "error" in answer:
                raise self.refuses(f"live {self.framework} ({self.python}) failed: {answer['error']}")
            if "name" not in answer:
                return
            yield str(answer["name"]), self._array()

    def close(self) -> None:
        """End the program and remove its files."""
        self._finalizer()

    def _answer(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._answers.readline())
        except _TooLong:
            raise self._too_long() from None
        except ValueError as error:
            raise self._ended() from error
        return found

    def _array(self) -> Array:
        try:
            array: Array = read_array(self._answers, allow_pickle=False)
        except _TooLong:
            raise self._too_long() from None
        except ValueError as error:
            raise self._ended() from error
        return array

    def _too_long(self) -> VerificationError:
        self._child.kill()
        return VerificationError(
            f"live {self.framework} ({self.python}) took more than {self._limits.seconds:g} seconds and was ended; "
            f"{SECONDS} raises the limit"
        )

    def _ended(self) -> VerificationError:
        try:
            code = self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait()
        self._listener.join(GRACE)
        lines = b"".join(self._words).decode(errors="replace").strip().splitlines()
        reason = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        tail = f": {lines[-1][:300]}" if lines else ""
        ended = VerificationError(f"live {self.framework} ({self.python}) {reason}{tail}")
        if code < 0:
            ended.add_note(f"it may take {self._limits.memory / (1 << 30):g} GiB of memory; {MEMORY} raises the limit")
        return ended


def _listen(pipe: IO[bytes], words: deque[bytes]) -> None:
    """Keep the last of what a child says on standard error."""
    with pipe:
        while data := os.read(pipe.fileno(), 4096):
            words.append(data)


def _end(child: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):  # the third one is closed by who listens to it
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # what was still to be written is of no use to a process that has ended
    folder.cleanup()


__all__ = ["DEFAULTS", "MEMORY", "SECONDS", "ChildProcess", "Limits"]
