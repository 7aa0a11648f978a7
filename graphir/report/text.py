"""Plain text for reports: tables, sizes, wrapped lines. ASCII only."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from graphir.safety.foreign_text import in_one_line, one_line

WIDTH = 100


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = (), indent: str = "  "
) -> str:
    """Columns as wide as their widest cell, those in `right` flushed right; no lines drawn.

    >>> print(table(("op", "count"), [("Conv", 2), ("Relu", 10)], right=(1,)))
      op    count
      Conv      2
      Relu     10
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    lines = [list(header), *cells] if header else cells
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))] if lines else []
    flushed = set(right)
    made = []
    for line in lines:
        padded = [
            cell.rjust(width) if column in flushed else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        made.append(indent + "  ".join(padded).rstrip())
    return "\n".join(made)


def wrapped(text: str, *, first: str = "  ", rest: str = "      ", width: int = WIDTH) -> str:
    """A paragraph, its lines after the first indented by `rest`; names are never broken."""
    shown = in_one_line(text)
    return textwrap.fill(
        shown, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def number(value: float) -> str:
    """A measured number in few characters.

    >>> number(0.0), number(1.23456e-7), number(12.5), number(float("inf"))
    ('0', '1.2e-07', '12.5', 'inf')
    """
    if value == 0:
        return "0"
    if math.isinf(value) or math.isnan(value):
        return str(value)
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e6 else f"{value:.1e}"


def size(nbytes: int) -> str:
    """Bytes for people, in powers of ten.

    >>> size(512), size(123_456), size(3_200_000_000)
    ('512 B', '123.5 KB', '3.2 GB')
    """
    if nbytes < 1000:
        return f"{nbytes} B"
    for unit, factor in (("KB", 10**3), ("MB", 10**6), ("GB", 10**9)):
        if nbytes < 1000 * factor or unit == "GB":
            return f"{nbytes / factor:.1f} {unit}"
    raise AssertionError


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "node"), plural(1200, "node")
    ('1 node', '1,200 nodes')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def folded_text(folded: Mapping[str, int]) -> str:
    """How many parameters are part of others now, with some of their names; "" for none."""
    if not folded:
        return ""
    names = ", ".join(map(one_line, list(folded)[:3])) + (", ..." if len(folded) > 3 else "")
    return f", {sum(folded.values()):,} of them folded into others ({names})"


__all__ = ["WIDTH", "folded_text", "number", "plural", "size", "table", "wrapped"]
