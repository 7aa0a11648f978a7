"""The difference of two models as one HTML page: what differs in groups, then both side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphir.analysis.attributes import described
from graphir.analysis.diff import Status
from graphir.ops.normalization import BatchNormalization

from .diff import summary, title, verdict_line
from .page import HtmlCell, TableShape, banner, escape, facts, fold, footer, page, section, table
from .text import plural

if TYPE_CHECKING:
    from graphir.analysis.change import GraphDifference
    from graphir.analysis.diff import Difference, Row
    from graphir.graph import Node, Value


MOST_KINDS = 3


@dataclass(frozen=True)
class DifferenceGroup:
    """Rows of a difference that say the same of other nodes, and what they say, in a few words."""

    title: str
    rows: tuple[Row, ...]


def groups_of(difference: Difference) -> list[DifferenceGroup]:
    """Return the rows that differ in groups, the most frequent kind first. No row is in two groups. Linear in rows."""
    different = [row for row in difference.rows if row.status is not Status.SAME]
    folded = list(_find_folded(different))
    taken = {id(row) for _, pair in folded for row in pair}
    rows_by_kind: dict[tuple[str, ...], list[Row]] = {}
    counts: dict[tuple[str, ...], int] = {}
    for what, pair in folded:
        rows_by_kind.setdefault(("folded", what), []).extend(pair)
        counts["folded", what] = counts.get(("folded", what), 0) + 1
    for row in different:
        if id(row) not in taken:
            key = _group_key(row)
            rows_by_kind.setdefault(key, []).append(row)
            counts[key] = counts.get(key, 0) + 1
    counted = [
        (counts[key], DifferenceGroup(f"{counts[key]:,} {_describe_key(key)}", tuple(rows)))
        for key, rows in rows_by_kind.items()
    ]
    return [group for _, group in sorted(counted, key=lambda entry: -entry[0])]


def overview(difference: Difference) -> str:
    """Return one sentence that covers all differences, "" if none does."""
    changed = [row for row in difference.rows if row.status is not Status.SAME]
    kinds = {change.kind for row in changed for change in row.changes}
    if (
        difference.ends
        or not changed
        or kinds != {"weight"}
        or any(row.status is not Status.CHANGED for row in changed)
    ):
        return ""
    count = sum(len(row.changes) for row in changed)
    total = len({value for row in difference.rows for value in _weights(row)})
    said = "The only weight differs" if total == 1 else f"All {count:,} weights differ"
    if count < total:
        said = f"{count:,} of {total:,} weights {'differs' if count == 1 else 'differ'}"
    return f"{said}; operators, attributes and wiring are the same."


def _weights(row: Row) -> Iterator[Value]:
    """Yield the weights that a row's first node reads: no scalars, no integers that say how."""
    for value in () if row.left is None else row.left.inputs:
        tensor = None if value is None or value.producer is not None else value.tensor
        if value is not None and tensor is not None and tensor.shape and tensor.dtype.is_float:
            yield value


def _find_folded(rows: Sequence[Row]) -> Iterator[tuple[str, tuple[Row, ...]]]:
    """Yield each batch normalization that only one model has, with the row of what computes its input, whose weights
    differ: in the other model they hold its scale."""
    by_node = {node: row for row in rows if row.status is Status.CHANGED for node in (row.left, row.right) if node}
    taken: set[int] = set()
    for row in rows:
        node = row.left or row.right
        hinted = node is not None and isinstance(node.op, BatchNormalization) and any(
            change.kind == "structure" for change in row.changes
        )  # fmt: skip
        if row.status not in (Status.FIRST, Status.SECOND) or not hinted:
            continue
        assert node is not None
        maker = None if node.inputs[0] is None else node.inputs[0].producer
        partner = None if maker is None else by_node.get(maker)
        if maker is None or partner is None or id(partner) in taken:
            continue
        if any(change.kind not in ("weight", "operand") for change in partner.changes):
            continue
        taken.add(id(partner))
        where = "second" if row.status is Status.FIRST else "first"
        yield f"{maker.op.name}+{node.op.name} folded in the {where}", (row, partner)


def _group_key(row: Row) -> tuple[str, ...]:
    """Return the key by which similar rows are grouped."""
    operators = " / ".join(dict.fromkeys(_operator(node) for node in (row.left, row.right) if node is not None))
    if row.status is not Status.CHANGED:
        return ("alone", operators, row.status.value)
    # What is said of attributes and operators names no node; of weights and operands the kind is what they share.
    said = [change.text if change.kind in _NAMELESS else change.kind for change in row.changes]
    return ("changed", operators, *dict.fromkeys(said))


def _operator(node: Node) -> str:
    return str(node.op.name)


def _describe_key(key: tuple[str, ...]) -> str:
    what, operators, *said = key
    if what == "folded":
        return operators
    if what == "alone":
        return f"{operators} {said[0]}"
    sentences = "; ".join(_SENTENCES.get(kind, kind) for kind in said[:MOST_KINDS])
    return f"{operators}: {sentences}" + (f" and {len(said) - MOST_KINDS} more" if len(said) > MOST_KINDS else "")


_NAMELESS = ("attribute", "operator", "structure")
_SENTENCES = {"weight": "weights differ", "operand": "operands differ", "type": "results differ"}


STYLES = {Status.SAME: "noise", Status.CHANGED: "broken", Status.FIRST: "not-proven", Status.SECOND: "not-proven"}
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


def _changes(changes: tuple[GraphDifference, ...]) -> str:
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
