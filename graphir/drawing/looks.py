"""What stands in and on the boxes of a picture: their lines, class, cost, marks, and what a closer look tells."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from graphir.analysis.attributes import attributes_of, described, shown
from graphir.analysis.counting import Layer, visible_outputs
from graphir.analysis.skeleton import coarse
from graphir.analysis.summary import summarize
from graphir.graph import Graph, Node, Value
from graphir.safety.foreign_text import in_one_line
from graphir.types import ANYTHING, TensorType, Type

from .blocks import MARK, Box, operators_of, shared_start
from .colours import MARKS, class_of
from .marks import Mark, Marks, worst

WIDTH = 190.0
ROOM = 166.0
SHORTEST = 4
MOST_FACTS = 24


@dataclass(frozen=True)
class BoxCost:
    """Parameters and multiply-accumulates of a box; `macs` is None where a size in it is unknown or symbolic."""

    parameters: int = 0
    macs: int | None = 0

    def __add__(self, other: BoxCost) -> BoxCost:
        macs = None if self.macs is None or other.macs is None else self.macs + other.macs
        return BoxCost(self.parameters + other.parameters, macs)


@dataclass(frozen=True)
class BoxLook:
    """A box as it is drawn while it is closed. `brief` stands under the title of an opened one. `mark` is a kind of
    `colours.MARKS` or "", `marked` how many nodes it is of; `facts` are what a closer look tells, in order."""

    title: str
    lines: tuple[str, ...]
    colour: str
    cost: BoxCost = field(default_factory=BoxCost)
    brief: str = ""
    mark: str = ""
    marked: int = 0
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def height(self) -> float:
        """Return the height of the box, in pixels."""
        return 26.0 + 14.0 * len(self.lines)


class Looks:
    """The looks of all boxes of one graph's tree."""

    def __init__(self, graph: Graph, root: Box, marks: Mapping[Node, Mark] | None = None) -> None:
        self._marks: Marks = dict(marks or {})
        self._costs = _costs(graph)
        self.scope = _common_scope(node.name for node in graph.nodes)
        self.of: dict[Box, BoxLook] = {}
        self._totals: dict[Box, tuple[BoxCost, list[Mark]]] = {}
        order = [root]
        for box in order:
            order += box.children
        for box in reversed(order):
            self.of[box] = self._look(box)

    def _look(self, box: Box) -> BoxLook:
        cost, marks = BoxCost(), list[Mark]()
        for child in box.children:
            cost += self._totals[child][0]
            marks += self._totals[child][1]
        if box.node is not None:
            cost = self._costs.get(box.node, BoxCost())
            marks = ([self._marks[box.node]] if box.node in self._marks else []) + marks
        kind = worst(marks)
        worst_marks = [mark for mark in marks if mark.kind == kind]
        self._totals[box] = cost, marks if kind else []
        kind = "" if kind == "same" else kind  # most nodes are: only what differs is drawn
        if box.node is not None:
            look = _node_look(box.node, self._strip_scope(box.node.name), cost, worst_marks)
        elif box.value is not None:
            look = _end_look(box)
        else:
            look = _box_look(box, self._strip_scope(box.title), cost)
        return replace(look, cost=cost, mark=kind, marked=len(worst_marks))

    def _strip_scope(self, name: str) -> str:
        """Return a name without the common scope."""
        return name.removeprefix(self.scope)


def _common_scope(names: Iterable[str]) -> str:
    """Return the common scope of all names, to the end of a whole part; "" if it is short."""
    listed = list(names)
    start = shared_start(listed) if len(listed) > 1 else ""
    length = 1 + (start.rfind("/") if "/" in start else max(start.rfind(mark) for mark in MARK))
    return start[:length] if length > SHORTEST else ""


def _costs(graph: Graph) -> dict[Node, BoxCost]:
    """Return the cost of every node, those of subgraphs included, by the layers of the summary, which come in this
    order."""
    layers = iter(summarize(graph).layers)
    costs: dict[Node, BoxCost] = {}
    pending = [iter(graph.nodes)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        costs[node] = _cost(next(layers))
        pending += [iter(inner.nodes) for inner in reversed(node.subgraphs)]
    return costs


def _cost(layer: Layer) -> BoxCost:
    return BoxCost(layer.parameters, layer.macs if isinstance(layer.macs, int) else None)


def _node_look(node: Node, name: str, cost: BoxCost, marks: Iterable[Mark]) -> BoxLook:
    weights = [value for value in node.inputs if value is not None and value.is_parameter]
    lines = [fit_text(name, small=True)]
    if cost.parameters > 1:
        first = weights[0].type
        is_all = isinstance(first, TensorType) and first.elements() == cost.parameters
        sizes = sizes_of(first) + ("" if is_all else f" + {len(weights) - 1}" if len(weights) > 1 else " + more")
        lines.append(fit_text(f"{sizes} = {short_count(cost.parameters)} params", small=True))
    if cost.macs:
        lines.append(f"{short_count(cost.macs)} MACs")
    facts = [("name", node.name), ("operator", described(node))]
    read = [value for value in node.inputs if value is not None and not value.is_parameter]
    for what, values in (("reads", read), ("weight", weights), ("gives", visible_outputs(node))):
        facts += _first_facts(what, [f"{value.name}: {value.type}" for value in values])
    facts += _first_facts("from", list(dict.fromkeys(name for value in node.outputs for name in value.sources)))
    facts += _cost_facts(cost) + [(MARKS[mark.kind].meaning, text) for mark in marks for text in mark.texts]
    return BoxLook(fit_text(_heading(node)), tuple(lines), class_of(node.op), brief=lines[0], facts=tuple(facts))


def _first_facts(what: str, texts: list[str]) -> list[tuple[str, str]]:
    """Return a fact for each text; of many the first ones and the number of the rest."""
    more = [f"and {len(texts) - MOST_FACTS:,} more"] if len(texts) > MOST_FACTS else []
    return [(what, text) for text in [*texts[:MOST_FACTS], *more]]


def _heading(node: Node) -> str:
    """Return the operator, with kernel and stride if it has a window."""
    key = coarse(node)
    if isinstance(key, tuple) and len(key) == 3:
        kernel, strides = (tuple(map(str, part)) for part in key[1:])
        stride = "" if set(strides) <= {"1"} else "/" + (strides[0] if len(set(strides)) == 1 else "x".join(strides))
        return f"{node.op.shown_name} {'x'.join(kernel)}{stride}"
    axis = attributes_of(node).get("axis")
    return f"{node.op.shown_name} axis {shown(axis)}" if isinstance(axis, int) else node.op.shown_name


def _end_look(box: Box) -> BoxLook:
    assert box.value is not None
    facts = (("name", box.value.name), (box.kind, str(box.value.type)))
    is_open = box.kind == "input" or box.value.type == ANYTHING
    shape = () if is_open else (fit_text(str(box.value.type), small=True),)
    lines = (*shape, box.kind) if box.kind == "output" else (box.kind,)
    return BoxLook(fit_text(box.value.name), lines, "end", facts=facts)


def _box_look(box: Box, name: str, cost: BoxCost) -> BoxLook:
    times = f"{box.times} x " if box.kind == "run" else ""
    kinds = operators_of(box)
    names = " ".join(kinds)
    title = f"{times}{name or names}"
    fits = text_width(title) <= ROOM
    lines = [fit_words(names)] if kinds and (name or not fits) else []
    numbers = [f"{box.leaves:,} node{'s' * (box.leaves != 1)}"] if box.leaves else []
    numbers += [f"{short_count(cost.parameters)} params"] if cost.parameters > 1 else []
    lines += [fit_text("  ".join(numbers), small=True)] if numbers else []
    lines += [f"{short_count(cost.macs)} MACs"] if cost.macs else []
    what = {"run": f"{box.times} times the same operators", "block": "one of several alike", "body": "subgraph"}
    facts = [("box", title), ("is", what.get(box.kind, "a part of the model")), ("nodes", f"{box.leaves:,}")]
    facts += [("operators", ", ".join(f"{name} {count}" for name, count in kinds.items())), *_cost_facts(cost)]
    shown = fit_text(title) if name or fits else f"{times}{len(kinds)} operators" if len(kinds) > 1 else times.strip()
    numbers += [f"{short_count(cost.macs)} MACs"] if cost.macs else []
    return BoxLook(shown, tuple(lines), "box", brief="  ".join(numbers), facts=tuple(facts))


def _cost_facts(cost: BoxCost) -> list[tuple[str, str]]:
    known = "unknown: a size is dynamic" if cost.macs is None else f"{cost.macs:,}"
    return ([("parameters", f"{cost.parameters:,}")] if cost.parameters else []) + (
        [("MACs", known)] if cost.macs != 0 else []
    )


def sizes_of(type_: Type) -> str:
    """Return the shape as it stands at a wire: sizes with an x between, which stands apart where names of sizes are
    long.

    >>> sizes_of(TensorType(None, (1, 64, 56, 56))), sizes_of(TensorType(None, ())), sizes_of(TensorType())
    ('1x64x56x56', 'scalar', '?')
    >>> from graphir.types import symbol
    >>> sizes_of(TensorType(None, (symbol("batch"), 256)))
    'batch x 256'
    """
    if not isinstance(type_, TensorType):
        return str(type_).partition("(")[0]
    if type_.shape is None:
        return "?"
    is_long = any(not isinstance(size, int) and len(str(size)) > 1 for size in type_.shape)
    return (" x " if is_long else "x").join(str(size) for size in type_.shape) or "scalar"


def wire_label(values: Iterable[Value]) -> str:
    """Return the label of wires that leave a box: the known shapes, two at most."""
    labels = list(dict.fromkeys(sizes_of(value.type) for value in values if value.type != ANYTHING))
    more = f" +{len(labels) - 2}" if len(labels) > 2 else ""
    return fit_text(", ".join(labels[:2]) + more, small=True)


def short_count(number: int | None) -> str:
    """Return a count in few characters.

    >>> short_count(999), short_count(9408), short_count(118013952), short_count(None)
    ('999', '9.41 K', '118 M', '?')
    """
    if number is None:
        return "?"
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}" if number < 999.5 * size else f"{number / size:.0f} {unit}"
    return str(number)


def text_width(text: str, *, small: bool = False) -> float:
    """Return the approximate width of a text in pixels, in a wide font (DejaVu Sans): at 11 pixels, or bold at 12."""
    units = sum(
        1.0 if unicodedata.east_asian_width(character) in "WF" else 0.9 if character in "MWmw%@" else
        0.3 if character in "ijlI.,:;|'() " else 0.68 if character.isupper() else 0.64 if character.isdigit() else 0.57
        for character in text
    )  # fmt: skip
    return units * (11 if small else 14)


def label_width(text: str) -> float:
    """Return the approximate width of a wire's text in pixels: at 10 pixels."""
    return text_width(text, small=True) * 10 / 11


def title_lines(text: str, room: float) -> list[str]:
    """Return a title in lines of at most `room` pixels, broken between words; of a longer word the middle is left
    out."""
    lines: list[str] = []
    for word in in_one_line(text).split():
        if lines and text_width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(fit_text(word, room=room))
    return lines or [""]


def fit_words(text: str) -> str:
    """Return words that fit into a box: of many the last are omitted, of a long one the middle."""
    words = in_one_line(text)[:400].split(" ")
    if text_width(" ".join(words), small=True) <= ROOM:
        return " ".join(words)
    while len(words) > 1 and text_width(f"{' '.join(words)} ..", small=True) > ROOM:
        words.pop()
    return f"{' '.join(words)} .." if len(words) > 1 else fit_text(words[0], small=True)


def fit_text(text: str, *, small: bool = False, room: float = ROOM) -> str:
    """Return a text that fits into a box; long ones lose their middle, since names differ at their ends."""
    line = in_one_line(text)[:4000]
    if text_width(line, small=small) <= room:
        return line
    low, high = 1, len(line) // 2
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(f"{line[:middle]}..{line[-middle:]}", small=small) <= room:
            low = middle
        else:
            high = middle - 1
    return f"{line[:low]}..{line[-low:]}"
