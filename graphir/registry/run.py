"""A registry converted: models found, those that are done left alone, the others given to workers, all of it shown."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import field, replace
from typing import Any, Protocol, TypeVar

from graphir import __version__
from graphir.converters.table import FORMATS
from graphir.converters.writing import check_options, example
from graphir.errors import ArgumentError
from graphir.registry.buckets import Bucket, bucket_of_error
from graphir.registry.jobs import Job, Outcome, Plan, failure, jobs_of
from graphir.registry.opened import look_into
from graphir.registry.pool import Caps, Ended, Workers
from graphir.registry.remote import RemoteStore
from graphir.registry.remote_files import is_remote, local_path
from graphir.registry.report import RegistryReport
from graphir.registry.sources import EMPTY, Found, Search, Source, search, stamps_of
from graphir.registry.store import INDEX_HTML, INDEX_JSON, LocalStore, Store
from graphir.registry.work import convert_one
from graphir.safety.counted import tell_count
from graphir.safety.limits import Limits
from graphir.structure.record import record

T = TypeVar("T")
R = TypeVar("R")
Tell = Callable[[str], None]
# What --retry takes: a bucket, all that failed, or all.
FAILED, ALL = "failed", "all"
RETRIED = (FAILED, ALL, *(bucket.value for bucket in Bucket if bucket is not Bucket.DONE))


class Engine(Protocol):
    """What runs functions elsewhere."""

    def run(
        self, function: Callable[..., R], tasks: Iterable[tuple[T, tuple[Any, ...]]]
    ) -> Iterator[tuple[T, R | Ended]]:
        """Call the function for each task; results in the order in which they come."""
        ...


@record
class Working:
    """How the work is done: processes of this machine, or the workers of Dask's scheduler at an address; what each
    model may take; which outcomes of earlier runs do not count."""

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    caps: Caps = field(default_factory=Caps)
    dask: str | None = None
    retry: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [name for name in self.retry if name not in RETRIED]
        if unknown:
            raise ArgumentError(f"retry={unknown[0]!r}: expected one of {', '.join(RETRIED)}")

    def engine(self) -> AbstractContextManager[Engine]:
        """The workers, started. Raises ImportFailure where what they need is not installed."""
        if self.dask is None:
            return Workers(self.jobs, self.caps)
        from graphir.registry.on_dask import DaskWorkers

        return DaskWorkers(self.dask, self.caps)


def convert_all(
    sources: Iterable[Source],
    out: str | os.PathLike[str],
    plan: Plan | None = None,
    working: Working | None = None,
    tell: Tell = lambda stage: None,
) -> RegistryReport:
    """Convert every model of the sources (see `sources.search`) to `out`, and write an index page of all.

    Outcomes of earlier runs stay where neither the model's files nor what is wanted have changed, unless `retry` names
    them. What a model brings about, up to the end of its process, is its outcome; nothing of it is raised. Raises
    ImportFailure and FormatError for sources that cannot be searched, ExportFailure for a place that cannot be written
    and for options that the target does not have, ArgumentError and ImportFailure for workers that cannot be had.
    """
    started = time.perf_counter()
    plan, working = plan or Plan(), working or Working()
    check_options(example(plan.to), plan.to, plan.target)
    place = local_path(out)
    store: LocalStore | RemoteStore = RemoteStore(place) if is_remote(place) else LocalStore(os.path.abspath(place))
    with ExitStack() as stack:
        stack.enter_context(store.locked() if isinstance(store, LocalStore) else nullcontext())
        tell("looking for models")
        found = search(sources, "" if not isinstance(store, LocalStore) else store.root)
        engine = stack.enter_context(working.engine())
        run = _Run(store, plan, working, engine, tell)
        report = replace(run.convert(*run.open_archives(found)), seconds=time.perf_counter() - started)
    _write_index(store, report)
    return report


@record
class _Run:
    """One run: where results go, and who makes them."""

    store: Store
    plan: Plan
    working: Working
    engine: Engine
    tell: Tell

    def open_archives(self, found: Search) -> tuple[Search, dict[int, Ended]]:
        """The models with those of archives in the places of these; an archive that cannot be opened stays, with what
        came of it by its place."""
        closed = [
            (place, (model, self.store, self.plan.limits)) for place, model in enumerate(found.models)
            if model.is_closed
        ]  # fmt: skip
        results: dict[int, Search | Ended] = {}
        for place, result in self.engine.run(look_safely, closed):
            self.tell(f"opened {found.models[place].archive}")
            results[place] = result
        opened = Search([], found.passed.copy())
        ended: dict[int, Ended] = {}
        for place, model in enumerate(found.models):
            inside = results.get(place)
            if isinstance(inside, Search):
                opened.add(inside)
                opened.passed[EMPTY] += not inside.models
                continue
            if inside is not None:
                ended[len(opened.models)] = inside
            opened.models.append(model)
        opened.passed = +opened.passed
        return opened, ended

    def convert(self, found: Search, ended: Mapping[int, Ended]) -> RegistryReport:
        """Every model's outcome, of this run or of an earlier one."""
        jobs = jobs_of(found.models, self.plan)
        known = self.store.outcomes()
        outcomes = {jobs[place].slug: self._settled(jobs[place], end) for place, end in ended.items()}
        waiting = [job for job in jobs if job.slug not in outcomes]
        kept = {job.slug: known[job.slug] for job in waiting if self._holds(job, known.get(job.slug))}
        outcomes |= kept
        wanted = [(job, (job, self.store)) for job in waiting if job.slug not in kept]
        tell_count("model", 0, len(wanted))
        for done, (job, result) in enumerate(self.engine.run(convert_one, wanted), 1):
            outcomes[job.slug] = self._settled(job, result)
            tell_count("model", done, len(wanted))
            self.tell(f"{job.model.name}: {outcomes[job.slug].bucket.value}")
        return RegistryReport(
            self.store.shown,
            FORMATS[self.plan.to].brand,
            self.plan.verify,
            [outcomes[job.slug] for job in jobs],
            kept=len(kept),
            passed=dict(found.passed),
            left=len(known.keys() - outcomes.keys()),
            older=sum(outcome.version != __version__ for outcome in kept.values()),
        )

    def _holds(self, job: Job, known: Outcome | None) -> bool:
        """Whether an outcome of an earlier run is still that of the model."""
        if known is None or (known.asked, known.name, tuple(known.stamps)) != (
            job.asked, job.model.name, tuple(job.model.stamps)
        ):  # fmt: skip
            return False
        if stamps_of([file for file, _, _ in known.read], "/") != tuple(
            (os.path.relpath(file, "/"), *stamp) for file, *stamp in known.read
        ):
            return False
        retry = self.working.retry
        return not (ALL in retry or known.bucket.value in retry or (FAILED in retry and known.bucket.failed))

    def _settled(self, job: Job, result: Outcome | Ended) -> Outcome:
        """The outcome of a model, which is published here if there is nothing to go with it."""
        outcome = result if isinstance(result, Outcome) else failure(job, result.bucket, result.detail)
        if outcome.bucket.failed and not outcome.files:
            folder = self.store.workspace(job.slug)
            try:
                self.store.publish(folder, outcome)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return outcome


def look_safely(model: Found, store: Store, limits: Limits | None) -> Search | Ended:
    """The models of an archive, or why it cannot be opened. For workers."""
    try:
        return look_into(model, store, limits)
    except Exception as error:  # whatever a stranger's archive brings about belongs to that archive alone
        return Ended(bucket_of_error(error), str(error) or type(error).__name__)


def _write_index(store: Store, report: RegistryReport) -> None:
    from graphir.report.registry_html import registry_html

    store.write(INDEX_JSON, json.dumps(report.to_json(), indent=1) + "\n")
    store.write(INDEX_HTML, registry_html(report))
