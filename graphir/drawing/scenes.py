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
from .looks import Look, fitted, wire_label

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
    """The scene of every box that has children. `scope` is left out where the names of nodes begin with it.

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
        for values in _shared_out(list(level.ins)):
            place = count + len(pins)
            readers = dict.fromkeys(reader for value in values for reader in level.ins[value])
            wires += [(place, reader) for reader in readers]
            leaving[place] += values
            pins.append(_pin(values, scope))
        for values in _shared_out(list(level.outs)):
            place = count + len(pins)
            wires += [(maker, place) for maker in dict.fromkeys(level.outs[value] for value in values)]
            for value in values:
                leaving[level.outs[value]].append(value)
            pins.append(_pin(values, scope))
    labels = {place: wire_label(values) for place, values in sorted(leaving.items())}
    first = count + len(pins)
    wires, rails = with_rails(first, wires)
    return Scene(tuple(box.children), tuple(pins), rails, labels, arranger.arrange(first + rails, wires))


def with_rails(count: int, wires: list[Wire]) -> tuple[list[Wire], int]:
    """The wires where one rail leads from a place to all that is read at several depths, and the number of its places.

    What one place gives to many (a mask to every layer) would run in as many lanes side by side. A rail has a place for
    each depth but the first, numbered from `count`, which only the readers of that depth and the next place leave.
    """
    depth = _depths(count, wires)
    readers: dict[int, list[int]] = defaultdict(list)
    for maker, reader in dict.fromkeys(wires):
        readers[maker].append(reader)
    found: list[Wire] = []
    rails = 0
    for maker, read in sorted(readers.items()):
        levels = sorted({depth[reader] for reader in read})
        if len(levels) < LEAST_RAIL:
            found += [(maker, reader) for reader in read]
            continue
        start = maker
        for place, level in enumerate(levels):
            if place:
                found.append((start, count + rails))
                start, rails = count + rails, rails + 1
            found += [(start, reader) for reader in read if depth[reader] == level]
    return found, rails


def _depths(count: int, wires: list[Wire]) -> list[int]:
    """The longest way to each place."""
    behind: dict[int, list[int]] = defaultdict(list)
    open_wires = [0] * count
    for maker, reader in dict.fromkeys(wires):
        behind[maker].append(reader)
        open_wires[reader] += 1
    depth = [0] * count
    ready = [place for place in range(count) if not open_wires[place]]
    for place in ready:
        for reader in behind[place]:
            depth[reader] = max(depth[reader], depth[place] + 1)
            open_wires[reader] -= 1
            if not open_wires[reader]:
                ready.append(reader)
    return depth


def _shared_out(values: list[Value]) -> list[list[Value]]:
    """The values of each pin: one of each, but many behind the last."""
    if len(values) <= MOST_PINS:
        return [[value] for value in values]
    return [*([value] for value in values[: MOST_PINS - 1]), values[MOST_PINS - 1 :]]


def _pin(values: list[Value], scope: str) -> str:
    if len(values) > 1:
        return f"{len(values)} more values"
    made = values[0].producer
    is_one_of_many = made is not None and sum(bool(value.uses) for value in made.outputs) > 1
    return fitted(values[0].name if made is None or is_one_of_many else made.name.removeprefix(scope), small=True)


def _tells_more(box: Box) -> bool:
    """Whether to open a box shows what no other does: it is no later one of several alike, and none of single nodes."""
    parent = box.parent
    within = parent is not None and (parent.kind == "run" or (parent.kind == "section" and box.kind == "block"))
    return not (within and box.place) and not (box.kind == "run" and box.leaves == box.times)


def opened_at_first(root: Box, looks: dict[Box, Look], most: int = MOST_OPEN) -> set[Box]:
    """The boxes that are open before anybody opens one: marked ones first, then the largest, until `most` are to be
    seen. Of several that are alike only the first is opened, unless others are marked or more than usual is wanted."""
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
            is_quiet, is_told = looks[child].mark in QUIET, not _tells_more(child)
            if child.children and (not is_quiet or not is_told or most > MOST_OPEN):
                count += 1
                heapq.heappush(waiting, (is_quiet, is_told, -child.leaves, count, child))
    return opened
