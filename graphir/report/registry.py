"""A registry's outcomes in the terminal: counts by bucket, the first names and causes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphir.safety.foreign_text import in_one_line, listing, one_line
from graphir.structure.look import Painted, Style, paint
from graphir.verification.verdict import Verdict

from .text import plural, size, table, wrapped

if TYPE_CHECKING:
    from graphir.registry.buckets import Bucket
    from graphir.registry.jobs import ModelOutcome
    from graphir.registry.report import RegistryReport

NAMES, CAUSES, OPERATORS = 3, 5, 12
CAUSE = 120


def registry_text(report: RegistryReport, *, verbose: bool = False) -> str:
    """Return the summary; with `verbose` a row of every model."""
    parts = [paint(headline(report), Style.HEADING)]
    if verbose and report.outcomes:
        parts.append(_models(report.outcomes))
    parts.append(_buckets(report))
    if report.operators():
        wanted = [f"{one_line(name)} ({count})" for name, count in list(report.operators().items())[:OPERATORS]]
        more = len(report.operators()) - OPERATORS
        parts.append(wrapped("operators that are not supported, by the number of models: " + ", ".join(wanted)
                             + (f" and {more} more" if more > 0 else "")))  # fmt: skip
    parts += [wrapped(line) for line in remarks(report)]
    parts.append(f"  {one_line(report.out)}/index.html has every model")
    return "\n\n".join(parts)


def headline(report: RegistryReport) -> str:
    """Return the outcome in one line."""
    done = sum(outcome.bucket.value == "done" for outcome in report.outcomes)
    what = "verified" if report.verified else "converted, not verified"
    took = f" in {report.seconds:.1f} s" if report.seconds else ""
    return f"{plural(len(report.outcomes), 'model')} to {report.target}: {done:,} {what}{took}"


def remarks(report: RegistryReport) -> list[str]:
    """Return the lines that explain the counts."""
    lines = []
    if report.kept:
        lines.append(f"{report.kept:,} of them were done before and have not changed (--retry reruns them)")
    if report.older:
        lines.append(f"{report.older:,} were made by another release of graphir (--retry all reruns them)")
    if report.left:
        lines.append(f"{plural(report.left, 'result')} of models that are no longer among the sources: kept")
    skipped = skipped_text(report.passed)
    return [*lines, skipped] if skipped else lines


def skipped_text(counts: Mapping[str, int]) -> str:
    """Return a line with the files that are no models, by kind; "" if there are none."""
    kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(counts.items()) if count)
    return f"skipped files: {kinds}" if kinds else ""


def _buckets(report: RegistryReport) -> str:
    """Return a table with one row per bucket, and the first causes of each failure."""
    by_bucket = report.buckets()
    rows = [
        (_paint_bucket(bucket), f"{len(outcomes):,}", listing([outcome.name for outcome in outcomes], NAMES))
        for bucket, outcomes in by_bucket.items()
    ]
    text = table(("outcome", "models", "first names"), rows, right=(1,))
    causes = []
    for bucket, outcomes in by_bucket.items():
        explained = [outcome for outcome in outcomes if outcome.detail]
        if explained:
            causes.append(f"  {bucket.value}:")
            causes += [wrapped(f"{outcome.name}: {short(outcome.detail)}", first="    ", rest="      ")
                       for outcome in explained[:CAUSES]]  # fmt: skip
            if len(explained) > CAUSES:
                causes.append(f"    ... and {len(explained) - CAUSES:,} more")
    return "\n\n".join(filter(None, [text, "\n".join(causes)]))


def _paint_bucket(bucket: Bucket) -> Painted:
    return Painted(bucket.value, Style.GOOD if bucket.value == "done" else Style.BAD)


def short(detail: str) -> str:
    """Return the beginning of a cause, in one line."""
    text = in_one_line(detail)
    return text if len(text) <= CAUSE else text[: CAUSE - 4].rstrip() + " ..."


def verdict_word(verdict: str) -> str:
    """Return a verdict of a record as tables show it; "" where there is none."""
    return Verdict(verdict).word if verdict else ""


def _models(outcomes: Sequence[ModelOutcome]) -> str:
    rows: list[tuple[str, ...]] = []
    for outcome in outcomes:
        cells: tuple[str, ...] = ("-",) * 6
        if outcome.is_reported:
            cells = (
                outcome.framework, size(outcome.nbytes), f"{outcome.nodes[0]:,} -> {outcome.nodes[1]:,}",
                f"{outcome.decisions:,}", verdict_word(outcome.verdict) or "-", f"{outcome.seconds:.2f} s",
            )  # fmt: skip
        rows.append((outcome.name, _paint_bucket(outcome.bucket), *cells))
    return table(("model", "outcome", "of", "size", "nodes", "decisions", "verdict", "took"), rows, right=(3, 5, 7))
