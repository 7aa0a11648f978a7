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
    """Return the section and the rules that it adds to the style sheet. `report` is a verification's JSON, `rows` the
    ids of layers' rows by name. Without a graph both are "", and where it cannot be drawn the section says why."""
    if graph is None:
        return "", ""
    if len(graph) > MOST_NODES:
        return _explain_omission(f"{len(graph):,} nodes are too many for a page"), ""
    from graphir.drawing.colours import style_sheet
    from graphir.drawing.layout import PlotExtraMissing
    from graphir.drawing.picture import plot
    from graphir.errors import FormatError

    note = ""
    try:
        picture = plot(graph, report=_drop_rewritten(report), titles=[graph.name])
    except FormatError as unknown:
        picture, note = plot(graph, titles=[graph.name]), f"Not coloured: {unknown}."
    try:
        drawn = picture.inline(rows)
    except PlotExtraMissing as missing:
        return _explain_omission(str(missing)), ""
    words = "Repeated blocks are one box; blocks that do not pass are expanded. Click a box to go to its row. " + note
    body = f'<div class="picture">{drawn}</div>\n<p class="legend">{escape(words)}</p>'
    return section("Picture", body), style_sheet(SCOPE)


def _drop_rewritten(report: Mapping[str, object]) -> dict[str, object]:
    """Return the report without layers that are only written otherwise: they are no difference."""
    layers = report.get("layers")
    kept = [layer for layer in layers if not layer.get("rewritten")] if isinstance(layers, list) else []
    return {**report, "layers": kept}


def _explain_omission(reason: str) -> str:
    return section("Picture", f"<p>Not drawn: {escape(reason)}. `graphir plot` draws a model on a separate page.</p>")
