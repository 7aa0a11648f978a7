"""The parts of an HTML report: a page without scripts that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escape_markup

from graphir.safety.foreign_text import in_one_line

from .style import STYLE


def escape(text: object) -> str:
    """Text for a page: no markup in it, and nothing that turns or hides what stands beside it."""
    return escape_markup(in_one_line(text))


def page(title: str, sections: Iterable[str], footer: str) -> str:
    """A whole document; the sections are HTML, title and footer text."""
    body = "\n".join(sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} - graphir</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n<footer>{escape(footer)}</footer>\n</main>\n</body>\n</html>\n"
    )


def section(title: str, body: str) -> str:
    """A framed part with a heading; the body is HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def banner(kind: str, title: str, text: str) -> str:
    """The verdict at the top, coloured by its kind: identical, noise, suspicious, broken or open."""
    return f'<div class="banner {kind}"><strong>{escape(title)}</strong><span>{escape(text)}</span></div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values; the values are HTML."""
    cells = "\n".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in rows)
    return f"<dl>\n{cells}\n</dl>"


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), classes: str = "plain"
) -> str:
    """A table; the cells are HTML."""
    flushed = set(right)

    def line(cells: Sequence[str], tag: str) -> str:
        shown = [
            f'<{tag} class="right">{cell}</{tag}>' if column in flushed else f"<{tag}>{cell}</{tag}>"
            for column, cell in enumerate(cells)
        ]
        return f"<tr>{''.join(shown)}</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    head = line([escape(cell) for cell in header], "th")
    made = f'<table class="{classes}">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table>'
    return f'<div class="wide">{made}</div>'


__all__ = ["banner", "escape", "facts", "page", "section", "table"]
