"""What `diff` finds between two models, in a few lines: what is alike is one line with a count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphir.analysis.attributes import described
from graphir.analysis.change import GraphDifference
from graphir.analysis.diff import Difference, Row, Status
from graphir.graph import Graph, Node, Value
from graphir.ops.elementwise import Clip
from graphir.ops.normalization import BatchNormalization
from graphir.safety.foreign_text import one_line

# What fits on a screen beside the verdict, and names in a line.
MOST_LINES = 12
NAMED = 3
# An operator with many attributes fills a line; the whole of it is what `graphir diff` prints.
MOST_TEXT = 120


@dataclass(frozen=True)
class _Line:
    """One change of a row: what it is about, and the kind under which it is counted with others."""

    name: str
    kind: str
    text: str
    place: str = ""


def changes_of(difference: Difference, left: Graph) -> list[str]:
    """The differences, those of one kind as one line; at most MOST_LINES, then how many more there are.

    `left` is the first graph, which tells how many weights there are. Linear in the rows.
    """
    if difference.is_equal:
        return []
    pairs = partners(difference)
    different = [row for row in difference.rows if row.status is not Status.SAME]
    folded = {row.left or row.right: partner for row, partner in _folded(different)}
    absorbed = {node for pair in folded.items() for node in pair if node is not None}
    lines = [f"{change.kind}: {change.short_text}" for change in difference.ends]
    if folded:
        lines.append(f"{len(folded)} Conv+BatchNormalization folded: {_names(node for node in folded if node)}")
    rest = [row for row in different if row.left not in absorbed and row.right not in absorbed]
    weights = sum(change.kind == "weight" for row in rest for change in row.changes)
    groups: dict[str, list[_Line]] = {}
    for row in rest:
        for line in _row_lines(row, pairs):
            groups.setdefault(line.kind, []).append(line)
    for kind, members in groups.items():
        if kind == "weights" and len(members) > 1:
            lines.append(_weights_line(weights, members, left))
        else:
            lines.append(_group_line(kind, members))
    count = len(different)
    if count == len(rest) == 1 and len(lines) == 1:
        return [f"1 node differs: {lines[0]}"]
    if count:
        lines.insert(0, f"{count:,} {'node differs' if count == 1 else 'nodes differ'}")
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"... and {more:,} more kinds of changes (graphir diff)"]


def partners(difference: Difference) -> dict[Node, Node]:
    """The counterpart of every node of either model that has one."""
    both = [(row.left, row.right) for row in difference.rows if row.left is not None and row.right is not None]
    return dict(both) | {right: left for left, right in both}


def node_names(row: Row) -> str:
    """Return the names of a row's nodes, one if they are the same, behind those of what holds their graph."""
    return row.place + " / ".join(dict.fromkeys(node.name for node in (row.left, row.right) if node is not None))


def row_text(row: Row, pairs: Mapping[Node, Node]) -> str:
    """What differs about two nodes, in one line without their names. `pairs` are the counterparts of nodes."""
    said = dict.fromkeys(line.text for line in _row_lines(row, pairs))
    text = "; ".join(said) or f"{_operators(row)}: the same in both graphs"
    return _short(text)


def differing_numbers(row: Row) -> Iterator[tuple[float, float]]:
    """Yield the numbers, operands and attributes, in which two nodes differ: real ones, and whole ones where whole
    numbers become whole ones."""
    left, right = row.left, row.right
    if left is None or right is None:
        return
    dtypes = [value.dtype for value in (*left.inputs[:1], *left.outputs[:1]) if value is not None]
    kinds = "fiu" if all(dtype is not None and dtype.is_integer for dtype in dtypes) else "f"
    for mine, theirs in zip(left.inputs, right.inputs, strict=False):
        arrays = [value.tensor.numpy() for value in (mine, theirs) if value is not None and value.tensor is not None]
        if len(arrays) > 1 and all(array.size == 1 and array.dtype.kind in kinds for array in arrays):
            ends = tuple(float(array.reshape(-1)[0]) for array in arrays)
            yield from [(ends[0], ends[1])] if ends[0] != ends[1] else []
    if type(left.op) is type(right.op):
        for name in left.op.field_names:
            first, second = (getattr(node.op, name) for node in (left, right))
            if isinstance(first, float) and isinstance(second, float) and first != second:
                yield first, second


def _row_lines(row: Row, pairs: Mapping[Node, Node]) -> Iterator[_Line]:
    left, right = row.left, row.right
    if left is None or right is None:
        node, where = (left, "reference") if left is not None else (right, "candidate")
        assert node is not None
        place = _behind(node, pairs)
        text = f"{spoken(node)} only in the {where}{place}"
        yield _Line(node.name, f"{node.op.name} only in the {where}", text, place)
        return
    name = f"{row.place}{left.name}" if left.name == right.name else f"{row.place}{left.name} / {right.name}"
    # Another operator has other operands too.
    other = [change for change in row.changes if change.kind == "operator"]
    for change in other or row.changes:
        yield _line(name, left, right, change)


def _behind(node: Node, pairs: Mapping[Node, Node]) -> str:
    """What a node that one model alone has stands behind, by the names of both models."""
    seen = {node}
    while True:
        read = next((value for value in node.inputs if value is not None and value.tensor is None), None)
        if read is None or read.producer is None:
            return "" if read is None else f" behind the input {read.name}"
        node = read.producer
        if node in pairs:
            return f" behind {' / '.join(dict.fromkeys(sorted((node.name, pairs[node].name))))}"
        if node in seen:
            return ""
        seen.add(node)


def _line(name: str, left: Node, right: Node, change: GraphDifference) -> _Line:
    if change.kind == "operator":
        text = f"{spoken(left)} -> {spoken(right)}"
        return _Line(name, text, text)
    if change.kind == "weight":
        if change.numbers is not None:
            became = " -> ".join(change.numbers)
            return _Line(name, f"{left.op.name}: {became}", f"{left.op.name}: {change.subject} {became}")
        return _Line(name, "weights", f"weights differ: {change.text}")
    text = f"{left.op.name}: {change.short_text}"
    return _Line(name, text if change.kind == "attribute" else f"{left.op.name}: another {change.kind}", text)


def spoken(node: Node) -> str:
    """The operator as people call it: `Relu`, `Clip(0, 6)`, `Max(-1)`, `LeakyRelu(alpha=0.1)`."""
    if isinstance(node.op, Clip):
        return f"Clip({', '.join(map(_bound, (*node.inputs[1:], None, None)[:2]))})"
    constants = [value for value in node.inputs if value is not None and value.tensor is not None]
    if node.op.decides and constants:
        return f"{node.op.name}({', '.join(map(_bound, constants))})"
    return one_line(described(node))


def _bound(value: Value | None) -> str:
    if value is None:
        return "none"
    if value.tensor is None or value.tensor.size != 1:
        return value.name
    return f"{float(value.tensor.numpy().reshape(-1)[0]):.7g}"


def _folded(rows: Sequence[Row]) -> Iterator[tuple[Row, Node]]:
    """Normalizations that only one model has, and whose scale is part of the weights before them in the other."""
    for row in rows:
        node = row.left if row.right is None else row.right if row.left is None else None
        hinted = node is not None and isinstance(node.op, BatchNormalization) and row.changes
        if node is not None and hinted and node.inputs[0] is not None and node.inputs[0].producer is not None:
            yield row, node.inputs[0].producer


def _group_line(kind: str, members: Sequence[_Line]) -> str:
    if len(members) == 1:
        return _short(f"{members[0].name} {members[0].text}")
    return _short(f"{len(members):,} times {kind}: {_listed([member.name + member.place for member in members])}")


def _weights_line(count: int, members: Sequence[_Line], left: Graph) -> str:
    total = sum(value.tensor is not None for value in left.parameters)
    if count >= total:
        return f"all {total:,} weights differ"
    names = list(dict.fromkeys(member.name for member in members))
    return _short(f"{count:,} of {total:,} weights differ: {_listed(names)}")


def _names(nodes: Iterator[Node]) -> str:
    return _listed([node.name for node in nodes])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def _operators(row: Row) -> str:
    return " / ".join(dict.fromkeys(node.op.name for node in (row.left, row.right) if node is not None))


def _short(text: str) -> str:
    said = one_line(text)
    return said if len(said) <= MOST_TEXT else f"{said[: MOST_TEXT - 3]}..."
