"""Lines of Python laid out as `ruff format` leaves them: what does not fit is split at the last brackets, with one
element a line and a comma behind the last one, which keeps it so at any line length."""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 88
INDENT = "    "
_CLOSING = {")": "(", "]": "[", "}": "{"}


def lines_of(statement: str, depth: int = 0, comment: str = "") -> Iterator[str]:
    """The lines of a statement of one line. A comment stands behind it where it fits, else above it."""
    indent = INDENT * depth
    whole = f"{indent}{statement}"
    if comment:
        beside = f"{whole}  # {comment}"
        if len(beside) <= WIDTH:
            yield beside
            return
        yield f"{indent}# {comment}"
    if len(whole) <= WIDTH:
        yield whole
        return
    place = _last_brackets(statement)
    if place is None:
        yield whole
        return
    start, end = place
    yield f"{indent}{statement[: start + 1]}"
    for part in arguments_of(statement[start + 1 : end]):
        *first, last = lines_of(part, depth + 1)
        yield from first
        yield f"{last},"
    yield f"{indent}{statement[end:]}"


def _last_brackets(statement: str) -> tuple[int, int] | None:
    """Where the last outer brackets open and close that have something in them."""
    depth, end, found = 0, -1, None
    for place, character in _code(statement):
        if character in "([{":
            if depth == 0:
                end = place
            depth += 1
        elif character in _CLOSING:
            depth -= 1
            if depth == 0 and place > end + 1:
                found = end, place
    return found


def arguments_of(text: str) -> list[str]:
    """The elements between commas."""
    parts, start, depth = [], 0, 0
    for place, character in _code(text):
        if character in "([{":
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _code(text: str) -> Iterator[tuple[int, str]]:
    """The characters that are not inside string literals."""
    quote = ""
    place = 0
    while place < len(text):
        character = text[place]
        if quote:
            if character == "\\":
                place += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        else:
            yield place, character
        place += 1


__all__ = ["INDENT", "WIDTH", "arguments_of", "lines_of"]
