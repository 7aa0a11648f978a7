"""What is said of single nodes besides what they are: a difference, a verdict, a padding that disagrees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from graphir.analysis.diff import Difference, Status
from graphir.errors import FormatError
from graphir.graph import Graph, Node
from graphir.safety.foreign_text import listing
from graphir.structure.reaching import nodes_within

from .colours import MARKS

_VERDICTS = frozenset({"identical", "noise", "not proven", "not deterministic", "broken"})
ELSEWHERE = "elsewhere"
_STATUS = {Status.SAME: "same", Status.CHANGED: "changed", Status.FIRST: "first", Status.SECOND: "second"}


class Mark(NamedTuple):
    """A kind of `colours.MARKS` and sentences."""

    kind: str
    texts: tuple[str, ...] = ()


Marks = dict[Node, Mark]


def worst(marks: Iterable[Mark]) -> str:
    """Return the worst kind of the marks, "" if there are none."""
    return max((mark.kind for mark in marks), key=lambda kind: MARKS[kind].rank, default="")


def marks_of_difference(difference: Difference) -> tuple[Marks, Marks, dict[Node, Node]]:
    """Return the marks of both models' nodes, and each node's counterpart in both directions."""
    sides: tuple[Marks, Marks] = ({}, {})
    pairs: dict[Node, Node] = {}
    for row in difference.rows:
        mark = Mark(_STATUS[row.status], tuple(f"{change.kind}: {change.text}" for change in row.changes))
        for side, node in zip(sides, (row.left, row.right), strict=True):
            if node is not None:
                side[node] = _merge_marks(side[node], mark) if node in side else mark
        if row.left is not None and row.right is not None:
            pairs[row.left], pairs[row.right] = row.right, row.left
    return *sides, pairs


def _merge_marks(first: Mark, second: Mark) -> Mark:
    kind = worst((first, second))
    return Mark(kind, (*first.texts, *second.texts))


def marks_of_report(graph: Graph, report: object, *, second: bool = False) -> Marks:
    """Return the marks of a graph's nodes by the JSON of `graphir verify --per-layer`, `convert --verify`, `padding` or
    `check --provider`, of which the nodes that run elsewhere say what they take from the provider and give to it.

    A layer is the node that makes the value of that name, or that comes from it. `second` takes the names that a
    padding report has for the other model. Raises FormatError for what is no such report, and where it names no node.
    """
    named_marks = _marks_by_name(report, second)
    by_name: dict[str, list[Node]] = defaultdict(list)
    for node in nodes_within(graph.nodes):
        for name in names_of(node):
            by_name[name].append(node)
    marks: Marks = {}
    for name, mark in named_marks:
        for node in by_name.get(name, ()):
            marks[node] = _merge_marks(marks[node], mark) if node in marks else mark
    # A provider may have all nodes of the model and leave to another only those that onnxruntime adds.
    if named_marks and not marks and any(mark.kind != ELSEWHERE for _, mark in named_marks):
        raise FormatError(f"the report names {named_marks[0][0]} and others, none of which is a layer of the model")
    return {node: _add_crossings(node, mark, marks) if mark.kind == ELSEWHERE else mark for node, mark in marks.items()}


def _add_crossings(node: Node, mark: Mark, marks: Marks) -> Mark:
    """Return the mark of a node that runs elsewhere, with the values that cross from provider to provider there."""

    def is_elsewhere(other: Node) -> bool:
        return other in marks and marks[other].kind == ELSEWHERE

    taken = [value.name for value in node.inputs if value and value.producer and not is_elsewhere(value.producer)]
    given = [value.name for value in node.outputs if any(not is_elsewhere(user) for user in value.users())]
    cut = [f"takes over {listing(taken)}"] * bool(taken) + [f"hands back {listing(given)}"] * bool(given)
    return Mark(mark.kind, (*mark.texts, *cut))


def names_of(node: Node) -> dict[str, None]:
    """Return the names by which a report may refer to a node: its own, those of its results and of their sources."""
    results = [name for value in node.outputs for name in (value.name, *value.sources)]
    return dict.fromkeys([*results, node.name])


def _marks_by_name(report: object, second: bool) -> list[tuple[str, Mark]]:
    if isinstance(report, Mapping) and isinstance(report.get("verification"), Mapping):
        report = report["verification"]
    if isinstance(report, Mapping) and isinstance(report.get("pairs"), list):
        return [said for pair in report["pairs"] for said in _padding_marks(pair, "second" if second else "first")]
    if isinstance(report, Mapping) and isinstance(report.get("outputs"), list) and "verdict" in report:
        layers = report.get("layers")
        listed = [*(layers if isinstance(layers, list) else ()), *report["outputs"]]
        return [_verdict_mark(layer) for layer in listed]
    if isinstance(report, Mapping) and isinstance(report.get("placement"), Mapping):
        listed = report["placement"].get("elsewhere")
        marks = [_placement_mark(item) for item in (listed if isinstance(listed, list) else ())]
        return [(name, mark) for name, mark in marks if name]
    raise FormatError(
        "the report has no layers; expected the JSON of graphir verify --per-layer, convert --verify, "
        "check --provider or padding MODEL OTHER"
    )


def _verdict_mark(layer: Any) -> tuple[str, Mark]:
    kind = layer.get("verdict") if isinstance(layer, Mapping) else None
    if kind not in _VERDICTS or not isinstance(layer.get("name"), str):
        raise FormatError(f"a layer of the report has no name or the verdict {kind!r}, none of {sorted(_VERDICTS)}")
    figures = f"max abs diff {layer.get('max_abs')}, limit {layer.get('limit')}"
    note = layer.get("note")
    return layer["name"], Mark(kind, (figures, str(note)) if note else (figures,))


def _placement_mark(item: Any) -> tuple[str, Mark]:
    if not isinstance(item, Mapping) or not all(isinstance(item.get(key), str) for key in ("name", "provider")):
        raise FormatError("a node of the placement has no name or no provider")
    reason = item.get("reason")
    return item["name"], Mark(ELSEWHERE, (item["provider"] + (f": {reason}" if reason else ""),))


def _padding_marks(pair: Any, side: str) -> list[tuple[str, Mark]]:
    window = pair.get(side) if isinstance(pair, Mapping) else None
    if not isinstance(window, Mapping) or not isinstance(window.get("name"), str):
        return []
    disagreements = pair.get("disagreements")
    texts = tuple(str(item.get("text")) for item in disagreements if isinstance(item, Mapping)) if disagreements else ()
    return [(window["name"], Mark("padding" if texts else "agreed", texts))]
