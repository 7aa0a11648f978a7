"""What is to be drawn inside one box: its children, pins for what comes in and goes out, and where they stand."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass

from graphir.graph import Value

from .blocks import Box
from .layout import Arrangement, Arranger
from .levels import Level
from .looks import Look, fitted, wire_label

MOST_PINS = 6
MOST_OPEN = 40
_QUIET = frozenset({"", "same", "identical", "agreed", "noise"})


@dataclass(frozen=True)
class Scene:
    """The inside of a box. `pins` are the texts of small places behind the children where wires from and to outside
    end; `labels` stands where the wires of a child (or a pin) leave it."""

    children: tuple[Box, ...]
    pins: tuple[str, ...]
    labels: dict[int, str]
    arrangement: Arrangement


def scenes_of(levels: dict[Box, Level], common: int = 0) -> dict[Box, Scene]:
    """The scene of every box that has children. `common` characters at the begin of all nodes' names are left out.

    Raises PlotExtraMissing.
    """
    arranger = Arranger()
    return {box: _scene(box, level, arranger, common) for box, level in levels.items()}


def _scene(box: Box, level: Level, arranger: Arranger, common: int) -> Scene:
    count = len(box.children)
    wires = list(level.wires)
    leaving: dict[int, list[Value]] = defaultdict(list)
    for (maker, _), values in level.wires.items():
        leaving[maker] += values
    pins: list[str] = []
    if box.kind not in ("node", "graph"):
        for values in _shared_out(list(level.ins)):
            place = count + len(pins)
            readers = dict.fromkeys(reader for value in values for reader in level.ins[value])
            wires += [(place, reader) for reader in readers]
            leaving[place] += values
            pins.append(_pin(values, common))
        for values in _shared_out(list(level.outs)):
            place = count + len(pins)
            wires += [(maker, place) for maker in dict.fromkeys(level.outs[value] for value in values)]
            for value in values:
                leaving[level.outs[value]].append(value)
            pins.append(_pin(values, common))
    labels = {place: wire_label(values) for place, values in sorted(leaving.items())}
    return Scene(tuple(box.children), tuple(pins), labels, arranger.arrange(count + len(pins), wires))


def _shared_out(values: list[Value]) -> list[list[Value]]:
    """The values of each pin: one of each, but many behind the last."""
    if len(values) <= MOST_PINS:
        return [[value] for value in values]
    return [*([value] for value in values[: MOST_PINS - 1]), values[MOST_PINS - 1 :]]


def _pin(values: list[Value], common: int) -> str:
    if len(values) > 1:
        return f"{len(values)} more values"
    made = values[0].producer
    return fitted(values[0].name if made is None else made.name[common:], small=True)


def opened_at_first(root: Box, looks: dict[Box, Look], most: int = MOST_OPEN) -> set[Box]:
    """The boxes that are open before anybody opens one: marked ones first, then the largest, until `most` are to be
    seen."""
    opened: set[Box] = set()
    visible, count = 1, 0
    waiting: list[tuple[bool, int, int, Box]] = [(False, 0, 0, root)]
    while waiting:
        box = heapq.heappop(waiting)[-1]
        if box is not root and visible + len(box.children) - 1 > most:
            continue
        opened.add(box)
        visible += len(box.children) - 1
        for child in box.children:
            if child.children:
                count += 1
                heapq.heappush(waiting, (looks[child].mark in _QUIET, -child.leaves, count, child))
    return opened


__all__ = ["Scene", "opened_at_first", "scenes_of"]
