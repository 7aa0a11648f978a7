"""A picture as one HTML page that loads nothing: the boxes' data, and a small script that draws those that are open."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import in_one_line

from .colours import CLASSES, MARKS, style_sheet
from .layout import Arrangement
from .looks import label_width
from .scenes import Scene
from .svg import escape

if TYPE_CHECKING:
    from .blocks import Box
    from .picture import Plot, PlotSide

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page_of(plot: Plot) -> str:
    """Return the page. Its policy lets nothing be loaded and no other script run."""
    script, style = _read_asset("page.js"), style_sheet() + _read_asset("page.css")
    data = _json({
        "sides": [_side(plot, side) for side in plot.sides],
        "classes": {name: text for name, (text, _) in CLASSES.items()},
        "marks": {name: [look.rank, look.sign, look.meaning] for name, look in MARKS.items()},
    })  # fmt: skip
    policy = f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'"
    from graphir import __version__

    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(plot.title)} - graphir</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(plot.title)}</h1><div id="tools"></div><div id="legend"></div></header>\n'
        f'<main id="sides"></main>\n<aside id="closer" hidden></aside>\n'
        f"<footer>graphir {escape(__version__)}. Click a box to open it; click a frame's title to close it.</footer>\n"
        f"<noscript>{plot.svg()}</noscript>\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _read_asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(data: object) -> str:
    """Return data as JSON in which nothing ends its HTML element."""
    text = json.dumps(data, separators=(",", ":"))
    return "".join(_UNSAFE.get(character, character) for character in text) if any(map(text.count, _UNSAFE)) else text


def _side(plot: Plot, side: PlotSide) -> dict[str, Any]:
    """Return all boxes of one graph, a box by its number; arrangements that several share are written once."""
    order = [side.root]
    for box in order:
        order += box.children
    numbers = {box: number for number, box in enumerate(order)}
    nodes = {box.node: number for box, number in numbers.items() if box.node is not None}
    arrangements: dict[int, int] = {}
    kept: list[Arrangement] = []
    rows = []
    for box in order:
        look = side.looks.of[box]
        row: dict[str, Any] = {"k": box.kind, "t": look.title, "l": look.lines, "c": look.colour}
        row["f"] = [(name, in_one_line(text)) for name, text in look.facts]
        if look.brief and box.children:
            row["b"] = look.brief
        if look.cost.parameters:
            row["p"] = look.cost.parameters
        if look.cost.macs:
            row["a"] = look.cost.macs
        if look.mark:
            row["m"], row["n"] = look.mark, look.marked
        if box.children:
            scene = side.scenes[box]
            if id(scene.arrangement) not in arrangements:
                arrangements[id(scene.arrangement)] = len(kept)
                kept.append(scene.arrangement)
            row |= _scene(scene, numbers) | {"g": arrangements[id(scene.arrangement)]}
        rows.append(row)
    opened = sorted(numbers[box] for box in side.opened(plot.most))
    document: dict[str, Any] = {
        "title": in_one_line(side.title),
        "boxes": rows,
        "open": opened,
        "grids": [_grid(arrangement) for arrangement in kept],
    }
    if len(plot.sides) == 2:
        document["others"] = _counterparts(plot, side, nodes)
    return document


def _scene(scene: Scene, numbers: dict[Box, int]) -> dict[str, Any]:
    labels = {number: (text, round(label_width(text))) for number, text in scene.labels.items()}
    return {"ch": [numbers[child] for child in scene.children], "pins": scene.pins, "w": labels, "r": scene.rails}


def _grid(arrangement: Arrangement) -> dict[str, Any]:
    return {
        "r": [[[cell.column, cell.box] for cell in row] for row in arrangement.rows],
        "c": arrangement.columns,
        "w": [[maker, reader, route] for (maker, reader), route in arrangement.routes.items()],
    }


def _counterparts(plot: Plot, side: PlotSide, nodes: dict[Any, int]) -> dict[int, int]:
    """Return the number of each node's counterpart on the other side."""
    other = plot.sides[1] if side is plot.sides[0] else plot.sides[0]
    order = [other.root]
    for box in order:
        order += box.children
    theirs = {box.node: number for number, box in enumerate(order) if box.node is not None}
    return {number: theirs[plot.pairs[node]] for node, number in nodes.items() if plot.pairs.get(node) in theirs}
