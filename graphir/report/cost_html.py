"""The cost of a model as one HTML page with bars: by operator, and of the layers that cost the most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .cost import share, totals
from .fitting import amount, memory
from .page import escape, facts, page, section, table

if TYPE_CHECKING:
    from graphir.analysis.cost import Cost
    from graphir.analysis.counting import Layer
    from graphir.types import Dim

LAYERS_SHOWN = 60
BUCKETS = 120


def cost_html(found: Cost, source: str) -> str:
    """The page. Bars are parts of the largest; where sizes are symbolic there are numbers only."""
    known = [("model", escape(source)), *((name, escape(text)) for name, text in totals(found))]
    sections = [section("Model", facts(known))]
    profile = _profile(found.layers)
    if profile:
        sections.append(section("FLOPs from the first layer to the last", profile))
    sections.append(section("By operator", _operators(found)))
    shown = _dearest(found.layers)
    legend = ""
    if len(shown) < len(found.layers):
        legend = f'<p class="legend">{len(shown)} of {len(found.layers):,} layers, those with the most FLOPs</p>'
    sections.append(section("By layer", _layers(found, shown) + legend))
    return page("Cost", sections, _footer())


def _operators(found: Cost) -> str:
    largest = _largest(row.flops for row in found.operators)
    rows = [
        [f'<span class="whole">{escape(row.operator)}</span>', _amount(row.flops) + _bar(row.flops, largest),
         escape(share(row.flops, found.flops)), _amount(row.macs), _amount(row.parameters), f"{row.nodes:,}"]
        for row in found.operators
    ]  # fmt: skip
    return table(("operator", "FLOPs", "", "MACs", "parameters", "nodes"), rows, right=(2, 3, 4, 5))


def _layers(found: Cost, shown: Sequence[Layer]) -> str:
    largest = _largest(layer.flops for layer in shown)
    rows = [
        [f'<span class="name">{escape(layer.name)} <small>{escape(layer.operator)}</small></span>',
         _amount(layer.flops) + _bar(layer.flops, largest), _amount(layer.macs), _amount(layer.parameters),
         f'<span class="whole">{escape(memory(layer.activation_bytes))}</span>']
        for layer in shown
    ]  # fmt: skip
    header = ("layer", "FLOPs", "MACs", "parameters", "activations")
    return table(header, rows, right=(2, 3, 4), classes="windows")


def _dearest(layers: Sequence[Layer]) -> list[Layer]:
    """The layers that are listed, in their order."""
    if len(layers) <= LAYERS_SHOWN:
        return list(layers)
    ranked = sorted(range(len(layers)), key=lambda place: (-_number(layers[place].flops), place))[:LAYERS_SHOWN]
    return [layers[place] for place in sorted(ranked)]


def _profile(layers: Sequence[Layer]) -> str:
    """A picture of one column for a few layers each, as high as their FLOPs; "" where no layer has a number."""
    numbers = [_number(layer.flops) for layer in layers]
    if not any(numbers) or len(numbers) < 2:
        return ""
    step = -(-len(numbers) // BUCKETS)
    heights = [sum(numbers[start : start + step]) for start in range(0, len(numbers), step)]
    largest, width = max(heights), 1000 / len(heights)
    bars = []
    for place, height in enumerate(heights):
        first, last = layers[place * step], layers[min(place * step + step, len(layers)) - 1]
        names = first.name if first is last else f"{first.name} to {last.name}"
        tall = 0 if not height else max(1.0, 200 * height / largest)
        bars.append(
            f'<rect x="{place * width:.2f}" y="{200 - tall:.2f}" width="{max(width * 0.85, 0.5):.2f}" '
            f'height="{tall:.2f}"><title>{escape(names)}: {escape(amount(height))}</title></rect>'
        )
    label = f"{len(layers):,} layers; the highest column is {amount(largest)} FLOPs"
    return (
        f'<svg viewBox="0 0 1000 202" width="100%" height="202" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"><g fill="#4a7fb5">{"".join(bars)}</g>'
        f'<path d="M0 201H1000" stroke="#98a2b3"/></svg>\n<p class="legend">{escape(label)}</p>'
    )


def _bar(count: Dim | None, largest: int) -> str:
    size = _number(count)
    if not largest:
        return ""
    return f'<div class="bar"><b style="width:{100 * size / largest:.1f}%"></b></div>'


def _largest(counts: Iterable[Dim | None]) -> int:
    return max(map(_number, counts), default=0)


def _number(count: Dim | None) -> int:
    return count if isinstance(count, int) else 0


def _amount(count: object) -> str:
    return "" if count == 0 else f'<span class="whole">{escape(amount(count))}</span>'


def _footer() -> str:
    from graphir import __version__

    return f"graphir {__version__}; a MAC is a multiplication with its addition; FLOPs: two for each MAC, one a step"


__all__ = ["cost_html"]
