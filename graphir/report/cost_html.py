"""The cost of a model as one HTML page with bars: by operator, and of the layers that cost the most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .cost import share, totals
from .page import HtmlCell, TableShape, bar, escape, facts, footer, page, section, table
from .text import amount, memory

if TYPE_CHECKING:
    from graphir.analysis.cost import Cost
    from graphir.analysis.counting import Layer
    from graphir.types import Dim

LAYERS_SHOWN = 60
BUCKETS = 120
MEANING = "a MAC is a multiplication with its addition; FLOPs: two for each MAC, one a step"


def cost_html(cost: Cost, source: str) -> str:
    """Return the page. Bars are parts of the largest; where sizes are symbolic there are numbers only."""
    known = [("model", escape(source)), *((name, escape(text)) for name, text in totals(cost))]
    sections = [section("Model", facts(known))]
    profile = _profile(cost.layers)
    if profile:
        sections.append(section("FLOPs from the first layer to the last", profile))
    sections.append(section("By operator", _operators(cost)))
    shown = _most_expensive(cost.layers)
    legend = ""
    if len(shown) < len(cost.layers):
        legend = f'<p class="legend">{len(shown)} of {len(cost.layers):,} layers, those with the most FLOPs</p>'
    sections.append(section("By layer", _layers(cost, shown) + legend))
    return page("Cost", sections, f"{footer()}; {MEANING}")


def _operators(cost: Cost) -> str:
    largest = _largest(row.flops for row in cost.operators)
    rows = [
        [escape(row.operator), HtmlCell(_count_markup(row.flops) + _bar(row.flops, largest), _number(row.flops)),
         escape(share(row.flops, cost.flops)), _amount(row.macs), _amount(row.parameters), f"{row.nodes:,}"]
        for row in cost.operators
    ]  # fmt: skip
    header = ("operator", "FLOPs", "", "MACs", "parameters", "nodes")
    return table(header, rows, TableShape(right=(2, 3, 4, 5), find="operators"))


def _layers(cost: Cost, shown: Sequence[Layer]) -> str:
    largest = _largest(layer.flops for layer in shown)
    rows = [
        [f"{escape(layer.name)} <small>{escape(layer.operator)}</small>",
         HtmlCell(_count_markup(layer.flops) + _bar(layer.flops, largest), _number(layer.flops)), _amount(layer.macs),
         _amount(layer.parameters),
         HtmlCell(f'<span class="whole">{escape(memory(layer.activation_bytes))}</span>',
                  _number(layer.activation_bytes))]
        for layer in shown
    ]  # fmt: skip
    header = ("layer", "FLOPs", "MACs", "parameters", "activations")
    return table(header, rows, TableShape(right=(2, 3, 4), find="layers"))


def _most_expensive(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers with the most FLOPs, in the model's order."""
    if len(layers) <= LAYERS_SHOWN:
        return list(layers)
    ranked = sorted(range(len(layers)), key=lambda index: (-_number(layers[index].flops), index))[:LAYERS_SHOWN]
    return [layers[index] for index in sorted(ranked)]


def _profile(layers: Sequence[Layer]) -> str:
    """Return an SVG of FLOPs from the first layer to the last; "" if no layer has a number."""
    numbers = [_number(layer.flops) for layer in layers]
    if not any(numbers) or len(numbers) < 2:
        return ""
    step = -(-len(numbers) // BUCKETS)
    heights = [sum(numbers[start : start + step]) for start in range(0, len(numbers), step)]
    largest, width = max(heights), 1000 / len(heights)
    bars = []
    for column, height in enumerate(heights):
        first, last = layers[column * step], layers[min(column * step + step, len(layers)) - 1]
        names = first.name if first is last else f"{first.name} to {last.name}"
        tall = 0 if not height else max(1.0, 200 * height / largest)
        bars.append(
            f'<rect x="{column * width:.2f}" y="{200 - tall:.2f}" width="{max(width * 0.85, 0.5):.2f}" '
            f'height="{tall:.2f}"><title>{escape(names)}: {escape(amount(height))}</title></rect>'
        )
    label = f"{len(layers):,} layers; the highest column is {amount(largest)} FLOPs"
    return (
        f'<svg class="profile" viewBox="0 0 1000 202" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{"".join(bars)}<path d="M0 201H1000"/></svg>\n'
        f'<p class="legend">{escape(label)}</p>'
    )


def _bar(count: Dim | None, largest: int) -> str:
    return bar(100 * _number(count) / largest) if largest else ""


def _largest(counts: Iterable[Dim | None]) -> int:
    return max(map(_number, counts), default=0)


def _number(count: Dim | None) -> int:
    return count if isinstance(count, int) else 0


def _amount(count: Dim | None) -> str | HtmlCell:
    return HtmlCell(_count_markup(count), _number(count))


def _count_markup(count: Dim | None) -> str:
    return "" if count == 0 else f'<span class="whole">{escape(amount(count))}</span>'
