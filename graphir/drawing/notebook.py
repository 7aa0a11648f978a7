"""What a notebook shows of a graph."""

from __future__ import annotations

from graphir.graph import Graph

from .layout import PlotExtraMissing
from .picture import plot
from .svg import escape

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
