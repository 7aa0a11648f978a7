"""The same table on Dask's workers, also where one of them dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

from graphir.errors import ImportFailure
from graphir.registry.jobs import ConversionPlan
from graphir.registry.pool import WorkerCaps
from graphir.registry.run import WorkOptions, convert_all

from . import zoo
from .test_resume import stamps, tree

CAPS = WorkerCaps(60, 1 << 30)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, each a process that is started anew when it dies."""
    workers: Any = distributed.LocalCluster
    with workers(n_workers=2, threads_per_worker=1, dashboard_address=None) as found:
        yield found


@pytest.mark.slow
def test_two_workers_of_which_one_dies_give_the_same(cluster: Any, hazards: Path, tmp_path: Path) -> None:
    folder, plan = tmp_path / "zoo", ConversionPlan(plugins=(str(hazards),))
    for number in range(8):
        zoo.custom(folder, f"late{number}", "late")
    zoo.custom(folder, "kills", "kill")
    zoo.custom(folder, "eats", "eat")
    zoo.tar(folder / "packed.tar.gz", zoo.model_files())
    here = convert_all([folder], tmp_path / "here", plan, WorkOptions(2, CAPS))
    died = threading.Thread(target=kill_one, args=(cluster, tmp_path / "there"))
    died.start()
    there = convert_all([folder], tmp_path / "there", plan, WorkOptions(2, CAPS, cluster.scheduler_address))
    died.join()
    assert [found.bucket for found in there.outcomes] == [found.bucket for found in here.outcomes]
    assert tree(tmp_path / "there") == tree(tmp_path / "here")


def kill_one(cluster: Any, out: Path) -> None:
    """Kill a worker when some of the models are done."""
    end = time.monotonic() + 120
    while len(stamps(out)) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphir.registry.on_dask.CONNECT_SECONDS", 0.5)
    zoo.dense(tmp_path / "zoo", "a")
    with pytest.raises(ImportFailure, match="no scheduler of Dask answers"):
        convert_all([tmp_path / "zoo"], tmp_path / "out", working=WorkOptions(dask="tcp://127.0.0.1:9"))
