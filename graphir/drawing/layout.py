"""Where the boxes of one level stand, in layers: from the engine fast-sugiyama.

The engine knows one size for all boxes. What it gives is kept as rows and columns; `placing` gives them their sizes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphir.errors import GraphirError
from graphir.extras import DRAWING

SPACING = 100
THIN = 25
FEW_ALONE = 4
DEEP = 6
Wire = tuple[int, int]


class PlotExtraMissing(GraphirError):
    """A library that draws is not installed."""


@dataclass(frozen=True)
class GridCell:
    """A cell in a row: its column and its box, -1 if a wire passes."""

    column: int
    box: int


@dataclass(frozen=True)
class Arrangement:
    """Rows of cells from the top, the columns' places from the left (100 is the width of a box and its gap), and the
    columns in which each wire passes the rows between its ends."""

    rows: tuple[tuple[GridCell, ...], ...]
    columns: tuple[float, ...]
    routes: dict[Wire, tuple[int, ...]]


def need(module: str, what: str) -> Any:
    """Return a library that draws. Raises PlotExtraMissing, which says how to get it and what does without it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise PlotExtraMissing(
            f"{what} needs {module.replace('_', '-')}, which is not installed: pip install "
            f"{' '.join(map(repr, DRAWING))}; a .dot file needs nothing more"
        ) from error


class Arranger:
    """Arranges levels; those that are wired alike share one arrangement."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[Wire, ...]], Arrangement] = {}

    def arrange(self, count: int, wires: Sequence[Wire]) -> Arrangement:
        """Return the arrangement of `count` boxes. `wires` never run in a circle. Raises PlotExtraMissing."""
        key = count, tuple(sorted(set(wires)))
        arrangement = self._known.get(key)
        if arrangement is None:
            arrangement = self._known[key] = _arrange(*key)
        return arrangement


def _arrange(count: int, wires: tuple[Wire, ...]) -> Arrangement:
    points: dict[int, tuple[float, int]] = {}
    follow: dict[int, int] = {}
    starts: list[Wire] = []
    left = 0.0
    for positions, steps in _run_engine(wires):
        top = max(y for _, (_, y) in positions)
        begin = min(x for _, (x, _) in positions)
        for box, (x, y) in positions:
            points[box] = (round(left + x - begin, 2), round((top - y) / SPACING))
        left = max(points[box][0] for box, _ in positions) + SPACING
        for maker, reader in steps:
            if maker >= count:
                follow[maker] = reader
            else:
                starts.append((maker, reader))
    points |= _place_unwired([box for box in range(count) if box not in points], left)
    routes = {}
    for maker, reader in starts:
        path, end = [], reader
        while end >= count:
            path.append(end)
            end = follow[end]
        routes[maker, end] = tuple(path)
    return _build_rows(points, count, routes)


def _place_unwired(boxes: Sequence[int], left: float) -> dict[int, tuple[float, int]]:
    """Return points for boxes without wires, right of the others: a few side by side, many in columns."""
    deep = 1 if len(boxes) <= FEW_ALONE else DEEP
    return {box: (round(left + index // deep * SPACING, 2), index % deep) for index, box in enumerate(boxes)}


def _run_engine(wires: tuple[Wire, ...]) -> list[tuple[list[tuple[int, tuple[float, float]]], list[Wire]]]:
    """Return the engine's layout of each connected part. It numbers the places that wires pass from above the
    boxes'."""
    if not wires:
        return []
    engine = need("fast_sugiyama", "a picture")
    names = sorted({end for wire in wires for end in wire})
    numbers = {name: number for number, name in enumerate(names)}  # the engine tells its own points by their numbers
    passing = 1 + names[-1]
    parts = engine.from_edges(
        [(numbers[maker], numbers[reader]) for maker, reader in wires],
        vertex_spacing=SPACING,
        dummy_vertices=True,
        dummy_size=THIN,
        ranking_type="minimize",
        check_layout=False,
    )
    results = []
    offset = passing
    for positions, _, _, steps in parts:
        highest = max(number for number, _ in positions)

        def name(number: int, offset: int = offset) -> int:
            return names[number] if number < len(names) else offset + number

        points = sorted((name(number), position) for number, position in positions)
        inside = {point for point, _ in points}
        pairs = [wire for wire in wires if wire[0] in inside]
        if steps is not None:
            pairs = sorted((name(maker), name(reader)) for maker, reader in steps)
        results.append((points, pairs))
        offset += highest + 1
    return sorted(results)


def _build_rows(points: dict[int, tuple[float, int]], count: int, routes: dict[Wire, tuple[int, ...]]) -> Arrangement:
    columns = sorted({x for x, _ in points.values()})
    number = {x: column for column, x in enumerate(columns)}
    rows: dict[int, list[GridCell]] = defaultdict(list)
    for box, (x, row) in sorted(points.items()):
        rows[row].append(GridCell(number[x], box if box < count else -1))
    depth = 1 + max(rows, default=-1)
    return Arrangement(
        tuple(tuple(sorted(rows[row], key=lambda cell: (cell.column, cell.box))) for row in range(depth)),
        tuple(columns),
        {wire: tuple(number[points[point][0]] for point in path) for wire, path in sorted(routes.items())},
    )
