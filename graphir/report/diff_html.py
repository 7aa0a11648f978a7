"""The difference of two models as one HTML page, both side by side."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from graphir.analysis.diff import Status

from .diff import summary, title, verdict_line
from .page import banner, facts, page, section, table

if TYPE_CHECKING:
    from graphir.analysis.diff import Difference, Row
    from graphir.graph import Node

STYLES = {Status.SAME: "noise", Status.CHANGED: "broken", Status.FIRST: "suspicious", Status.SECOND: "suspicious"}


def diff_html(found: Difference, left: str, right: str) -> str:
    """The page: verdict, who was compared, every difference in words, every node beside its counterpart."""
    from graphir import __version__

    counts = summary(found)
    kind, word = ("noise", "Equal") if found.is_equal else ("broken", "Different")
    sections = [
        banner(kind, word, verdict_line(found).partition(": ")[2]),
        section("Models", facts([("first", escape(left)), ("second", escape(right)), ("nodes", escape(counts))])),
    ]
    rows = [["inputs and outputs", "", escape(change.kind), escape(change.text)] for change in found.ends]
    rows += [row for held in found.rows if held.status is not Status.SAME for row in _sentences(held)]
    if rows:
        sections.append(section(f"Differences ({len(rows)})", table(("node", "", "what", "in words"), rows)))
    header = ("first", "result", "second", "result", "")
    sections.append(section("Side by side", table(header, [_pair(row) for row in found.rows])))
    return page("Two models", sections, f"graphir {__version__}")


def _sentences(row: Row) -> list[list[str]]:
    changes = [(escape(change.kind), escape(change.text)) for change in row.changes] or [("", "")]
    status = f'<span class="verdict {STYLES[row.status]}">{escape(row.status.value)}</span>'
    return [[escape(title(row)) if slot == 0 else "", status, *change] for slot, change in enumerate(changes)]


def _pair(row: Row) -> list[str]:
    status = f'<span class="verdict {STYLES[row.status]}">{escape(row.status.value)}</span>'
    return [*_node(row.left, row.place), *_node(row.right, row.place), status]


def _node(node: Node | None, place: str) -> list[str]:
    if node is None:
        return ["-", ""]
    results = ", ".join(str(value.type) for value in node.outputs if value.index == 0 or value.uses)
    return [f"{escape(place + node.name)}<br><small>{escape(str(node.op))}</small>", escape(results)]


__all__ = ["diff_html"]
