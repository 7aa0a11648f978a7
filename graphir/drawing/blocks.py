"""The tree of boxes of a picture: repeated stretches of nodes in boxes, long rows of boxes in sections.

Every box holds a part of the drawn order without gaps, so that what is wired from box to box never runs in a circle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphir.analysis.skeleton import coarse
from graphir.graph import Graph, Node, Value
from graphir.inference.explain import subgraph_path

from .colours import class_of
from .order import crossings, drawn_order, values_read
from .repeats import Repetition, find_runs, widen_runs

MOST = 30
MOST_ENDS = 8
ROUNDS = 12
WEIGHTY = frozenset({"conv", "linear", "seq"})
PART = re.compile(r"[/.:_]+|(?<=[a-z0-9])(?=[A-Z])")
MARK = "/.:_"


@dataclass(eq=False, slots=True)
class Box:
    """One box: a node, an input or an output, or several boxes together.

    `kind` is `node`, `input`, `output`, `run` (a stretch that comes `times` times), `block` (one of them), `section` (a
    part of a long row), `body` (a subgraph of the node that holds it) or `graph`. `leaves` counts nodes.
    """

    kind: str
    title: str
    node: Node | None = None
    value: Value | None = None
    children: list[Box] = field(default_factory=list)
    times: int = 1
    leaves: int = 0
    parent: Box | None = field(default=None, repr=False)
    index: int = 0
    low: str = ""
    high: str = ""

    def __post_init__(self) -> None:
        """The first and the last name inside in the order of the alphabet, which begin alike as all names do."""
        inside = self.children if self.node is None else []
        self.low = min((child.low for child in inside), default=self.title)
        self.high = max((child.high for child in inside), default=self.title)


def tree_of(graph: Graph, *, like: Mapping[Node, Node] | None = None) -> Box:
    """Return the tree of a graph. A row of boxes that is longer than `MOST` is collapsed. `like` holds nodes of another
    graph for those that are to be taken for them, so that two graphs that differ in little are collapsed alike. Near
    linear in nodes.
    """
    root = Box("graph", graph.name, children=_row(graph, MOST, like or {}), leaves=0)
    root.leaves = sum(child.leaves for child in root.children)
    pending = [root]
    while pending:
        box = pending.pop()
        for index, child in enumerate(box.children):
            child.parent, child.index = box, index
        pending += box.children
    return root


def _row(graph: Graph, most: int, like: Mapping[Node, Node]) -> list[Box]:
    wires = {node: values_read(node) for node in graph.nodes}
    single = {node: _node_box(node, most, like) for node in graph.nodes}
    orders = [list(graph.nodes), drawn_order(graph, wires)]
    boxes = [single[node] for node in orders[1]]
    if len(boxes) > most:
        rows = [
            _collapse_runs([single[node] for node in order], *_labels_and_costs(order, wires, like), most)
            for order in orders
        ]
        boxes, costs = min(rows, key=lambda row: len(row[0]))  # the order in which more repeats
        boxes = _chunks(boxes, costs, most) if len(boxes) > most else boxes
    inputs = [Box("input", value.name, value=value) for value in graph.inputs]
    outputs = [Box("output", value.name, value=value) for value in graph.outputs]
    return [*_ends(inputs, "inputs", most), *boxes, *_ends(outputs, "outputs", most)]


def _labels_and_costs(
    order: list[Node], wires: dict[Node, list[Value]], like: Mapping[Node, Node]
) -> tuple[tuple[list[int], list[int]], list[float]]:
    """Return the labels of nodes in an order, and what it costs to part the row in front of each and behind the
    last."""
    known = [like.get(node, node) for node in order]
    costs = [cut + _begin_penalty(known, index) for index, cut in enumerate(crossings(order, wires))]
    return _labels(known), costs


def _ends(boxes: list[Box], what: str, most: int) -> list[Box]:
    """Return the boxes of inputs or outputs, as one section if there are many."""
    if len(boxes) <= MOST_ENDS:
        return boxes
    return [Box("section", f"{len(boxes)} {what}", children=_chunks(boxes, [0.0] * (len(boxes) + 1), most))]


def _node_box(node: Node, most: int, like: Mapping[Node, Node]) -> Box:
    bodies = [
        Box("body", subgraph_path(node, index).strip("/"), children=_row(inner, most, like))
        for index, inner in enumerate(node.subgraphs)
    ]
    for body in bodies:
        body.leaves = sum(child.leaves for child in body.children)
    leaves = 1 + sum(body.leaves for body in bodies)
    return Box("node", node.name, node=node, children=bodies, leaves=leaves)


def _labels(order: Sequence[Node]) -> tuple[list[int], list[int]]:
    """Return two numbers for each node: the same for nodes of one operator with one window and the same operators
    inside, and the same for nodes of one operator. Sizes, names and wires are no matter: what repeats differs in
    them."""
    windows: dict[object, int] = {}
    kinds: dict[str, int] = {}
    numbers: tuple[list[int], list[int]] = [], []
    for node in order:
        inner = tuple(other.op.shown_name for inner_graph in node.subgraphs for other in inner_graph.nodes)
        numbers[0].append(windows.setdefault((node.op.shown_name, coarse(node), inner), len(windows)))
        numbers[1].append(kinds.setdefault(node.op.shown_name, len(kinds)))
    return numbers


def _begin_penalty(order: Sequence[Node], index: int) -> float:
    """Return how little a place between two nodes looks like the begin of a block, where as many values cross it as
    others: a block begins where the scope of the names changes, and sooner with weights than with what follows them."""
    if not 0 < index < len(order):
        return 0.0
    before, behind = (PART.split(order[at].name) for at in (index - 1, index))
    shared = next((count for count, pair in enumerate(zip(before, behind, strict=False)) if pair[0] != pair[1]), 0)
    return 0.5 * shared / max(len(before), len(behind)) + 0.1 * (class_of(order[index].op) not in WEIGHTY)


def _collapse_runs(
    boxes: list[Box], labels: tuple[list[int], list[int]], cuts: list[float], most: int
) -> tuple[list[Box], list[float]]:
    """Return the row with its runs as boxes, and its `cuts`. The first labels find runs, the second widen them."""
    numbers: tuple[dict[object, int], dict[object, int]] = {}, {}
    starts = [1 + max(series, default=0) for series in labels]
    for _ in range(ROUNDS):
        runs = find_runs(labels[0], [box.leaves for box in boxes], cuts)
        if not runs:
            break
        row: list[Box] = []
        marks: tuple[list[int], list[int]] = [], []
        kept, position = [], 0
        for run in [*widen_runs(runs, labels[1]), Repetition(len(boxes), len(boxes), 1)]:
            row += boxes[position : run.start]
            kept += cuts[position : run.start]
            for mark, series in zip(marks, labels, strict=True):
                mark += series[position : run.start]
            if run.start < len(boxes):
                row.append(_run_box(boxes, run, most))
                kept.append(cuts[run.start])
                last = run.stop - run.period  # the first may be alike only, by labels that know less
                for mark, series, known, start in zip(marks, labels, numbers, starts, strict=True):
                    pattern = tuple(series[last : run.stop])
                    mark.append(start + known.setdefault(pattern, len(known)))
            position = run.stop
        boxes, labels, cuts = row, marks, [*kept, cuts[-1]]
    return boxes, cuts


def _run_box(boxes: Sequence[Box], run: Repetition, most: int) -> Box:
    copies = []
    for step in range(run.times):
        inside = list(boxes[run.start + step * run.period : run.start + (step + 1) * run.period])
        leaves = sum(box.leaves for box in inside)
        copies.append(inside[0] if run.period == 1 else _block(inside, leaves, most))
    leaves = sum(copy.leaves for copy in copies)
    children = _chunks(copies, [0.0] * (len(copies) + 1), most) if len(copies) > most else copies
    _number_sections(children, 1)
    return Box("run", title_of(copies), children=children, times=run.times, leaves=leaves)


def _number_sections(boxes: Iterable[Box], first: int) -> int:
    """Number the repetitions in the titles of sections. Return the number of the next repetition."""
    for box in boxes:
        if box.kind != "section":
            first += 1
            continue
        following = _number_sections(box.children, first)
        box.title = f"{box.title} {first} to {following - 1}".strip()
        first = following
    return first


def _block(inside: list[Box], leaves: int, most: int) -> Box:
    """Return the box of one repetition; a small one holds nodes only."""
    shown = [leaf for box in inside for leaf in _leaves(box)] if leaves <= most else inside
    shown = _chunks(shown, [0.0] * (len(shown) + 1), most) if len(shown) > most else shown
    return Box("block", title_of(inside), children=shown, leaves=leaves)


def _leaves(box: Box) -> list[Box]:
    if box.kind == "node":
        return [box]
    return [leaf for child in box.children for leaf in _leaves(child)]


def _chunks(boxes: list[Box], cuts: Sequence[float], most: int) -> list[Box]:
    """Return a long row in sections of sections, parted where the fewest values cross and names change."""
    while len(boxes) > most:
        size = most * 2 // 3
        row, kept, start = [], [], 0
        while start < len(boxes):
            stop = _section_end(start, size, len(boxes), cuts)
            inside = boxes[start:stop]
            leaves = sum(box.leaves for box in inside)
            row.append(inside[0] if len(inside) == 1 else Box("section", title_of(inside), children=inside,
                                                              leaves=leaves))  # fmt: skip
            kept.append(cuts[start])
            start = stop
        boxes, cuts = row, [*kept, cuts[-1]]
    return boxes


def _section_end(start: int, size: int, count: int, cuts: Sequence[float]) -> int:
    """Return the end of a section: the index near its size with the least cut."""
    slack = size // 3
    if count - start <= size + slack:
        return count
    middle = start + size
    return min(range(middle - slack, middle + slack + 1), key=lambda index: (cuts[index], abs(index - middle)))


def title_of(boxes: Iterable[Box]) -> str:
    """Return the common start of the names of the nodes in the boxes, "" if it says nothing."""
    names = [name for box in boxes for name in (box.low, box.high)]
    if not names:
        return ""
    low, high = min(names), max(names)
    shared = shared_start(names)
    if len(shared) == len(low) == len(high):
        title = shared
    else:
        numbered = shared.rstrip("0123456789")
        ahead = (low[len(numbered) : len(numbered) + 1], high[len(numbered) : len(numbered) + 1])
        ends = [
            *({match.start() for match in PART.finditer(low)} & {match.start() for match in PART.finditer(high)}),
            0,
        ]
        whole = low[: max(end for end in ends if end <= len(shared))]
        title = numbered if all(map(str.isdigit, ahead)) and len(numbered) > len(whole) else whole
    title = title.strip(MARK)
    return title if len(title) > 1 and not title.isdigit() else ""


def shared_start(names: Sequence[str]) -> str:
    """Return the characters that all names begin with."""
    low, high = min(names), max(names)
    length = next((index for index, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[:length]


def operators_of(box: Box) -> dict[str, int]:
    """Return how many nodes of each operator a box holds, in the order in which they come."""
    counts: Counter[str] = Counter()
    pending = [box]
    while pending:
        current = pending.pop()
        if current.node is not None:
            counts[current.node.op.shown_name] += 1
        pending += reversed(current.children)
    return dict(counts)
