"""Lines of Python laid out as `ruff format` leaves them: what does not fit is split at the last brackets, with one
element a line and a comma behind the last one, which keeps it so at any line length. Sums are split before their
operators, chains of calls before their dots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from graphir.converters.pytorch.exporting.expression import LEVELS

WIDTH = 88
INDENT = "    "
_CLOSING = {")": "(", "]": "[", "}": "{"}
# What stands before the expression of a statement, an operator between two operands, what brackets of a call follow.
HEADS = re.compile(r"return |[\w., ()]+ = |\) in |[)\]}]")
OPERATORS = re.compile(rf" ({'|'.join(map(re.escape, sorted(LEVELS, key=len, reverse=True)))}) ")
CALLED = re.compile(r"[\w)\]]")


def lines_of(
    statement: str, depth: int = 0, comment: str = "", *, inside: bool = False, behind: int = 0
) -> Iterable[str]:
    """Return the lines of a statement of one line. A comment stands behind it where it fits, else above it.

    Sums that do not fit are split before their operators, in parentheses unless they stand `inside` of some. `behind`
    is the length of what follows the last line.
    """
    whole = f"{INDENT * depth}{statement}"
    if comment:
        beside = f"{whole}  # {comment}"
        if len(beside) <= WIDTH:
            return (beside,)
        return (f"{INDENT * depth}# {comment}", *lines_of(statement, depth, inside=inside, behind=behind))
    return (whole,) if len(whole) + behind <= WIDTH else _parts(statement, depth, inside=inside, behind=behind)


def _parts(statement: str, depth: int, *, inside: bool, behind: int) -> Iterator[str]:
    """Yield the lines of a statement that does not fit into one."""
    indent = INDENT * depth
    targets = statement.partition(" in ")[0]
    if targets.startswith("for ") and len(indent) + len(targets) > WIDTH - len(" in zip("):
        yield f"{indent}for ("
        yield from (f"{indent}{INDENT}{target}," for target in arguments_of(targets.removeprefix("for ")))
        yield from lines_of(f") in {statement.partition(' in ')[2]}", depth)
        return
    head = HEADS.match(statement)
    start = head.end() if head is not None and not inside else 0
    places = _loosest_operators(statement, start) or _links(statement, start)
    if inside and places:
        ends = [*places, len(statement)]
        yield from lines_of(statement[: ends[0]].strip(), depth, inside=True)
        for first, end in zip(places, ends[1:], strict=True):
            yield from lines_of(statement[first:end].strip(), depth, inside=True, behind=behind)
        return
    brackets = _brackets(statement, start)
    if brackets:
        first, _ = brackets[0]
        is_wide = start > 0 and len(indent) + first >= WIDTH
        is_open = brackets[-1][1] < len(statement) - 1 and first > start
    else:
        is_wide = start > 0 and len(statement) - start + len(INDENT) * (depth + 1) <= WIDTH
        is_open = True
    if is_wide or (places and (len(places) > 1 or is_open)):
        yield f"{indent}{statement[:start]}("
        yield from lines_of(statement[start:], depth + 1, inside=True)
        yield f"{indent})"
        return
    if not brackets:
        yield f"{indent}{statement}"
        return
    start, end = brackets[-1] if len(indent) + brackets[-1][0] < WIDTH else brackets[0]
    yield f"{indent}{statement[: start + 1]}"
    parts = arguments_of(statement[start + 1 : end])
    comma = "" if _only_groups(statement, start, parts) else ","
    for part in parts:
        *others, last = lines_of(part, depth + 1, inside=True, behind=len(comma))
        yield from others
        yield f"{last}{comma}"
    yield from lines_of(statement[end:], depth, behind=behind)


def _loosest_operators(statement: str, start: int) -> list[int]:
    """Where the operators are, outside of brackets, that bind least."""
    depth, result = 0, []
    for place, character in _code(statement, start):
        depth += (character in "([{") - (character in _CLOSING)
        if depth == 0 and place > start and (operator := OPERATORS.match(statement, place)) is not None:
            result.append((LEVELS[operator[1]], place))
    loosest = min(result, default=(0, 0))[0]
    return [place for level, place in result if level == loosest]


def _links(statement: str, start: int) -> list[int]:
    """Where the methods of a chain begin that are called on what others give; none of a chain with fewer than two."""
    depth, result = 0, []
    for place, character in _code(statement, start):
        if depth == 0 and character == "." and place > start and statement[place - 1] in ")]":
            result.append(place)
        depth += (character in "([{") - (character in _CLOSING)
    return result if len(result) > 1 else []


def _only_groups(statement: str, start: int, parts: list[str]) -> bool:
    """Return whether brackets are parentheses around an expression, not those of a call or a tuple."""
    return len(parts) == 1 and statement[start] == "(" and not (start and CALLED.match(statement[start - 1]))


def _brackets(statement: str, start: int) -> list[tuple[int, int]]:
    """Return where the outer brackets behind `start` open and close that have something in them."""
    depth, begin, result = 0, -1, []
    for place, character in _code(statement, start):
        if character in "([{":
            begin = begin if depth else place
            depth += 1
        elif character in _CLOSING:
            depth -= 1
            if depth == 0 and place > begin + 1:
                result.append((begin, place))
    return result


def arguments_of(text: str) -> list[str]:
    """Return the elements between commas."""
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


def _code(text: str, place: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the characters from a place on that are not inside string literals."""
    quote = ""
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
