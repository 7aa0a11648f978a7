"""Tables that fit a terminal: names that are too long lose their middle."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence

from graphir.safety.foreign_text import one_line

LEAST = 10
LOWEST = 8
STEP = 2
GAP = ".."
UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def terminal_width() -> int:
    """The columns of the terminal (or what COLUMNS says), 80 where there is none; at least 40."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def fitted(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    width: int | None,
    *,
    right: Iterable[int] = (),
    flexible: Sequence[int] = (0,),
    whole: bool = False,
    indent: str = "  ",
) -> str:
    """A table of at most `width` characters a line: the widest of the `flexible` columns give way, each down to 10.

    Where that does not do, the cells of the first column stand above their rows, and the flexible columns give way down
    to 8, which an amount with its unit needs. With `whole` no cell of the first column is cut: one too long for its
    column stands above its row, and in a terminal narrower than the cell that line alone is longer. None for `width`
    leaves all as it is.

    >>> print(fitted(("layer", "n"), [("stage1_unit1_conv1", 3)], 18, right=(1,)))
      layer          n
      st..it1_conv1  3
    >>> print(fitted(("name", "operator"), [("fc1", "Gemm"), ("stage1_unit1_conv1", "Conv")], 22, whole=True))
      name        operator
      fc1         Gemm
      stage1_unit1_conv1
                  Conv
    """
    cells = [list(header), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    room = None if width is None else width - len(indent) - 2 * (len(widths) - 1)
    stacked = room is not None and not _shrink(widths, room, flexible, LEAST) and len(widths) > 1
    if stacked and room is not None:
        widths = [STEP, *(max(len(line[column]) for line in cells) for column in range(1, len(header)))]
        others = [column for column in flexible if column]
        _shrink(widths, room, others, LEAST) or _shrink(widths, room, others, LOWEST)
    flushed = set(right)
    lines = []
    for line in cells:
        first, rest = line[0], line[1:]
        if stacked or (whole and len(first) > widths[0]):
            kept = first if whole or width is None else shortened(first, width - len(indent))
            lines.append((indent + kept).rstrip())
            first = ""
        shown = [shortened(cell, size) for cell, size in zip((first, *rest), widths, strict=True)]
        padded = [
            cell.rjust(size) if column in flushed else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(shown, widths, strict=True))
        ]
        lines.append((indent + "  ".join(padded)).rstrip())
    return "\n".join(lines)


def _shrink(widths: list[int], room: int, flexible: Sequence[int], least: int) -> bool:
    """Take from the widest flexible column until all fit; whether they do."""
    while sum(widths) > room:
        widest = max(flexible, key=lambda column: widths[column], default=None)
        if widest is None or widths[widest] <= least:
            return False
        others = [widths[column] for column in flexible if column != widest and widths[column] < widths[widest]]
        step = min(sum(widths) - room, widths[widest] - max([*others, least]))
        widths[widest] -= max(step, 1)
    return True


def shortened(text: str, width: int) -> str:
    """A text that keeps its ends, more of the last one, which mostly tells names of one model apart.

    >>> shortened("stage1_unit1_conv1", 13), shortened("conv1", 13)
    ('st..it1_conv1', 'conv1')
    """
    if len(text) <= width:
        return text
    kept = width - len(GAP)
    head = kept // 4
    return text[:head] + GAP + text[len(text) - kept + head :]


def amount(count: object) -> str:
    """A count in few characters: exact below 10,000, else four digits with a unit in powers of ten.

    >>> amount(9999), amount(25_557_032), amount(4_089_184_256), amount(0), amount(None)
    ('9,999', '25.56 M', '4.089 G', '0', '?')
    """
    if count is None:
        return "?"
    if not isinstance(count, int):
        return str(count)
    if count < 10_000:
        return f"{count:,}"
    for factor, unit in UNITS:
        if count >= factor:
            value = count / factor
            digits = 3 if value < 10 else 2 if value < 100 else 1
            return f"{value:.{digits}f} {unit}"
    raise AssertionError


def memory(nbytes: object) -> str:
    """A number of bytes for people, `?` where it is not known; an expression as it is.

    >>> memory(123_456), memory(None)
    ('123.5 KB', '?')
    """
    from .text import size

    return "?" if nbytes is None else size(nbytes) if isinstance(nbytes, int) else f"{nbytes} B"


__all__ = ["amount", "fitted", "memory", "shortened", "terminal_width"]
