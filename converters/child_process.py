"""A child process that runs a live framework: starting it, asking it, and saying what went wrong in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphir.errors import VerificationError

Array = NDArray[Any]
read_array: Any = np.lib.format.read_array
# Seconds that a child has to end by itself after it said what is no answer.
GRACE = 5


class _Pipe:
    """A pipe that does not look like a file to numpy, which would ask for its position."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.read = pipe.read


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

    def start(self, script: Path, words: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
        """Run the script with the folder and the words; its first answer. `version` is the framework's.

        Raises `missing` if the interpreter cannot be started or cannot import the framework, and VerificationError if
        the program ends.
        """
        with open(self.place / "stderr.txt", "wb") as errors:
            try:
                self._child = subprocess.Popen(
                    [self.python, str(script), str(self.place), *words],
                    env=os.environ | environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                )
            except OSError as error:
                reason = error.strerror or error
                raise self.missing(f"cannot start {self.python} to run {self.framework}: {reason}") from error
        self._finalizer = weakref.finalize(self, _end, self._child, self._folder)
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
        while True:
            answer = self._answer()
            if "error" in answer:
                raise self.refuses(f"live {self.framework} ({self.python}) failed: {answer['error']}")
            if "name" not in answer:
                return
            yield str(answer["name"]), read_array(_Pipe(self._output), allow_pickle=False)

    def close(self) -> None:
        """End the program and remove its files."""
        self._finalizer()

    @property
    def _output(self) -> IO[bytes]:
        assert self._child.stdout is not None
        return self._child.stdout

    def _answer(self) -> dict[str, Any]:
        line = self._output.readline()
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise self._ended() from error
        return found

    def _ended(self) -> VerificationError:
        try:
            code = self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait()
        lines = (self.place / "stderr.txt").read_text(errors="replace").strip().splitlines()
        reason = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        tail = f": {lines[-1][:300]}" if lines else ""
        return VerificationError(f"live {self.framework} ({self.python}) {reason}{tail}")


def _end(child: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # what was still to be written is of no use to a process that has ended
    folder.cleanup()


__all__ = ["ChildProcess"]
