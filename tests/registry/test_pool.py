"""Workers: what ends one ends one task, and nothing outlives what it was started for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait
from pathlib import Path

import pytest

from graphir.errors import ArgumentError
from graphir.registry import pool
from graphir.registry.buckets import Bucket
from graphir.registry.pool import FailedTask, WorkerCaps, Workers, memory_for_each
from tests.thinning import FULL

from . import zoo
from .test_resume import ROOT, stamps


def double(number: int) -> int:
    """Twice the number; a few end their process instead."""
    if number == 2:
        os._exit(9)
    if number == 5:
        signal.setitimer(signal.ITIMER_REAL, 0.01)  # the clock that ends a worker whose starter is gone
        time.sleep(60)
    return 2 * number


def test_one_task_fails_and_the_rest_goes_on() -> None:
    with Workers(2, WorkerCaps(60)) as workers:
        found = dict(workers.run(double, ((number, (number,)) for number in range(8))))
    assert {number: result for number, result in found.items() if isinstance(result, int)} == {
        number: 2 * number for number in (0, 1, 3, 4, 6, 7)
    }
    ended = {number: result.bucket for number, result in found.items() if isinstance(result, FailedTask)}
    assert ended == {2: Bucket.KILLED, 5: Bucket.TIME}


def test_a_run_that_is_ended_leaves_nothing(hazards: Path, tmp_path: Path) -> None:
    zoo.dense(tmp_path / "zoo", "a")
    zoo.custom(tmp_path / "zoo", "b", "hang")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "graphir", "convert-all", str(tmp_path / "zoo"), "--out", str(out), "--jobs", "1"]
    run = subprocess.Popen(
        [*command, "--plugin", str(hazards)], env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE
    )
    while run.poll() is None and (not stamps(out) or not list(out.glob(".graphir/work/b-*"))):
        time.sleep(0.01)
    run.terminate()
    _, told = run.communicate(timeout=60)
    assert (run.returncode, b"ended by SIGTERM" in told) == (128 + signal.SIGTERM, True)
    assert stamps(out).keys() == {"a"}
    assert not list(out.glob(".graphir/work"))


def end_at_once() -> None:
    os._exit(9)


def test_no_death_is_lost(request: pytest.FixtureRequest) -> None:
    """However soon after it was given a task a process ends: the task is ended there and then."""
    count = 60 if request.config.getoption(FULL) else 20  # each is a process that starts
    with Workers(2, WorkerCaps(600)) as workers:
        ended = [result for _, result in workers.run(end_at_once, ((number, ()) for number in range(count)))]
    assert ended == count * [FailedTask(Bucket.KILLED, "its process ended with status 9")]


def test_one_that_died_while_it_waited_costs_no_task() -> None:
    with Workers(1, WorkerCaps(600)) as workers:
        first = workers.call(os.getpid)
        os.kill(first, signal.SIGKILL)
        assert wait([workers._idle[0].state], 60)
        second = workers.call(os.getpid)
    assert second not in (first, os.getpid())
    assert isinstance(second, int)


def overdue(number: int) -> int:
    time.sleep(0 if number else 600)
    return number


def fill_and_wait(seconds: float) -> str:
    folder = tempfile.mkdtemp()
    Path(folder, "file").write_text("left")
    time.sleep(seconds)
    return folder


def test_what_a_killed_worker_wrote_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Workers(1, WorkerCaps(5)) as workers:
        folder = workers.call(fill_and_wait, 0)
        assert tmp_path in Path(folder).parents
        assert isinstance(workers.call(fill_and_wait, 600), FailedTask)
        assert list(tmp_path.iterdir()) == []


def test_the_late_one_is_ended_and_nobody_waits_for_it() -> None:
    with Workers(2, WorkerCaps(6)) as workers:  # a worker imports this file first, which takes long on a busy machine
        found = list(workers.run(overdue, ((number, (number,)) for number in range(12))))
    assert found[:-1] == [(number, number) for number in range(1, 12)]
    assert found[-1] == (0, FailedTask(Bucket.TIME, "took more than 6 seconds (--timeout) and was ended"))


class TwoArguments(Exception):
    """What pickle can write and not read."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def fail(kind: str) -> object:
    if kind == "memory":
        raise MemoryError
    if kind == "error":
        raise TwoArguments("cannot ", "be read")
    if kind == "value":
        raise ValueError("as it is")
    return lambda: None


def hoard() -> None:
    """Hold what no collector has looked at yet, and run out of memory."""
    held: list[object] = [bytearray(800 << 20)]
    held.append(held)
    raise MemoryError


def large() -> int:
    return len(bytearray(600 << 20))


def test_what_ran_out_of_memory_takes_none_from_the_next() -> None:
    with Workers(1, WorkerCaps(60, 1 << 30)) as workers:
        first = workers.call(os.getpid)
        for _ in range(2):
            ended = workers.call(hoard)
            assert isinstance(ended, FailedTask)
            assert ended.bucket is Bucket.MEMORY
            assert workers.call(large) == 600 << 20
        assert workers.call(os.getpid) != first


def test_errors_reach_who_gave_the_task() -> None:
    with Workers(1, WorkerCaps(600)) as workers:
        assert workers.call(fail, "memory") == FailedTask(Bucket.MEMORY, "needed more memory than there is")
        with pytest.raises(ValueError, match="as it is") as raised:
            workers.call(fail, "value")
        assert "in fail" in "".join(raised.value.__notes__)
        for kind in ("error", "function"):
            with pytest.raises(TypeError, match="cannot be sent from a worker process"):
                workers.call(fail, kind)
        assert workers.call(os.getpid) != os.getpid()


def test_many_threads_call_at_once() -> None:
    """Dask's workers do: each gets its own answers, and nothing is left behind."""
    with Workers(4, WorkerCaps(600)) as workers, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: workers.call(double, number), range(6, 200)))
        processes = {worker.process for worker in workers._idle}
    assert found == [2 * number for number in range(6, 200)]
    assert 1 <= len(processes) <= 4
    assert not [process for process in processes if Path(f"/proc/{process}").exists()]


def test_workers_are_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "RENEWED_AFTER", 3)
    with Workers(1, WorkerCaps(600)) as workers:
        seen = [workers.call(os.getpid) for _ in range(7)]
    assert [seen.count(process) for process in dict.fromkeys(seen)] == [3, 3, 1]


@pytest.mark.parametrize("caps", [(0.0, None), (-1.0, None), (float("nan"), None), (1.0, 0), (1e30, None)])
def test_caps_are_above_nothing(caps: tuple[float, int | None]) -> None:
    with pytest.raises(ArgumentError):
        WorkerCaps(*caps)


def test_memory_is_divided() -> None:
    alone, both = memory_for_each(1), memory_for_each(2)
    assert alone is None or (both is not None and alone >= both >= 1 << 30)
