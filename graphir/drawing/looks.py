"""What stands in and on the boxes of a picture: their lines, class, cost, marks, and what a closer look tells."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from graphir.analysis.attributes import attributes_of, described, shown
from graphir.analysis.skeleton import coarse
from graphir.analysis.summary import Layer, summarize, visible_outputs
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
class Cost:
    """Parameters and multiply-accumulates of a box; `macs` is None where a size in it is unknown or symbolic."""

    parameters: int = 0
    macs: int | None = 0

    def __add__(self, other: Cost) -> Cost:
        macs = None if self.macs is None or other.macs is None else self.macs + other.macs
        return Cost(self.parameters + other.parameters, macs)


@dataclass(frozen=True)
class Look:
    """A box as it is drawn while it is closed. `brief` stands under the title of an opened one. `mark` is a kind of
    `colours.MARKS` or "", `marked` how many nodes it is of; `facts` are what a closer look tells, in order."""

    title: str
    lines: tuple[str, ...]
    colour: str
    cost: Cost = field(default_factory=Cost)
    brief: str = ""
    mark: str = ""
    marked: int = 0
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def height(self) -> float:
        """The height of the box, in pixels."""
        return 26.0 + 14.0 * len(self.lines)


class Looks:
    """The looks of all boxes of one graph's tree."""

    def __init__(self, graph: Graph, root: Box, marks: Mapping[Node, Mark] | None = None) -> None:
        self._marks: Marks = dict(marks or {})
        self._costs = _costs(graph)
        self.scope = _common_scope(node.name for node in graph.nodes)
        self.of: dict[Box, Look] = {}
        self._held: dict[Box, tuple[Cost, list[Mark]]] = {}
        order = [root]
        for box in order:
            order += box.children
        for box in reversed(order):
            self.of[box] = self._look(box)

    def _look(self, box: Box) -> Look:
        cost, marks = Cost(), list[Mark]()
        for child in box.children:
            cost += self._held[child][0]
            marks += self._held[child][1]
        if box.node is not None:
            cost = self._costs.get(box.node, Cost())
            marks = ([self._marks[box.node]] if box.node in self._marks else []) + marks
        kind = worst(marks)
        told = [mark for mark in marks if mark.kind == kind]
        self._held[box] = cost, marks if kind else []
        kind = "" if kind == "same" else kind  # most nodes are: only what differs is drawn
        if box.node is not None:
            look = _node_look(box.node, self._short(box.node.name), cost, told)
        elif box.value is not None:
            look = _end_look(box)
        else:
            look = _box_look(box, self._short(box.title), cost)
        return replace(look, cost=cost, mark=kind, marked=len(told))

    def _short(self, name: str) -> str:
        """A name without what the names of all nodes begin with."""
        return name.removeprefix(self.scope)


def _common_scope(names: Iterable[str]) -> str:
    """What all names begin with, to the end of a whole part; "" if that is short."""
    held = list(names)
    start = shared_start(held) if len(held) > 1 else ""
    length = 1 + max(start.rfind(mark) for mark in MARK)
    return start[:length] if length > SHORTEST else ""


def _costs(graph: Graph) -> dict[Node, Cost]:
    """The cost of every node, those of subgraphs included, by the layers of the summary, which come in this order."""
    layers = iter(summarize(graph).layers)
    found: dict[Node, Cost] = {}
    pending = [iter(graph.nodes)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        found[node] = _cost(next(layers))
        pending += [iter(inner.nodes) for inner in reversed(node.subgraphs)]
    return found


def _cost(layer: Layer) -> Cost:
    return Cost(layer.parameters, layer.macs if isinstance(layer.macs, int) else None)


def _node_look(node: Node, name: str, cost: Cost, marks: Iterable[Mark]) -> Look:
    weights = [value for value in node.inputs if value is not None and value.is_parameter]
    lines = [fitted(name, small=True)]
    if cost.parameters > 1:
        first = weights[0].type
        is_all = isinstance(first, TensorType) and first.elements() == cost.parameters
        sizes = sizes_of(first) + ("" if is_all else f" + {len(weights) - 1}" if len(weights) > 1 else " + more")
        lines.append(fitted(f"{sizes} = {short(cost.parameters)} params", small=True))
    if cost.macs:
        lines.append(f"{short(cost.macs)} MACs")
    facts = [("name", node.name), ("operator", described(node))]
    read = [value for value in node.inputs if value is not None and not value.is_parameter]
    for what, values in (("reads", read), ("weight", weights), ("gives", visible_outputs(node))):
        facts += _some(what, [f"{value.name}: {value.type}" for value in values])
    facts += _some("from", list(dict.fromkeys(name for value in node.outputs for name in value.sources)))
    facts += _cost_facts(cost) + [(MARKS[mark.kind].meaning, text) for mark in marks for text in mark.texts]
    return Look(fitted(_heading(node)), tuple(lines), class_of(node.op), brief=lines[0], facts=tuple(facts))


def _some(what: str, texts: list[str]) -> list[tuple[str, str]]:
    """A fact for each text, of many for the first ones and their number."""
    more = [f"and {len(texts) - MOST_FACTS:,} more"] if len(texts) > MOST_FACTS else []
    return [(what, text) for text in [*texts[:MOST_FACTS], *more]]


def _heading(node: Node) -> str:
    """The operator, of a window with its kernel and stride."""
    key = coarse(node)
    if isinstance(key, tuple) and len(key) == 3:
        kernel, strides = (tuple(map(str, part)) for part in key[1:])
        stride = "" if set(strides) <= {"1"} else "/" + (strides[0] if len(set(strides)) == 1 else "x".join(strides))
        return f"{node.op.shown_name} {'x'.join(kernel)}{stride}"
    axis = attributes_of(node).get("axis")
    return f"{node.op.shown_name} axis {shown(axis)}" if isinstance(axis, int) else node.op.shown_name


def _end_look(box: Box) -> Look:
    assert box.value is not None
    facts = (("name", box.value.name), (box.kind, str(box.value.type)))
    is_open = box.kind == "input" or box.value.type == ANYTHING
    shape = () if is_open else (fitted(str(box.value.type), small=True),)
    return Look(fitted(box.value.name), (*shape, box.kind) if box.kind == "output" else (box.kind,), "end", facts=facts)


def _box_look(box: Box, name: str, cost: Cost) -> Look:
    times = f"{box.times} x " if box.kind == "run" else ""
    kinds = operators_of(box)
    names = " ".join(kinds)
    title = f"{times}{name or names}"
    fits = text_width(title) <= ROOM
    lines = [begun(names)] if kinds and (name or not fits) else []
    numbers = [f"{box.leaves:,} node{'s' * (box.leaves != 1)}"] if box.leaves else []
    numbers += [f"{short(cost.parameters)} params"] if cost.parameters > 1 else []
    lines += [fitted("  ".join(numbers), small=True)] if numbers else []
    lines += [f"{short(cost.macs)} MACs"] if cost.macs else []
    what = {"run": f"{box.times} times the same operators", "block": "one of several alike", "body": "subgraph"}
    facts = [("box", title), ("is", what.get(box.kind, "a part of the model")), ("nodes", f"{box.leaves:,}")]
    facts += [("operators", ", ".join(f"{name} {count}" for name, count in kinds.items())), *_cost_facts(cost)]
    shown = fitted(title) if name or fits else f"{times}{len(kinds)} operators" if len(kinds) > 1 else times.strip()
    numbers += [f"{short(cost.macs)} MACs"] if cost.macs else []
    return Look(shown, tuple(lines), "box", brief="  ".join(numbers), facts=tuple(facts))


def _cost_facts(cost: Cost) -> list[tuple[str, str]]:
    known = "unknown: a size is open" if cost.macs is None else f"{cost.macs:,}"
    return ([("parameters", f"{cost.parameters:,}")] if cost.parameters else []) + (
        [("MACs", known)] if cost.macs != 0 else []
    )


def sizes_of(type_: Type) -> str:
    """The shape as it stands at a wire: sizes with an x between, which stands apart where names of sizes are long.

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
    """What stands where wires leave a box: the shapes that are known, two at most."""
    labels = list(dict.fromkeys(sizes_of(value.type) for value in values if value.type != ANYTHING))
    more = f" +{len(labels) - 2}" if len(labels) > 2 else ""
    return fitted(", ".join(labels[:2]) + more, small=True)


def short(number: int | None) -> str:
    """A count in few characters.

    >>> short(999), short(9408), short(118013952), short(None)
    ('999', '9.41 K', '118 M', '?')
    """
    if number is None:
        return "?"
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}" if number < 999.5 * size else f"{number / size:.0f} {unit}"
    return str(number)


def text_width(text: str, *, small: bool = False) -> float:
    """About how wide a text is drawn, in pixels, in a wide font (DejaVu Sans): at 11 pixels, or bold at 12."""
    units = sum(
        1.0 if unicodedata.east_asian_width(character) in "WF" else 0.9 if character in "MWmw%@" else
        0.3 if character in "ijlI.,:;|'() " else 0.68 if character.isupper() else 0.64 if character.isdigit() else 0.57
        for character in text
    )  # fmt: skip
    return units * (11 if small else 14)


def label_width(text: str) -> float:
    """About how wide the text at a wire is drawn, in pixels: at 10 pixels."""
    return text_width(text, small=True) * 10 / 11


def title_lines(text: str, room: float) -> list[str]:
    """A title in lines of at most `room` pixels, broken between words; of a longer word the middle is left out."""
    lines: list[str] = []
    for word in in_one_line(text).split():
        if lines and text_width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, room=room))
    return lines or [""]


def begun(text: str, *, small: bool = True) -> str:
    """Words that fit into a box: of many the last are left out, of a long one the middle."""
    words = in_one_line(text)[:400].split(" ")
    if text_width(" ".join(words), small=small) <= ROOM:
        return " ".join(words)
    while len(words) > 1 and text_width(f"{' '.join(words)} ..", small=small) > ROOM:
        words.pop()
    return f"{' '.join(words)} .." if len(words) > 1 else fitted(words[0], small=small)


def fitted(text: str, *, small: bool = False, room: float = ROOM) -> str:
    """A text that fits into a box: of long ones the middle is left out, as names differ at their ends."""
    held = in_one_line(text)[:4000]
    if text_width(held, small=small) <= room:
        return held
    low, high = 1, len(held) // 2
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(f"{held[:middle]}..{held[-middle:]}", small=small) <= room:
            low = middle
        else:
            high = middle - 1
    return f"{held[:low]}..{held[-low:]}"
