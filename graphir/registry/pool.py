"""Worker processes that are warm, limited and replaced.

Each has a pipe of its own, and nothing else in common with the others: one that ends, wherever it is, ends one task and
nobody waits for what it held. Pools that share a queue and its locks among their workers cannot promise that: those of
the standard library and of loky are broken as a whole by one process that dies, and Pebble's loses a task whose process
dies before the pool has read that it took it.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, TypeVar

from graphir.errors import ArgumentError
from graphir.registry.buckets import Bucket
from graphir.safety.children import ForkServer
from graphir.safety.memory import machine_memory
from graphir.structure.record import record

try:
    import resource
except ImportError:  # only POSIX has it
    resource = None  # type: ignore[assignment]

T = TypeVar("T")
R = TypeVar("R")
# After so many models a worker is replaced: what libraries keep between models stays small, and a start costs the
# time of some ten small models.
RENEWED_AFTER = 200
# What a worker may hold before its first model: imported modules, tables of operators, thread stacks.
OWN_MEMORY = 1 << 29
# A process that watches its memory looks so often, in seconds; it allocates some 100 MB in that time.
LOOKS_EVERY = 0.05
# How long after its time-out a worker ends itself, if nobody is left who would.
ORPHANED_AFTER = 20
# How long a process that was killed may take to end, in seconds: a system that is out of memory takes its time.
ENDED_WITHIN = 20
TOO_LARGE = 77
# A worker's id and its status, as `fork_workers` writes them.
NUMBER = struct.Struct("q")
# What workers are forked from.
_forks = ForkServer(Path(__file__).with_name("fork_workers.py"))


@record
class WorkerCaps:
    """The limits of each model: seconds of wall time, and bytes of memory besides the worker's own (None: no limit)."""

    seconds: float = 600.0
    memory: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.seconds < threading.TIMEOUT_MAX:
            raise ArgumentError(f"the time-out is {self.seconds!r}, expected seconds above 0")
        if self.memory is not None and self.memory <= 0:
            raise ArgumentError(f"the memory for a model is {self.memory!r}, expected bytes above 0")


@record
class FailedTask:
    """The end of a task without a result: its bucket and the reason."""

    bucket: Bucket
    detail: str


class _Worker:
    """A process, its pipe, what it was given last, and a folder for its temporary files, which it leaves where it is
    killed. `state` becomes readable when the process ends."""

    def __init__(self, memory: int | None) -> None:
        """Raises OSError if no process can be started."""
        self.pipe, far = Pipe()
        self.state, theirs = os.pipe()
        self._temporary = tempfile.mkdtemp(prefix="graphir-worker-")
        try:
            given = {"memory": memory, "folder": os.getcwd(), "temporary": self._temporary}
            request = json.dumps(given).encode("ascii")
            _forks.request(request, [far.fileno(), theirs])
        finally:
            far.close()
            os.close(theirs)
        number = os.read(self.state, NUMBER.size)
        if not number:
            raise ChildProcessError("no worker process can be started")
        self.process = int(NUMBER.unpack(number)[0])
        self.tasks = 0
        self.deadline = 0.0

    def give(self, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Hand over a task. Raises OSError if the process has ended."""
        self.tasks += 1
        self.pipe.send((seconds, function, arguments))
        self.deadline = time.monotonic() + seconds

    def is_alive(self) -> bool:
        return not wait([self.state], 0)

    def kill(self) -> None:
        """Kill the process."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)

    def end(self) -> int:
        """Kill the process if it runs. Return its status."""
        self.pipe.close()
        self.kill()
        status = os.read(self.state, NUMBER.size) if wait([self.state], ENDED_WITHIN) else b""
        os.close(self.state)
        shutil.rmtree(self._temporary, ignore_errors=True)
        return NUMBER.unpack(status)[0] if status else -signal.SIGKILL


class Workers:
    """At most `jobs` processes that run functions, each started when it is needed; `caps` hold for each call."""

    def __init__(self, jobs: int, caps: WorkerCaps) -> None:
        if jobs < 1:
            raise ArgumentError(f"jobs: expected a number of at least 1, found {jobs}")
        self._jobs, self._caps = jobs, caps
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes, whatever they are doing. One that is being started just then ends itself: its pipe has
        no other end."""
        with self._lock:
            workers = [*self._idle, *self._busy]
            self._idle.clear()
            self._busy.clear()
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.end()

    def run(
        self, function: Callable[..., R], tasks: Iterable[tuple[T, tuple[Any, ...]]]
    ) -> Iterator[tuple[T, R | FailedTask]]:
        """Call the function with the arguments of each task; results in the order in which they come.

        Raises what the function raises; a task is taken from the iterable when a worker is free for it.
        """
        waiting = iter(tasks)
        running: dict[_Worker, T] = {}
        while True:
            while len(running) < self._jobs and (task := next(waiting, None)) is not None:
                label, arguments = task
                running[self._assign(function, arguments)] = label
            if not running:
                return
            for worker in _wait_for_answers(running):
                yield running.pop(worker), self._result(worker)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return one call's result or a FailedTask. Threads may call at the same time."""
        worker = self._assign(function, arguments)
        while not _wait_for_answers([worker]):
            pass
        return self._result(worker)

    def _assign(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Worker:
        """Return a worker to which the task was sent."""
        while True:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            worker = worker or _Worker(self._caps.memory)
            with self._lock:
                self._busy.add(worker)
            if worker.is_alive():
                with suppress(OSError):  # it has ended since
                    worker.give(self._caps.seconds, function, arguments)
                    return worker
            self._end(worker)

    def _result(self, worker: _Worker) -> Any:
        """Return the result of a worker that has answered, ended or timed out."""
        if not worker.pipe.poll() and worker.is_alive():
            self._end(worker)
            return self._timeout_result()
        try:
            result, error = worker.pipe.recv()
        except (EOFError, OSError):
            return self._ended_result(self._end(worker))
        ran_out = isinstance(error, MemoryError) or getattr(result, "bucket", None) is Bucket.MEMORY
        if worker.tasks < RENEWED_AFTER and not ran_out:  # what the error's frames hold would count for the next model
            with self._lock:
                self._busy.discard(worker)
                self._idle.append(worker)
        else:
            self._end(worker)
        if isinstance(error, MemoryError):
            return FailedTask(Bucket.MEMORY, self._memory_text())
        if error is not None:
            raise error
        return result

    def _end(self, worker: _Worker) -> int:
        with self._lock:
            self._busy.discard(worker)
        return worker.end()

    def _timeout_result(self) -> FailedTask:
        return FailedTask(Bucket.TIME, f"took more than {self._caps.seconds:g} seconds (--timeout) and was ended")

    def _ended_result(self, code: int) -> FailedTask:
        if code == TOO_LARGE:
            return FailedTask(Bucket.MEMORY, self._memory_text())
        if hasattr(signal, "SIGALRM") and code == -signal.SIGALRM:
            return self._timeout_result()
        how = f"ended with status {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
        hint = "; the system may have had no memory left" if code == -signal.SIGKILL else ""
        return FailedTask(Bucket.KILLED, f"its process {how}{hint}")

    def _memory_text(self) -> str:
        allowed = "" if self._caps.memory is None else f" than {self._caps.memory / 1e9:g} GB (--memory)"
        return f"needed more memory{allowed or ' than there is'}"


def memory_for_each(jobs: int) -> int | None:
    """Return the bytes of memory that each of `jobs` models may take on this machine, at least 1 GiB; None
    where the system does not tell how much it has."""
    whole = machine_memory()
    if whole is None:
        return None
    return max(whole // jobs - OWN_MEMORY, 1 << 30)


def _prepare_worker(memory: int | None) -> None:
    """Set the signals and the memory limit of a worker."""
    for number in (signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)):
        signal.signal(number, signal.SIG_IGN)  # a terminal sends them to all; who started the work ends it in order
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if resource is None:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        _limit_memory(memory + OWN_MEMORY)


def _limit_memory(nbytes: int) -> None:
    """Let allocations beyond this fail where the system can (Linux counts what is allocated, not files that are
    mapped); elsewhere watch what the process holds, and end it."""
    if sys.platform.startswith("linux"):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        wanted = nbytes if hard == resource.RLIM_INFINITY else min(nbytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))
        return
    threading.Thread(target=_watch_memory, args=(nbytes,), daemon=True).start()


def _watch_memory(nbytes: int) -> None:
    """End this process when it has held more. The largest size is in bytes on macOS, in KiB elsewhere."""
    unit = 1 if sys.platform == "darwin" else 1024
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit < nbytes:
        time.sleep(LOOKS_EVERY)
    os._exit(TOO_LARGE)


def serve(pipe: Connection, memory: int | None) -> None:
    """Live as a worker: take tasks from the pipe and answer with results and errors until nobody is at its end."""
    _prepare_worker(memory)
    while True:
        try:
            seconds, function, arguments = pipe.recv()
        except EOFError:
            os._exit(0)
        _send_answer(pipe, *_call(seconds, function, arguments))


def _call(seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    """Return a call's result or its error. A timer ends the worker even if the process that started it was killed."""
    try:
        with _alarm(seconds + ORPHANED_AFTER):
            return function(*arguments), None
    except Exception as error:  # whoever gave the task gets it, whatever it is
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return None, error


def _send_answer(pipe: Connection, result: Any, error: Exception | None) -> None:
    try:
        if error is not None:
            pickle.loads(pickle.dumps(error))  # some can be written and not be read again
        pipe.send((result, error))
    except OSError:
        os._exit(0)
    except MemoryError as needed:
        pipe.send((None, needed))
    except Exception as reason:  # what pickle calls, which is anybody's, raises anything; nothing has been sent then
        text = repr(result if error is None else error)[:1000]
        pipe.send((None, TypeError(f"{text} cannot be sent from a worker process: {reason}")))


def _wait_for_answers(workers: Iterable[_Worker]) -> list[_Worker]:
    """Return the workers that have answered, ended or timed out, once there is one; none if it is time to look again,
    come."""
    by_handle: dict[Any, _Worker] = {}
    for worker in workers:
        by_handle |= {worker.pipe: worker, worker.state: worker}
    first = min(worker.deadline for worker in by_handle.values())
    ready = {by_handle[handle] for handle in wait(list(by_handle), max(0.0, first - time.monotonic()))}
    now = time.monotonic()
    return [worker for worker in dict.fromkeys(by_handle.values()) if worker in ready or now >= worker.deadline]


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)  # without a handler it ends the process, whatever that is doing
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
