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
from graphir.registry.jobs import ConversionPlan, Job, ModelOutcome, failure, jobs_of
from graphir.registry.opened import list_archive
from graphir.registry.pool import FailedTask, WorkerCaps, Workers
from graphir.registry.remote import RemoteStore
from graphir.registry.remote_files import is_remote, local_path
from graphir.registry.report import RegistryReport
from graphir.registry.sources import EMPTY, ListedModel, ModelSearch, Source, search, stamps_of
from graphir.registry.store import INDEX_HTML, INDEX_JSON, LocalStore, ResultStore
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
    ) -> Iterator[tuple[T, R | FailedTask]]:
        """Call the function for each task; results in the order in which they come."""
        ...


@record
class WorkOptions:
    """How the work is done: processes of this machine, or the workers of Dask's scheduler at an address; what each
    model may take; which outcomes of earlier runs do not count."""

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    caps: WorkerCaps = field(default_factory=WorkerCaps)
    dask: str | None = None
    retry: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [name for name in self.retry if name not in RETRIED]
        if unknown:
            raise ArgumentError(f"retry={unknown[0]!r}: expected one of {', '.join(RETRIED)}")

    def engine(self) -> AbstractContextManager[Engine]:
        """Return the started workers. Raises ImportFailure where what they need is not installed."""
        if self.dask is None:
            return Workers(self.jobs, self.caps)
        from graphir.registry.on_dask import DaskWorkers

        return DaskWorkers(self.dask, self.caps)


def convert_all(
    sources: Iterable[Source],
    out: str | os.PathLike[str],
    plan: ConversionPlan | None = None,
    working: WorkOptions | None = None,
    tell: Tell = lambda stage: None,
) -> RegistryReport:
    """Convert every model of the sources (see `sources.search`) to `out`, and write an index page of all.

    Outcomes of earlier runs stay where neither the model's files nor what is wanted have changed, unless `retry` names
    them. What a model brings about, up to the end of its process, is its outcome; nothing of it is raised. Raises
    ImportFailure and FormatError for sources that cannot be searched, ExportFailure for a place that cannot be written
    and for options that the target does not have, ArgumentError and ImportFailure for workers that cannot be had.
    """
    started = time.perf_counter()
    plan, working = plan or ConversionPlan(), working or WorkOptions()
    check_options(example(plan.to), plan.to, plan.target)
    address = local_path(out)
    store: LocalStore | RemoteStore = (
        RemoteStore(address) if is_remote(address) else LocalStore(os.path.abspath(address))
    )
    with ExitStack() as stack:
        stack.enter_context(store.locked() if isinstance(store, LocalStore) else nullcontext())
        tell("looking for models")
        candidates = search(sources, "" if not isinstance(store, LocalStore) else store.root)
        engine = stack.enter_context(working.engine())
        run = _RegistryRun(store, plan, working, engine, tell)
        report = replace(run.convert(*run.open_archives(candidates)), seconds=time.perf_counter() - started)
    _write_index(store, report)
    return report


@record
class _RegistryRun:
    """One run: where results go, and who makes them."""

    store: ResultStore
    plan: ConversionPlan
    working: WorkOptions
    engine: Engine
    tell: Tell

    def open_archives(self, candidates: ModelSearch) -> tuple[ModelSearch, dict[int, FailedTask]]:
        """Return the models with those of archives in the places of these; an archive that cannot be opened stays, with
        what came of it by its place."""
        closed = [
            (index, (model, self.store, self.plan.limits)) for index, model in enumerate(candidates.models)
            if model.is_closed
        ]  # fmt: skip
        results: dict[int, ModelSearch | FailedTask] = {}
        for index, result in self.engine.run(list_archive_safely, closed):
            self.tell(f"opened {candidates.models[index].archive}")
            results[index] = result
        opened = ModelSearch([], candidates.passed.copy())
        ended: dict[int, FailedTask] = {}
        for index, model in enumerate(candidates.models):
            inside = results.get(index)
            if isinstance(inside, ModelSearch):
                opened.add(inside)
                opened.passed[EMPTY] += not inside.models
                continue
            if inside is not None:
                ended[len(opened.models)] = inside
            opened.models.append(model)
        opened.passed = +opened.passed
        return opened, ended

    def convert(self, candidates: ModelSearch, ended: Mapping[int, FailedTask]) -> RegistryReport:
        """Convert the models. Return the report of this run's outcomes and the valid earlier ones."""
        jobs = jobs_of(candidates.models, self.plan)
        known = self.store.outcomes()
        outcomes = {jobs[index].slug: self._settle(jobs[index], end) for index, end in ended.items()}
        waiting = [job for job in jobs if job.slug not in outcomes]
        kept = {job.slug: known[job.slug] for job in waiting if self._is_current(job, known.get(job.slug))}
        outcomes |= kept
        wanted = [(job, (job, self.store)) for job in waiting if job.slug not in kept]
        tell_count("model", 0, len(wanted))
        for done, (job, result) in enumerate(self.engine.run(convert_one, wanted), 1):
            outcomes[job.slug] = self._settle(job, result)
            tell_count("model", done, len(wanted))
            self.tell(f"{job.model.name}: {outcomes[job.slug].bucket.value}")
        return RegistryReport(
            self.store.shown,
            FORMATS[self.plan.to].brand,
            self.plan.verify,
            [outcomes[job.slug] for job in jobs],
            kept=len(kept),
            passed=dict(candidates.passed),
            left=len(known.keys() - outcomes.keys()),
            older=sum(outcome.version != __version__ for outcome in kept.values()),
        )

    def _is_current(self, job: Job, known: ModelOutcome | None) -> bool:
        """Return whether an outcome of an earlier run is still valid for the model."""
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

    def _settle(self, job: Job, result: ModelOutcome | FailedTask) -> ModelOutcome:
        """Return the outcome of a model, and publish it if it failed without files."""
        outcome = result if isinstance(result, ModelOutcome) else failure(job, result.bucket, result.detail)
        if outcome.bucket.failed and not outcome.files:
            folder = self.store.workspace(job.slug)
            try:
                self.store.publish(folder, outcome)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return outcome


def list_archive_safely(model: ListedModel, store: ResultStore, limits: Limits | None) -> ModelSearch | FailedTask:
    """Return the models of an archive, or why it cannot be opened. For workers."""
    try:
        return list_archive(model, store, limits)
    except Exception as error:  # whatever an untrusted archive causes belongs to that archive alone
        return FailedTask(bucket_of_error(error), str(error) or type(error).__name__)


def _write_index(store: ResultStore, report: RegistryReport) -> None:
    from graphir.report.registry_html import registry_html

    store.write(INDEX_JSON, json.dumps(report.to_json(), indent=1) + "\n")
    store.write(INDEX_HTML, registry_html(report))
