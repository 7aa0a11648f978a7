"""The padding audit as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from .padding import WINDOW_HEADER, pads, summary, title, verdict_line, window_cells
from .page import banner, facts, page, section, table

if TYPE_CHECKING:
    from graphir.analysis.padding_audit import Compared, PaddingAudit
    from graphir.analysis.windows import Window

SHORT = 30


def windows_html(windows: Sequence[Window], source: str) -> str:
    """The page of one model's windows."""
    rows = [[escape(cell) for cell in window_cells(window)] for window in windows]
    body = [facts([("model", escape(source)), ("windows", escape(summary(windows)))]), table(WINDOW_HEADER, rows)]
    return page("Padding", [section("Windows", "\n".join(body))], _footer())


def audit_html(audit: PaddingAudit, left: str, right: str) -> str:
    """The page of an audit: verdict, who was compared, every disagreement with its fix, every pair."""
    kind, word = ("noise", "Agreed") if audit.agrees else ("broken", "Disagree")
    sections = [
        banner(kind, word, verdict_line(audit).partition(": ")[2]),
        section("Models", facts([("first, taken to be right", escape(left)), ("second", escape(right))])),
    ]
    wrong = [pair for pair in audit.pairs if pair.disagreements]
    if wrong:
        rows = [row for pair in wrong for row in _disagreements(pair)]
        found = table(("layer", "what", "in words", "fix"), rows, classes="decisions")
        sections.append(section(f"Disagreements ({len(rows)})", found))
    header = ("first", "second", "operator", "input", "pads", "pads there", "verdict")
    sections.append(section(f"Windows ({len(audit.pairs)})", table(header, [_pair(pair) for pair in audit.pairs])))
    return page("Padding audit", sections, _footer())


def _disagreements(pair: Compared) -> list[list[str]]:
    return [
        [escape(title(pair)), _whole(found.kind), escape(found.text), f"<code>{_whole(found.fix)}</code>"]
        for found in pair.disagreements
    ]


def _pair(pair: Compared) -> list[str]:
    left, right = pair.left, pair.right
    present = left or right
    assert present is not None
    verdict = ", ".join(found.kind for found in pair.disagreements)
    style = "broken" if verdict else "noise"
    return [
        escape(left.name) if left else "-",
        escape(right.name) if right else "-",
        escape(present.operator),
        escape("x".join(map(str, present.sizes))),
        escape(pads(left)) if left else "",
        escape(pads(right)) if right else "",
        f'<span class="verdict {style}">{escape(verdict or "agreed")}</span>',
    ]


def _whole(text: str) -> str:
    """A short text that is not broken into lines."""
    return escape(text) if len(text) > SHORT else f'<span class="whole">{escape(text)}</span>'


def _footer() -> str:
    from graphir import __version__

    return f"graphir {__version__}"


__all__ = ["audit_html", "windows_html"]
