"""The same work on Dask's workers: each runs models in processes of its own, under the same caps.

A worker of Dask that dies takes no outcome with it: its models are given to others by the scheduler, and what was
finished before has its record in the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from graphir.errors import ImportFailure
from graphir.extras import install_hint
from graphir.registry.buckets import Bucket
from graphir.registry.pool import FailedTask, WorkerCaps, Workers

T = TypeVar("T")
R = TypeVar("R")
NEEDED = f"--dask needs Dask, which is not installed: {install_hint('dask')}"
CONNECT_SECONDS = 30


class DaskWorkers:
    """The workers of a scheduler; `caps` hold for each call."""

    def __init__(self, address: str, caps: WorkerCaps) -> None:
        try:
            import distributed
        except ImportError as error:
            raise ImportFailure(NEEDED) from error
        self._caps = caps
        library: Any = distributed
        try:
            self._client: Any = library.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ImportFailure(f"no scheduler of Dask answers at {address}: {error}") from error

    def __enter__(self) -> DaskWorkers:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._client.run(end_here, self._caps, on_error="ignore")
        self._client.close()

    def run(
        self, function: Callable[..., R], tasks: Iterable[tuple[T, tuple[Any, ...]]]
    ) -> Iterator[tuple[T, R | FailedTask]]:
        """Call the function with the arguments of each task; results in the order in which they come. Raises what
        graphir's own code raises on a worker where it cannot work at all."""
        import distributed

        library: Any = distributed
        futures = {
            self._client.submit(call_here, self._caps, function, arguments, pure=False): label
            for label, arguments in tasks
        }  # fmt: skip
        for future in library.as_completed(list(futures), loop=self._client.loop):
            label = futures.pop(future)
            try:
                result: R | FailedTask = future.result()
            except library.KilledWorker as error:
                result = FailedTask(Bucket.KILLED, f"the workers of Dask that had it died: {error}")
            future.release()
            yield label, result


_here: dict[WorkerCaps, Workers] = {}
_making = threading.Lock()


def call_here(caps: WorkerCaps, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call in a process of this worker, which keeps the process for later calls."""
    with _making:
        if caps not in _here:
            _here[caps] = Workers(_threads(), caps)
    return _here[caps].call(function, *arguments)


def end_here(caps: WorkerCaps) -> None:
    """End the processes of this worker: nobody else needs them, and it cannot end before them."""
    with _making:
        workers = _here.pop(caps, None)
    if workers is not None:
        workers.stop()


def _threads() -> int:
    from distributed import get_worker

    return max(1, int(get_worker().state.nthreads))
