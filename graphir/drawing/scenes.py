"""What is to be drawn inside one box: its children, pins for what comes in and goes out, and where they stand."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass

from graphir.graph import Value

from .blocks import Box
from .colours import QUIET
from .layout import Arrangement, Arranger, Wire
from .levels import Level
from .looks import BoxLook, fit_text, wire_label

MOST_PINS = 6
LEAST_RAIL = 4
MOST_OPEN = 40


@dataclass(frozen=True)
class Scene:
    """The inside of a box. `pins` are the texts of small places behind the children where wires from and to outside
    end, `rails` the number of places behind those where a wire that goes on is left by others. `labels` stands where
    the wires of a child (or a pin) leave it."""

    children: tuple[Box, ...]
    pins: tuple[str, ...]
    rails: int
    labels: dict[int, str]
    arrangement: Arrangement


def scenes_of(levels: dict[Box, Level], scope: str = "") -> dict[Box, Scene]:
    """Return the scene of every box that has children. `scope` is left out where the names of nodes begin with it.

    Raises PlotExtraMissing.
    """
    arranger = Arranger()
    return {box: _scene(box, level, arranger, scope) for box, level in levels.items()}


def _scene(box: Box, level: Level, arranger: Arranger, scope: str) -> Scene:
    count = len(box.children)
    wires = list(level.wires)
    leaving: dict[int, list[Value]] = defaultdict(list)
    for (maker, _), carried in level.wires.items():
        leaving[maker] += carried
    pins: list[str] = []
    if box.kind not in ("node", "graph"):
        for values in _group_pins(list(level.ins)):
            pin = count + len(pins)
            readers = dict.fromkeys(reader for value in values for reader in level.ins[value])
            wires += [(pin, reader) for reader in readers]
            leaving[pin] += values
            pins.append(_pin(values, scope))
        for values in _group_pins(list(level.outs)):
            pin = count + len(pins)
            wires += [(maker, pin) for maker in dict.fromkeys(level.outs[value] for value in values)]
            for value in values:
                leaving[level.outs[value]].append(value)
            pins.append(_pin(values, scope))
    labels = {number: wire_label(values) for number, values in sorted(leaving.items())}
    first = count + len(pins)
    wires, rails = add_rails(first, wires)
    return Scene(tuple(box.children), tuple(pins), rails, labels, arranger.arrange(first + rails, wires))


def add_rails(count: int, wires: list[Wire]) -> tuple[list[Wire], int]:
    """Return the wires where one rail leads from a place to all that is read at several depths, and the number of its
    places.

    What one place gives to many (a mask to every layer) would run in as many lanes side by side. A rail has a place for
    each depth but the first, numbered from `count`, which only the readers of that depth and the next place leave.
    """
    depth = _depths(count, wires)
    readers: dict[int, list[int]] = defaultdict(list)
    for maker, reader in dict.fromkeys(wires):
        readers[maker].append(reader)
    routed: list[Wire] = []
    rails = 0
    for maker, read in sorted(readers.items()):
        levels = sorted({depth[reader] for reader in read})
        if len(levels) < LEAST_RAIL:
            routed += [(maker, reader) for reader in read]
            continue
        start = maker
        for step, level in enumerate(levels):
            if step:
                routed.append((start, count + rails))
                start, rails = count + rails, rails + 1
            routed += [(start, reader) for reader in read if depth[reader] == level]
    return routed, rails


def _depths(count: int, wires: list[Wire]) -> list[int]:
    """Return the length of the longest path to each box."""
    behind: dict[int, list[int]] = defaultdict(list)
    open_wires = [0] * count
    for maker, reader in dict.fromkeys(wires):
        behind[maker].append(reader)
        open_wires[reader] += 1
    depth = [0] * count
    ready = [box for box in range(count) if not open_wires[box]]
    for box in ready:
        for reader in behind[box]:
            depth[reader] = max(depth[reader], depth[box] + 1)
            open_wires[reader] -= 1
            if not open_wires[reader]:
                ready.append(reader)
    return depth


def _group_pins(values: list[Value]) -> list[list[Value]]:
    """Return the values of each pin: one value per pin, the rest at the last."""
    if len(values) <= MOST_PINS:
        return [[value] for value in values]
    return [*([value] for value in values[: MOST_PINS - 1]), values[MOST_PINS - 1 :]]


def _pin(values: list[Value], scope: str) -> str:
    if len(values) > 1:
        return f"{len(values)} more values"
    producer = values[0].producer
    is_one_of_many = producer is not None and sum(bool(value.uses) for value in producer.outputs) > 1
    name = values[0].name if producer is None or is_one_of_many else producer.name.removeprefix(scope)
    return fit_text(name, small=True)


def _shows_new_content(box: Box) -> bool:
    """Return whether opening a box shows something new: it is not a later one of several alike, and not one of single
    nodes."""
    parent = box.parent
    within = parent is not None and (parent.kind == "run" or (parent.kind == "section" and box.kind == "block"))
    return not (within and box.index) and not (box.kind == "run" and box.leaves == box.times)


def initially_open(root: Box, looks: dict[Box, BoxLook], most: int = MOST_OPEN) -> set[Box]:
    """Return the boxes that are open before anybody opens one: marked ones first, then the largest, until `most` are to
    be seen. Of several that are alike only the first is opened, unless others are marked or more than usual is
    wanted."""
    opened: set[Box] = set()
    visible, count = 1, 0
    waiting: list[tuple[bool, bool, int, int, Box]] = [(False, False, 0, 0, root)]
    while waiting:
        box = heapq.heappop(waiting)[-1]
        if box is not root and visible + len(box.children) - 1 > most:
            continue
        opened.add(box)
        visible += len(box.children) - 1
        for child in box.children:
            is_quiet, is_repeated = looks[child].mark in QUIET, not _shows_new_content(child)
            if child.children and (not is_quiet or not is_repeated or most > MOST_OPEN):
                count += 1
                heapq.heappush(waiting, (is_quiet, is_repeated, -child.leaves, count, child))
    return opened
