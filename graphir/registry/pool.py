"""Worker processes that are warm, limited and replaced.

Pebble's pool is what fits of those that are kept well: where a process dies, one task fails and the pool goes on with a
new process; a task that takes too long is ended with its process. The pools of the standard library and of loky are
broken as a whole by one process that dies, and cannot end a task. It is pure Python without dependencies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from graphir.errors import ArgumentError, ImportFailure
from graphir.extras import install_hint
from graphir.registry.buckets import Bucket
from graphir.structure.record import record

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from pebble import ProcessPool

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
# How long ending all workers may take, in seconds.
STOPPED_WITHIN = 20
TOO_LARGE = 77
# What workers are forked from has this imported.
PRELOADED = ("graphir.registry.warm",)
NEEDED = f"a registry's workers need pebble, which is not installed: {install_hint('registry')}"


@record
class Caps:
    """What each model may take: seconds of wall time, and bytes of memory beyond what a worker has by itself (None:
    not limited)."""

    seconds: float = 600.0
    memory: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.seconds < threading.TIMEOUT_MAX:
            raise ArgumentError(f"the time-out is {self.seconds!r}, expected seconds above 0")
        if self.memory is not None and self.memory <= 0:
            raise ArgumentError(f"the memory for a model is {self.memory!r}, expected bytes above 0")


@record
class Ended:
    """How a task ended that gave no result, and what is to be said of it."""

    bucket: Bucket
    detail: str


class Workers:
    """Processes that run functions; `caps` hold for each call."""

    def __init__(self, jobs: int, caps: Caps) -> None:
        try:
            from pebble import ProcessPool
        except ImportError as error:
            raise ImportFailure(NEEDED) from error
        if jobs < 1:
            raise ArgumentError(f"jobs: expected a number of at least 1, found {jobs}")
        self._jobs, self._caps = jobs, caps
        self._pool: ProcessPool = ProcessPool(
            max_workers=jobs, max_tasks=RENEWED_AFTER, initializer=_begin, initargs=(caps.memory,), context=_context()
        )

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes, whatever they are doing. One that is being started just then may outlive this; it ends
        itself after its time-out."""
        end: Callable[[], None] = self._pool.stop
        end()
        waiting = threading.Thread(target=self._pool.join, daemon=True)
        waiting.start()
        waiting.join(STOPPED_WITHIN)

    def run(
        self, function: Callable[..., R], tasks: Iterable[tuple[T, tuple[Any, ...]]]
    ) -> Iterator[tuple[T, R | Ended]]:
        """Call the function with the arguments of each task; results in the order in which they come.

        A few more tasks than there are workers are handed over at a time: none waits in a queue that a million would
        fill.
        """
        waiting = iter(tasks)
        running: dict[Future[Any], T] = {}
        while True:
            while len(running) < 2 * self._jobs and (task := next(waiting, None)) is not None:
                label, arguments = task
                running[self._scheduled(function, arguments)] = label
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), self._result(future)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One call's result, or an Ended, whoever else calls at the same time."""
        return self._result(self._scheduled(function, arguments))

    def _scheduled(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        seconds = self._caps.seconds
        return self._pool.schedule(_guarded, (seconds, function, *arguments), timeout=seconds)

    def _result(self, future: Future[Any]) -> Any:
        from pebble import ProcessExpired

        try:
            return future.result()
        except TimeoutError:
            return Ended(Bucket.TIME, f"took more than {self._caps.seconds:g} seconds (--timeout) and was ended")
        except ProcessExpired as error:
            return self._expired(error.exitcode)
        except MemoryError:
            return Ended(Bucket.MEMORY, self._memory_text())

    def _expired(self, code: int) -> Ended:
        if code == TOO_LARGE:
            return Ended(Bucket.MEMORY, self._memory_text())
        if code == -signal.SIGALRM:
            return Ended(Bucket.TIME, f"took more than {self._caps.seconds:g} seconds (--timeout) and was ended")
        how = f"ended with status {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
        hint = "; the system may have had no memory left" if code == -signal.SIGKILL else ""
        return Ended(Bucket.KILLED, f"its process {how}{hint}")

    def _memory_text(self) -> str:
        allowed = "" if self._caps.memory is None else f" than {self._caps.memory / 1e9:g} GB (--memory)"
        return f"needed more memory{allowed or ' than there is'}"


def memory_for_each(jobs: int) -> int | None:
    """What each of so many models at a time may take of this machine's memory, in bytes, at least 1 GiB; None where the
    system does not tell how much it has."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return max(whole // jobs - OWN_MEMORY, 1 << 30)


def _context() -> BaseContext:
    """How workers are started. On Linux they are forked from a process that has everything imported and no threads;
    elsewhere, where libraries do not survive that, each imports for itself."""
    if not sys.platform.startswith("linux"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def _begin(memory: int | None) -> None:
    """Prepare a worker: what ends it, and its memory."""
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
    threading.Thread(target=_watch, args=(nbytes,), daemon=True).start()


def _watch(nbytes: int) -> None:
    """End this process when it has held more. The largest size is in bytes on macOS, in KiB elsewhere."""
    unit = 1 if sys.platform == "darwin" else 1024
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit < nbytes:
        time.sleep(LOOKS_EVERY)
    os._exit(TOO_LARGE)


def _guarded(seconds: float, function: Callable[..., R], *arguments: Any) -> R:
    """A call in a worker, with a clock that ends the worker even if the one who counts its time was killed."""
    with _alarm(seconds + ORPHANED_AFTER):
        return function(*arguments)


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


__all__ = ["Caps", "Ended", "Workers", "memory_for_each"]
