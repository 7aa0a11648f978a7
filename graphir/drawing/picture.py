"""`graphir.plot`: a picture of a graph, or of two side by side with their differences."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphir.errors import ArgumentError
from graphir.files.writing import replacing
from graphir.graph import Graph
from graphir.safety.arguments import expect

from .blocks import Box, tree_of
from .layout import PlotExtraMissing, need
from .levels import Level, levels_of
from .looks import Looks
from .marks import Marks, marks_of_difference, marks_of_report, names_of
from .scenes import MOST_OPEN, Scene, initially_open, scenes_of
from .svg import escape

if TYPE_CHECKING:
    from graphir.analysis.diff import Difference
    from graphir.graph import Node

    from .svg import Drawing


SUFFIXES = (".html", ".svg", ".png", ".dot")


@dataclass(frozen=True)
class PlotSide:
    """One graph of a picture: its title, tree, wires and looks."""

    graph: Graph
    title: str
    root: Box
    levels: dict[Box, Level]
    looks: Looks
    marks: Marks

    @cached_property
    def scenes(self) -> dict[Box, Scene]:
        """Return the scene of every box with children. Raises PlotExtraMissing."""
        return scenes_of(self.levels, self.looks.scope)

    def opened(self, most: int) -> set[Box]:
        """Return the boxes that are open initially."""
        return initially_open(self.root, self.looks.of, most)

    def facts(self) -> dict[str, Any]:
        """Return the numbers of nodes, of repetitions, and of nodes by mark."""
        marks: Counter[str] = Counter()
        runs = 0
        pending = [self.root]
        while pending:
            box = pending.pop()
            runs += box.kind == "run"
            if box.node in self.marks:
                marks[self.marks[box.node].kind] += 1
            pending += reversed(box.children)
        return {"nodes": self.root.leaves, "runs": runs, "marks": dict(marks)}


class Plot:
    """A picture that can be written as HTML, SVG, PNG and DOT; made by `plot`."""

    def __init__(self, sides: tuple[PlotSide, ...], title: str, pairs: Mapping[Node, Node], most: int) -> None:
        self.sides = sides
        self.title = title
        self.pairs = dict(pairs)
        self.most = most

    def html(self) -> str:
        """Return one page that loads nothing: boxes open by a click, a search, colours by class, cost or mark.

        Raises PlotExtraMissing where fast-sugiyama is not installed.
        """
        from .page import page_of

        return page_of(self)

    def svg(self) -> str:
        """Return the picture in its initial state. Raises PlotExtraMissing where fast-sugiyama is not installed."""
        return self._draw({}).text()

    def inline(self, rows: Mapping[str, str]) -> str:
        """`svg` for a page that has `colours.style_sheet`. `rows` are ids on that page by the name of a node or a
        value, to which the node's box leads. Raises PlotExtraMissing where fast-sugiyama is not installed."""
        return self._draw(rows).text(styled=False)

    def _draw(self, rows: Mapping[str, str]) -> Drawing:
        from .placing import place_box
        from .svg import Drawing

        links = {}
        for box in (box for side in self.sides for box in side.looks.of if rows and box.node is not None):
            assert box.node is not None
            row = next((rows[name] for name in names_of(box.node) if name in rows), None)
            if row is not None:
                links[box] = row
        drawing = Drawing(self.title, links)
        for side in self.sides:
            opened = side.opened(self.most)
            drawing.add(side.title, place_box(side.root, side.scenes, side.looks.of, opened), side.looks.of)
        return drawing

    def png(self) -> bytes:
        """Return the picture of `svg` in pixels. Raises PlotExtraMissing where fast-sugiyama or resvg-py is not
        installed."""
        from .picture import png_of

        return png_of(self.svg())

    def dot(self) -> str:
        """Return all nodes in the DOT language, boxes as clusters; needs no extra."""
        from .dot import dot_of

        return dot_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as the suffix says: .html, .svg, .png or .dot.

        Raises ArgumentError for another suffix, ExportFailure where the file cannot be written, and PlotExtraMissing.
        """
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        make: dict[str, Any] = {".html": self.html, ".svg": self.svg, ".png": self.png, ".dot": self.dot}
        if suffix not in make:
            raise ArgumentError(f"cannot draw {os.fspath(path)!r}: its name must end in {', '.join(SUFFIXES)}")
        content = make[suffix]()
        with replacing(path) as (file,):
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))

    def _repr_html_(self) -> str:
        """Return the picture of `svg` for a notebook: no script is in it."""
        return f'<div style="overflow:auto;max-height:80vh">{self.svg()}</div>'


def plot(
    graph: Graph,
    other: Graph | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    report: object = None,
    titles: Sequence[str] | None = None,
    most: int = MOST_OPEN,
) -> Plot:
    """Return a picture of a graph whose types are inferred: what repeats is collapsed, and opened up to `most` boxes.

    With `other` both are drawn side by side, the nodes marked that differ. `report` marks nodes by what
    `graphir verify --per-layer --report x.json`, `graphir convert --verify --report x.json` or
    `graphir padding MODEL OTHER --report x.json` wrote, as plain data. `titles` stand above the pictures, the graphs'
    names by default. With a `path` the picture is written too, as `Plot.save` does.

    Weights are not read unless there are two graphs. Near linear in nodes. Raises ArgumentError for what is no graph
    and FormatError for what is no such report.
    """
    graphs = [expect(graph, Graph, "the graph to plot", "a Graph, as graphir.load gives it")]
    if other is not None:
        graphs.append(expect(other, Graph, "the other graph to plot", "a Graph, as graphir.load gives it"))
    marks: list[Marks] = [{} for _ in graphs]
    pairs: dict[Node, Node] = {}
    like: dict[Node, Node] = {}
    if len(graphs) == 2:
        marks, pairs, like = _differences(graphs[0], graphs[1])
    if report is not None:
        marks = [marks_of_report(each, report, second=index == 1) for index, each in enumerate(graphs)]
    names = tuple(titles) if titles else tuple(drawn.name for drawn in graphs)
    sides = tuple(_side(*parts, like) for parts in zip(graphs, names, marks, strict=False))
    picture = Plot(sides, " and ".join(names[: len(graphs)]), pairs, expect(most, int, "the number of boxes"))
    if path is not None:
        picture.save(path)
    return picture


def _differences(graph: Graph, other: Graph) -> tuple[list[Marks], dict[Node, Node], dict[Node, Node]]:
    """Return the marks of both sides, each node's counterpart, and those of the second's nodes alone."""
    from graphir.analysis.diff import compare

    difference: Difference = compare(graph, other)
    first, second, pairs = marks_of_difference(difference)
    return [first, second], pairs, {node: pairs[node] for node in second if node in pairs}


def _side(graph: Graph, title: str, marks: Marks, like: Mapping[Node, Node]) -> PlotSide:
    """Return one side; `like` are the counterparts of the second one's nodes, which it is collapsed like."""
    root = tree_of(graph, like=like)
    return PlotSide(graph, title, root, levels_of(root), Looks(graph, root, marks), marks)


MOST_PIXELS = 16_000
MOST_AREA = 64_000_000
SHARP = 2.0
_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')


def png_of(svg: str) -> bytes:
    """Return the picture, on white, at twice its size as long as it has no more than 64 million pixels.

    Raises PlotExtraMissing where resvg-py is not installed.
    """
    renderer = need("resvg_py", "a .png")
    match = _SIZE.search(svg)
    assert match is not None
    width, height = float(match[1]), float(match[2])
    sharp = min(SHARP, MOST_PIXELS / max(width, height), (MOST_AREA / (width * height)) ** 0.5)
    image: bytes = bytes(renderer.svg_to_bytes(svg_string=svg, background="white", width=max(1, round(width * sharp))))
    return image


MOST_NODES = 20_000
MOST_LINES = 60


def html_of(graph: Graph) -> str:
    """Return a picture without scripts; the first lines of the text of very large graphs, and where no library
    draws."""
    if len(graph) <= MOST_NODES:
        try:
            return plot(graph)._repr_html_()
        except PlotExtraMissing as missing:
            note = str(missing)
    else:
        note = f"{len(graph):,} nodes are many for a notebook; graphir.plot(graph, path='graph.html') draws them"
    lines = str(graph).split("\n")
    more = [f"... and {len(lines) - MOST_LINES:,} more lines"] if len(lines) > MOST_LINES else []
    text = "\n".join(escape(line) for line in [*lines[:MOST_LINES], *more])
    return f"<p>{escape(note)}</p><pre>{text}</pre>"
