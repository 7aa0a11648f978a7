"""The windows of a model, and what disagrees about those of two, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line
from graphir.structure.look import Painted, Style, paint, verdict

from .text import plural, table, wrapped

if TYPE_CHECKING:
    from graphir.analysis.padding_audit import ComparedWindows, PaddingAudit
    from graphir.analysis.windows import SlidingWindow

SHOWN = 20
WINDOW_HEADER = ("layer", "operator", "kernel", "stride", "dilation", "input", "output", "policy", "pads", "flags")


def windows_text(windows: Sequence[SlidingWindow]) -> str:
    """Return one line a window, and how many there are of what."""
    lines = [table(WINDOW_HEADER, [window_cells(window) for window in windows], scoped=True), ""]
    return "\n".join([*lines, f"  {summary(windows)}"])


def summary(windows: Sequence[SlidingWindow]) -> str:
    """Return how many windows there are, and how many with each flag."""
    counts: dict[str, int] = {}
    for window in windows:
        for flag in window.flags:
            counts[flag] = counts.get(flag, 0) + 1
    flagged = ", ".join(f"{count} {flag}" for flag, count in counts.items())
    return plural(len(windows), "window") + (f": {flagged}" if flagged else "")


def window_cells(window: SlidingWindow) -> tuple[str, ...]:
    """Return the cells of a window's row."""
    policy = f"{window.policy} (= {window.also})" if window.also else window.policy
    return (
        window.name,
        window.operator,
        join_sizes(window.kernel),
        join_sizes(window.strides),
        join_sizes(window.dilations),
        join_sizes(window.sizes),
        f"{join_sizes(window.results)} of {window.filters}",
        policy,
        pads(window),
        ", ".join(window.flags),
    )


def pads(window: SlidingWindow) -> str:
    """Return the padding as numbers, with output padding, fill and divisor if any."""
    if window.pads is None:
        return "needs the size"
    shown = ", ".join(f"({before}, {after})" for before, after in window.pads)
    if any(window.output_padding):
        shown += f" output padding {join_sizes(window.output_padding)}"
    if window.fill:
        shown += f" filled: {window.fill}"
    return f"{shown} around {window.around}" if window.around else shown


def join_sizes(numbers: Iterable[object]) -> str:
    """Return sizes joined by an x."""
    return "x".join(map(str, numbers))


def audit_text(audit: PaddingAudit, left: str, right: str, *, verbose: bool = False) -> str:
    """Return the verdict, each disagreement with its sentence and its fix, and with `verbose` every pair."""
    lines = [verdict(verdict_line(audit)), f"  first   {one_line(left)}", f"  second  {one_line(right)}", ""]
    for note in audit.notes:
        lines += [wrapped(f"note: {note}"), ""]
    wrong = [pair for pair in audit.pairs if pair.disagreements]
    for pair in wrong if verbose else wrong[:SHOWN]:
        lines.append(paint(title(pair), Style.HEADING))
        for disagreement in pair.disagreements:
            lines.append(wrapped(f"{disagreement.kind}: {disagreement.text}"))
            lines.append(wrapped(f"fix: {disagreement.fix}", first="    "))
    if not verbose and len(wrong) > SHOWN:
        lines.append(f"... and {plural(len(wrong) - SHOWN, 'window')} more (-v shows them)")
    if verbose:
        header = ("first", "second", "operator", "pads", "pads there", "verdict")
        lines += ["", table(header, [_pair_cells(pair) for pair in audit.pairs])]
    return "\n".join(lines).rstrip()


def verdict_line(audit: PaddingAudit) -> str:
    """Return the outcome in one line."""
    if not audit.pairs:
        return "agreed: nothing pads in either model"
    if audit.agrees:
        return f"agreed: {plural(len(audit.pairs), 'window')} of both models read the same data"
    kinds = dict.fromkeys(disagreement.kind for pair in audit.pairs for disagreement in pair.disagreements)
    counts = ", ".join(f"{audit.count(kind)} {kind}" for kind in kinds)
    wrong = sum(bool(pair.disagreements) for pair in audit.pairs)
    return f"DISAGREE: {wrong} of {plural(len(audit.pairs), 'window')} ({counts})"


def title(pair: ComparedWindows) -> str:
    """Return the names of a pair's windows in one line."""
    return one_line(" / ".join(names(pair)))


def names(pair: ComparedWindows) -> list[str]:
    """Return the names of a pair's windows, one if they are the same."""
    return list(dict.fromkeys(window.name for window in (pair.left, pair.right) if window is not None))


def _pair_cells(pair: ComparedWindows) -> tuple[str, ...]:
    left, right = pair.left, pair.right
    present = left or right
    assert present is not None
    return (
        left.name if left else "-",
        right.name if right else "-",
        present.operator,
        pads(left) if left else "",
        pads(right) if right else "",
        _verdict(pair),
    )


def _verdict(pair: ComparedWindows) -> Painted:
    kinds = ", ".join(disagreement.kind for disagreement in pair.disagreements)
    return Painted(kinds, Style.BAD) if kinds else Painted("agreed", Style.GOOD)


def windows_json(windows: Sequence[SlidingWindow]) -> list[dict[str, Any]]:
    """Return each window as plain data; symbolic sizes as text, unknown ones null."""
    return [window_json(window) for window in windows]


def window_json(window: SlidingWindow) -> dict[str, Any]:
    """Return one window as plain data."""
    return {
        "name": window.name,
        "operator": window.operator,
        "kernel": list(window.kernel),
        "strides": list(window.strides),
        "dilations": list(window.dilations),
        "input": [_json_size(size) for size in window.sizes],
        "output": [_json_size(size) for size in window.results],
        "filters": _json_size(window.filters),
        "policy": window.policy,
        "same_as": window.also or None,
        "pads": None if window.pads is None else [list(pair) for pair in window.pads],
        "output_padding": list(window.output_padding),
        "divisor": window.divisor or None,
        "ceil_mode": window.ceil_mode,
        "fill": window.fill or None,
        "pad_node": window.pad_node or None,
        "flags": list(window.flags),
    }


def audit_json(audit: PaddingAudit) -> dict[str, Any]:
    """Return the audit as plain data."""
    return {
        "agrees": audit.agrees,
        "windows": len(audit.pairs),
        "notes": list(audit.notes),
        "pairs": [
            {
                "first": None if pair.left is None else window_json(pair.left),
                "second": None if pair.right is None else window_json(pair.right),
                "disagreements": [
                    {"kind": disagreement.kind, "text": disagreement.text, "fix": disagreement.fix}
                    for disagreement in pair.disagreements
                ],
            }
            for pair in audit.pairs
        ],
    }


def _json_size(size: object) -> int | str | None:
    if isinstance(size, int):
        return size
    return None if str(size) == "?" else str(size)
