"""Comparisons on a page: a table of outputs, and of the layers the line against depth, the first and the worst, and
behind a click all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphir.verification.verdict import Verdict

from .depth import badness, depth_svg
from .page import HtmlCell, TableShape, bar, escape, fold, section, table
from .text import number, plural
from .verification import magnitudes

if TYPE_CHECKING:
    from graphir.verification.numbers.compare import Comparison
    from graphir.verification.report import VerificationReport

LOWEST = -9.0
HEAD = ("shape", "scale", "max abs diff", "relative", "noise floor", "limit", "", "verdict")
FIRST, WORST = 3, 6
ALL_OPEN = 12
_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}
LEGEND = (
    '<p class="legend">Bars show the largest difference relative to the scale, from 1e-9 to 1 on a logarithmic '
    "axis; the mark is the limit that follows from the noise floor (what rounding the inputs alone changes).</p>"
)


def comparisons(
    items: Sequence[Comparison], what: str, ids: Mapping[int, str] | None = None,
    links: Mapping[str, str] | None = None, sets: Sequence[str] = (),
) -> str:  # fmt: skip
    """Return a table of comparisons. `ids` are those of its rows, `links` the ids of the rows elsewhere that names lead
    to, `sets` the sets of inputs that the comparisons come from, where there is more than one."""
    shape = TableShape(
        right=(2, 3, 4, 5, 6), told=8, find="" if ids is None and what == "layer" else f"{what}s", classes="layers",
        labelled=False,
    )  # fmt: skip
    rows = [_row(item, links or {}, "".join(sets[index : index + 1])) for index, item in enumerate(items)]
    return table((what, *HEAD), rows, shape, ids)


def layers_section(report: VerificationReport, ids: Mapping[int, str]) -> str:
    """Return the layers of a report; `ids` are those of their rows by index."""
    differing, rewritten = len(report.diverging), report.rewritten
    title = f"Layers ({len(report.layers):,} compared, {f'{differing:,}' if differing else 'none'} beyond rounding"
    title += f", {len(rewritten)} rewritten)" if rewritten else ")"
    said = {name: f"rewritten: {where}" for name, where in rewritten.items()}
    shown = [replace(layer, note=said.get(layer.name, layer.note)) for layer in report.layers]
    parts = [depth_svg(shown, rewritten, ids)]
    if len(shown) > ALL_OPEN:
        links = {layer.name: ids[index] for index, layer in enumerate(shown)}
        parts += _first_and_worst(report, shown, links)
        everything = comparisons(shown, "layer", ids)
        parts.append(fold(f"All {plural(len(shown), 'layer')}", everything, note="search and sort"))
    else:
        parts.append(comparisons(shown, "layer", ids))
    return section(title, "\n".join(filter(None, parts)))


def row_ids(report: VerificationReport) -> dict[int, str]:
    """Return the ids of the layers' rows by index."""
    return {index: f"layer-{index + 1}" for index in range(len(report.layers))}


def _first_and_worst(report: VerificationReport, shown: Sequence[Comparison], links: Mapping[str, str]) -> list[str]:
    parts = []
    diverging = {layer.name for layer in report.diverging}
    first = report.first_divergence
    if first is not None:
        begin = next(index for index, layer in enumerate(shown) if layer.name == first.name)
        rows = [layer for layer in shown[begin:] if layer.name in diverging][:FIRST]
        parts.append(f"<h3>First that differ</h3>\n{comparisons(rows, 'layer', links=links)}")
    compared = [layer for layer in shown if layer.name not in report.rewritten and layer.relative > 0]
    worst = sorted(compared, key=lambda layer: -badness(layer))[:WORST]
    if worst:
        word = "Worst" if first is not None else "Closest to their limits"
        parts.append(f"<h3>{word}</h3>\n{comparisons(worst, 'layer', links=links)}")
    return parts


def _row(item: Comparison, links: Mapping[str, str], inputs: str = "") -> list[str | HtmlCell]:
    look = item.verdict.css_class
    said = [*([f"inputs: {inputs}"] if inputs else []), *([item.note] if item.note else [])]
    note = "".join(f"<br><small>{escape(line)}</small>" for line in said)
    name = escape(item.name)
    if item.name in links:
        name = f'<a href="#{links[item.name]}">{name}</a>'
    unmeasured = item.verdict.passes and item.relative and not item.floor
    return [
        name + note,
        escape("x".join(map(str, item.shape)) or "scalar"),
        number(item.scale),
        *(HtmlCell(text, value) for text, value in zip(magnitudes(item), (item.max_abs, item.relative), strict=True)),
        HtmlCell("-", 0.0) if unmeasured else number(item.floor),
        number(item.limit) if math.isfinite(item.max_abs) else HtmlCell("-", item.limit),
        HtmlCell(bar(position(item.relative), position(item.limit), look), item.relative),
        HtmlCell(f'<span class="verdict {look}">{item.verdict.word}</span>', _RANKS[item.verdict]),
    ]


def position(value: float) -> float:
    """Return where a relative difference lies on the axis of a bar, in percent."""
    if value <= 0:
        return 0.0
    if not math.isfinite(value):
        return 100.0
    return 100 * min(max((math.log10(value) - LOWEST) / -LOWEST, 0.01), 1.0)
