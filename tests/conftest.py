"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol

from graphir.safety import isolation
from tests import contract, thinning
from tests.equivalence.live import Live, LivePair
from tests.requirements import missing, shared_folder

# A slow machine is no defect: examples have no time limit of their own. CI draws the same ones each time.
hypothesis.settings.register_profile("graphir", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("graphir")
# Tests import onnxruntime themselves. With telemetry it has threads from then on, and forks of them may hang.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


# The fixtures that are a live framework.
LIVE = {"keras", "live", "live_pair", "mxnet", "tensorflow"}
# The key under which a worker of xdist reports the number of rows that it left out.
LEFT_OUT = "rows left out"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks for a live framework is live, whether its file says so or not. Rows are counted before a selection."""
    thinning.count_rows(config, items)
    for item in items:
        if LIVE & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.live)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """No example stands in a docstring of a test, and to search them for one takes seconds."""
    collectors = yield
    if not file_path.name.startswith("test_"):
        return collectors
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Behind all that gives a test rows: those that run; see `tests/thinning.py`."""
    thinning.thin_early(metafunc)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_thin_rows(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what is selected, the rows that run; see `tests/thinning.py`. Files with a live framework come last: a worker
    that has loaded some takes long for each fork, and most tests that fork need none.
    """
    thinning.thin(config, items)
    live = {item.path for item in items if item.get_closest_marker("live")}
    items.sort(key=lambda item: item.path in live)


def pytest_sessionstart() -> None:
    """No search for garbage while a hundred thousand rows of tests are made, of which none is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The rows stay to the end: no search for garbage looks at them again, which would cost most of a second each."""
    gc.freeze()
    gc.enable()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker of xdist tells of a test's set-up and its end where they do not pass: each report that is sent takes as
    long as a small test. Where somebody asks for times, for a file of results or for every line, it tells of all.
    """
    options = item.config.option
    asks_for_all = options.durations is not None or options.xmlpath or options.verbose > 0
    if asks_for_all or not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_teardown() -> None:
    """A provider that a test only pretends to open forbids no forks to the tests after it, which end their children."""
    if not os.environ.get("GRAPHIR_PROVIDER"):
        isolation._may_fork = True


def pytest_configure(config: pytest.Config) -> None:
    """Choose the slice of rows, let processes keep what they compile of the repository, which hundreds of them would
    compile anew, and one thread for matrices in each worker of xdist: workers share the processor.

    The libraries read it when they are loaded: what is set here counts in the workers, which start later.
    """
    thinning.choose_slice(config)
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if config.getoption("numprocesses", None):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist reports how many rows it left out; each of them leaves out the same."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[LEFT_OUT] = session.config.stash.get(thinning.LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Read what a worker of xdist reports, unless it crashed."""
    node.config.stash[thinning.LEFT_OUT] = getattr(node, "workeroutput", {}).get(LEFT_OUT, 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write which rows did not run."""
    if line := thinning.summary(config, config.stash.get(thinning.LEFT_OUT, 0)):
        terminalreporter.write_line(line)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons run in this process, for a test that counts what they call."""
    monkeypatch.setattr("graphir.safety.isolation.can_fork", lambda: False)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models and golden data, which is kept beside the repository."""
    return shared_folder() or missing("shared", "no folder `shared` with models beside the repository")


@pytest.fixture(scope="session")
def mxnet() -> ModuleType:
    """Live MXNet 1.9.1 with its plain operators."""
    os.environ |= {"MXNET_SUBGRAPH_BACKEND": "NONE", "MXNET_USE_ONEDNN": "0", "MXNET_MKLDNN_ENABLED": "0"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
        try:
            import mxnet
        except (ImportError, AttributeError, OSError) as error:
            missing("MXNet", f"live MXNet cannot be imported: {error}")
    return mxnet


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """Live MXNet in a process of its own, with its plain operators."""
    with Live() as live:
        yield live


@pytest.fixture(scope="module")
def live_pair() -> Iterator[LivePair]:
    """Live MXNet in processes of its own; what its CPU build has through oneDNN only is computed with that."""
    with LivePair() as live:
        yield live


@pytest.fixture(scope="session", autouse=True)
def passes_keep_their_contract() -> Iterator[None]:
    """Every step of every pipeline, in all tests, is held to the contract of passes."""
    with pytest.MonkeyPatch.context() as patch:
        contract.install(patch)
        yield
