"""Run a function in a child of this process, so that what ends, hangs or fills the child does neither to this process.

The child is a fork: it has every object that the function needs, whatever it is, and costs milliseconds. It says what
it is about to do (`step`); when it ends before it has answered, or a step takes too long, that is a `RunEnded` with the
last step. Where a process cannot be forked safely, the function runs in this one: outside of Linux, and where this
process has opened a GPU or started a provider with threads of its own (`forbid_forks`), which a fork cannot use.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

from graphir.errors import GraphirError, VerificationError
from graphir.files.sources import forward_files, remember
from graphir.safety.counted import Count, is_listened_to, listening, tell_count
from graphir.structure.record import record

T = TypeVar("T")
Tell = Callable[[str], None]
GPUS = ("/dev/nvidia", "/dev/kfd")
# How much longer a step may take when it is run a second time, node by node, to see in which node it ends.
SECONDS_FOR_A_NODE = 60.0
_may_fork = True


class RunEnded(VerificationError):
    """A child that ended or was ended before it had answered; `is_late` if a step took too long."""

    is_late = False


@record
class Caps:
    """What the child may take: seconds for each step, bytes beyond what this process has (None: not limited)."""

    seconds: float
    memory: int | None = None


class _Raised(Exception):
    """The traceback of an error that was raised in the child, as its cause."""


@dataclass
class _Child:
    """This process as a child: where it says what it does, how many steps it has begun, which one goes node by node."""

    pipe: Connection
    traced: int
    steps: int = 0
    subject: str = ""

    def say(self, *message: object) -> None:
        self.pipe.send(message)

    def say_count(self, count: Count) -> None:
        self.say("count", count.what, count.done, count.total)


_child: _Child | None = None


@contextmanager
def step(what: str, nodes: Callable[[Callable[[str], None]], None] | None = None) -> Iterator[None]:
    """Say that this process, if it is a child, is about to do something that may end it or take long.

    `nodes` does the same node by node and says which one is next; it is called where that is to be known.
    """
    child = _child
    if child is None:
        yield
        return
    child.steps += 1
    text = f"{what} {child.subject}".strip()
    child.say("step", text, child.steps)
    try:
        if child.steps == child.traced and nodes is not None:
            nodes(lambda node: child.say("step", f"{text}, at {node}", -child.steps))
            child.say("step", text, child.steps)
        yield
    finally:
        child.say("step", "", child.steps)


@contextmanager
def subject(name: str) -> Iterator[None]:
    """Name what steps in the block are about."""
    child = _child
    if child is None:
        yield
        return
    before, child.subject = child.subject, name
    try:
        yield
    finally:
        child.subject = before


def current_subject() -> str:
    """Return what steps are about, to be named again later."""
    return "" if _child is None else _child.subject


def is_traced() -> bool:
    """Return whether some step will be run node by node."""
    return _child is not None and _child.traced > 0


def forwarded(tell: Tell | None) -> Tell | None:
    """Return what tells the same in this process, also from a child that `run_isolated` has started with it."""
    if tell is None:
        return None

    def forward(text: str) -> None:
        if _child is None:
            tell(text)
        else:
            _child.say("tell", text)

    return forward


def run_isolated(function: Callable[[], T], caps: Caps, tell: Tell | None = None) -> T:
    """Return what the function returns, run in a child; what it gives to `forwarded(tell)` is told in this process.

    Raises what the function raises, and RunEnded if the child ends or a step takes too long. The function is then run
    once more, to say in which node the step ended, where that can be told.
    """
    if _child is not None or not can_fork():
        return function()
    try:
        return _Run(caps, tell).result(function)
    except _Lost as lost:
        node = _last_node(function, caps, lost) if lost.step else ""
        ended = RunEnded(f"{lost.how} in {node or lost.text or 'what it did between runs'}")
        ended.is_late = lost.is_late
        raise ended from None


def forbid_forks() -> None:
    """Run everything in this process from now on: it has a driver or threads that a fork would wait for in vain."""
    global _may_fork
    _may_fork = False


def can_fork() -> bool:
    """Return whether a fork of this process can do what this process can."""
    if not (_may_fork and sys.platform.startswith("linux")):
        return False
    with suppress(OSError):
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{descriptor}").startswith(GPUS):
                    return False
    return True


class _Lost(Exception):
    """A child that gave no answer: how it ended, in which step, that step's number, and whether it took too long."""

    def __init__(self, how: str, text: str, step: int, is_late: bool = False) -> None:
        super().__init__(how)
        self.how, self.text, self.step, self.is_late = how, text, step, is_late


def _last_node(function: Callable[[], object], caps: Caps, lost: _Lost) -> str:
    """Return the step with the node in which a second run ends like the first, "" where it does not."""
    try:
        _Run(Caps(min(caps.seconds, SECONDS_FOR_A_NODE), caps.memory), None, lost.step).result(function)
    except _Lost as second:
        return second.text if second.step == -lost.step else ""
    except Exception:
        return ""  # the first run has ended without an answer, whatever this one says
    return ""


class _Run:
    """A child that runs a function, from this process's side."""

    def __init__(self, caps: Caps, tell: Tell | None, traced: int = 0) -> None:
        self._caps, self._tell, self._traced = caps, tell, traced
        self._text, self._step = "", 0

    def result(self, function: Callable[[], T]) -> T:
        """Return its result. Raises its error, or _Lost."""
        folder = tempfile.mkdtemp(prefix="graphir-")
        ours, theirs = Pipe(duplex=False)
        lifeline, other_end = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # None, closed, or nobody reads it
                stream.flush()
        process = _fork()
        if not process:
            ours.close()
            os.close(other_end)
            tempfile.tempdir = folder
            _be_child(function, _Child(theirs, self._traced), self._caps, lifeline)
        status = None
        try:
            theirs.close()
            os.close(lifeline)
            answer = self._answer(ours)
            if answer is None:
                _, status = os.waitpid(process, 0)
        finally:
            if status is None:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            ours.close()
            os.close(other_end)
            shutil.rmtree(folder, ignore_errors=True)
        if answer is None:
            raise _Lost(f"onnxruntime {_ending(os.waitstatus_to_exitcode(status or 0))}", self._text, self._step)
        kind, value = answer
        if kind == "late":
            raise _Lost(f"onnxruntime took more than {self._caps.seconds:g} seconds", self._text, self._step, True)
        if kind == "error":
            error, said = value
            raise error from _Raised(said)
        return value  # type: ignore[no-any-return]

    def _answer(self, pipe: Connection) -> tuple[str, Any] | None:
        """Return what the child says last, None if it ends before; `late` for a step that takes too long."""
        deadline = None
        while True:
            try:
                if not pipe.poll(None if deadline is None else max(0.0, deadline - time.monotonic())):
                    return "late", None
                kind, *values = pipe.recv()
            except (EOFError, OSError):
                return None
            if kind == "step":
                self._text, self._step = values
                deadline = time.monotonic() + self._caps.seconds if self._text else None
            elif kind == "count":
                tell_count(*values)
            elif kind == "file":
                remember(*values)
            elif kind == "tell":
                if self._tell is not None:
                    self._tell(*values)
            else:
                return kind, values[0]


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of threads, whose locks a child may find taken. Those of onnxruntime and of BLAS are the only
        # ones that graphir starts, and they hold none between calls.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _be_child(function: Callable[[], object], child: _Child, caps: Caps, lifeline: int) -> None:
    """Run the function and say what came of it; this process ends here."""
    global _child
    # A session of onnxruntime that goes waits for its threads, and a child has none of those of its parent: what was
    # garbage before the fork is never collected here.
    gc.freeze()
    try:
        threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
        _limit(caps)
        _child = child
        forward_files(lambda path, how: child.say("file", path, how))
        try:
            with listening(child.say_count) if is_listened_to() else nullcontext():
                message: tuple[str, Any] = ("result", function())
        except Exception as error:
            message = ("error", (_portable(error), "".join(traceback.format_exception(error))))
        child.pipe.send(message)
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _end_with(lifeline: int) -> None:
    """End this process when nobody holds the other end."""
    os.read(lifeline, 1)
    os._exit(1)


def _limit(caps: Caps) -> None:
    """Prepare this process: its memory, which one the system ends first, and signals, which the parent acts on."""
    import resource

    faulthandler.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    if caps.memory is None:
        return
    words = Path("/proc/self/status").read_text().split()
    usage = int(words[words.index("VmData:") + 1]) << 10
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    wanted = usage + caps.memory
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))


def _portable(error: Exception) -> Exception:
    """Return the error, or one that says the same and that the parent can read."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # what pickle calls, which is anybody's, raises anything
        text = f"{type(error).__name__}: {error}"
        return VerificationError(str(error)) if isinstance(error, GraphirError) else RuntimeError(text)
    return error


def _ending(code: int) -> str:
    """Return how a process ended, in words."""
    if code >= 0:
        return f"ended the process that it ran in (status {code})"
    hint = "; the system may have had no memory left" if -code == signal.SIGKILL else ""
    return f"was ended by {signal.Signals(-code).name}{hint}"
