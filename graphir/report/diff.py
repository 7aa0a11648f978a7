"""The difference of two models as text and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from graphir.analysis.attributes import described
from graphir.analysis.diff import Status
from graphir.safety.foreign_text import listing, one_line
from graphir.structure.look import Painted, Style, paint, verdict
from graphir.types import DType

from .text import plural, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.change import GraphDifference
    from graphir.analysis.diff import Difference, Row
    from graphir.graph import Node

SHOWN = 20
FEW = 6  # rows that differ in one way are listed up to so many, else counted
NAMED = 3
STYLES = {Status.CHANGED: Style.WARNING, Status.FIRST: Style.BAD, Status.SECOND: Style.ADDED}


def diff_text(difference: Difference, left: str, right: str, *, verbose: bool = False) -> str:
    """Return the verdict, what differs in sentences, and with `verbose` both models side by side.

    Without it, many nodes that differ in their weights alone, or that stand in one model only, are counted.
    """
    lines = [verdict(verdict_line(difference)), f"  first   {one_line(left)}", f"  second  {one_line(right)}"]
    if not difference.is_equal:
        lines.append("")
    lines += [wrapped(f"{change.kind}: {change.text}") for change in difference.ends]
    different = [row for row in difference.rows if row.status is not Status.SAME]
    counted: list[str] = []
    if not verbose:
        different, counted = _count_groups(difference, different)
    lines += counted
    for row in different if verbose else different[:SHOWN]:
        lines.append(f"{title(row)}: {paint(row.status.value, STYLES[row.status])}")
        lines += [wrapped(f"{change.kind}: {change.text}", first="    ") for change in row.changes]
    if not verbose and len(different) > SHOWN:
        lines.append(f"... and {len(different) - SHOWN:,} more (-v shows them)")
    elif counted:
        lines.append("(-v shows them one by one)")
    if verbose:
        lines += ["", table(("first", "operator", "second", "operator", ""), [_cells(row) for row in difference.rows])]
    return "\n".join(lines).rstrip()


def _count_groups(difference: Difference, different: list[Row]) -> tuple[list[Row], list[str]]:
    """Return the rows to list one by one, and a summary line for each large group."""
    groups: dict[Status, list[Row]] = {}
    for row in different:
        if row.status is Status.CHANGED and any(change.kind != "weight" for change in row.changes):
            continue
        if row.status is not Status.CHANGED and row.changes:
            continue
        groups.setdefault(row.status, []).append(row)
    many = {status: rows for status, rows in groups.items() if len(rows) > FEW}
    lines = [_weights_line(difference, rows) if status is Status.CHANGED else _alone_line(status, rows)
             for status, rows in many.items()]  # fmt: skip
    hidden = {id(row) for rows in many.values() for row in rows}
    return [row for row in different if id(row) not in hidden], lines


def _weights_line(difference: Difference, rows: list[Row]) -> str:
    """Return a line with the number of weights that differ, of all that paired nodes read."""
    differing = sum(len(row.changes) for row in rows)
    weight_changes = sum(change.kind == "weight" for row in difference.rows for change in row.changes)
    total = sum(_floats(row.left) for row in difference.rows if row.left is not None and row.right is not None)
    if differing == weight_changes == total:
        said = f"all {total:,} weights differ"
    else:
        said = f"{differing:,} of {max(total, weight_changes):,} weights differ and nothing else in their nodes"
    if any(change.both is not None for row in rows for change in row.changes):
        said += ", some in type or shape"
    return wrapped(f"weight: {said}: {listing([title(row) for row in rows], NAMED)}")


def _alone_line(status: Status, rows: list[Row]) -> str:
    """Return a line that counts, by operator, the nodes that only one model has."""
    operators = Counter(node.op.name for row in rows for node in (row.left or row.right,) if node is not None)
    counts = ", ".join(f"{count:,} {name}" for name, count in operators.most_common())
    return wrapped(f"{status.value}: {plural(len(rows), 'node')}: {counts}")


def _floats(node: Node) -> int:
    """Return the number of a node's float weights."""
    weights = [value for value in node.inputs if value is not None and value.tensor is not None]
    return sum(value.dtype is not None and value.dtype.is_float for value in weights)


def verdict_line(difference: Difference) -> str:
    """Return the outcome in one line."""
    if difference.is_equal:
        return f"equal: {plural(difference.count(Status.SAME), 'node')} with the same attributes and weights"
    return f"DIFFERENT: {summary(difference)}"


def summary(difference: Difference) -> str:
    """Return the counts of rows by status, and of changes by kind."""
    parts = [f"{difference.count(status):,} {status.value}" for status in Status if difference.count(status)]
    kinds = Counter(change.kind for row in difference.rows if row.status is Status.CHANGED for change in row.changes)
    if len(kinds) > 1 or sum(kinds.values()) > difference.count(Status.CHANGED):
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        parts = [f"{part} ({counts})" if part.endswith(Status.CHANGED.value) else part for part in parts]
    if difference.ends:
        parts.append(f"{len(difference.ends):,} of inputs and outputs")
    return ", ".join(parts)


def title(row: Row) -> str:
    """Return the names and operators of a row's nodes."""
    names = dict.fromkeys(f"{row.place}{node.name}" for node in (row.left, row.right) if node is not None)
    operators = dict.fromkeys(node.op.name for node in (row.left, row.right) if node is not None)
    return one_line(f"{' / '.join(names)} ({' / '.join(operators)})")


def diff_json(difference: Difference) -> dict[str, Any]:
    """Return the difference as values that `json.dumps` takes."""
    return {
        "equal": difference.is_equal,
        "counts": {status.name.lower(): difference.count(status) for status in Status},
        "inputs_and_outputs": [_change_json(change) for change in difference.ends],
        "nodes": [
            {
                "status": row.status.name.lower(),
                "place": row.place,
                "first": _node_json(row.left),
                "second": _node_json(row.right),
                "changes": [_change_json(change) for change in row.changes],
            }
            for row in difference.rows
        ],
    }


def _change_json(change: GraphDifference) -> dict[str, str]:
    return {"kind": change.kind, "text": change.text}


def _node_json(node: Node | None) -> dict[str, Any] | None:
    """Return a node with its attributes and results, and the SHA-256 of the weights that it reads."""
    if node is None:
        return None
    operands = [value for value in node.inputs if value is not None and value.dtype is not DType.STRING]
    return {
        "name": node.name,
        "operator": described(node),
        "results": [f"{value.name}: {value.type}" for value in node.outputs],
        "weights": {value.name: value.tensor.sha256() for value in operands if value.tensor is not None},
    }


def _cells(row: Row) -> tuple[str, ...]:
    left, right = row.left, row.right
    return (
        row.place + left.name if left is not None else "-",
        described(left) if left is not None else "",
        row.place + right.name if right is not None else "-",
        described(right) if right is not None else "",
        "" if row.status is Status.SAME else Painted(row.status.value, STYLES[row.status]),
    )
