"""One model converted, in a worker process: made in a folder of its own, reported, put in its place."""

from __future__ import annotations

import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from graphir.conversion import Destination, Proof, convert_model
from graphir.converters.writing import target_of
from graphir.files.sources import sources_kept
from graphir.plugins import using
from graphir.registry.buckets import Bucket, bucket_of_error, bucket_of_verdict, operators_of
from graphir.registry.jobs import Job, ModelOutcome, failure
from graphir.registry.opened import extracted
from graphir.registry.sources import Stamp
from graphir.registry.store import HTML, JSON, ResultStore
from graphir.report.conversion import ConversionReport, WrittenFile
from graphir.report.verification import describe_difference
from graphir.report.write import write_report
from graphir.safety.limits import limited
from graphir.verification.verdict import Verdict


def convert_one(job: Job, store: ResultStore) -> ModelOutcome:
    """Convert a model and publish it. Return the outcome; the caller publishes failures without files."""
    try:
        with _workspace(store, job.slug) as folder:
            return _convert_and_publish(job, store, folder)
    except Exception as error:  # whatever an untrusted model causes belongs to that model alone
        return failure(job, bucket_of_error(error), _error_text(error), operators_of(error))


@contextmanager
def _workspace(store: ResultStore, slug: str) -> Iterator[Path]:
    folder = store.workspace(slug)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _convert_and_publish(job: Job, store: ResultStore, folder: Path) -> ModelOutcome:
    """Convert into the folder and publish it. Texts never name the folders of this worker."""
    with extracted(job.model, store) as (path, root):
        names = {str(folder) + os.sep: "", **({str(root): job.model.archive} if root is not None else {})}
        try:
            report = _convert(job, path, folder)
        except Exception as error:
            text = _replace_paths(_error_text(error), names)
            failed = failure(job, bucket_of_error(error), text, operators_of(error))
            return _publish_failed(failed, store, folder)
        _rename_report_paths(report, job, names)
        for name in (HTML, JSON):
            write_report(report, folder / name)
        outcome = _outcome(job, report, () if root is not None else _read_stamps(report, job))
        store.publish(folder, outcome)
    return outcome


def _publish_failed(outcome: ModelOutcome, store: ResultStore, folder: Path) -> ModelOutcome:
    """Return the outcome of a model that failed: where its target was written before, the check failed, not the
    conversion, and the target stays."""
    files = [file for file in sorted(folder.iterdir()) if not file.name.startswith(".")]
    if not files:
        return outcome
    if outcome.bucket not in (Bucket.MEMORY, Bucket.DEFECT):
        outcome = replace(outcome, bucket=Bucket.UNCHECKED, operators=())
    kept = replace(outcome, files=tuple((file.name, file.stat().st_size) for file in files))
    store.publish(folder, kept)
    return kept


def _convert(job: Job, path: str, folder: Path) -> ConversionReport:
    plan = job.plan
    target = folder / f"{job.slug}{target_of(plan.to).suffix}"
    with limited(plan.limits), sources_kept(), using(*plan.plugins):
        return convert_model(
            path,
            Destination(target, plan.target, plan.constants, half=plan.half),
            plan.model,
            Proof(plan.how, plan.verify),
        )


def _outcome(job: Job, report: ConversionReport, read: tuple[Stamp, ...]) -> ModelOutcome:
    base = failure(job, bucket_of_verdict(report.verification), "")
    verification = report.verification
    detail = "" if verification is None or base.bucket is Bucket.DONE else _first_reason(report)
    return replace(
        base,
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


def _first_reason(report: ConversionReport) -> str:
    """Return the first reason why a verification did not confirm the result."""
    assert report.verification is not None
    verification = report.verification
    worst = next((output for output in verification.outputs if not output.verdict.passes), None)
    if worst is not None and verification.verdict is not Verdict.NOT_PROVEN:
        return f"{worst.name} is {worst.verdict}: {describe_difference(worst)}"
    return verification.reasons[0] if verification.reasons else verification.verdict.value


def _read_stamps(report: ConversionReport, job: Job) -> tuple[Stamp, ...]:
    """Return the stamps of files that were read but do not belong to the model by name."""
    folder = job.model.path if os.path.isdir(job.model.path) else os.path.dirname(job.model.path)
    known = {os.path.realpath(os.path.join(folder, name)) for name, _, _ in job.model.stamps}
    others = sorted({os.path.realpath(file) for file in report.source_files} - known)
    return tuple(
        (file, status.st_size, status.st_mtime_ns) for file in others if os.path.isfile(file)
        for status in [os.stat(file)]
    )  # fmt: skip


def _error_text(error: BaseException) -> str:
    """Return an error's text with its notes, and for defects the end of its traceback."""
    notes = [note for note in getattr(error, "__notes__", ()) if note]
    bucket = bucket_of_error(error)
    if bucket is Bucket.MEMORY:
        notes.append("--memory sets the limit for a model")
    text = "\n".join([str(error) or type(error).__name__, *notes])
    if bucket is not Bucket.DEFECT:
        return text
    return f"{type(error).__name__}: {text}\n" + "".join(traceback.format_tb(error.__traceback__)[-3:])


def _replace_paths(text: str, names: dict[str, str]) -> str:
    for path, shown in names.items():
        text = text.replace(path, shown)
    return text


def _rename_report_paths(report: ConversionReport, job: Job, names: dict[str, str]) -> None:
    """Let a report say where its files are for good, and what the archive calls those that came out of it."""
    report.source, report.target = job.model.shown, _replace_paths(report.target, names)
    report.files = [WrittenFile(_replace_paths(file.path, names), file.nbytes) for file in report.files]
    report.source_files = [_replace_paths(file, names) for file in report.source_files]
    report.decisions = [
        type(decision)(decision.kind, decision.node, _replace_paths(decision.text, names))
        for decision in report.decisions
    ]
    proof = report.verification
    if proof is not None:
        proof.reference = _replace_paths(proof.reference, names)
        proof.candidate = _replace_paths(proof.candidate, names)
        proof.notes = [_replace_paths(note, names) for note in proof.notes]
        proof.unproven = [_replace_paths(reason, names) for reason in proof.unproven]
