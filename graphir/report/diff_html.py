"""The difference of two models as one HTML page, both side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphir.analysis.attributes import described
from graphir.analysis.diff import Status

from .diff import summary, title, verdict_line
from .page import banner, escape, facts, page, section, table

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
    rows = [["inputs and outputs", "", _whole(change.kind), escape(change.text)] for change in found.ends]
    rows += [row for held in found.rows if held.status is not Status.SAME for row in _sentences(held)]
    if rows:
        sections.append(section(f"Differences ({len(rows)})", table(("node", "", "what", "in words"), rows)))
    header = ("first", "result", "second", "result", "")
    sections.append(section(f"Side by side ({len(found.rows)})", table(header, [_pair(row) for row in found.rows])))
    return page("Two models", sections, f"graphir {__version__}")


def _sentences(row: Row) -> list[list[str]]:
    changes = [(_whole(change.kind), escape(change.text)) for change in row.changes] or [("", "")]
    first, rest = [escape(title(row)), _status(row)], ["", ""]
    return [[*(first if slot == 0 else rest), *change] for slot, change in enumerate(changes)]


def _pair(row: Row) -> list[str]:
    return [*_node(row.left, row.place), *_node(row.right, row.place), _status(row)]


def _status(row: Row) -> str:
    return f'<span class="verdict whole {STYLES[row.status]}">{escape(row.status.value)}</span>'


def _whole(text: str) -> str:
    return f'<span class="whole">{escape(text)}</span>'


def _node(node: Node | None, place: str) -> list[str]:
    if node is None:
        return ["-", ""]
    results = ", ".join(str(value.type) for value in node.outputs if value.index == 0 or value.uses)
    return [f"{escape(place + node.name)}<br><small>{escape(described(node))}</small>", escape(results)]


__all__ = ["diff_html"]
