"""Text that strangers wrote (names, attributes, paths), made safe to show: the one place that decides how.

A terminal obeys control characters, and a reader is misled by characters that turn the direction of a line or take no
room. They are shown as Python writes them in a literal: `\\x1b`, `\\u202e`. Letters of every script stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence


def one_line(text: object) -> str:
    r"""A name or another short text within a line: nothing in it acts, and no line ends in it.

    >>> one_line("conv\x1b[2J\r\n1"), one_line("\u4e2d\u202e")
    ('conv\\x1b[2J\\r\\n1', '\u4e2d\\u202e')
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(character if character.isprintable() else _escaped(character) for character in shown)


def printable(text: object) -> str:
    r"""A text of several lines, in which the ends of lines stay.

    >>> printable("two\nlines\x07")
    'two\nlines\\x07'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "\n".join(map(one_line, shown.split("\n")))


def in_one_line(text: object) -> str:
    r"""A text whose ends of lines are of no matter: they become spaces.

    >>> in_one_line("two\nlines\x07")
    'two lines\\x07'
    """
    return " ".join(map(one_line, str(text).split("\n")))


def encodable(text: str, encoding: str | None) -> str:
    r"""The text as far as an encoding has its characters; the others are written as escapes.

    >>> encodable("gr\u00fc\u4e2d", "latin-1") == "gr\u00fc\\u4e2d"
    True
    """
    name = encoding or "ascii"
    try:
        return text.encode(name, "backslashreplace").decode(name)
    except (LookupError, UnicodeError):
        return text.encode("ascii", "backslashreplace").decode("ascii")


def unicode_text(text: str) -> str:
    r"""A name from a file system as text that every format can hold: bytes that were none are written as escapes.

    >>> unicode_text("model\udcff")
    'model\\udcff'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escaped(character: str) -> str:
    """The character as a literal has it; `repr` knows the short forms."""
    return repr(character)[1:-1]


def listing(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are.

    >>> listing(["a", "b", "c"], 2), listing(["a", "b"])
    ('a, b and 1 more', 'a, b')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(value: object) -> str:
    """What a file has in a place, in one short line of ASCII."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


__all__ = ["encodable", "in_one_line", "listing", "one_line", "printable", "shortened", "unicode_text"]
