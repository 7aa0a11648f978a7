"""Memory over time as a picture: what lives at each step, and the lives of the tensors that are there at the peak.

The page and the picture load nothing from elsewhere, and the picture runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphir.analysis.memory.program import Phase

from .memory import mib
from .page import TableShape, escape, facts, footer, page, section, table

if TYPE_CHECKING:
    from graphir.analysis.memory.liveness import Alive
    from graphir.memory_use import MemoryReport

COLUMNS = 800
ROWS = 40
COLOURS = {Phase.FORWARD: "#3b7dd8", Phase.RECOMPUTED: "#e0a042", Phase.BACKWARD: "#4aa97c"}
WORDS = {Phase.FORWARD: "forward", Phase.RECOMPUTED: "recomputed", Phase.BACKWARD: "backward"}
CLASSES = {Phase.FORWARD: "phase-forward", Phase.RECOMPUTED: "phase-again", Phase.BACKWARD: "phase-backward"}


def timeline_html(report: MemoryReport, line: str) -> str:
    """Return the page: totals, the curve of live bytes, the lives of the largest tensors at the peak."""
    program, peak = report.program, report.liveness.peak_step
    rows = [
        ("model", escape(line)),
        ("peak", f"{mib(report.peak)} of results alive at one time"),
        ("allocated", f"{mib(report.total)} in {len(report.blocks.sizes):,} blocks"),
        ("steps", f"{len(program.steps):,}"),
    ]
    if report.found is not None:
        best = report.found.best
        share = 100 * best.work / max(1, report.found.forward_work)
        rows.append(("plan", f"{mib(best.total)} allocated instead of {mib(report.found.without.total)}; "
                             f"{best.nodes:,} nodes run twice, {share:.1f}% of the forward pass"))  # fmt: skip
    sections = [section("Memory", facts(rows))]
    if peak >= 0:
        at = program.steps[peak]
        legend = f'<p class="legend">The peak is at step {peak + 1:,}, {escape(at.name)} ({escape(at.operator)}).</p>'
        sections.append(section("Live bytes at each step", _chart(report) + legend))
        alive = report.at_peak
        names = [escape(program.tensors[tensor.tensor].name) for tensor in alive[:ROWS]]
        bars = [_life(report, tensor) for tensor in alive[:ROWS]]
        lives = [[name, mib(tensor.nbytes), bar] for name, tensor, bar in zip(names, alive, bars, strict=False)]
        title = f"Tensors alive at the peak ({min(len(alive), ROWS):,} largest of {len(alive):,})"
        note = '<p class="legend">Each bar spans the steps at which a tensor is alive; the red line is the peak.</p>'
        body = table(("tensor", "bytes", ""), lives, TableShape(right=(1,), classes="lives"))
        sections.append(section(title, body + note))
        sections.append(section("The same as a table", _words(report, alive[:ROWS])))
    return page("Memory over time", sections, footer())


def timeline_svg(report: MemoryReport, line: str) -> str:
    """Return the curve and the lives as one picture, 1200 wide."""
    alive = report.at_peak[:ROWS]
    height = 400 + 20 * len(alive)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 {height}" width="1200" height="{height}" '
        'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="#1d2433">',
        f'<rect width="1200" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="30" font-size="18">{escape(_shorten_end(line, 110))}</text>',
        f'<text x="20" y="52" fill="#475467">peak {mib(report.peak)}, allocated {mib(report.total)}, '
        f"{len(report.program.steps):,} steps</text>",
    ]
    left = 20
    for phase in _phases(report):
        parts.append(f'<rect x="{left}" y="64" width="10" height="10" fill="{COLOURS[phase]}"/>')
        parts.append(f'<text x="{left + 16}" y="74" fill="#475467">{WORDS[phase]}</text>')
        left += 190
    if report.liveness.live:
        parts.append(f'<g transform="translate(20 90) scale({1160 / COLUMNS:.4f} 2.6)">{_areas(report)}</g>')
        step, count = report.liveness.peak_step, len(report.program.steps)
        at = 20 + 1160 * (step + 0.5) / count
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="86" y2="{height - 10}" stroke="#b42318"/>')
    for row, tensor in enumerate(alive):
        parts += _svg_life(report, tensor, 385 + 20 * row)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _svg_life(report: MemoryReport, tensor: Alive, top: int) -> list[str]:
    count = len(report.program.steps)
    begin = 20 + 1160 * tensor.made / count
    width = max(2.0, 1160 * (tensor.last + 1 - tensor.made) / count)
    name = report.program.tensors[tensor.tensor].name
    colour = COLOURS[report.program.steps[tensor.made].phase]
    return [
        f'<rect x="{begin:.1f}" y="{top}" width="{width:.1f}" height="16" fill="{colour}" fill-opacity="0.35"/>',
        f'<text x="24" y="{top + 12}">{escape(_shorten_end(name, 60))}: {mib(tensor.nbytes)}</text>',
    ]


def _phases(report: MemoryReport) -> list[Phase]:
    there = {step.phase for step in report.program.steps}
    return [phase for phase in Phase if phase in there]


def columns(live: Sequence[int], phases: Sequence[Phase]) -> list[tuple[int, Phase]]:
    """Return at most COLUMNS pairs of bytes and phase: of steps that share a column the one with the most bytes.

    >>> columns([3, 9], [Phase.FORWARD, Phase.BACKWARD])
    [(3, <Phase.FORWARD: 'forward'>), (9, <Phase.BACKWARD: 'backward'>)]
    """
    count = len(live)
    width = min(count, COLUMNS)
    pairs = []
    for column in range(width):
        steps = range(column * count // width, (column + 1) * count // width)
        step = max(steps, key=live.__getitem__)
        pairs.append((live[step], phases[step]))
    return pairs


def _areas(report: MemoryReport) -> str:
    """Return the curve as bars in a picture of COLUMNS by 100, those of one phase as one path."""
    bars = columns(report.liveness.live, [step.phase for step in report.program.steps])
    peak = max(1, report.peak)
    width = COLUMNS / len(bars)
    paths: dict[Phase, list[str]] = {}
    for column, (nbytes, phase) in enumerate(bars):
        height = 100 * nbytes / peak
        paths.setdefault(phase, []).append(f"M{column * width:.2f} 100v{-height:.2f}h{width * 1.02:.2f}v{height:.2f}z")
    return "".join(f'<path d="{"".join(path)}" fill="{COLOURS[phase]}"/>' for phase, path in paths.items())


def _chart(report: MemoryReport) -> str:
    count = len(report.program.steps)
    keys = "".join(
        f'<span><svg class="swatch" viewBox="0 0 22 10" aria-hidden="true">'
        f'<rect class="{CLASSES[phase]}" width="22" height="10"/></svg>{WORDS[phase]}</span>'
        for phase in _phases(report)
    )
    return (
        '<div class="chart">'
        f'<svg viewBox="0 0 {COLUMNS} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="live bytes over {count} steps, {mib(report.peak)} at most">{_areas(report)}</svg></div>'
        f'<div class="axis"><span>step 1</span><span>peak {mib(report.peak)}</span><span>step {count:,}</span></div>'
        f'<p class="legend">{keys}</p>'
    )


def _life(report: MemoryReport, tensor: Alive) -> str:
    """Return a tensor's life as a bar over the steps, with the peak's place."""
    count = len(report.program.steps)
    begin, width = 100 * tensor.made / count, 100 * (tensor.last + 1 - tensor.made) / count
    peak = 100 * (report.liveness.peak_step + 0.5) / count
    look = CLASSES[report.program.steps[tensor.made].phase]
    return (
        '<svg class="life" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="ground" width="100" height="14"/><rect class="{look}" x="{begin:.2f}" y="2" '
        f'width="{max(width, 0.4):.2f}" height="10"/><rect class="peak" x="{peak:.2f}" width="0.25" height="14"/></svg>'
    )


def _words(report: MemoryReport, alive: Sequence[Alive]) -> str:
    program = report.program
    rows = [
        [
            escape(program.tensors[tensor.tensor].name),
            mib(tensor.nbytes),
            escape(f"{program.tensors[tensor.tensor].dtype} {program.tensors[tensor.tensor].shape}"),
            escape(program.steps[tensor.made].operator),
            escape(program.steps[tensor.last].name),
        ]
        for tensor in alive
    ]
    return table(("tensor", "bytes", "type", "made by", "read last by"), rows, TableShape(right=(1,), find="tensors"))


def _shorten_end(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
