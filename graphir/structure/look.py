"""How texts look where they are shown: how wide a table may be, and whether words have colours.

Reports give the same words everywhere. The command states a look for its terminal while it prints (`shown_as`);
without one, as in a pipe or in `str(report)`, every row of a table is one line, nothing is cut, nothing has a colour.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from enum import Enum
from typing import IO

from graphir.safety.foreign_text import printable
from graphir.structure.record import record

NARROWEST = 20
DOUBTS = ("NOT PROVEN", "NOT DETERMINISTIC")


class Style(Enum):
    """What a colour says; the value is the number that a terminal knows it by."""

    GOOD = "32"
    BAD = "1;31"
    WARNING = "33"
    HEADING = "1"
    ADDED = "36"
    FAINT = "2"


class Painted(str):
    """A cell of a table with a style."""

    __slots__ = ("style",)
    style: Style

    def __new__(cls, text: str, style: Style) -> Painted:
        """Return the text, and how it is shown where there are colours."""
        instance = super().__new__(cls, text)
        instance.style = style
        return instance


@record
class Look:
    """`width` is what tables must fit, None where rows are lines of any length; `colour` whether there are colours;
    `whole` whether what does not fit its column goes on below instead of being shortened."""

    width: int | None = None
    colour: bool = False
    whole: bool = False


PLAIN = Look()
_LOOK: ContextVar[Look] = ContextVar("look", default=PLAIN)
_CODES = "(" + "|".join(rf"\x1b\[{code}m" for code in ("0", *(style.value for style in Style))) + ")"


def look() -> Look:
    """Return the look of what is shown now."""
    return _LOOK.get()


@contextmanager
def shown_as(wanted: Look) -> Iterator[None]:
    """What is made into text in here has this look."""
    token = _LOOK.set(wanted)
    try:
        yield
    finally:
        _LOOK.reset(token)


def of_width(width: int | None) -> AbstractContextManager[None]:
    """Return what is made into text in here fits this width; colours stay as they are."""
    return shown_as(replace(look(), width=width))


def look_of(stream: IO[str] | None, *, whole: bool = False, environ: Mapping[str, str] | None = None) -> Look:
    """Return what a stream can show: colours and a width on a terminal.

    NO_COLOR takes colours away, FORCE_COLOR gives them where there is no terminal (no-color.org, force-color.org);
    NO_COLOR has the last word. A terminal that calls itself dumb has none. COLUMNS says another width of a terminal.
    """
    said = os.environ if environ is None else environ
    is_terminal = stream is not None and stream.isatty()
    forced = said.get("FORCE_COLOR", "") not in ("", "0")
    able = is_terminal and said.get("TERM") != "dumb" and said.get("FORCE_COLOR") != "0"
    width = None
    if is_terminal and stream is not None:
        width = max(NARROWEST, _columns(stream, said))
    return Look(width, not said.get("NO_COLOR") and (forced or able), whole)


def _columns(stream: IO[str], environ: Mapping[str, str]) -> int:
    stated = environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        import shutil  # brings three compressions with it

        return shutil.get_terminal_size((80, 24)).columns


def paint(text: str, style: Style | None) -> str:
    """Return the text in its style, where there are colours."""
    return f"\x1b[{style.value}m{text}\x1b[0m" if style is not None and look().colour and text else text


def harmless(text: str, *, has_colours: bool) -> str:
    """Return a text of several lines in which nothing acts on a terminal but, with `has_colours`, what `paint`
    writes."""
    if not has_colours:
        return printable(text)
    parts = enumerate(re.split(_CODES, text))
    return "".join(part if index % 2 else printable(part) for index, part in parts)


def verdict(text: str) -> str:
    """Return a line that begins with a verdict (`verified: ...`, `NOT PROVEN: ...`), the verdict in its colour."""
    word, colon, said = text.partition(":")
    return paint(word + colon, verdict_style(word)) + said


def verdict_style(word: str) -> Style:
    """Return the style of a verdict: capitals say that something is wrong."""
    if word in DOUBTS:
        return Style.WARNING
    return Style.BAD if word.isupper() else Style.GOOD
