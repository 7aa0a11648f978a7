"""One model converted, in a worker process: made in a folder of its own, reported, put in its place."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from graphir.conversion import Proof, Wanted, convert_model
from graphir.converters.writing import target_of
from graphir.files.sources import sources_kept
from graphir.plugins import using
from graphir.registry.buckets import Bucket, bucket_of_error, bucket_of_verdict, operators_of
from graphir.registry.jobs import Job, Outcome, failure
from graphir.registry.opened import opened
from graphir.registry.sources import Stamp
from graphir.registry.store import HTML, JSON, Store
from graphir.report.conversion import ConversionReport, WrittenFile
from graphir.report.verification import describe_difference
from graphir.report.write import write_report
from graphir.safety.limits import limited
from graphir.verification.verdict import Verdict


def convert_one(job: Job, store: Store) -> Outcome:
    """Convert a model and publish it. What fails is told, not published: who asked does that, if it is still there."""
    try:
        with _workspace(store, job.slug) as folder:
            return _made(job, store, folder)
    except Exception as error:  # whatever a stranger's model brings about belongs to that model alone
        return failure(job, bucket_of_error(error), _told(error), operators_of(error))


@contextmanager
def _workspace(store: Store, slug: str) -> Iterator[Path]:
    folder = store.workspace(slug)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _made(job: Job, store: Store, folder: Path) -> Outcome:
    """Convert into the folder and publish it. Texts never name the folders of this worker."""
    with opened(job.model, store) as (place, root):
        names = {str(folder) + os.sep: "", **({str(root): job.model.archive} if root is not None else {})}
        try:
            report = _converted(job, place, folder)
        except Exception as error:
            found = failure(job, bucket_of_error(error), _renamed(_told(error), names), operators_of(error))
            return _unchecked(found, store, folder)
        _rename(report, job, names)
        for name in (HTML, JSON):
            write_report(report, folder / name)
        outcome = _outcome(job, report, () if root is not None else _read_stamps(report, job))
        store.publish(folder, outcome)
    return outcome


def _unchecked(found: Outcome, store: Store, folder: Path) -> Outcome:
    """The outcome of a model that failed: where its target was written before, the check failed, not the conversion,
    and the target stays."""
    files = [file for file in sorted(folder.iterdir()) if not file.name.startswith(".")]
    if not files:
        return found
    if found.bucket not in (Bucket.MEMORY, Bucket.DEFECT):
        found = replace(found, bucket=Bucket.UNCHECKED, operators=())
    kept = replace(found, files=tuple((file.name, file.stat().st_size) for file in files))
    store.publish(folder, kept)
    return kept


def _converted(job: Job, place: str, folder: Path) -> ConversionReport:
    plan = job.plan
    target = folder / f"{job.slug}{target_of(plan.to).suffix}"
    with limited(plan.limits), sources_kept(), using(*plan.plugins):
        return convert_model(
            place,
            Wanted(target, plan.target, plan.constants, half=plan.half),
            plan.model,
            Proof(plan.how, plan.verify),
        )


def _outcome(job: Job, report: ConversionReport, read: tuple[Stamp, ...]) -> Outcome:
    found = failure(job, bucket_of_verdict(report.verification), "")
    verification = report.verification
    detail = "" if verification is None or found.bucket is Bucket.DONE else _why(report)
    return replace(
        found,
        detail=detail,
        format=report.source_format,
        framework=report.framework,
        files=tuple((Path(file.path).name, file.nbytes) for file in report.files),
        nodes=(sum(report.source_operators.values()), sum(report.target_operators.values())),
        parameters=report.parameter_count,
        decisions=len(report.decisions),
        verdict="" if verification is None else verification.verdict.value,
        seconds=report.seconds + (0.0 if verification is None else verification.seconds),
        read=read,
    )


def _why(report: ConversionReport) -> str:
    """What a verification says first of a result that it does not confirm."""
    assert report.verification is not None
    verification = report.verification
    worst = next((output for output in verification.outputs if not output.verdict.passes), None)
    if worst is not None and verification.verdict is not Verdict.NOT_PROVEN:
        return f"{worst.name} is {worst.verdict}: {describe_difference(worst)}"
    return verification.reasons[0] if verification.reasons else verification.verdict.value


def _read_stamps(report: ConversionReport, job: Job) -> tuple[Stamp, ...]:
    """The files that were read and do not belong to the model by their names."""
    folder = job.model.place if os.path.isdir(job.model.place) else os.path.dirname(job.model.place)
    known = {os.path.realpath(os.path.join(folder, name)) for name, _, _ in job.model.stamps}
    others = sorted({os.path.realpath(file) for file in report.source_files} - known)
    return tuple(
        (file, status.st_size, status.st_mtime_ns) for file in others if os.path.isfile(file)
        for status in [os.stat(file)]
    )  # fmt: skip


def _told(error: BaseException) -> str:
    """An error's text with its notes, and where it arose if nobody raised it on purpose."""
    notes = [note for note in getattr(error, "__notes__", ()) if note]
    bucket = bucket_of_error(error)
    if bucket is Bucket.MEMORY:
        notes.append("--memory says how much a model may take")
    text = "\n".join([str(error) or type(error).__name__, *notes])
    if bucket is not Bucket.DEFECT:
        return text
    return f"{type(error).__name__}: {text}\n" + "".join(traceback.format_tb(error.__traceback__)[-3:])


def _renamed(text: str, names: dict[str, str]) -> str:
    for path, shown in names.items():
        text = text.replace(path, shown)
    return text


def _rename(report: ConversionReport, job: Job, names: dict[str, str]) -> None:
    """Let a report say where its files are for good, and what the archive calls those that came out of it."""
    report.source, report.target = job.model.shown, _renamed(report.target, names)
    report.files = [WrittenFile(_renamed(file.path, names), file.nbytes) for file in report.files]
    report.source_files = [_renamed(file, names) for file in report.source_files]
    report.decisions = [
        type(made)(made.kind, made.node, _renamed(made.text, names)) for made in report.decisions
    ]
    found = report.verification
    if found is not None:
        found.reference, found.candidate = _renamed(found.reference, names), _renamed(found.candidate, names)
        found.notes = [_renamed(note, names) for note in found.notes]
        found.unproven = [_renamed(reason, names) for reason in found.unproven]
