"""The parts of an HTML report: one file that loads nothing and runs one script, its own.

Everything is there without the script, which adds search, sorting and copying. All texts are escaped: names come from
strangers' files.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_markup
from pathlib import Path

from graphir.safety.foreign_text import in_one_line

# From so many rows on a table can be searched and sorted.
SEARCHED_FROM = 9


@dataclass(frozen=True)
class HtmlCell:
    """A cell of a table: its HTML, and what it is sorted by where that is not what it shows."""

    html: str
    key: float | str


@dataclass(frozen=True)
class TableShape:
    """How a table stands on a page.

    `right` are the columns flushed right, `name` the one that heads a card on a narrow screen, `told` the one that
    stands above it there (a verdict), `full` those that take a line of their own. `find` is what is searched
    ("layers"), "" where nothing is. `labelled` says that each cell carries its column's name for a card; a style
    sheet's rule may do that for a class with many rows. What is not `stacked` is so narrow that it stays a table.
    """

    right: Sequence[int] = ()
    name: int | None = 0
    told: int | None = None
    full: Sequence[int] = ()
    find: str = ""
    classes: str = ""
    labelled: bool = True
    stacked: bool = True


PLAIN = TableShape()


def escape(text: object) -> str:
    """Return text without markup, and without characters that reverse or hide the text near it."""
    return escape_markup(in_one_line(text))


def page(title: str, sections: Iterable[str], footer: str, *, style: str = "") -> str:
    """Return a whole document; the sections are HTML, title and footer text. Its policy lets nothing be loaded and no
    other script run. `style` is added to the style sheet."""
    body = "\n".join(sections)
    sheet, script = read_asset("page.css") + style, read_asset("page.js")
    allowed = f"script-src '{digest(script)}'; style-src '{digest(sheet)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} - graphir</title>\n<style>{sheet}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n<footer>{escape(footer)}</footer>\n</main>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def read_asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Return the hash by which the page's policy allows a script or a style sheet."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def section(title: str, body: str) -> str:
    """Return a framed part with a heading; the body is HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def fold(title: str, body: str, *, opened: bool = False, note: str = "") -> str:
    """Return a part that a click opens; the body is HTML."""
    said = f"<small>{escape(note)}</small>" if note else ""
    return f"<details{' open' if opened else ''}><summary>{escape(title)}{said}</summary>\n{body}\n</details>"


def banner(kind: str, title: str, text: str) -> str:
    """Return the verdict at the top, coloured by its kind: identical, noise, broken or open."""
    return f'<p class="banner {kind}"><strong>{escape(title)}</strong><span>{escape(text)}</span></p>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return a list of names and values; the values are HTML."""
    cells = "\n".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in rows)
    return f"<dl>\n{cells}\n</dl>"


def copyable(text: str, what: str) -> str:
    """Return a text with a copy button; `what` describes it."""
    shown = "\n".join(escape(line) for line in text.split("\n"))
    return f'<div class="copy" data-what="{escape(what)}"><pre><code>{shown}</code></pre></div>'


def table(
    header: Sequence[str], rows: Sequence[Sequence[str | HtmlCell]], shape: TableShape = PLAIN,
    ids: Mapping[int, str] | None = None,
) -> str:  # fmt: skip
    """Return a table, whose rows are cards on a narrow screen; the cells are HTML. `ids` are those of rows that links
    lead to."""
    heads = "".join(
        f'<th scope="col"{_classes(shape, column, head=True)}>{escape(cell)}</th>' for column, cell in enumerate(header)
    )
    opening = [_classes(shape, column) for column in range(len(header))]
    if shape.labelled:
        opening = [
            f'{begin} data-label="{escape(name)}"' if name else begin
            for begin, name in zip(opening, header, strict=True)
        ]
    lines = []
    for index, row in enumerate(rows):
        cells = "".join([f"<td{begin}{_cell_markup(cell)}</td>" for begin, cell in zip(opening, row, strict=True)])
        name = "" if ids is None or index not in ids else f' id="{ids[index]}"'
        lines.append(f"<tr{name}>{cells}</tr>")
    body = "\n".join(lines)
    classes = f"{'cards' if shape.stacked else 'narrow'} {shape.classes}".rstrip()
    markup = f'<table class="{classes}">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    find = f' data-find="{escape(shape.find)}"' if shape.find and len(rows) >= SEARCHED_FROM else ""
    return f'<div class="wide"{find}>{markup}</div>'


def _classes(shape: TableShape, column: int, *, head: bool = False) -> str:
    names = ["right"] if column in shape.right else []
    if not head:
        names += ["name"] if column == shape.name else []
        names += ["told"] if column == shape.told else []
        names += ["full"] if column in shape.full else []
    return f' class="{" ".join(names)}"' if names else ""


def _cell_markup(cell: str | HtmlCell) -> str:
    """Return the rest of a cell's opening tag and its content."""
    return f">{cell}" if isinstance(cell, str) else f' data-v="{escape(cell.key)}">{cell.html}'


def bar(percent: float, mark: float | None = None, look: str = "") -> str:
    """Return a bar from 0 to 100, and a mark on it; `look` is a verdict's."""
    limit = "" if mark is None else f'<rect class="limit" x="{max(mark - 0.8, 0):.1f}" width="1.6" height="16"/>'
    return (
        f'<svg class="bar {look}" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="trough" y="3" width="100" height="10"/>'
        f'<rect class="value" y="3" width="{percent:.1f}" height="10"/>{limit}</svg>'
    )


def footer() -> str:
    """Return the name and version of graphir."""
    from graphir import __version__

    return f"graphir {__version__}"
