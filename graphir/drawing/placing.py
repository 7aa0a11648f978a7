"""Sizes and places: boxes in the rows and columns of their arrangement, opened ones as large as what they show.

A column stays a column, so that a chain stays straight whatever is opened in it; what is wider than the engine thought
pushes the columns beside it away.
"""

from __future__ import annotations

from dataclasses import dataclass

from .blocks import Box
from .looks import WIDTH, BoxLook, label_width
from .scenes import Scene

GAP = 18.0
ROW_GAP = 38.0
PASSING = 14.0
PADDING = 14.0
HEADER = 34.0
PIN_HEIGHT = 18.0
RAIL_HEIGHT = 6.0
UNIT = (WIDTH + GAP) / 100
Point = tuple[float, float]


@dataclass(frozen=True)
class Spot:
    """A child or a pin in its place; `inside` is what an opened box shows."""

    number: int
    x: float
    y: float
    width: float
    height: float
    inside: Placed | None = None


@dataclass(frozen=True)
class Placed:
    """The inside of a box: spots, wires as points through which they run (curved between the second and third of every
    four), which of them end with a head, labels of wires with their places, and the size of it all."""

    scene: Scene
    spots: tuple[Spot, ...]
    wires: tuple[tuple[Point, ...], ...]
    heads: tuple[bool, ...]
    labels: tuple[tuple[float, float, str], ...]
    width: float
    height: float


def place_box(box: Box, scenes: dict[Box, Scene], looks: dict[Box, BoxLook], opened: set[Box]) -> Placed:
    """Return the places inside a box, with the inside of those of its boxes that are opened."""
    scene = scenes[box]
    insides: dict[int, Placed] = {}
    sizes: dict[int, tuple[float, float]] = {}
    for number, child in enumerate(scene.children):
        if child in opened and child in scenes:
            inner = insides[number] = place_box(child, scenes, looks, opened)
            sizes[number] = max(WIDTH, inner.width) + 2 * PADDING, inner.height + HEADER + 2 * PADDING
        else:
            sizes[number] = WIDTH, looks[child].height
    for pin in range(len(scene.pins)):
        sizes[len(scene.children) + pin] = WIDTH, PIN_HEIGHT
    for rail in range(scene.rails):
        sizes[len(scene.children) + len(scene.pins) + rail] = PASSING, RAIL_HEIGHT
    return _lay_out(scene, sizes, insides)


def _lay_out(scene: Scene, sizes: dict[int, tuple[float, float]], insides: dict[int, Placed]) -> Placed:
    rows, columns = scene.arrangement.rows, scene.arrangement.columns
    needs: list[tuple[int, int, float]] = []
    for row in rows:
        widths = [sizes[cell.box][0] if cell.box >= 0 else PASSING for cell in row]
        for here, there, width, other in zip(row, row[1:], widths, widths[1:], strict=False):
            needs.append((here.column, there.column, (width + other) / 2 + GAP))
    middles = _columns(columns, needs)
    left = min((middles[cell.column] - _half(cell.box, sizes) for row in rows for cell in row), default=0.0)
    right = max((middles[cell.column] + _half(cell.box, sizes) for row in rows for cell in row), default=0.0)
    tops, bottoms, y = [], [], 0.0
    for row in rows:
        height = max((sizes[cell.box][1] for cell in row if cell.box >= 0), default=PIN_HEIGHT)
        tops.append(y)
        bottoms.append(y + height)
        y += height + ROW_GAP
    spots, stands = [], {}
    for number, row in enumerate(rows):
        for cell in row:
            if cell.box >= 0:
                width, height = sizes[cell.box]
                x = middles[cell.column] - left - width / 2
                top = tops[number] + (bottoms[number] - tops[number] - height) / 2
                spots.append(Spot(cell.box, x, top, width, height, insides.get(cell.box)))
                stands[cell.box] = number, spots[-1]
    rails = len(scene.children) + len(scene.pins)
    wires, heads = [], []
    for (maker, reader), passed in scene.arrangement.routes.items():
        (first, start), (last, end) = stands[maker], stands[reader]
        points = [(_middle(start), start.y + start.height), (_middle(start), bottoms[first])]
        for step, column in enumerate(passed, first + 1):
            points += [(middles[column] - left, tops[step]), (middles[column] - left, bottoms[step])]
        points += [(_middle(end), tops[last]), (_middle(end), end.y + (end.height if reader >= rails else 0.0))]
        wires.append(tuple(points))
        heads.append(reader < rails)
    labels = tuple(
        (_middle(stands[number][1]) + 5, bottoms[stands[number][0]] + 13, text)
        for number, text in scene.labels.items()
        if number in stands
    )
    spots.sort(key=lambda spot: spot.number)
    width = max([right - left, *(x + label_width(text) for x, _, text in labels)])
    return Placed(scene, tuple(spots), tuple(wires), tuple(heads), labels, width, max(bottoms, default=0.0))


def _half(box: int, sizes: dict[int, tuple[float, float]]) -> float:
    return (sizes[box][0] if box >= 0 else PASSING) / 2


def _middle(spot: Spot) -> float:
    return spot.x + spot.width / 2


def _columns(columns: tuple[float, ...], needs: list[tuple[int, int, float]]) -> list[float]:
    """Return the middles of the columns: as far apart as the engine put them, or as what stands in them needs. Between
    the places that follow from the left and those that follow from the right lies the middle, which fulfils both."""
    if not columns:
        return []
    count = len(columns)
    before: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    behind: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    steps = [(column, column + 1, (columns[column + 1] - columns[column]) * UNIT) for column in range(count - 1)]
    for here, there, least in [*needs, *steps]:
        before[there].append((here, least))
        behind[here].append((there, least))
    earliest = [0.0] * count
    for column in range(1, count):
        earliest[column] = max(earliest[other] + least for other, least in before[column])
    latest = [earliest[-1]] * count
    for column in range(count - 2, -1, -1):
        latest[column] = min(latest[other] - least for other, least in behind[column])
    return [(low + high) / 2 for low, high in zip(earliest, latest, strict=True)]
