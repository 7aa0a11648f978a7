"""The difference of two models as one HTML page: what differs in groups, then both side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphir.analysis.attributes import described
from graphir.analysis.diff import Status

from .diff import summary, title, verdict_line
from .diff_groups import DifferenceGroup, groups_of, overview
from .page import HtmlCell, TableShape, banner, escape, facts, fold, footer, page, section, table
from .text import plural

if TYPE_CHECKING:
    from graphir.analysis.change import Change
    from graphir.analysis.diff import Difference, Row
    from graphir.graph import Node

STYLES = {Status.SAME: "noise", Status.CHANGED: "broken", Status.FIRST: "suspicious", Status.SECOND: "suspicious"}
OPEN_ROWS = 10
OPEN_GROUPS = 3
NOTE = (
    '<p class="legend">Nodes are aligned by weights and structure, not by name. Graphs that differ may still compute '
    "the same; <code>graphir verify</code> tests that.</p>"
)


def diff_html(difference: Difference, left: str, right: str) -> str:
    """Return the page: verdict, the two models, every difference in words, every node beside its counterpart."""
    counts = summary(difference)
    kind, word = ("noise", "Equal") if difference.is_equal else ("broken", "Different")
    groups = groups_of(difference)
    said = overview(difference) or "; ".join(group.title for group in groups[:OPEN_GROUPS])
    if len(groups) > OPEN_GROUPS:
        said += f"; and {plural(len(groups) - OPEN_GROUPS, 'other kind')}"
    models = [("first", escape(left)), ("second", escape(right)), ("nodes", escape(counts))]
    sections = [
        banner(kind, word, said if groups else verdict_line(difference).partition(": ")[2]),
        section("Models", facts(models) + NOTE),
    ]
    if difference.ends:
        sections.append(section(f"Inputs and outputs ({len(difference.ends)})", _changes(difference.ends)))
    if groups:
        sections.append(section("Differences", _groups(groups)))
    header = ("first", "result", "second", "result", "")
    rows = [_pair(row) for row in difference.rows]
    whole = table(header, rows, TableShape(told=4, find="nodes", full=(2,)))
    sections.append(section("Side by side", fold(f"All {len(rows):,} nodes", whole, opened=len(rows) <= OPEN_ROWS)))
    return page(f"{left} and {right}", sections, footer())


def _groups(groups: Sequence[DifferenceGroup]) -> str:
    parts = []
    for index, group in enumerate(groups):
        rows = [cells for row in group.rows for cells in _sentences(row)]
        body = table(("node", "", "what", "in words"), rows, TableShape(told=1, full=(3,), find="differences"))
        parts.append(fold(group.title, body, opened=len(rows) <= OPEN_ROWS and index < OPEN_GROUPS))
    return "\n".join(parts)


def _changes(changes: tuple[Change, ...]) -> str:
    rows = [[escape(change.kind), escape(change.text)] for change in changes]
    return table(("what", "in words"), rows, TableShape(full=(1,)))


def _sentences(row: Row) -> list[list[str | HtmlCell]]:
    """Return a row for each change. Only the first shows the node, which all are sorted by."""
    changes = [(_whole(change.kind), escape(change.text)) for change in row.changes] or [("", "")]
    name, rows = escape(title(row)), []
    for slot, change in enumerate(changes):
        about: list[str | HtmlCell] = [name, _status(row)]
        if slot > 0:
            about = [HtmlCell("", name), HtmlCell("", row.status.value)]
        rows.append([*about, *change])
    return rows


def _pair(row: Row) -> list[str | HtmlCell]:
    return [*_node(row.left, row.place), *_node(row.right, row.place), _status(row)]


def _status(row: Row) -> str:
    return f'<span class="verdict whole {STYLES[row.status]}">{escape(row.status.value)}</span>'


def _whole(text: str) -> str:
    return f'<span class="whole">{escape(text)}</span>'


def _node(node: Node | None, scope: str) -> list[str]:
    if node is None:
        return ["-", ""]
    results = ", ".join(str(value.type) for value in node.outputs if value.index == 0 or value.uses)
    return [f"{escape(scope + node.name)}<br><small>{escape(described(node))}</small>", escape(results)]
