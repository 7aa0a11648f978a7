"""The padding audit as one HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .padding import WINDOW_HEADER, names, pads, summary, verdict_line, window_cells
from .page import banner, escape, facts, page, section, table

if TYPE_CHECKING:
    from graphir.analysis.padding_audit import Compared, PaddingAudit
    from graphir.analysis.windows import Window

SHORT = 30


def windows_html(windows: Sequence[Window], source: str) -> str:
    """The page of one model's windows."""
    rows = [[_pairs(cell) for cell in window_cells(window)] for window in windows]
    known = facts([("model", escape(source)), ("windows", escape(summary(windows)))])
    body = [known, table(WINDOW_HEADER, rows, classes="windows")]
    return page("Padding", [section("Windows", "\n".join(body))], _footer())


def audit_html(audit: PaddingAudit, left: str, right: str) -> str:
    """The page of an audit: verdict, who was compared, every disagreement with its fix, every pair."""
    kind, word = ("noise", "Agreed") if audit.agrees else ("broken", "Disagree")
    notes = [("note", escape(note)) for note in audit.notes]
    sections = [
        banner(kind, word, verdict_line(audit).partition(": ")[2]),
        section("Models", facts([("first, taken to be right", escape(left)), ("second", escape(right)), *notes])),
    ]
    wrong = [pair for pair in audit.pairs if pair.disagreements]
    if wrong:
        rows = [row for pair in wrong for row in _disagreements(pair)]
        found = table(("layer", "what", "in words", "fix"), rows, classes="audit")
        sections.append(section(f"Disagreements ({len(rows)})", found))
    header = ("first", "second", "operator", "input", "pads", "pads there", "verdict")
    pairs = table(header, [_pair(pair) for pair in audit.pairs], classes="windows")
    sections.append(section(f"Windows ({len(audit.pairs)})", pairs))
    return page("Padding audit", sections, _footer())


def _disagreements(pair: Compared) -> list[list[str]]:
    return [
        [_names(pair), _whole(found.kind), escape(found.text), f"<code>{_whole(found.fix)}</code>"]
        for found in pair.disagreements
    ]


def _pair(pair: Compared) -> list[str]:
    left, right = pair.left, pair.right
    present = left or right
    assert present is not None
    verdict = ", ".join(found.kind for found in pair.disagreements)
    style = "broken" if verdict else "noise"
    return [
        f'<span class="name">{escape(left.name)}</span>' if left else "-",
        f'<span class="name">{escape(right.name)}</span>' if right else "-",
        escape(present.operator),
        escape("x".join(map(str, present.sizes))),
        _pairs(pads(left)) if left else "",
        _pairs(pads(right)) if right else "",
        f'<span class="verdict {style}">{escape(verdict or "agreed")}</span>',
    ]


def _names(pair: Compared) -> str:
    """Both names, one below the other."""
    return "<br>".join(escape(name) for name in names(pair))


def _pairs(text: str) -> str:
    """A cell whose lines end between pairs of numbers, not within one."""
    return re.sub(r"(\(-?\d+,) (-?\d+\))", r"\1&nbsp;\2", escape(text))


def _whole(text: str) -> str:
    """A short text that is not broken into lines."""
    return escape(text) if len(text) > SHORT else f'<span class="whole">{escape(text)}</span>'


def _footer() -> str:
    from graphir import __version__

    return f"graphir {__version__}"


__all__ = ["audit_html", "windows_html"]
