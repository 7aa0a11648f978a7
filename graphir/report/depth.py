"""The line of error against depth: what each layer is off by, from the first to the last, as one SVG.

Both the measured noise floor and the limit that follows from it are drawn, and a click on a point leads to the layer's
row. Long models are drawn by the worst layer of each of a few hundred stretches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from .page import escape
from .verification import describe_difference

if TYPE_CHECKING:
    from graphir.verification.numbers.compare import Comparison

# The axis: relative differences from 1e-9 to 1, what is equal below them.
LOWEST, HIGHEST = -9.0, 0.0
EQUAL = LOWEST - 1.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 10.0, 12.0, 40.0
# So many points are reached by the keyboard, those that matter most; the table has all.
REACHED = 12
SCALE = ((1.0, "1"), (1e-3, "1e-3"), (1e-6, "1e-6"), (1e-9, "1e-9"), (0.0, "equal"))


@dataclass(frozen=True)
class PlotFrame:
    """The measures of a picture, and how many stretches of layers have a point in it."""

    name: str
    width: float
    height: float
    stretches: int

    def x_of(self, index: int, count: int) -> float:
        """Return the distance of a layer from the left."""
        return LEFT + (self.width - LEFT - RIGHT) * index / (count - 1)

    def y_of(self, value: float) -> float:
        """Return the distance of a relative difference from the top."""
        exponent = EQUAL if value <= 0 else math.log10(value) if math.isfinite(value) else HIGHEST
        clipped = min(max(exponent, LOWEST if value > 0 else EQUAL), HIGHEST)
        return TOP + (self.height - TOP - BOTTOM) * (HIGHEST - clipped) / (HIGHEST - EQUAL)


# The style sheet shows one of them, by the width of the screen.
FRAMES = (PlotFrame("broad", 1000.0, 300.0, 300), PlotFrame("slim", 360.0, 240.0, 90))


# From so many points per unit of width on they are drawn small.
CROWDED = 0.12
NOT_BY_TAB = ' tabindex="-1"'


def depth_svg(layers: Sequence[Comparison], rewritten: Mapping[str, str], rows: Mapping[int, str]) -> str:
    """Return the picture, "" for fewer than two layers; `rows` are the ids of the layers' rows by index."""
    if len(layers) < 2:
        return ""
    pictures = [_picture(frame, layers, rewritten, rows) for frame in FRAMES]
    return "\n".join([*pictures, _legend(len(layers) > FRAMES[0].stretches)])


def _picture(
    frame: PlotFrame, layers: Sequence[Comparison], rewritten: Mapping[str, str], rows: Mapping[int, str]
) -> str:
    shown = _stretches(layers, frame.stretches)
    across = {index: frame.x_of(index, len(layers)) for index in shown}

    def line(kind: str, value: Callable[[Comparison], float], least: float) -> str:
        return _line(kind, [(across[index], value(layers[index])) for index in shown], least, frame)

    lines = [
        line("limit", lambda layer: layer.limit, 0.0),
        line("floor", lambda layer: layer.floor, 0.0),
        line("error", lambda layer: layer.relative, -1.0),
    ]
    ranked = sorted(shown, key=lambda index: -badness(layers[index]))[:REACHED]
    reached = {index for index in ranked if layers[index].relative > 0}
    points = []
    for index in shown:
        layer = layers[index]
        look = "rewritten" if layer.name in rewritten else layer.verdict.css_class
        at = across[index], frame.y_of(layer.relative)
        target = f'href="#{rows[index]}"{"" if index in reached else NOT_BY_TAB}' if index in rows else ""
        points.append(_point(layer, at, look, target))
    look = f"{frame.name} many" if len(shown) > CROWDED * frame.width else frame.name
    label = f"the relative difference of {len(layers)} layers, from the first to the last"
    return (
        f'<svg class="depth {look}" viewBox="0 0 {frame.width:.0f} {frame.height:.0f}" role="group" '
        f'aria-label="{escape(label)}">{_axes(len(layers), frame)}{"".join(lines)}{"".join(points)}</svg>'
    )


def badness(layer: Comparison) -> float:
    """Return how far a difference is beyond what was allowed: 1 is just allowed."""
    if layer.limit > 0:
        return layer.relative / layer.limit
    return math.inf if layer.relative else 0.0


def _stretches(layers: Sequence[Comparison], most: int) -> list[int]:
    """Return the indices of the layers to draw: all, or the worst of each stretch."""
    count = len(layers)
    if count <= most:
        return list(range(count))
    edges = [count * stretch // most for stretch in range(most + 1)]
    return [
        max(range(first, last), key=lambda index: (not layers[index].verdict.passes, badness(layers[index])))
        for first, last in pairwise(edges)
    ]


def _line(kind: str, points: Sequence[tuple[float, float]], least: float, frame: PlotFrame) -> str:
    """Return a line through those points that are above `least`, with gaps for the others."""
    path, drawing = [], False
    for x, value in points:
        if value > least:
            path.append(f"{'L' if drawing else 'M'}{x:.1f} {frame.y_of(value):.1f}")
        drawing = value > least
    return f'<path class="{kind}" d="{"".join(path)}"/>' if path else ""


def _point(layer: Comparison, at: tuple[float, float], look: str, target: str) -> str:
    """Return a dot, a link where there is a `target`."""
    said = f"{layer.name}: {layer.verdict}, {describe_difference(layer)}"
    dot = f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4"><title>{escape(said)}</title></circle>'
    if not target:
        return f'<g class="{look}">{dot}</g>'
    return f'<a class="{look}" {target} aria-label="{escape(said)}">{dot}</a>'


def _axes(count: int, frame: PlotFrame) -> str:
    right = frame.width - RIGHT

    def across(value: float, text: str) -> str:
        y = frame.y_of(value)
        return (
            f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4.5:.1f}" text-anchor="end">{text}</text>'
        )

    base = frame.height - 6
    scale = "".join(across(value, text) for value, text in SCALE)
    return (
        f'{scale}<text x="{LEFT}" y="{base}">first layer</text>'
        f'<text x="{right}" y="{base}" text-anchor="end">layer {count:,}</text>'
    )


def _legend(is_shortened: bool) -> str:
    def swatch(kind: str, text: str) -> str:
        line = f'<svg class="swatch" viewBox="0 0 22 10" aria-hidden="true"><path class="{kind}" d="M0 5H22"/></svg>'
        return f"<span>{line}{text}</span>"

    said = [
        swatch("error", "largest difference relative to the scale"),
        swatch("floor", "noise floor, where it was measured"),
        swatch("limit", "limit"),
        "Click a point to go to its row.",
    ]
    if is_shortened:
        said.append("Each point is the worst of a range of layers.")
    return f'<p class="legend">{" ".join(said)}</p>'
