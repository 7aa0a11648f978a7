"""A registry on one page: buckets on top, below them a row for each model with a link to its own report."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from .page import banner, escape, page, section, table
from .registry import headline, passed_text, short
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
    from graphir import __version__

    rest = len(report.outcomes) - sum(outcome.bucket.value == "done" for outcome in report.outcomes)
    looks = {0: "identical" if report.verified else "open", 1: "broken", 4: "broken", 5: "not-proven"}
    text = "All of them." if not rest else f"{plural(rest, 'model')} ended otherwise."
    sections = [banner(looks[report.exit_code], _headline(report), text), section("Outcomes", _buckets(report))]
    if report.operators():
        rows = [[escape(name), f"{count:,}"] for name, count in report.operators().items()]
        sections.append(section("Operators that are not supported", table(("operator", "models"), rows, right=(1,))))
    sections.append(section(f"Models ({len(report.outcomes):,})", _models(report.outcomes)))
    return page("Registry", sections, f"graphir {__version__}")


def _headline(report: RegistryReport) -> str:
    return headline(report).partition(" in ")[0]


def _buckets(report: RegistryReport) -> str:
    rows = []
    for bucket, outcomes in report.buckets().items():
        names = ", ".join(_link(outcome) for outcome in outcomes[:NAMES])
        more = f" and {len(outcomes) - NAMES:,} more" if len(outcomes) > NAMES else ""
        rows.append([_word(bucket), f"{len(outcomes):,}", f'<span class="name">{names}{more}</span>'])
    passed = passed_text(report)
    legend = f'<p class="legend">{escape(passed)}</p>' if passed else ""
    return table(("outcome", "models", "first names"), rows, right=(1,), classes="registry") + legend


def _word(bucket: Bucket) -> str:
    look = LOOKS.get(bucket.value, "broken")
    return f'<span class="verdict {look}">{escape(bucket.value)}</span>'


def _link(outcome: Outcome) -> str:
    return f'<a href="#{quote(outcome.slug)}">{escape(outcome.name)}</a>'


def _models(outcomes: Sequence[Outcome]) -> str:
    """A row a model. The name leads to its report, of one that failed to its record, which has the whole text."""
    rows = []
    for outcome in outcomes:
        address = quote(f"models/{outcome.slug}/{'report.html' if outcome.is_reported else 'record.json'}")
        detail = f"<small>{escape(short(outcome.detail))}</small>" if outcome.detail else ""
        name = f'<span class="name" id="{escape(outcome.slug)}"><a href="{address}">{escape(outcome.name)}</a></span>'
        made = [""] * 6
        if outcome.is_reported:
            made = [
                escape(outcome.framework), size(outcome.nbytes), f"{outcome.nodes[0]:,} to {outcome.nodes[1]:,}",
                f"{outcome.decisions:,}", escape(outcome.verdict or "not verified"), f"{outcome.seconds:.2f} s",
            ]  # fmt: skip
        rows.append([name + detail, _word(outcome.bucket), *made])
    header = ("model", "outcome", "of", "size", "nodes", "decisions", "verdict", "took")
    return table(header, rows, right=(3, 4, 5, 7), classes="registry")


__all__ = ["registry_html"]
