"""Text that strangers wrote (names, attributes, paths), made safe to show: the one place that decides how.

A terminal obeys control characters, and a reader is misled by characters that turn the direction of a line or take no
room. They are shown as Python writes them in a literal: `\\x1b`, `\\u202e`. Letters of every script stay as they are.

Runners of CI systems obey lines that a job prints: GitHub's those that begin with `::` (blanks before it do not matter)
and those with `##[` anywhere, Azure's and TeamCity's those with `##vso[` and `##teamcity[`. Sources:
https://docs.github.com/actions/reference/workflow-commands-for-github-actions,
https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The first character of what a runner would obey. In a name alone nothing is at the beginning of a line.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last ones are wide letters of the same
_OBEYED = re.compile(r"(?m)^(?P<blanks>[^\S\n]*):(?=:)|#(?=#\w*\[)")


def one_line(text: object) -> str:
    r"""Return a name or another short text within a line: nothing in it acts, and no line ends in it.

    >>> one_line("conv\x1b[2J\r\n1"), one_line("\u4e2d\u202e")
    ('conv\\x1b[2J\\r\\n1', '\u4e2d\\u202e')
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in shown)


def printable(text: object) -> str:
    r"""Return a text of several lines, in which the ends of lines stay.

    >>> printable("two\nlines\x07")
    'two\nlines\\x07'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "\n".join(map(one_line, shown.split("\n")))


def without_commands(text: str, colon: str = r"\x3a", sharp: str = r"\x23") -> str:
    r"""Return a text of which no runner of a CI system obeys a line, the character that makes a command written as an
    escape.

    >>> without_commands("a::b\n  ::error::c\n##[error]d")
    'a::b\n  \\x3a:error::c\n\\x23#[error]d'
    """
    if "::" not in text and "##" not in text:
        return text
    return _OBEYED.sub(lambda met: sharp if met["blanks"] is None else met["blanks"] + colon, text)


def csv_cell(value: object) -> object:
    """Return a cell of a CSV file, a text so that no spreadsheet takes it for a formula. Source:
    https://owasp.org/www-community/attacks/CSV_Injection.

    >>> csv_cell("=1+1"), csv_cell("conv"), csv_cell(-1)
    ("'=1+1", 'conv', -1)
    """
    if not isinstance(value, str):
        return value
    shown = one_line(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def in_one_line(text: object) -> str:
    r"""Return a text whose ends of lines are of no matter: they become spaces.

    >>> in_one_line("two\nlines\x07")
    'two lines\\x07'
    """
    return " ".join(map(one_line, str(text).split("\n")))


def encodable(text: str, encoding: str | None) -> str:
    r"""Return the text as far as an encoding has its characters; the others are written as escapes.

    >>> encodable("gr\u00fc\u4e2d", "latin-1") == "gr\u00fc\\u4e2d"
    True
    """
    name = encoding or "ascii"
    try:
        return text.encode(name, "backslashreplace").decode(name)
    except (LookupError, UnicodeError):
        return text.encode("ascii", "backslashreplace").decode("ascii")


def unicode_text(text: str) -> str:
    r"""Return a name from a file system as text that every format can hold: bytes that were none are written as
    escapes.

    >>> unicode_text("model\udcff")
    'model\\udcff'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def listing(names: Sequence[str], most: int = 8) -> str:
    """Return the first names, and how many more there are.

    >>> listing(["a", "b", "c"], 2), listing(["a", "b"])
    ('a, b and 1 more', 'a, b')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(value: object) -> str:
    """Return what a file has in a place, in one short line of ASCII."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
