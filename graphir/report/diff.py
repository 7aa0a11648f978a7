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
    from graphir.analysis.diff import Change, Difference, Row
    from graphir.graph import Node

SHOWN = 20
FEW = 6  # rows that differ in one way are listed up to so many, else counted
NAMED = 3
STYLES = {Status.CHANGED: Style.WARNING, Status.FIRST: Style.BAD, Status.SECOND: Style.ADDED}


def diff_text(found: Difference, left: str, right: str, *, verbose: bool = False) -> str:
    """The verdict, what differs in sentences, and with `verbose` both models side by side.

    Without it, many nodes that differ in their weights alone, or that stand in one model only, are counted.
    """
    lines = [verdict(verdict_line(found)), f"  first   {one_line(left)}", f"  second  {one_line(right)}"]
    if not found.is_equal:
        lines.append("")
    lines += [wrapped(f"{change.kind}: {change.text}") for change in found.ends]
    different = [row for row in found.rows if row.status is not Status.SAME]
    counted: list[str] = []
    if not verbose:
        different, counted = _counted(found, different)
    lines += counted
    for row in different if verbose else different[:SHOWN]:
        lines.append(f"{title(row)}: {paint(row.status.value, STYLES[row.status])}")
        lines += [wrapped(f"{change.kind}: {change.text}", first="    ") for change in row.changes]
    if not verbose and len(different) > SHOWN:
        lines.append(f"... and {len(different) - SHOWN:,} more (-v shows them)")
    elif counted:
        lines.append("(-v shows them one by one)")
    if verbose:
        lines += ["", table(("first", "operator", "second", "operator", ""), [_cells(row) for row in found.rows])]
    return "\n".join(lines).rstrip()


def _counted(found: Difference, different: list[Row]) -> tuple[list[Row], list[str]]:
    """The rows that are told one by one, and a line for each group of many that are not."""
    groups: dict[Status, list[Row]] = {}
    for row in different:
        if row.status is Status.CHANGED and any(change.kind != "weight" for change in row.changes):
            continue
        if row.status is not Status.CHANGED and row.changes:
            continue
        groups.setdefault(row.status, []).append(row)
    many = {status: rows for status, rows in groups.items() if len(rows) > FEW}
    lines = [_weights_line(found, rows) if status is Status.CHANGED else _alone_line(status, rows)
             for status, rows in many.items()]  # fmt: skip
    hidden = {id(row) for rows in many.values() for row in rows}
    return [row for row in different if id(row) not in hidden], lines


def _weights_line(found: Difference, rows: list[Row]) -> str:
    """How many weights differ, of all that the nodes of both models read."""
    differing = sum(len(row.changes) for row in rows)
    told = sum(change.kind == "weight" for row in found.rows for change in row.changes)
    total = sum(_floats(row.left) for row in found.rows if row.left is not None and row.right is not None)
    if differing == told == total:
        said = f"all {total:,} weights differ"
    else:
        said = f"{differing:,} of {max(total, told):,} weights differ and nothing else in their nodes"
    if any(" in the first, " in change.text for row in rows for change in row.changes):
        said += ", some in type or shape"
    return wrapped(f"weight: {said}: {listing([title(row) for row in rows], NAMED)}")


def _alone_line(status: Status, rows: list[Row]) -> str:
    """The operators of nodes that one model has alone."""
    operators = Counter(node.op.name for row in rows for node in (row.left or row.right,) if node is not None)
    counts = ", ".join(f"{count:,} {name}" for name, count in operators.most_common())
    return wrapped(f"{status.value}: {plural(len(rows), 'node')}: {counts}")


def _floats(node: Node) -> int:
    """How many weights of a node are numbers that training finds."""
    held = [value for value in node.inputs if value is not None and value.tensor is not None]
    return sum(value.dtype is not None and value.dtype.is_float for value in held)


def verdict_line(found: Difference) -> str:
    """The outcome in one line."""
    if found.is_equal:
        return f"equal: {plural(found.count(Status.SAME), 'node')} with the same attributes and weights"
    return f"DIFFERENT: {summary(found)}"


def summary(found: Difference) -> str:
    """How much is the same and how much is not."""
    parts = [f"{found.count(status):,} {status.value}" for status in Status if found.count(status)]
    kinds = Counter(change.kind for row in found.rows if row.status is Status.CHANGED for change in row.changes)
    if len(kinds) > 1 or sum(kinds.values()) > found.count(Status.CHANGED):
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        parts = [f"{part} ({counts})" if part.endswith(Status.CHANGED.value) else part for part in parts]
    if found.ends:
        parts.append(f"{len(found.ends):,} of inputs and outputs")
    return ", ".join(parts)


def title(row: Row) -> str:
    """Which nodes a row is about."""
    names = dict.fromkeys(f"{row.place}{node.name}" for node in (row.left, row.right) if node is not None)
    operators = dict.fromkeys(node.op.name for node in (row.left, row.right) if node is not None)
    return one_line(f"{' / '.join(names)} ({' / '.join(operators)})")


def diff_json(found: Difference) -> dict[str, Any]:
    """The difference as plain data."""
    return {
        "equal": found.is_equal,
        "counts": {status.name.lower(): found.count(status) for status in Status},
        "inputs_and_outputs": [_change_json(change) for change in found.ends],
        "nodes": [
            {
                "status": row.status.name.lower(),
                "place": row.place,
                "first": _node_json(row.left),
                "second": _node_json(row.right),
                "changes": [_change_json(change) for change in row.changes],
            }
            for row in found.rows
        ],
    }


def _change_json(change: Change) -> dict[str, str]:
    return {"kind": change.kind, "text": change.text}


def _node_json(node: Node | None) -> dict[str, Any] | None:
    """A node with its attributes and results, and the SHA-256 of the weights that it reads."""
    if node is None:
        return None
    held = [value for value in node.inputs if value is not None and value.dtype is not DType.STRING]
    return {
        "name": node.name,
        "operator": described(node),
        "results": [f"{value.name}: {value.type}" for value in node.outputs],
        "weights": {value.name: value.tensor.sha256() for value in held if value.tensor is not None},
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
