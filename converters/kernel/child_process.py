"""A child process that runs a live framework: starting it, asking it, and saying what went wrong in it.

It works under limits (`child_limits`): of memory, of the time that an answer may take, of what it may write.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from graphir.arrays import Array
from graphir.converters.kernel.live import (
    GIB,
    MEMORY,
    SECONDS,
    Live,
    LiveCrashed,
    LiveFailed,
    LiveOutOfMemory,
    LiveTooSlow,
    raises,
)
from graphir.errors import VerificationError
from graphir.safety.children import start_python
from graphir.safety.json_text import NoJson, read_json

try:
    import resource
except ImportError:  # only POSIX has it
    resource = None  # type: ignore[assignment]

read_array: Any = np.lib.format.read_array
LIMITS = Path(__file__).with_name("child_limits.py")
# Seconds that a child has to end by itself after it said what is no answer.
GRACE = 5
PIECE = 1 << 20
# How many requests of full length the time of all cores may last: it ends a child that nobody waits for any more, while
# a process answers for many sets of inputs, each in slices.
REQUESTS = 32
# Bytes of a line of JSON; the answers are names, versions and messages, of which the child sends the beginning.
LONGEST_LINE = 1 << 24
# What frameworks and libraries say when they are refused memory.
TOO_LITTLE = re.compile(
    r"bad_alloc|MemoryError|ResourceExhausted|out of memory|\bOOM\b|(cannot|unable to|failed to|can't) allocate", re.I
)


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
        """Return a line, or what there is of one before the end."""
        while b"\n" not in self._held:
            data = self._more()
            self._held += data
            if not data or len(self._held) > LONGEST_LINE:
                break
        end = self._held.find(b"\n") + 1 or len(self._held)
        line = bytes(self._held[:end])
        del self._held[:end]
        return line

    def read(self, count: int) -> bytes:
        """Return at most so many bytes, none at the end. numpy asks until it has enough."""
        data = bytes(self._held[:count]) if self._held else b""
        del self._held[: len(data)]
        if not data:
            data = self._more()
            self._held += data[count:]
        return data[:count]


class _Unread:
    """What was not taken yet of the answers to a request, while they are in the pipe, and in files behind that, which
    are removed as they are taken. `wanted` says whether somebody may take them, `error` is the one that ended them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: deque[tuple[str, Path]] = deque()
        self.wanted = True
        self.error: VerificationError | None = None

    def keep(self, name: str, array: Array) -> None:
        """Store an array until it is taken."""
        if self.wanted:
            descriptor, path = tempfile.mkstemp(".npy", "aside-", self._folder)
            with os.fdopen(descriptor, "wb") as file:
                np.save(file, array, allow_pickle=False)
            self._files.append((name, Path(path)))

    def taken(self) -> Iterator[tuple[str, Array]]:
        """Yield what was stored. Raises the error that came behind it."""
        while self._files:
            name, path = self._files.popleft()
            with path.open("rb") as file:
                array: Array = read_array(file, allow_pickle=False)
            path.unlink()
            yield name, array
        if self.error is not None:
            raise self.error


class ChildProcess:
    """A program beside a folder, through which it is given arrays. Its answers are lines of JSON, arrays among them.

    A subclass names the framework and the errors: `missing` if the interpreter cannot import it, `refuses` if it cannot
    compute what it was asked for. `live` says what it may take.
    """

    framework: ClassVar[str]
    missing: ClassVar[type[VerificationError]]
    refuses: ClassVar[type[VerificationError]] = VerificationError

    def __init__(self, python: str, live: Live | None = None) -> None:
        self.python = _interpreter(python)
        prefix = f"graphir-{self.framework.lower()}-"
        self._folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        self.place = Path(self._folder.name)
        self._limits = (live or Live()).limits()
        self._words: deque[bytes] = deque(maxlen=50)
        self.failure: LiveFailed | None = None
        self._unread: _Unread | None = None

    def start(
        self, script: Path, words: Sequence[str], environment: Mapping[str, str], task: str = ""
    ) -> dict[str, Any]:
        """Run the script with the folder and the words; its first answer. `version` is the framework's, `task` what it
        has to do first in words.

        Raises `missing` if the interpreter cannot be started or cannot import the framework, and LiveFailed if the
        program gives no answer.
        """
        seconds = int(self._limits.seconds * (os.cpu_count() or 1) * REQUESTS) + 1
        limits = json.dumps({"memory": self._limits.memory, "seconds": seconds})
        try:
            self._child = start_python(
                LIMITS,
                [limits, str(script), str(self.place), *words],
                python=self.python,
                environment={"TMPDIR": str(self.place), **environment},
                cwd=self.place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or error
            raise self.missing(f"cannot start {self.python} to run {self.framework}: {reason}") from error
        _bound(self._child, self._limits.memory)
        self._finalizer = weakref.finalize(self, _end, self._child, self._folder)
        assert self._child.stdout is not None
        self._listener = threading.Thread(target=_listen, args=(self._child.stderr, self._words), daemon=True)
        self._listener.start()
        self._answers = _Answers(self._child.stdout)
        self._answers.left = self._limits.seconds
        first = self._answer()
        if "missing" in first:
            raise self.missing(f"{self.python} cannot import {self.framework}: {first['missing']}")
        if "error" in first:
            raise self._failure(first, f"cannot {task}" if task else "failed")
        return first

    def ask(self) -> Iterator[tuple[str, Array]]:
        """Yield the named arrays that answer the request in the folder, one after the other. Where the next request
        comes before all of them were taken, the others wait in files. Raises `refuses` with the framework's message,
        LiveFailed if the program gives no answer."""
        self._set_aside()
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(b"evaluate\n")
            self._child.stdin.flush()
        except OSError as error:
            raise self._end_failure() from error
        self._answers.left = self._limits.seconds
        unread = self._unread = _Unread(self.place)
        try:
            while unread is self._unread:
                answer = self._next()
                if answer is None:
                    return
                yield answer
            yield from unread.taken()
        except GeneratorExit:
            unread.wanted = False
            raise

    def _next(self) -> tuple[str, Array] | None:
        """Return the next array that answers the last request, None behind the last one."""
        try:
            answer = self._answer()
            if "error" in answer:
                raise self._failure(answer)
            if "name" in answer:
                return str(answer["name"]), self._array()
        except VerificationError:
            self._unread = None
            raise
        self._unread = None
        return None

    def _set_aside(self) -> None:
        """Take what is left of the answers to the last request out of the pipe."""
        unread = self._unread
        while unread is not None and unread is self._unread:
            try:
                answer = self._next()
            except VerificationError as error:
                unread.error = error
                if isinstance(error, LiveFailed):
                    raise
                return
            if answer is not None:
                unread.keep(*answer)

    @property
    def is_done(self) -> bool:
        """Whether a new one is to be started for the next request, since this one failed.

        Raises its failure again if it took too long: the next request would do so too.
        """
        if isinstance(self.failure, LiveTooSlow):
            raise LiveTooSlow(*self.failure.args)
        return self.failure is not None

    def close(self) -> None:
        """End the program and remove its files."""
        self._finalizer()

    @property
    def _who(self) -> str:
        return f"live {self.framework} ({self.python})"

    def _answer(self) -> dict[str, Any]:
        try:
            answer = read_json(self._answers.readline())
        except _TooLong:
            raise self._too_long() from None
        except NoJson as error:
            raise self._end_failure() from error
        if not isinstance(answer, dict):
            raise self._end_failure()
        return answer

    def _array(self) -> Array:
        try:
            array: Array = read_array(self._answers, allow_pickle=False)
        except _TooLong:
            raise self._too_long() from None
        except ValueError as error:
            raise self._end_failure() from error
        return array

    def _failure(self, answer: Mapping[str, Any], verb: str = "failed") -> VerificationError:
        """Return the error that an answer states: too little memory, or what the framework refuses."""
        text = str(answer["error"])
        if answer.get("memory") or TOO_LITTLE.search(text):
            return self._too_little(text)
        return self.refuses(f"{self._who} {verb}: {text}")

    def _too_little(self, said: str) -> LiveFailed:
        tail = f": {said[:300]}" if said else ""
        may = f"{self._limits.memory / GIB:g} GiB; {raises(MEMORY)}"
        return self._note_failure(LiveOutOfMemory, f"{self._who} ran out of memory, of which it may take {may}{tail}")

    def _too_long(self) -> LiveFailed:
        _kill(self._child)
        return self._note_failure(
            LiveTooSlow, f"{self._who} took more than {self._limits.seconds:g} seconds and was ended; {raises(SECONDS)}"
        )

    def _end_failure(self) -> LiveFailed:
        """Return the error for a program that said what is no answer, or nothing more."""
        try:
            code = self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            _kill(self._child)
            self._child.wait()
            text = f"{self._who} said what is no answer and was ended{self._last_words()}"
            return self._note_failure(LiveCrashed, text)
        tail = self._last_words()
        if code < 0 and -code == getattr(signal, "SIGXCPU", 0):
            return self._too_long()
        if TOO_LITTLE.search(tail):
            return self._too_little(tail.removeprefix(": "))
        if code < 0 and -code == getattr(signal, "SIGKILL", 0):  # by nobody here: as the kernel ends the largest
            return self._too_little(f"it was ended by SIGKILL, as a system does that has no memory left{tail}")
        reason = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with status {code}"
        return self._note_failure(LiveCrashed, f"{self._who} {reason}{tail}")

    def _note_failure(self, kind: type[LiveFailed], text: str) -> LiveFailed:
        self.failure = kind(text)
        return self.failure

    def _last_words(self) -> str:
        """Return the last line on standard error, behind a colon."""
        self._listener.join(GRACE)
        lines = b"".join(self._words).decode(errors="replace").strip().splitlines()
        last_line = next((line for line in reversed(lines) if TOO_LITTLE.search(line)), lines[-1] if lines else "")
        return f": {last_line[:300]}" if last_line else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # those for real-time use have no names
        return f"signal {number}"


def _interpreter(python: str) -> str:
    """Return an interpreter's path from anywhere: the child works in a folder of its own. A link stays one: behind that
    of a virtual environment is an interpreter without its packages."""
    given = os.path.expanduser(python)
    if os.path.dirname(given):
        return os.path.abspath(given)
    return shutil.which(given) or given


def _bound(child: subprocess.Popen[bytes], memory: int) -> None:
    """Limit the memory of a child from outside too: what is started may be a script that starts an interpreter."""
    limit = getattr(resource, "prlimit", None)  # Linux has it
    if limit is not None:
        with suppress(OSError, ValueError):  # it ended already, or may not be limited
            limit(child.pid, resource.RLIMIT_DATA, (memory, memory))


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End a child with what it started: it leads a group of its own."""
    if child.poll() is None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()


def _listen(pipe: IO[bytes], words: deque[bytes]) -> None:
    """Keep the last of what a child says on standard error."""
    with pipe:
        while data := os.read(pipe.fileno(), 4096):
            words.append(data)


def _end(child: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    _kill(child)
    child.wait()
    for pipe in (child.stdin, child.stdout):  # the third one is closed by who listens to it
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # what was still to be written is of no use to a process that has ended
    folder.cleanup()
