"""What is wired to what inside each box of a picture, and which values come in and go out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graphir.graph import Value

from .blocks import Box


@dataclass(eq=False)
class Level:
    """The wires among the children of a box, by their places: values by (from, to), each once.

    `ins` holds the values that come from outside with the children that read them, `outs` those that are read outside
    with the child that makes them.
    """

    wires: dict[tuple[int, int], dict[Value, None]] = field(default_factory=dict)
    ins: dict[Value, dict[int, None]] = field(default_factory=dict)
    outs: dict[Value, int] = field(default_factory=dict)


def levels_of(root: Box) -> dict[Box, Level]:
    """Return the wires inside every box that has children. Linear in wires times the depth of the tree."""
    boxes = list(_all(root))
    levels = {box: Level() for box in boxes if box.children or box is root}
    makers: dict[Value, Box] = {}
    depths = {root: 0}
    for box in boxes:
        if box.parent is not None:
            depths[box] = depths[box.parent] + 1
        if box.kind == "input" and box.value is not None:
            makers[box.value] = box
        elif box.kind == "node" and box.node is not None:
            makers.update(dict.fromkeys(box.node.outputs, box))
    for box in boxes:
        for value in _read(box):
            maker = makers.get(value)
            if maker is not None and maker is not box:
                _wire(levels, depths, value, (maker, box))
    return levels


def _all(root: Box) -> Iterator[Box]:
    """Yield a box and all inside it, each in front of what it holds."""
    pending = [root]
    while pending:
        box = pending.pop()
        yield box
        pending += reversed(box.children)


def _read(box: Box) -> list[Value]:
    if box.kind == "output" and box.value is not None:
        return [box.value]
    if box.kind != "node" or box.node is None:
        return []
    return list(dict.fromkeys(value for value in box.node.inputs if value is not None))


def _wire(levels: dict[Box, Level], depths: dict[Box, int], value: Value, ends: tuple[Box, Box]) -> None:
    """Add a wire to the level at which both ends are in different boxes, and its ends to the levels below that."""
    maker, reader = ends
    while depths[maker] > depths[reader]:
        maker = _leave(levels, value, maker)
    while depths[reader] > depths[maker]:
        reader = _enter(levels, value, reader)
    while maker.parent is not reader.parent:
        maker, reader = _leave(levels, value, maker), _enter(levels, value, reader)
    if maker is not reader and maker.parent is not None:
        levels[maker.parent].wires.setdefault((maker.index, reader.index), {})[value] = None


def _leave(levels: dict[Box, Level], value: Value, box: Box) -> Box:
    assert box.parent is not None
    levels[box.parent].outs[value] = box.index
    return box.parent


def _enter(levels: dict[Box, Level], value: Value, box: Box) -> Box:
    assert box.parent is not None
    levels[box.parent].ins.setdefault(value, {})[box.index] = None
    return box.parent
