"""The graph's picture on a page, its boxes coloured by verdict; a click on one leads to its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .page import escape, section

if TYPE_CHECKING:
    from graphir.graph import Graph

MOST_NODES = 20_000
SCOPE = ".picture"


def picture_of(graph: Graph | None, report: Mapping[str, object], rows: Mapping[str, str]) -> tuple[str, str]:
    """The section and the rules that it adds to the style sheet. `report` is a verification's JSON, `rows` the ids of
    layers' rows by name. Without a graph both are "", and where it cannot be drawn the section says why."""
    if graph is None:
        return "", ""
    if len(graph) > MOST_NODES:
        return _left_out(f"{len(graph):,} nodes are too many for a page"), ""
    from graphir.drawing.colours import style_sheet
    from graphir.drawing.layout import PlotExtraMissing
    from graphir.drawing.picture import plot
    from graphir.errors import FormatError

    note = ""
    try:
        made = plot(graph, report=_judged(report), titles=[graph.name])
    except FormatError as unknown:
        made, note = plot(graph, titles=[graph.name]), f"Not coloured: {unknown}."
    try:
        drawn = made.inline(rows)
    except PlotExtraMissing as missing:
        return _left_out(str(missing)), ""
    words = "What repeats is one box, what does not pass is open. A click on a box leads to its row. " + note
    body = f'<div class="picture">{drawn}</div>\n<p class="legend">{escape(words)}</p>'
    return section("Picture", body), style_sheet(SCOPE)


def _judged(report: Mapping[str, object]) -> dict[str, object]:
    """The report without layers that are only written otherwise: they are no difference."""
    layers = report.get("layers")
    kept = [layer for layer in layers if not layer.get("rewritten")] if isinstance(layers, list) else []
    return {**report, "layers": kept}


def _left_out(reason: str) -> str:
    return section("Picture", f"<p>Not drawn: {escape(reason)}. `graphir plot` draws a model on a page of its own.</p>")
