"""Plain text for reports: tables, sizes, wrapped lines. ASCII only."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from graphir.safety.foreign_text import in_one_line, one_line
from graphir.structure.look import Painted, Style, look, paint

WIDTH = 100
# Scopes of more characters are left out of tables.
LONG_SCOPE = 20
# The colours of the words that begin a paragraph, by their names in `look`.
LABELS = {"cause": "BAD", "not proven": "WARNING", "note": "HEADING", "fix": "GOOD", "why": "HEADING"}


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Iterable[int] = (),
    flexible: Sequence[int] | None = None,
    whole: bool = False,
    scoped: bool = False,
) -> str:
    """Return columns as wide as their widest cell, those in `right` flushed right; no lines drawn.

    With `scoped` the first column holds names: a long scope that most begin with is left out, and a line says so. On a
    terminal (`look`) the table fits its width: the columns in `flexible`, or else all that are not flushed right,
    are shortened; with `whole` the first one never is.

    >>> print(table(("op", "count"), [("Conv", 2), ("Relu", 10)], right=(1,)))
      op    count
      Conv      2
      Relu     10
    """
    flushed = frozenset(right)
    shown = look()
    if scoped and not shown.whole:
        listed = [tuple(row) for row in rows]
        scope = long_scope([str(row[0]) for row in listed])
        if scope:
            short = [tuple(_strip_scope(cell, scope) for cell in row) for row in listed]
            note = wrapped(f"{scope} is omitted in front of names (-v shows it)")
            return table(header, short, right=right, flexible=flexible, whole=whole) + f"\n{note}"
        rows = listed
    if shown.width is not None and header:
        from .drawn import TableColumns, fit_table

        columns = TableColumns(flushed, None if flexible is None else tuple(flexible), whole)
        return fit_table(header, rows, shown.width, columns, whole=shown.whole)
    names = [Painted(name, Style.HEADING) for name in header]
    cells = [[(cell, one_line(cell)) for cell in row] for row in ([names, *rows] if header else rows)]
    widths = [max(len(line[column][1]) for line in cells) for column in range(len(cells[0]))] if cells else []
    aligned = []
    for line in cells:
        ready = [
            _cell(text, width, getattr(cell, "style", None), column in flushed)
            for column, ((cell, text), width) in enumerate(zip(line, widths, strict=True))
        ]
        while ready and not ready[-1].strip():
            ready.pop()
        aligned.append("  " + "  ".join([*ready[:-1], *(text.rstrip() for text in ready[-1:])]) if ready else "")
    return "\n".join(aligned)


def long_scope(names: Iterable[str]) -> str:
    """Return the scope without which names are shortest: the longest one, and all of them together. Most of the names
    with a scope begin with it. Return "" if all such scopes are short.

    >>> long_scope(["x", "StatefulPartitionedCall/net/a/mul", "StatefulPartitionedCall/net/b", "net/b"])
    'StatefulPartitionedCall/net/'
    >>> long_scope([f"StatefulPartitionedCall/net/{name}" for name in ("a/mul", "a/add", "b/add")])
    'StatefulPartitionedCall/net/'
    >>> long_scope(["x", "encoder/a", "encoder/b"])
    ''
    """
    counts: Counter[str] = Counter()
    scoped = [name for name in names if "/" in name]
    for name in scoped:
        parts = list(accumulate(f"{part}/" for part in name.split("/")[:-1]))
        counts.update(part for part in parts if len(part) > LONG_SCOPE)
    shared = [scope for scope, count in counts.items() if count > 1 and 2 * count > len(scoped)]

    def widths(scope: str) -> tuple[int, int]:
        lengths = [len(name.removeprefix(scope)) for name in scoped]
        return max(lengths), sum(lengths)

    return min(shared, key=widths, default="")


def _strip_scope(cell: object, scope: str) -> object:
    """Return a cell without the scope; a word with a style is none of the names."""
    return cell.replace(scope, "") if type(cell) is str else cell


def _cell(text: str, width: int, style: Style | None, is_flushed: bool) -> str:
    """Return a cell of a column, spaces around what has a colour."""
    around = " " * (width - len(text))
    return around + paint(text, style) if is_flushed else paint(text, style) + around


def wrapped(text: str, *, first: str = "  ", rest: str = "      ", width: int | None = None) -> str:
    """Return a paragraph, its lines after the first indented by `rest`; names are never broken.

    `width` is 100, or the terminal's where that is narrower. A label in front (`cause: ...`) has the colour of
    headings.
    """
    room = min(WIDTH, look().width or WIDTH) if width is None else width
    shown = in_one_line(text)
    paragraph = textwrap.fill(
        shown, room, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    label, colon, said = paragraph.partition(":")
    style = LABELS.get(label.strip()) if colon else None
    return paragraph if style is None else paint(label + colon, Style[style]) + said


def number(value: float) -> str:
    """Return a measured number in few characters.

    >>> number(0.0), number(1.23456e-7), number(12.5), number(float("inf"))
    ('0', '1.2e-07', '12.5', 'inf')
    """
    if value == 0:
        return "0"
    if math.isinf(value) or math.isnan(value):
        return str(value)
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e6 else f"{value:.1e}"


def size(nbytes: int) -> str:
    """Return bytes for people, in powers of ten.

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
    """Return a count with its noun.

    >>> plural(1, "node"), plural(1200, "node")
    ('1 node', '1,200 nodes')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def folded_text(folded: Mapping[str, int]) -> str:
    """Return how many parameters are part of others now, with some of their names; "" for none."""
    if not folded:
        return ""
    names = ", ".join(map(one_line, list(folded)[:3])) + (", ..." if len(folded) > 3 else "")
    return f", {sum(folded.values()):,} of them folded into others ({names})"


UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def amount(count: object) -> str:
    """Return a count as a short text: exact below 10,000, else four digits and a unit (a power of ten).

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
    """Return a number of bytes for people, `?` where it is not known; an expression as it is.

    >>> memory(123_456), memory(None)
    ('123.5 KB', '?')
    """
    return "?" if nbytes is None else size(nbytes) if isinstance(nbytes, int) else f"{nbytes} B"
