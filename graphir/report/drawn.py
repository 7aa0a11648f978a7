"""Tables that fit a width, drawn by rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphir.safety.foreign_text import one_line
from graphir.structure.look import Painted, Style, look, paint

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement
    from rich.table import Table

LEAST = 10
STACKED = 16
GAP = ".."
INDENT = "  "


@dataclass(frozen=True)
class TableColumns:
    """How the columns of a table behave: those in `right` are flushed right, those in `flexible` give way where the
    width is short, None for all that are not flushed right. Of `whole` no cell is cut: in every width it can be
    copied."""

    right: frozenset[int] = frozenset()
    flexible: tuple[int, ...] | None = None
    whole: bool = False

    def flexible_columns(self, count: int) -> list[int]:
        """Return the indices of the flexible ones of `count` columns."""
        if self.flexible is not None:
            return list(self.flexible)
        return [column for column in range(count) if column not in self.right]


@dataclass(frozen=True)
class FittedCell:
    """A cell that is as wide as its text where there is room, and shortened in its middle where there is none."""

    text: str
    style: str
    least: int

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As narrow as `least`, as wide as the text."""
        from rich.measure import Measurement

        width = min(_width(self.text), options.max_width)
        return Measurement(min(width, self.least), width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Return the text, shortened to the width of its column."""
        from rich.text import Text

        yield Text(shorten_middle(self.text, options.max_width), self.style, no_wrap=True, overflow="crop")


def fit_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], width: int, columns: TableColumns, *, whole: bool = False
) -> str:
    """Return a table of at most `width` characters a line, as rich draws it: flexible columns give way, each down to
    10.

    Where that does not do, the cells of the first column stand above their rows, and the flexible columns give way down
    to 16, which a type needs; where that does not do either, each row is a list of its cells. With `whole` what does
    not fit goes on below instead of being shortened.

    >>> print(fit_table(("layer", "n"), [("stage1_unit1_conv1", 3)], 18, TableColumns(frozenset({1}))))
      layer          n
      st..it1_conv1  3
    >>> print(fit_table(("name", "operator"), [("stage1_unit1_conv1", "Convolution")], 20, TableColumns()))
      name
        operator
      stage1_unit1_conv1
        Convolution
    """
    cells = [[_printable_cell(cell) for cell in row] for row in rows]
    room = width - len(INDENT)
    names = [Painted(name, Style.HEADING) for name in header]
    if _least_width([names, *cells], columns, LEAST) <= room:
        return "\n".join(_draw_table([names, *cells], room, columns, LEAST, whole, INDENT))
    rest = TableColumns(
        frozenset(column - 1 for column in columns.right),
        tuple(column - 1 for column in columns.flexible_columns(len(names)) if column),
    )
    lines: list[list[str]] = [[*names], *cells]
    without = [line[1:] for line in lines]
    if len(names) > 1 and not whole and _least_width(without, rest, STACKED) <= room - len(INDENT):
        return _stack_first_column([names, *cells], room, rest, columns.whole)
    return _draw_cards(names, cells, room)


def _printable_cell(cell: object) -> str:
    return cell if isinstance(cell, Painted) and cell.isprintable() else one_line(cell)


def _least_width(lines: Sequence[Sequence[str]], columns: TableColumns, least: int) -> int:
    """Return the least number of characters per line of a table."""
    widths = [max(_width(cell) for cell in column) for column in zip(*lines, strict=True)]
    flexible = set(columns.flexible_columns(len(widths)))
    return sum(min(width, least) if index in flexible and not (columns.whole and index == 0) else width
               for index, width in enumerate(widths)) + 2 * (len(widths) - 1)  # fmt: skip


def _draw_table(
    lines: Sequence[Sequence[str]], room: int, columns: TableColumns, least: int, whole: bool, indent: str
) -> list[str]:
    """Return the lines of a table, which rich lays out in `room` columns."""
    from rich.table import Table
    from rich.text import Text

    flexible = set(columns.flexible_columns(len(lines[0])))
    grid = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), expand=False)
    for index in range(len(lines[0])):
        can_give = index in flexible and not (columns.whole and index == 0)
        grid.add_column(justify="right" if index in columns.right else "left", no_wrap=not can_give, overflow="fold")
    for line in lines:
        grid.add_row(*(
            FittedCell(cell, _style(cell), least)
            if index in flexible and not whole and not (columns.whole and index == 0)
            else Text(cell, _style(cell), overflow="fold")
            for index, cell in enumerate(line)
        ))  # fmt: skip
    return _print_lines(grid, room, indent)


def _stack_first_column(lines: Sequence[Sequence[str]], room: int, rest: TableColumns, is_whole: bool) -> str:
    """Return the cells of the first column, each above its row."""
    below = _draw_table([line[1:] for line in lines], room - len(INDENT), rest, STACKED, False, INDENT * 2)
    stacked = []
    for line, row in zip(lines, below, strict=True):
        first = line[0] if is_whole else shorten_middle(line[0], room)
        stacked.append((INDENT + paint(first, getattr(line[0], "style", None))).rstrip())
        stacked.append(row)
    return "\n".join(line for line in stacked if line.strip())


def _draw_cards(names: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> str:
    """Return each row as a list of its cells, all in one table, so that they stand below each other."""
    pairs: list[tuple[str, str]] = []
    for row in rows:
        pairs += [(name, cell) for name, cell in zip(names, row, strict=True) if cell]
        pairs.append(("", ""))
    return "\n".join(_draw_table(pairs[:-1], room, TableColumns(flexible=(1,)), LEAST, True, INDENT))


def _print_lines(grid: Table, room: int, indent: str) -> list[str]:
    import io

    from rich.console import Console

    console: Any = Console(
        file=io.StringIO(), width=room, force_terminal=look().colour, no_color=not look().colour,
        color_system="standard" if look().colour else None, legacy_windows=False, markup=False, emoji=False,
        highlight=False, _environ={},
    )  # fmt: skip
    console.print(grid)
    return [(indent + line).rstrip() for line in console.file.getvalue().splitlines()]


def _style(cell: str) -> str:
    """Return the name that rich has for a style."""
    return RICH[cell.style] if isinstance(cell, Painted) else ""


RICH = {
    Style.GOOD: "green", Style.BAD: "bold red", Style.WARNING: "yellow", Style.HEADING: "bold", Style.ADDED: "cyan",
    Style.FAINT: "dim",
}  # fmt: skip


def _width(text: str) -> int:
    """Return the columns that a text takes in a terminal, where Chinese letters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten_middle(text: str, width: int) -> str:
    """Return a text that keeps its ends, more of the last one, which mostly tells names of one model apart.

    >>> shorten_middle("stage1_unit1_conv1", 13), shorten_middle("conv1", 13)
    ('st..it1_conv1', 'conv1')
    """
    if _width(text) <= width:
        return text
    kept = max(width - len(GAP), 0)
    while kept > 0:
        head = kept // 4
        candidate = text[:head] + GAP + text[len(text) - kept + head :]
        if _width(candidate) <= width:
            return candidate
        kept -= 1
    return GAP[:width]
