"""A placed picture as SVG. Every text in it is untrusted and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape as escape_markup

from graphir.safety.foreign_text import in_one_line

from .blocks import Box
from .colours import CLASSES, MARKS, QUIET, style_sheet
from .looks import BoxLook, text_width, title_lines
from .placing import HEADER, PADDING, Placed, Point, Spot

MARGIN = 20.0
SWATCH = 26.0
LEAST_WIDTH = 320.0  # of a picture, for its title and its legend
LINE = 16.0


def escape(text: object) -> str:
    """Return text for markup, without markup and without characters that XML forbids."""
    return escape_markup("".join(_escape_forbidden(character) for character in in_one_line(text)))


def _escape_forbidden(character: str) -> str:
    """Return a character, escaped if XML forbids it: surrogates, U+FFFE and U+FFFF."""
    code = ord(character)
    return f"\\u{code:04x}" if 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF) else character


def number(value: float) -> str:
    """Return a length in few characters."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """The SVG of placed pictures side by side, each under its title, with a legend of what is in them. Boxes in `links`
    lead to the ids there, of the page that the picture stands in."""

    def __init__(self, title: str, links: Mapping[Box, str] | None = None) -> None:
        self.title = title
        self._links = links or {}
        self._parts: list[str] = []
        self._width = self._height = 0.0
        self._classes: set[str] = set()
        self._marks: set[str] = set()

    def add(self, title: str, placed: Placed, looks: dict[Box, BoxLook]) -> None:
        """Add a picture to the right of those that are there."""
        left = self._width + (2 * MARGIN if self._width else 0.0)
        width = max(placed.width, LEAST_WIDTH)
        lines = title_lines(title, width)
        for index, line in enumerate(lines):
            y = number(14.0 + LINE * index)
            self._parts.append(f'<text class="t" x="{number(left)}" y="{y}">{escape(line)}</text>')
        top = 28.0 + LINE * (len(lines) - 1)
        self._parts += self._inside(placed, looks, left, top)
        self._width = left + width
        self._height = max(self._height, placed.height + top)

    def text(self, *, styled: bool = True) -> str:
        """Return the whole document; without its style sheet for a page that has one."""
        legend, height = self._legend(max(self._width, LEAST_WIDTH))
        width = max(self._width, LEAST_WIDTH) + 2 * MARGIN
        total = self._height + height + 3 * MARGIN
        view = f'viewBox="0 0 {number(width)} {number(total)}" width="{number(width)}" height="{number(total)}"'
        ground = '<rect class="c-end" width="100%" height="100%"/>'
        body = "\n".join(self._parts)
        moved = f'<g transform="translate({number(MARGIN)} {number(2 * MARGIN + height)})">'
        top = f'<g transform="translate({number(MARGIN)} {number(MARGIN)})">'
        style, role = (f"<style>{style_sheet()}</style>", "img") if styled else ("", "group")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {view} role="{role}">\n<title>{escape(self.title)}</title>\n'
            f"{style}\n{ground}\n{top}{''.join(legend)}</g>\n{moved}\n{body}\n</g>\n</svg>\n"
        )

    def _legend(self, width: float) -> tuple[list[str], float]:
        """Return the legend of the classes and marks in the picture, and its height."""
        entries = [(f"k-{name}", CLASSES[name][0]) for name in CLASSES if name in self._classes]
        entries += [(f"n-{name}", f"{MARKS[name].sign} {MARKS[name].meaning}") for name in MARKS if name in self._marks]
        parts, x, y = [], 0.0, 0.0
        for name, text in entries:
            needed = SWATCH + text_width(text, small=True)
            if x and x + needed > width:
                x, y = 0.0, y + 18.0
            parts.append(f'<rect class="{name}" x="{number(x)}" y="{number(y)}" width="11" height="11" rx="2"/>')
            parts.append(f'<text class="s" x="{number(x + 15)}" y="{number(y + 9.5)}">{escape(text)}</text>')
            x += needed + 10
        return parts, y + 18.0

    def _inside(self, placed: Placed, looks: dict[Box, BoxLook], x: float, y: float) -> Iterator[str]:
        yield f'<g transform="translate({number(x)} {number(y)})">'
        for points, ends in zip(placed.wires, placed.heads, strict=True):
            yield wire_path(points, head=ends)
        for left, base, text in placed.labels:
            yield f'<text class="f" x="{number(left)}" y="{number(base)}">{escape(text)}</text>'
        count = len(placed.scene.children)
        for spot in placed.spots:
            if spot.number >= count:
                if spot.number - count < len(placed.scene.pins):
                    yield pin_markup(spot, placed.scene.pins[spot.number - count])
                continue
            child = placed.scene.children[spot.number]
            look = looks[child]
            self._classes.add(look.colour)
            if look.mark:
                self._marks.add(look.mark)
            if spot.inside is None:
                yield from self._wrap_link(child, box_markup(spot, look, child))
                continue
            yield from frame_markup(spot, look)
            begin = spot.x + (spot.width - spot.inside.width) / 2, spot.y + HEADER + PADDING
            yield from self._inside(spot.inside, looks, *begin)
        yield "</g>"


    def _wrap_link(self, box: Box, markup: Iterator[str]) -> Iterator[str]:
        row = self._links.get(box)
        if row is None:
            yield from markup
            return
        yield f'<a href="#{escape(row)}">'
        yield from markup
        yield "</a>"


def wire_path(points: Iterable[Point], *, head: bool = True) -> str:
    """Return a wire: straight through rows, curved between them, with a head at its end unless it goes on there."""
    line: list[str] = []
    corners = list(points)
    for index, (x, y) in enumerate(corners):
        if index == 0:
            line.append(f"M{number(x)} {number(y)}")
        elif index % 2:
            line.append(f"V{number(y)}")
        else:
            before_x, before_y = corners[index - 1]
            middle = (before_y + y) / 2
            line.append(f"C{number(before_x)} {number(middle)} {number(x)} {number(middle)} {number(x)} {number(y)}")
    x, y = corners[-1]
    end = f'<path class="h" d="M{number(x)} {number(y)}l-3.5 -7h7z"/>' if head else ""
    return f'<path class="w" d="{"".join(line)}"/>{end}'


def pin_markup(spot: Spot, text: str) -> str:
    """Return the text of a pin, centred in its spot."""
    x, y = spot.x + spot.width / 2, spot.y + 12
    return f'<text class="p" text-anchor="middle" x="{number(x)}" y="{number(y)}">{escape(text)}</text>'


def box_markup(spot: Spot, look: BoxLook, box: Box) -> Iterator[str]:
    """Yield a closed box: its ground, stripe, lines, and its mark; behind what can be opened stand the edges of
    others."""
    rectangle = f'x="{number(spot.x)}" y="{number(spot.y)}" width="{number(spot.width)}" height="{number(spot.height)}"'
    whole = "\n".join(f"{name}: {in_one_line(text)}" for name, text in look.facts[:12])
    yield f"<g><title>{escape_lines(whole)}</title>"
    if box.children:
        behind = f'width="{number(spot.width)}" height="{number(spot.height)}" rx="5"'
        yield f'<rect class="b c-box" x="{number(spot.x + 4)}" y="{number(spot.y + 4)}" {behind}/>'
    rounded = number(spot.height / 2) if look.colour == "end" else "5"
    yield f'<rect class="b c-{look.colour}" {rectangle} rx="{rounded}"/>'
    if look.colour != "end":
        stripe = f'x="{number(spot.x)}" y="{number(spot.y + 4)}" width="4" height="{number(spot.height - 8)}"'
        yield f'<rect class="k-{look.colour}" {stripe}/>'
    yield from _lines(spot, look)
    yield from _mark(spot, look)
    yield "</g>"


def frame_markup(spot: Spot, look: BoxLook) -> Iterator[str]:
    """Yield an opened box: a frame with its title."""
    rectangle = f'x="{number(spot.x)}" y="{number(spot.y)}" width="{number(spot.width)}" height="{number(spot.height)}"'
    yield f'<g><rect class="g" {rectangle} rx="7"/>'
    yield f'<text class="t" x="{number(spot.x + 12)}" y="{number(spot.y + 16)}">{escape(look.title)}</text>'
    if look.brief:
        yield f'<text class="s" x="{number(spot.x + 12)}" y="{number(spot.y + 30)}">{escape(look.brief)}</text>'
    if look.mark not in QUIET:
        yield from _mark(spot, look, framed=False)
    yield "</g>"


def _lines(spot: Spot, look: BoxLook) -> Iterator[str]:
    x = spot.x + 12
    yield f'<text class="t" x="{number(x)}" y="{number(spot.y + 17)}">{escape(look.title)}</text>'
    for index, text in enumerate(look.lines):
        yield f'<text class="s" x="{number(x)}" y="{number(spot.y + 31 + 14 * index)}">{escape(text)}</text>'


def _mark(spot: Spot, look: BoxLook, *, framed: bool = True) -> Iterator[str]:
    """Yield a frame in the mark's colour, and a disc with its sign and its number of nodes."""
    if not look.mark:
        return
    known = MARKS[look.mark]
    rectangle = f'x="{number(spot.x)}" y="{number(spot.y)}" width="{number(spot.width)}" height="{number(spot.height)}"'
    if framed:
        yield f'<rect class="v-{look.mark}" {rectangle} rx="5"/>'
    text = known.sign if look.marked < 2 else f"{known.sign} {look.marked:,}"
    wide = max(16.0, text_width(text) + 8)
    x, y = spot.x + spot.width - wide + 5, spot.y - 7
    disc = f'x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="16" rx="8"'
    yield f'<rect class="n-{look.mark}" {disc}/>'
    middle = f'text-anchor="middle" x="{number(x + wide / 2)}" y="{number(y + 12)}"'
    yield f'<text class="m" {middle}>{escape(text)}</text>'


def escape_lines(text: str) -> str:
    """Several lines for markup, each made safe."""
    return "\n".join(escape(line) for line in text.split("\n"))
