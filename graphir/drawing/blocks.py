"""The tree of boxes of a picture: repeated stretches of nodes in boxes, long rows of boxes in sections.

Every box holds a part of the drawn order without gaps, so that what is wired from box to box never runs in a circle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from graphir.analysis.skeleton import coarse
from graphir.graph import Graph, Node, Value
from graphir.inference.explain import subgraph_path

from .colours import class_of
from .order import crossings, drawn_order, reads
from .repeats import Run, find_runs

MOST = 30
MOST_ENDS = 8
ROUNDS = 12
NEAR = 3
PART = re.compile(r"[/.:]+|_(?=[a-zA-Z])|(?<=\d)_|(?<=[a-z])(?=[A-Z])")
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
    parent: Box | None = None
    place: int = 0

    def adopt(self) -> Box:
        """Tell the children whose they are; the box itself."""
        for place, child in enumerate(self.children):
            child.parent, child.place = self, place
        return self


def tree_of(graph: Graph, *, most: int = MOST) -> Box:
    """The tree of a graph. A row of boxes that is longer than `most` is collapsed. Near linear in nodes."""
    root = Box("graph", graph.name, children=_row(graph, most), leaves=0)
    root.leaves = sum(child.leaves for child in root.children)
    return root.adopt()


def _row(graph: Graph, most: int) -> list[Box]:
    wires = {node: reads(node) for node in graph.nodes}
    order = drawn_order(graph, wires)
    cuts = crossings(order, wires)
    boxes = [_node_box(node, most) for node in order]
    if len(boxes) > most:
        labels = _labels(order, wires)
        costs = [cut + _harm(order, place) for place, cut in enumerate(cuts)]
        boxes = _sectioned(_collapsed(boxes, labels, costs, most), costs, most)
    inputs = [Box("input", value.name, value=value) for value in graph.inputs]
    outputs = [Box("output", value.name, value=value) for value in graph.outputs]
    return [*_ends(inputs, "inputs", most), *boxes, *_ends(outputs, "outputs", most)]


def _ends(boxes: list[Box], what: str, most: int) -> list[Box]:
    """Inputs or outputs; many of them together."""
    if len(boxes) <= MOST_ENDS:
        return boxes
    return [Box("section", f"{len(boxes)} {what}", children=_chunks(boxes, [0.0] * (len(boxes) + 1), most)).adopt()]


def _node_box(node: Node, most: int) -> Box:
    bodies = [
        Box("body", subgraph_path(node, place).strip("/"), children=_row(inner, most)).adopt()
        for place, inner in enumerate(node.subgraphs)
    ]
    for body in bodies:
        body.leaves = sum(child.leaves for child in body.children)
    leaves = 1 + sum(body.leaves for body in bodies)
    return Box("node", node.name, node=node, children=bodies, leaves=leaves).adopt()


def _labels(order: Sequence[Node], wires: dict[Node, list[Value]]) -> list[int]:
    """A number for each node: the same for nodes of one operator, window and near wiring, whatever their sizes."""
    places = {node: place for place, node in enumerate(order)}
    numbers: dict[object, int] = {}
    found = []
    for place, node in enumerate(order):
        steps = {place - places[value.producer] for value in wires[node] if value.producer in places}
        near = tuple(sorted(step for step in steps if step <= NEAR))
        inner = tuple(other.op.name for held in node.subgraphs for other in held.nodes)
        key = (node.op.name, coarse(node), near, inner)
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def _harm(order: Sequence[Node], place: int) -> float:
    """How little a place between two nodes looks like the begin of a block, where as many values cross it as others:
    a block begins where the scope of the names changes, and sooner with weights than with what follows them."""
    if not 0 < place < len(order):
        return 0.0
    within = scope_of(order[place - 1].name) == scope_of(order[place].name)
    return 0.25 * within + 0.1 * (class_of(order[place].op) not in ("conv", "linear", "seq"))


def scope_of(name: str) -> str:
    """What a name has in front of its last part.

    >>> scope_of("stage1_unit2_conv1"), scope_of("encoder/layer_3/add"), scope_of("conv0")
    ('stage1_unit2', 'encoder/layer_3', '')
    """
    parts = [match.start() for match in PART.finditer(name)]
    return name[: parts[-1]].rstrip(MARK) if parts else ""


def _collapsed(boxes: list[Box], labels: list[int], cuts: list[float], most: int) -> list[Box]:
    """The row with its runs as boxes; `cuts` is changed to the places of the new row."""
    numbers: dict[object, int] = {}
    start = 1 + max(labels, default=0)
    for _ in range(ROUNDS):
        runs = find_runs(labels, [box.leaves for box in boxes], cuts)
        if not runs:
            break
        row, marks, kept, place = [], [], [], 0
        for run in [*runs, Run(len(boxes), len(boxes), 1)]:
            row += boxes[place : run.start]
            marks += labels[place : run.start]
            kept += cuts[place : run.start]
            if run.start < len(boxes):
                pattern = tuple(labels[run.start : run.start + run.period])
                row.append(_run_box(boxes, run, most))
                marks.append(start + numbers.setdefault(pattern, len(numbers)))
                kept.append(cuts[run.start])
            place = run.stop
        boxes, labels = row, marks
        cuts[:] = [*kept, cuts[-1]]
    return boxes


def _run_box(boxes: Sequence[Box], run: Run, most: int) -> Box:
    copies = []
    for step in range(run.times):
        inside = list(boxes[run.start + step * run.period : run.start + (step + 1) * run.period])
        leaves = sum(box.leaves for box in inside)
        copies.append(inside[0] if run.period == 1 else _block(inside, leaves, most))
    leaves = sum(copy.leaves for copy in copies)
    children = _chunks(copies, [0.0] * (len(copies) + 1), most) if len(copies) > most else copies
    return Box("run", title_of(copies), children=children, times=run.times, leaves=leaves).adopt()


def _block(inside: list[Box], leaves: int, most: int) -> Box:
    """One of the stretches that repeat. What is small enough to be read at once holds no boxes in boxes."""
    shown = [leaf for box in inside for leaf in _opened(box)] if leaves <= most else inside
    shown = _chunks(shown, [0.0] * (len(shown) + 1), most) if len(shown) > most else shown
    return Box("block", title_of(inside), children=shown, leaves=leaves).adopt()


def _opened(box: Box) -> list[Box]:
    if box.kind == "node":
        return [box]
    return [leaf for child in box.children for leaf in _opened(child)]


def _sectioned(boxes: list[Box], cuts: Sequence[float], most: int) -> list[Box]:
    return boxes if len(boxes) <= most else _chunks(boxes, cuts, most)


def _chunks(boxes: list[Box], cuts: Sequence[float], most: int) -> list[Box]:
    """A long row in sections of sections, parted where the fewest values cross and names change."""
    while len(boxes) > most:
        size = max(most * 2 // 3, -(-len(boxes) // most))
        row, kept, start = [], [], 0
        while start < len(boxes):
            stop = _stop(start, size, len(boxes), cuts)
            inside = boxes[start:stop]
            leaves = sum(box.leaves for box in inside)
            row.append(inside[0] if len(inside) == 1 else Box("section", title_of(inside), children=inside,
                                                              leaves=leaves).adopt())  # fmt: skip
            kept.append(cuts[start])
            start = stop
        boxes, cuts = row, [*kept, cuts[-1]]
    return boxes


def _stop(start: int, size: int, count: int, cuts: Sequence[float]) -> int:
    """Where a section ends: near its size, where the cut is least."""
    slack = size // 3
    if count - start <= size + slack:
        return count
    middle = start + size
    return min(range(middle - slack, middle + slack + 1), key=lambda place: (cuts[place], abs(place - middle)))


def title_of(boxes: Iterable[Box]) -> str:
    """What the names of the nodes in the boxes begin with, "" if that says nothing."""
    names = [leaf.title for box in boxes for leaf in _ends_of(box)]
    if not names:
        return ""
    shared = shared_start(names)
    if len(shared) < max(map(len, names)) and not shared.endswith(tuple(MARK)):
        ends = [match.start() for match in PART.finditer(names[0]) if match.start() <= len(shared)]
        shared = (shared[: ends[-1]] if ends else "") or shared
    found = shared.strip(MARK)
    return found if len(found) > 1 and not found.isdigit() else ""


def shared_start(names: Sequence[str]) -> str:
    """The characters that all names begin with."""
    low, high = min(names), max(names)
    length = next((place for place, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    return low[:length]


def _ends_of(box: Box) -> list[Box]:
    """Some leaves that tell what all names begin with: titles of boxes inside say it already."""
    if box.kind in ("node", "input", "output"):
        return [box]
    return [box] if box.title else [leaf for child in box.children for leaf in _ends_of(child)]


def operators_of(box: Box) -> dict[str, int]:
    """How many nodes of each operator a box holds, in the order in which they come."""
    counts: Counter[str] = Counter()
    pending = [box]
    while pending:
        held = pending.pop()
        if held.node is not None:
            counts[held.node.op.name] += 1
        pending += reversed(held.children)
    return dict(counts)


__all__ = ["MOST", "Box", "operators_of", "scope_of", "title_of", "tree_of"]
