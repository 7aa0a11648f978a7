"""The padding audit as one HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .padding import WINDOW_HEADER, names, pads, summary, verdict_line, window_cells
from .page import TableShape, banner, escape, facts, fold, footer, page, section, table

if TYPE_CHECKING:
    from graphir.analysis.padding_audit import ComparedWindows, PaddingAudit
    from graphir.analysis.windows import SlidingWindow

OPEN_ROWS = 40


def windows_html(windows: Sequence[SlidingWindow], source: str) -> str:
    """Return the page of one model's windows."""
    rows = [[_pairs(cell) for cell in window_cells(window)] for window in windows]
    known = facts([("model", escape(source)), ("windows", escape(summary(windows)))])
    body = table(WINDOW_HEADER, rows, TableShape(find="windows", full=(8, 9)))
    return page("Padding", [section("Model", known), section("Windows", body)], footer())


def audit_html(audit: PaddingAudit, left: str, right: str) -> str:
    """Return the page of an audit: verdict, the two models, every disagreement with its fix, every pair."""
    kind, word = ("noise", "Agreed") if audit.agrees else ("broken", "Disagree")
    notes = [("note", escape(note)) for note in audit.notes]
    sections = [
        banner(kind, word, verdict_line(audit).partition(": ")[2]),
        section("Models", facts([("first, taken to be right", escape(left)), ("second", escape(right)), *notes])),
    ]
    wrong = [pair for pair in audit.pairs if pair.disagreements]
    if wrong:
        rows = [row for pair in wrong for row in _disagreements(pair)]
        shape = TableShape(told=1, full=(2, 3), find="disagreements", classes="audit")
        body = table(("layer", "what", "in words", "fix"), rows, shape)
        sections.append(section(f"Disagreements ({len(rows)})", body))
    header = ("first", "second", "operator", "input", "pads", "pads there", "verdict")
    shape = TableShape(told=6, find="windows", full=(1,))
    pairs = table(header, [_pair(pair) for pair in audit.pairs], shape)
    opened = len(audit.pairs) <= OPEN_ROWS
    sections.append(section("Windows", fold(f"All {len(audit.pairs):,} windows side by side", pairs, opened=opened)))
    return page("Padding audit", sections, footer())


def _disagreements(pair: ComparedWindows) -> list[list[str]]:
    return [
        [_names(pair), f'<span class="verdict broken whole">{escape(item.kind)}</span>', escape(item.text),
         f"<code>{escape(item.fix)}</code>"]
        for item in pair.disagreements
    ]  # fmt: skip


def _pair(pair: ComparedWindows) -> list[str]:
    left, right = pair.left, pair.right
    present = left or right
    assert present is not None
    verdict = ", ".join(disagreement.kind for disagreement in pair.disagreements)
    style = "broken" if verdict else "noise"
    return [
        escape(left.name) if left else "-",
        escape(right.name) if right else "-",
        escape(present.operator),
        escape("x".join(map(str, present.sizes))),
        _pairs(pads(left)) if left else "",
        _pairs(pads(right)) if right else "",
        f'<span class="verdict {style}">{escape(verdict or "agreed")}</span>',
    ]


def _names(pair: ComparedWindows) -> str:
    """Return both names, one below the other."""
    return "<br>".join(escape(name) for name in names(pair))


def _pairs(text: str) -> str:
    """Return a cell in which no line breaks within a pair of numbers."""
    return re.sub(r"(\(-?\d+,) (-?\d+\))", r"\1&nbsp;\2", escape(text))
