"""A registry on one page: buckets on top, below them a row for each model with a link to its own report."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from .page import HtmlCell, TableShape, banner, escape, footer, page, section, table
from .registry import headline, short, skipped_text, verdict_word
from .text import plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphir.registry.buckets import Bucket
    from graphir.registry.jobs import ModelOutcome
    from graphir.registry.report import RegistryReport

# Looks of the buckets that are not failures; those of the style sheet's verdicts.
LOOKS = {"done": "identical", "different": "broken", "not proven": "not-proven"}
NAMES = 5


def registry_html(report: RegistryReport) -> str:
    """Return the page. Apart from times it does not depend on interruptions of the work."""
    rest = len(report.outcomes) - sum(outcome.bucket.value == "done" for outcome in report.outcomes)
    looks = {0: "identical" if report.verified else "open", 1: "broken", 4: "broken", 5: "not-proven"}
    text = "All of them." if not rest else f"{plural(rest, 'model')} did not succeed."
    sections = [banner(looks[report.exit_code], _headline(report), text), section("Outcomes", _buckets(report))]
    if report.operators():
        rows = [[escape(name), f"{count:,}"] for name, count in report.operators().items()]
        shape = TableShape(right=(1,), find="operators", stacked=False)
        sections.append(section("Operators that are not supported", table(("operator", "models"), rows, shape)))
    sections.append(section(f"Models ({len(report.outcomes):,})", _models(report.outcomes)))
    return page("Registry", sections, footer())


def _headline(report: RegistryReport) -> str:
    return headline(report).partition(" in ")[0]


def _buckets(report: RegistryReport) -> str:
    rows = []
    for bucket, outcomes in report.buckets().items():
        names = ", ".join(_link(outcome) for outcome in outcomes[:NAMES])
        more = f" and {len(outcomes) - NAMES:,} more" if len(outcomes) > NAMES else ""
        rows.append([_word(bucket), f"{len(outcomes):,}", f'<span class="name">{names}{more}</span>'])
    skipped = skipped_text(report.passed)
    legend = f'<p class="legend">{escape(skipped)}</p>' if skipped else ""
    return table(("outcome", "models", "first names"), rows, TableShape(right=(1,), full=(2,))) + legend


def _word(bucket: Bucket) -> str:
    look = LOOKS.get(bucket.value, "broken")
    return f'<span class="verdict {look}">{escape(bucket.value)}</span>'


def _link(outcome: ModelOutcome) -> str:
    return f'<a href="#{quote(outcome.slug)}">{escape(outcome.name)}</a>'


def _models(outcomes: Sequence[ModelOutcome]) -> str:
    """Return a table with one row per model. Its name links to its report, or to its record if it failed."""
    rows: list[list[str | HtmlCell]] = []
    for outcome in outcomes:
        address = quote(f"models/{outcome.slug}/{'report.html' if outcome.is_reported else 'record.json'}")
        detail = f"<br><small>{escape(short(outcome.detail))}</small>" if outcome.detail else ""
        name = f'<a href="{address}">{escape(outcome.name)}</a>'
        cells: list[str | HtmlCell] = [""] * 6
        if outcome.is_reported:
            cells = [
                escape(outcome.framework), HtmlCell(size(outcome.nbytes), outcome.nbytes),
                f"{outcome.nodes[0]:,} to {outcome.nodes[1]:,}", f"{outcome.decisions:,}",
                escape(verdict_word(outcome.verdict) or "not verified"),
                HtmlCell(f"{outcome.seconds:.2f} s", outcome.seconds),
            ]  # fmt: skip
        rows.append([name + detail, _word(outcome.bucket), *cells])
    header = ("model", "outcome", "of", "size", "nodes", "decisions", "verdict", "took")
    ids = {index: escape(outcome.slug) for index, outcome in enumerate(outcomes)}
    return table(header, rows, TableShape(right=(3, 4, 5, 7), told=1, find="models"), ids)
