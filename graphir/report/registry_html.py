"""A registry on one page: buckets on top, below them a row for each model with a link to its own report."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from .page import Cell, Shape, banner, escape, footer, page, section, table
from .registry import headline, short, skipped_text, verdict_word
from .text import plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphir.registry.buckets import Bucket
    from graphir.registry.jobs import Outcome
    from graphir.registry.report import RegistryReport

# Looks of the buckets that are not failures; those of the style sheet's verdicts.
LOOKS = {"done": "identical", "different": "broken", "not proven": "not-proven"}
NAMES = 5


def registry_html(report: RegistryReport) -> str:
    """The page. Nothing of it depends on how often the work was interrupted, but for the times."""
    rest = len(report.outcomes) - sum(outcome.bucket.value == "done" for outcome in report.outcomes)
    looks = {0: "identical" if report.verified else "open", 1: "broken", 4: "broken", 5: "not-proven"}
    text = "All of them." if not rest else f"{plural(rest, 'model')} ended otherwise."
    sections = [banner(looks[report.exit_code], _headline(report), text), section("Outcomes", _buckets(report))]
    if report.operators():
        rows = [[escape(name), f"{count:,}"] for name, count in report.operators().items()]
        shape = Shape(right=(1,), find="operators", stacked=False)
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
    return table(("outcome", "models", "first names"), rows, Shape(right=(1,), full=(2,))) + legend


def _word(bucket: Bucket) -> str:
    look = LOOKS.get(bucket.value, "broken")
    return f'<span class="verdict {look}">{escape(bucket.value)}</span>'


def _link(outcome: Outcome) -> str:
    return f'<a href="#{quote(outcome.slug)}">{escape(outcome.name)}</a>'


def _models(outcomes: Sequence[Outcome]) -> str:
    """A row a model. The name leads to its report, of one that failed to its record, which has the whole text."""
    rows: list[list[str | Cell]] = []
    for outcome in outcomes:
        address = quote(f"models/{outcome.slug}/{'report.html' if outcome.is_reported else 'record.json'}")
        detail = f"<br><small>{escape(short(outcome.detail))}</small>" if outcome.detail else ""
        name = f'<a href="{address}">{escape(outcome.name)}</a>'
        made: list[str | Cell] = [""] * 6
        if outcome.is_reported:
            made = [
                escape(outcome.framework), Cell(size(outcome.nbytes), outcome.nbytes),
                f"{outcome.nodes[0]:,} to {outcome.nodes[1]:,}", f"{outcome.decisions:,}",
                escape(verdict_word(outcome.verdict) or "not verified"),
                Cell(f"{outcome.seconds:.2f} s", outcome.seconds),
            ]  # fmt: skip
        rows.append([name + detail, _word(outcome.bucket), *made])
    header = ("model", "outcome", "of", "size", "nodes", "decisions", "verdict", "took")
    ids = {place: escape(outcome.slug) for place, outcome in enumerate(outcomes)}
    return table(header, rows, Shape(right=(3, 4, 5, 7), told=1, find="models"), ids)
