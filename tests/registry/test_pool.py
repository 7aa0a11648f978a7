"""Workers: what ends one ends one task, and nothing outlives what it was started for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphir.errors import ArgumentError
from graphir.registry.buckets import Bucket
from graphir.registry.pool import Caps, Ended, Workers, memory_for_each

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
    with Workers(2, Caps(60)) as workers:
        found = dict(workers.run(double, ((number, (number,)) for number in range(8))))
    assert {number: result for number, result in found.items() if isinstance(result, int)} == {
        number: 2 * number for number in (0, 1, 3, 4, 6, 7)
    }
    ended = {number: result.bucket for number, result in found.items() if isinstance(result, Ended)}
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
    try:
        run.wait(timeout=30)
    except subprocess.TimeoutExpired:  # Python drops an exception that a signal raises while a finalizer runs
        run.terminate()
    _, told = run.communicate(timeout=60)
    assert (run.returncode, b"ended by SIGTERM" in told) == (128 + signal.SIGTERM, True)
    assert stamps(out).keys() == {"a"}
    assert not list(out.glob(".graphir/work"))


@pytest.mark.parametrize("caps", [(0.0, None), (-1.0, None), (float("nan"), None), (1.0, 0), (1e30, None)])
def test_caps_are_above_nothing(caps: tuple[float, int | None]) -> None:
    with pytest.raises(ArgumentError):
        Caps(*caps)


def test_memory_is_divided() -> None:
    alone, both = memory_for_each(1), memory_for_each(2)
    assert alone is None or (both is not None and alone >= both >= 1 << 30)
