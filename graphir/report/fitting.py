"""Amounts in few characters."""

from __future__ import annotations

from .text import size

UNITS = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def amount(count: object) -> str:
    """Return a count in few characters: exact below 10,000, else four digits with a unit in powers of ten.

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
